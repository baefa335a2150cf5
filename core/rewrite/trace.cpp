// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/trace.h"

namespace fuselage {

uint32_t Trace::applied(const std::string& rule) const {
    uint32_t sum = 0;
    for (const RuleCount& entry : counts)
        if (entry.rule == rule)
            sum += entry.applied;
    return sum;
}

RuleCount& Trace::count(const std::string& rule, const std::string& phase) {
    for (RuleCount& entry : counts)
        if (entry.rule == rule && entry.phase == phase)
            return entry;
    return counts.emplace_back(RuleCount{rule, phase});
}

} // namespace fuselage
