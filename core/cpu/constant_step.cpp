// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/constant_step.h"

#include "core/plan/backend.h"

namespace fuselage::cpu {

std::vector<TensorPtr> computeConstants(const Plan& plan, const Step& step, Kernel* kernel,
                                        const std::vector<TensorPtr>& constants, Threads& threads) {
    std::vector<TensorPtr> out;
    if (kernel) {
        Operands operands;
        for (const TensorPtr& constant : constants)
            operands.inputs.push_back(constant->bytes());
        for (uint32_t output : step.outputs) {
            const PlanValue& value = plan.values[output];
            auto made = std::make_shared<Tensor>(value.dtype, value.extents);
            operands.outputs.push_back(made->bytes());
            out.push_back(std::move(made));
        }
        RunContext context{threads};
        kernel->run(operands, context);
        return context.error ? std::vector<TensorPtr>() : out;
    }
    std::vector<ReferenceValue> inputs;
    for (const TensorPtr& constant : constants)
        inputs.push_back(ReferenceValue::from(*constant));
    ThreadPool pool(threads.count());
    Progress progress;
    auto results = interpret(*step.program.body, std::move(inputs), pool, progress);
    if (results)
        for (const ReferenceValue& result : *results)
            out.push_back(std::make_shared<Tensor>(result.toTensor()));
    return out;
}

} // namespace fuselage::cpu
