// SPDX-License-Identifier: Apache-2.0
// Steps of a plan that only cast what a caller gives to a product.
#pragma once

#include "core/plan/plan.h"

#include <algorithm>
#include <variant>

namespace fuselage::test {

inline bool isElementwise(const KernelProgram& program) {
    const auto* group = std::get_if<Group>(&program.code);
    return group ? std::all_of(group->members.begin(), group->members.end(), isElementwise)
                 : std::holds_alternative<Pointwise>(program.code);
}

inline size_t inputCastsIn(const Plan& plan) {
    size_t out = 0;
    for (const Step& step : plan.steps) {
        if (plan.graph->node(step.node).op != Op::Cast ||
            !isElementwise(step.program) || // a cast beside something else
            plan.values[step.inputs[0]].residence != Residence::Input)
            continue;
        for (const Step& reader : plan.steps)
            if (const auto* product = std::get_if<Contraction>(&reader.program.code);
                product && (reader.inputs[product->a.operand] == step.outputs[0] ||
                            reader.inputs[product->b.operand] == step.outputs[0])) {
                ++out;
                break;
            }
    }
    return out;
}

} // namespace fuselage::test
