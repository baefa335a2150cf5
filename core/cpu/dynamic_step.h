// SPDX-License-Identifier: Apache-2.0
// Steps whose shapes depend on data: once the inputs of a run are there, their shapes are known, so
// the body can be lowered and prepared like any other. Worth it only where there is much to
// compute.
#pragma once

#include "core/cpu/kernel.h"
#include "core/ops/reference_value.h"
#include "core/plan/plan.h"

namespace fuselage::cpu {

class DynamicStep {
public:
    /// constants: per input of the step, null where it varies.
    DynamicStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants);

    /// The outputs, or none when the reference function is the better way for these inputs. Of
    /// constant inputs only dtype and extents are read.
    std::optional<Result<std::vector<ReferenceValue>>>
    run(const std::vector<ReferenceValue>& inputs, Threads& threads, NumericClass allowed);

    /// The kernel of the last run; null when it was the reference function.
    const Kernel* kernel() const { return m_kernel.get(); }

private:
    PrepareContext contextOf(const KernelProgram& program, Threads& threads,
                             NumericClass allowed) const;
    bool prepare(const std::vector<ReferenceValue>& inputs, Threads& threads, NumericClass allowed);

    std::shared_ptr<const Graph> m_body;
    std::vector<TensorPtr> m_constants;
    std::vector<std::pair<DType, Extents>>
        m_shapes; ///< of the inputs that the kernel was prepared for
    std::optional<KernelProgram> m_program;
    std::unique_ptr<Kernel> m_kernel; ///< null: reference
};

} // namespace fuselage::cpu
