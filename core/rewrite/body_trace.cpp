// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body_trace_internal.h"

#include <algorithm>
#include <iterator>

namespace fuselage {

namespace {

void put(const std::string& path, std::string& name) {
    if (!name.empty())
        name = path + name;
}

void put(const std::string& path, std::vector<std::string>& names) {
    for (std::string& name : names)
        put(path, name);
}

template <typename T> void append(std::vector<T>& to, std::vector<T> part) {
    if (to.empty())
        to = std::move(part);
    else
        std::move(part.begin(), part.end(), std::back_inserter(to));
}

} // namespace

EngineOptions optionsInside(const EngineOptions& options, const std::string& path) {
    EngineOptions out = options;
    out.disabled.clear();
    for (MatchKey key : options.disabled) {
        const bool inside =
            std::all_of(key.nodes.begin(), key.nodes.end(),
                        [&](const std::string& node) { return node.starts_with(path); });
        if (!inside)
            continue;
        for (std::string& node : key.nodes)
            node.erase(0, path.size());
        out.disabled.push_back(std::move(key));
    }
    return out;
}

Trace withPath(Trace trace, const std::string& path) {
    for (TraceEvent& event : trace.events) {
        put(path, event.nodes);
        put(path, event.made);
        for (TraceBinding& binding : event.bindings)
            put(path, binding.values);
        for (TracePoint& point : event.points) {
            put(path, point.value);
            for (TraceRead& read : point.reads) {
                put(path, read.node);
                put(path, read.sources);
            }
        }
    }
    for (NearMiss& miss : trace.nearMisses) {
        put(path, miss.anchor);
        put(path, miss.node);
        put(path, miss.bound);
    }
    return trace;
}

void append(Trace& to, Trace part) {
    append(to.events, std::move(part.events));
    append(to.nearMisses, std::move(part.nearMisses));
    for (const RuleCount& count : part.counts) {
        RuleCount& sum = to.count(count.rule, count.phase);
        sum.matched += count.matched;
        sum.applied += count.applied;
        sum.refused += count.refused;
    }
}

bool appliedAny(const Trace& trace) {
    return std::any_of(trace.events.begin(), trace.events.end(),
                       [](const TraceEvent& event) { return event.applied(); });
}

} // namespace fuselage
