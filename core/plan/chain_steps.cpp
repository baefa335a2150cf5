// SPDX-License-Identifier: Apache-2.0
// Phase 5b of planning: two layers in one launch. The hidden value of such a pair is the largest of
// its network and nobody else wants it; where a device has a kernel that keeps it in registers, the
// model says whether that pays. The steps are chosen with their layouts, so that a kernel can say
// whether it takes them.
#include "core/cost/decision.h"
#include "core/cost/time_model.h"
#include "core/kernel/chain.h"
#include "core/plan/planner_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::planner {

namespace {

class Chainer {
public:
    Chainer(Plan& plan, const PlanOptions& options) : m_plan(plan), m_options(options) {}

    void run();

private:
    struct Uses {
        uint32_t writers = 0, readers = 0;
        size_t writer = 0;
        bool isBare = true; ///< no view of it, and no view itself
    };

    void findUses();
    bool mayChain(const Step& step) const;
    std::optional<size_t> makerFor(size_t second) const;
    std::optional<Step> offer(size_t first, size_t second);
    Step joined(const Step& first, const Step& second, KernelProgram program) const;
    TimeEstimate timeOf(const Step& whole, size_t first, size_t second) const;

    Plan& m_plan;
    const PlanOptions& m_options;
    std::vector<Uses> m_uses; ///< by value
    std::vector<UseDistances> m_distances;
};

void Chainer::findUses() {
    m_uses.resize(m_plan.values.size());
    for (uint32_t i = 0; i < m_plan.values.size(); ++i)
        if (m_plan.values[i].residence == Residence::Alias) {
            m_uses[i].isBare = false;
            m_uses[rootOf(m_plan, i)].isBare = false;
        }
    for (size_t i = 0; i < m_plan.steps.size(); ++i) {
        for (uint32_t input : m_plan.steps[i].inputs)
            ++m_uses[input].readers;
        for (uint32_t output : m_plan.steps[i].outputs) {
            ++m_uses[output].writers;
            m_uses[output].writer = i;
        }
    }
}

/// A product that keeps no order of sums, in a run.
bool Chainer::mayChain(const Step& step) const {
    return std::holds_alternative<Contraction>(step.program.code) && !step.strict && !step.tf32 &&
           step.allowed >= NumericClass::Reassociated && !m_plan.isOnce(step);
}

/// The step that makes the rows of this one and nothing else, for nobody else.
std::optional<size_t> Chainer::makerFor(size_t second) const {
    const Step& step = m_plan.steps[second];
    if (!mayChain(step))
        return std::nullopt;
    const uint32_t rows = step.inputs[std::get<Contraction>(step.program.code).a.operand];
    const Uses& uses = m_uses[rows];
    const bool passes = m_plan.values[rows].residence == Residence::Arena && uses.isBare &&
                        uses.writers == 1 && uses.readers == 1;
    if (!passes || !mayChain(m_plan.steps[uses.writer]) ||
        m_plan.steps[uses.writer].outputs.size() != 1)
        return std::nullopt;
    return uses.writer;
}

Step Chainer::joined(const Step& first, const Step& second, KernelProgram program) const {
    Step out = second;
    out.name = first.name + " + " + second.name;
    const auto& chain = std::get<Chain>(program.code);
    out.inputs = first.inputs;
    for (uint32_t i = 0; i < second.inputs.size(); ++i)
        if (i != linkOf(chain))
            out.inputs.push_back(second.inputs[i]);
    for (auto list : {&Step::sources, &Step::recomputed}) {
        out.*list = first.*list;
        if (first.*list != second.*list) // parts of one fused node have all of its nodes
            (out.*list).insert((out.*list).end(), (second.*list).begin(), (second.*list).end());
    }
    out.rule = first.rule.empty() ? second.rule : first.rule;
    out.numeric = std::max(first.numeric, second.numeric);
    out.allowed = std::min(first.allowed, second.allowed);
    out.program = std::move(program);
    return out;
}

/// Its operands come from where they did before.
TimeEstimate Chainer::timeOf(const Step& whole, size_t first, size_t second) const {
    UseDistances distances;
    distances.read = m_distances[first].read;
    const std::vector<int64_t>& more = m_distances[second].read;
    for (size_t i = 0; i < more.size(); ++i)
        if (i != linkOf(std::get<Chain>(whole.program.code)))
            distances.read.push_back(more[i]);
    const Traffic traffic = predictTraffic(whole.program, *m_options.profile, distances);
    return predictTime(whole.program, traffic, *m_options.profile);
}

/// The two as one step, where a kernel takes it and it is predicted to be faster; a record of what
/// decided where there is a kernel.
std::optional<Step> Chainer::offer(size_t first, size_t second) {
    const Step &one = m_plan.steps[first], &two = m_plan.steps[second];
    auto made = chained(one.program, two.program);
    auto* program = std::get_if<KernelProgram>(&made);
    if (!program)
        return std::nullopt;
    Step whole = joined(one, two, std::move(*program));
    if (m_options.backend->supports(whole.program) || m_options.backend->isForHost(m_plan, whole))
        return std::nullopt;
    const Decision decision =
        decideFusion(timeOf(whole, first, second), {one.predicted, two.predicted});
    GroupRecord record;
    record.name = whole.name;
    record.members = {one.name, two.name};
    record.taken = preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::chain);
    const std::string apart = fmt::format("{:.4g}", decision.unfusedSeconds * 1e6);
    const std::string together = fmt::format("{:.4g}", decision.fusedSeconds * 1e6);
    record.reason = {"cost",
                     fmt::format("a product of what another one makes: predicted {} us, as one "
                                 "that keeps it {} us",
                                 apart, together),
                     "",
                     {{"apart_us", apart}, {"one_us", together}}};
    m_plan.groups.push_back(record);
    return record.taken ? std::optional(std::move(whole)) : std::nullopt;
}

void Chainer::run() {
    findUses();
    bool any = false;
    for (size_t i = 0; i < m_plan.steps.size() && !any; ++i)
        any = makerFor(i).has_value();
    if (!any)
        return;
    predictSteps(m_plan, *m_options.profile, m_options.backend);
    m_distances = distancesByMaker(m_plan, *m_options.profile);
    std::vector<bool> gone(m_plan.steps.size(), false);
    for (size_t i = 0; i < m_plan.steps.size(); ++i) {
        const auto first = makerFor(i);
        if (!first || gone[*first])
            continue;
        if (auto whole = offer(*first, i)) {
            m_plan.steps[i] = std::move(*whole);
            gone[*first] = true;
        }
    }
    std::vector<Step> steps;
    for (size_t i = 0; i < gone.size(); ++i)
        if (!gone[i])
            steps.push_back(std::move(m_plan.steps[i]));
    m_plan.steps = std::move(steps);
}

} // namespace

void chainSteps(Plan& plan, const PlanOptions& options) {
    // A processor's caches hold what passes between two steps, or sweeps see to it.
    if (options.profile->kind == DeviceKind::Gpu && options.backend)
        Chainer(plan, options).run();
}

} // namespace fuselage::planner
