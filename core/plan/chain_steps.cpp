// SPDX-License-Identifier: Apache-2.0
// Phase 5b of planning: two layers in one launch, and the row in front of them. The hidden value of
// such a pair is the largest of its network and nobody else wants it; where a device has a kernel
// that keeps it in registers, the model says whether that pays. Rows that such a kernel multiplies
// lie whole in its registers, so it can make them too. The steps are chosen with their layouts, so
// that a kernel can say whether it takes them.
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
    Chainer(Plan& plan, const PlanOptions& options, const Progress& progress)
        : m_plan(plan), m_options(options), m_progress(progress) {}

    void run();

private:
    struct Uses {
        uint32_t writers = 0, readers = 0;
        size_t writer = 0;
        bool isBare = true; ///< no view of it, and no view itself
    };

    void findUses();
    bool mayChain(const Step& step) const;
    std::optional<uint32_t> rowsOf(const Step& second) const;
    std::optional<size_t> makerFor(size_t second) const;
    std::optional<size_t> taken(size_t second);
    std::optional<Step> offer(size_t first, size_t second);
    Step joined(const Step& first, const Step& second, KernelProgram program) const;
    UseDistances distancesOf(const Step& whole, size_t first, size_t second) const;

    Plan& m_plan;
    const PlanOptions& m_options;
    const Progress& m_progress;
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

/// It keeps no order of sums, in a run.
bool Chainer::mayChain(const Step& step) const {
    return !step.strict && !step.tf32 && step.allowed >= NumericClass::Reassociated &&
           !m_plan.isOnce(step);
}

/// The value whose rows a product multiplies, or the first one of a chain.
std::optional<uint32_t> Chainer::rowsOf(const Step& second) const {
    const auto* chain = std::get_if<Chain>(&second.program.code);
    const auto* product =
        chain ? &productOf(*chain, 0) : std::get_if<Contraction>(&second.program.code);
    if (!product || (chain && fuselage::rowsOf(*chain)))
        return std::nullopt;
    return second.inputs[product->a.operand];
}

/// The step that makes the rows of this one and nothing else, for nobody else.
std::optional<size_t> Chainer::makerFor(size_t second) const {
    const Step& step = m_plan.steps[second];
    const auto rows = rowsOf(step);
    if (!rows || !mayChain(step))
        return std::nullopt;
    const Uses& uses = m_uses[*rows];
    const bool passes = m_plan.values[*rows].residence == Residence::Arena && uses.isBare &&
                        uses.writers == 1 && uses.readers == 1;
    if (!passes)
        return std::nullopt;
    const Step& first = m_plan.steps[uses.writer];
    const bool fits = std::holds_alternative<Chain>(step.program.code)
                          ? std::holds_alternative<Row>(first.program.code)
                          : std::holds_alternative<Contraction>(first.program.code);
    if (!fits || !mayChain(first) || first.outputs.size() != 1)
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
UseDistances Chainer::distancesOf(const Step& whole, size_t first, size_t second) const {
    UseDistances out;
    out.read = m_distances[first].read;
    const std::vector<int64_t>& more = m_distances[second].read;
    for (size_t i = 0; i < more.size(); ++i)
        if (i != linkOf(std::get<Chain>(whole.program.code)))
            out.read.push_back(more[i]);
    return out;
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
    whole.traffic =
        predictTraffic(whole.program, *m_options.profile, distancesOf(whole, first, second));
    whole.predicted =
        predictStep(m_plan, whole, whole.traffic, {*m_options.profile, m_options.backend});
    const Decision decision = decideFusion(whole.predicted, {one.predicted, two.predicted});
    GroupRecord record;
    record.name = whole.name;
    record.members = {one.name, two.name};
    record.taken = preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::chain);
    const std::string apart = fmt::format("{:.4g}", decision.unfusedSeconds * 1e6);
    const std::string together = fmt::format("{:.4g}", decision.fusedSeconds * 1e6);
    record.reason = {"cost",
                     fmt::format("{}: predicted {} us, as one that keeps it {} us",
                                 std::holds_alternative<Row>(one.program.code)
                                     ? "two products of rows that another kernel makes"
                                     : "a product of what another one makes",
                                 apart, together),
                     "",
                     {{"apart_us", apart}, {"one_us", together}}};
    m_plan.groups.push_back(record);
    return record.taken ? std::optional(std::move(whole)) : std::nullopt;
}

/// The step that became part of this one, if any does.
std::optional<size_t> Chainer::taken(size_t second) {
    const auto first = makerFor(second);
    auto whole = first ? offer(*first, second) : std::nullopt;
    if (!whole)
        return std::nullopt;
    m_distances[second] = distancesOf(*whole, *first, second);
    m_plan.steps[second] = std::move(*whole);
    return first;
}

void Chainer::run() {
    findUses();
    bool any = false;
    for (size_t i = 0; i < m_plan.steps.size() && !any; ++i)
        any = makerFor(i).has_value();
    if (!any)
        return;
    predictSteps(m_plan, *m_options.profile, m_options.backend, &m_progress);
    m_distances = distancesByMaker(m_plan, *m_options.profile);
    std::vector<bool> gone(m_plan.steps.size(), false);
    for (size_t i = 0; i < m_plan.steps.size() && !m_progress.cancelled(); ++i)
        while (const auto first = taken(i)) // two products, then what makes their rows
            gone[*first] = true;
    std::vector<Step> steps;
    for (size_t i = 0; i < gone.size(); ++i)
        if (!gone[i])
            steps.push_back(std::move(m_plan.steps[i]));
    m_plan.steps = std::move(steps);
}

} // namespace

void chainSteps(Plan& plan, const PlanOptions& options, const Progress& progress) {
    // A processor's caches hold what passes between two steps, or sweeps see to it.
    if (options.profile->kind == DeviceKind::Gpu && options.backend)
        Chainer(plan, options, progress).run();
}

} // namespace fuselage::planner
