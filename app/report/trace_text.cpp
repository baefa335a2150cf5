// SPDX-License-Identifier: Apache-2.0
#include "app/report/trace_text.h"

#include "app/report/escape.h"
#include "core/support/text.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

std::string reasonText(const Reason& reason) {
    std::string out = "  = " + visible(reason.message) + "\n";
    return reason.flip.empty() ? out : out + "  = " + visible(reason.flip) + "\n";
}

/// Names of nodes and values, which are no lines of their own.
std::string namesText(const std::vector<std::string>& names) {
    return visible(joined(names));
}

} // namespace

std::string text(const TraceEvent& event, TracePlaces places) {
    std::string rule = places == TracePlaces::Hidden
                           ? event.rule
                           : fmt::format("{} ({}:{})", event.rule, event.file, event.line);
    std::string labels = event.labels.empty() ? "" : " as " + namesText(event.labels);
    switch (event.kind) {
    case TraceEvent::Kind::Fused:
        return fmt::format("fused by {} into {}{}: {}\n", rule, namesText(event.made), labels,
                           namesText(event.nodes));
    case TraceEvent::Kind::Rewritten:
        return fmt::format("rewritten by {} in phase {}: {}\n", rule, event.phase,
                           namesText(event.nodes));
    case TraceEvent::Kind::Refused:
        return fmt::format("refused[{}]: {}: {}\n", event.reason.code, rule,
                           namesText(event.nodes)) +
               reasonText(event.reason);
    case TraceEvent::Kind::Stopped:
        return fmt::format("phase {} stopped\n", event.phase) + reasonText(event.reason);
    }
    return {};
}

std::string text(const NearMiss& miss) {
    return fmt::format("miss[{}]: {}: {} of {} steps, at {}\n", miss.reason.code, miss.rule,
                       miss.step, miss.steps, visible(miss.node)) +
           reasonText(miss.reason);
}

} // namespace fuselage::app
