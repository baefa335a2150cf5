// SPDX-License-Identifier: Apache-2.0
// Second kernels, for one thread, of steps that threads share: prepared when they are first wanted,
// and used once they have given the same bytes. When they are wanted is ShareDecision's business.
#pragma once

#include "core/cpu/kernel.h"
#include "core/plan/plan.h"

#include <functional>
#include <map>

namespace fuselage::cpu {

class LoneSteps {
public:
    /// The step's kernel for these threads.
    using Prepare = std::function<KernelResult(Threads& one)>;

    /// Remembers how to prepare the step where a second kernel is worth its memory: quick steps
    /// with small weights, of so many bytes, that leave their inputs as they are.
    void offer(size_t index, const Plan& plan, size_t bytes, Prepare prepare);

    bool empty() const { return m_steps.empty(); }

    bool has(size_t index) const { return m_steps.count(index) != 0; }

    /// The step by its second kernel; as shared where that cannot be prepared or gave other bytes.
    /// False when this was the run that found out, and so took longer.
    bool run(size_t index, Kernel& shared, const Operands& operands, RunContext& context);

private:
    struct Lone {
        Prepare prepare;                ///< empty: it was done
        std::unique_ptr<Kernel> kernel; ///< null before, and where it is refused
        bool isProved = false;
        int attempts = 4; ///< to prove it, since what is all zero says nothing
        std::vector<size_t> outputBytes;
    };

    /// After the shared kernel wrote the outputs.
    void prove(Lone& lone, const Kernel& shared, const Operands& operands);

    Threads m_one{1};
    std::map<size_t, Lone> m_steps;
    size_t m_bytes = 0; ///< of their weights
};

} // namespace fuselage::cpu
