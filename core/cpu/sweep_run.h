// SPDX-License-Identifier: Apache-2.0
// The steps of a sweep: kernels prepared for the images of one pass, run by workers that take
// passes of their own. Each worker has memory of its own for inner values, and shares the kernels.
#pragma once

#include "core/cpu/kernel.h"
#include "core/cpu/value_store.h"

namespace fuselage::cpu {

class SweepRun {
public:
    /// The first step that has no kernel for the images of a pass refuses the whole sweep: error of
    /// that step.
    static Result<std::unique_ptr<SweepRun>> prepare(const Plan& plan, const Sweep& sweep,
                                                     const Threads& threads, Choices& choices);

    /// Adds to `seconds` (of the plan's steps, where set) what each step took, shared by the
    /// workers.
    void run(ValueStore& values, std::vector<double>* seconds, const Progress& progress);

    /// Of a step over all passes.
    HiddenWork hiddenWork(uint32_t step) const {
        HiddenWork out = kernel(step).hidden;
        out.scratchBytes *= static_cast<int64_t>(m_workers.size());
        out.passedBytes *= m_sweep.passes;
        return out;
    }

    const Kernel& kernel(uint32_t step) const { return *m_steps[step - m_sweep.first].kernel; }

private:
    /// How the memory of an operand is found.
    struct Operand {
        uint32_t value = 0;
        bool inner = false;
        int64_t step = 0; ///< bytes from one pass to the next
    };

    struct SweepStep {
        std::unique_ptr<Kernel> kernel;
        std::vector<Operand> inputs, outputs;
    };

    explicit SweepRun(const Sweep& sweep);
    Result<SweepStep> prepareStep(const Plan& plan, uint32_t index, Choices& choices);
    void runPass(const std::vector<Operands>& first, size_t worker, int64_t pass,
                 std::vector<double>* seconds);

    const Sweep& m_sweep;
    Threads m_team;
    std::vector<std::unique_ptr<Threads>> m_workers; ///< one thread each: its scratch memory
    std::vector<SweepStep> m_steps;
};

} // namespace fuselage::cpu
