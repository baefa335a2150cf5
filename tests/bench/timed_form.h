// SPDX-License-Identifier: Apache-2.0
// A graph planned and prepared in one form, fused or not, for benchmarks that time both in turns.
#pragma once

#include "app/pipeline/planned.h"

#include <memory>
#include <vector>

namespace fuselage::bench {

/// On the cpu backend, one thread.
class TimedForm {
public:
    TimedForm(const Graph& graph, app::Form form);

    /// Processor time of one of so many runs.
    double seconds(int runs);

    double predicted() const { return m_plan->totalPredicted().seconds; }
    const Plan& plan() const { return *m_plan; }

private:
    DeviceProfile m_profile;
    std::unique_ptr<Backend> m_backend;
    std::shared_ptr<const Plan> m_plan;
    std::unique_ptr<Executable> m_executable;
    std::vector<Tensor> m_inputs;
};

struct Turns {
    int turns = 15;
    double secondsOfATurn = 0.005;
};

/// Median over turns of the fused time over the unfused.
double ratioOf(TimedForm& unfused, TimedForm& fused, const Turns& turns = {});

} // namespace fuselage::bench
