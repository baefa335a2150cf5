// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/left_out.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fuselage {

std::vector<const TraceEvent*> leftOutPlaces(const Trace& trace) {
    std::unordered_map<std::string, std::set<std::string>> taken; // nodes of places, by rule
    for (const TraceEvent& event : trace.events)
        if (event.applied())
            taken[event.rule].insert(event.nodes.begin(), event.nodes.end());
    std::vector<const TraceEvent*> out;
    for (const TraceEvent& event : trace.events) {
        if (event.kind != TraceEvent::Kind::Refused || event.reason.code != code::gate)
            continue;
        std::set<std::string>& nodes = taken[event.rule];
        if (std::any_of(event.nodes.begin(), event.nodes.end(),
                        [&](const std::string& node) { return nodes.count(node) != 0; }))
            continue;
        nodes.insert(event.nodes.begin(), event.nodes.end());
        out.push_back(&event);
    }
    return out;
}

} // namespace fuselage
