// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/lint/lint_internal.h"

#include <algorithm>

namespace fuselage::app {

RulesByOperator::RulesByOperator(const RuleIndex& index) : m_index(index) {
    for (size_t i = 0; i < index.rules().size(); ++i) {
        const std::vector<OpSet> needs = neededOps(index.rules()[i]->rule());
        const auto fewest =
            std::min_element(needs.begin(), needs.end(),
                             [](const OpSet& a, const OpSet& b) { return a.count() < b.count(); });
        if (fewest == needs.end())
            m_always.push_back(i);
        else
            forOps(*fewest, [&](Op op) { m_rules[static_cast<size_t>(op)].push_back(i); });
    }
}

std::vector<size_t> RulesByOperator::mayMatch(const OpSet& present) const {
    std::vector<size_t> out = m_always;
    forOps(present, [&](Op op) {
        for (const size_t rule : m_rules[static_cast<size_t>(op)])
            if (m_index.rules()[rule]->mayMatch(present))
                out.push_back(rule);
    });
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

} // namespace fuselage::app
