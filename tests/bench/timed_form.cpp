// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/timed_form.h"

#include "app/pipeline/inputs.h"
#include "tests/bench/processor_time.h"

#include <algorithm>

namespace fuselage::bench {

TimedForm::TimedForm(const Graph& graph, app::Form form)
    : m_profile(*deviceProfile("cpu")), m_backend(makeCpuBackend({1})) {
    Progress progress;
    app::PlanRequest request;
    request.profile = &m_profile;
    request.backend = m_backend.get();
    m_plan =
        app::planSide(std::make_shared<const Graph>(graph.clone()), form, request, progress)->plan;
    m_executable = std::move(*m_backend->prepare(m_plan, progress));
    m_inputs = *app::generateInputs(graph, 1);
}

double TimedForm::seconds(int runs) {
    Progress progress;
    const double begin = processorSeconds();
    for (int i = 0; i < runs; ++i)
        (void)m_executable->outputs(m_inputs, progress);
    return (processorSeconds() - begin) / runs;
}

double ratioOf(TimedForm& unfused, TimedForm& fused, const Turns& turns) {
    unfused.seconds(3);
    fused.seconds(3);
    const int runs = std::max(1, static_cast<int>(turns.secondsOfATurn / unfused.seconds(3)));
    std::vector<double> out;
    for (int i = 0; i < turns.turns; ++i) {
        const double base = unfused.seconds(runs);
        out.push_back(fused.seconds(runs) / base);
    }
    std::nth_element(out.begin(), out.begin() + turns.turns / 2, out.end());
    return out[static_cast<size_t>(turns.turns / 2)];
}

} // namespace fuselage::bench
