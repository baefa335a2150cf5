// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_step.h"

#include "core/plan/backend.h"

namespace fuselage::cpu {

std::vector<TensorPtr> computeConstants(const Plan& plan, const Step& step, Kernel& kernel,
                                        const std::vector<const std::byte*>& inputs,
                                        Threads& threads) {
    std::vector<TensorPtr> out;
    Operands operands;
    operands.inputs = inputs;
    for (uint32_t output : step.outputs) {
        const PlanValue& value = plan.values[output];
        auto made = std::make_shared<Tensor>(value.dtype, value.extents);
        operands.outputs.push_back(made->bytes());
        out.push_back(std::move(made));
    }
    RunContext context{threads};
    kernel.run(operands, context);
    return context.error ? std::vector<TensorPtr>() : out;
}

std::vector<TensorPtr> computeConstants(const Step& step, const std::vector<TensorPtr>& inputs,
                                        Threads& threads) {
    std::vector<ReferenceValue> values;
    for (const TensorPtr& input : inputs)
        values.push_back(ReferenceValue::from(*input));
    ThreadPool pool(threads.count());
    Progress progress;
    std::vector<TensorPtr> out;
    if (auto results = interpret(*step.program.body, std::move(values), pool, progress))
        for (const ReferenceValue& result : *results)
            out.push_back(std::make_shared<Tensor>(result.toTensor()));
    return out;
}

} // namespace fuselage::cpu
