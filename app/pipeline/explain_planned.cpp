// SPDX-License-Identifier: Apache-2.0
// One node of the model in the plan of the fused graph: the kernel that computes it, those that
// compute it again, or none, where what reads it reads through it.
#include "app/pipeline/explain_internal.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

bool isAmong(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

std::vector<std::string> plannedFor(const Plan& plan, const Graph& model, const std::string& name) {
    std::vector<std::string> in, again, out;
    for (const Step& step : plan.steps) {
        if (isAmong(step.sources, name)) {
            in.push_back("`" + step.name + "`");
            if (step.rule.empty() && step.sources.size() > 1)
                out.push_back(
                    fmt::format("{} runs in one kernel with others that no rule fused: {}", name,
                                joined(step.sources)));
        } else if (isAmong(step.recomputed, name)) {
            again.push_back("`" + step.name + "`");
        }
    }
    if (!again.empty())
        out.push_back(
            fmt::format("{} is computed again in {}, {}", name, joined(again),
                        in.empty() ? "so nobody writes it" : "besides the kernel that writes it"));
    if (!in.empty() || !again.empty())
        return out;
    for (NodeId id : model.nodes()) {
        const Node& node = model.node(id);
        if (node.name != name)
            continue;
        for (ValueId output : node.outputs)
            for (const PlanValue& value : plan.values)
                if (output.valid() && value.name == model.value(output).name &&
                    value.residence == Residence::Alias)
                    return {fmt::format("{} needs no launch: what reads `{}` reads `{}` in place",
                                        name, value.name, plan.values[value.aliasOf].name)};
        return {fmt::format("{} has no kernel of its own", name)};
    }
    return {};
}

} // namespace fuselage::app
