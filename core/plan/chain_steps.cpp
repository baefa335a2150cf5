// SPDX-License-Identifier: Apache-2.0
// Phase 5b of planning: two layers in one launch, and the row in front of them. The hidden value of
// such a pair is the largest of its network and nobody else wants it; where a device has a kernel
// that keeps it in registers, the model says whether that pays. Rows that such a kernel multiplies
// lie whole in its registers, so it can make them too. Then what is left of rows: where all that
// reads one are products of so few rows that their kernels can make them again, there is no row.
// The steps are chosen with their layouts, so that a kernel can say whether it takes them.
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
        uint32_t writers = 0;
        size_t writer = 0;
        std::vector<size_t> readers; ///< steps, each as often as it reads it
        bool isBare = true;          ///< no view of it, and no view itself
    };

    /// What one kernel takes the place of a row and its readers by, at those.
    struct Wholes {
        std::vector<Step> steps;
        std::vector<size_t> at;
    };

    void findUses();
    void findPrices();
    bool passes(const Uses& uses, uint32_t value) const;
    bool mayChain(const Step& step) const;
    std::optional<uint32_t> rowsOf(const Step& second) const;
    std::optional<size_t> makerFor(size_t second) const;
    std::optional<size_t> taken(size_t second);
    std::optional<Step> whole(size_t first, size_t second) const;
    std::optional<Step> offer(size_t first, size_t second);
    bool mayRepeat(size_t row) const;
    std::optional<Wholes> offerAgain(size_t row);
    void chainPairs();
    void repeatRows();
    void remove(const std::vector<bool>& gone);
    Step joined(const Step& first, const Step& second, KernelProgram program) const;
    UseDistances distancesOf(const Step& whole, size_t first, size_t second) const;

    Plan& m_plan;
    const PlanOptions& m_options;
    const Progress& m_progress;
    std::vector<Uses> m_uses; ///< by value
    std::vector<UseDistances> m_distances;
};

void Chainer::findUses() {
    m_uses.assign(m_plan.values.size(), {});
    for (uint32_t i = 0; i < m_plan.values.size(); ++i)
        if (m_plan.values[i].residence == Residence::Alias) {
            m_uses[i].isBare = false;
            m_uses[rootOf(m_plan, i)].isBare = false;
        }
    for (size_t i = 0; i < m_plan.steps.size(); ++i) {
        for (uint32_t input : m_plan.steps[i].inputs)
            m_uses[input].readers.push_back(i);
        for (uint32_t output : m_plan.steps[i].outputs) {
            ++m_uses[output].writers;
            m_uses[output].writer = i;
        }
    }
}

void Chainer::findPrices() {
    predictSteps(m_plan, *m_options.profile, m_options.backend, &m_progress);
    m_distances = distancesByMaker(m_plan, *m_options.profile);
}

/// One step makes it for steps alone, as it lies.
bool Chainer::passes(const Uses& uses, uint32_t value) const {
    return m_plan.values[value].residence == Residence::Arena && uses.isBare && uses.writers == 1;
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
    if (!passes(uses, *rows) || uses.readers.size() != 1)
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

/// The two as one step with its price, where a kernel takes it.
std::optional<Step> Chainer::whole(size_t first, size_t second) const {
    const Step &one = m_plan.steps[first], &two = m_plan.steps[second];
    auto made = chained(one.program, two.program);
    auto* program = std::get_if<KernelProgram>(&made);
    if (!program)
        return std::nullopt;
    Step out = joined(one, two, std::move(*program));
    if (m_options.backend->supports(out.program) || m_options.backend->isForHost(m_plan, out))
        return std::nullopt;
    out.traffic = predictTraffic(out.program, *m_options.profile, distancesOf(out, first, second));
    out.predicted = predictStep(m_plan, out, out.traffic, {*m_options.profile, m_options.backend});
    return out;
}

GroupRecord recordOf(const Decision& decision, const char* what, const char* asOne) {
    GroupRecord out;
    const std::string apart = fmt::format("{:.4g}", decision.unfusedSeconds * 1e6);
    const std::string together = fmt::format("{:.4g}", decision.fusedSeconds * 1e6);
    out.reason = {"cost",
                  fmt::format("{}: predicted {} us, {} {} us", what, apart, asOne, together),
                  "",
                  {{"apart_us", apart}, {"one_us", together}}};
    return out;
}

/// The two as one step, where a kernel takes it and it is predicted to be faster; a record of what
/// decided where there is a kernel.
std::optional<Step> Chainer::offer(size_t first, size_t second) {
    auto out = whole(first, second);
    if (!out)
        return std::nullopt;
    const Step &one = m_plan.steps[first], &two = m_plan.steps[second];
    const Decision decision = decideFusion(out->predicted, {one.predicted, two.predicted});
    GroupRecord record = recordOf(decision,
                                  std::holds_alternative<Row>(one.program.code)
                                      ? "two products of rows that another kernel makes"
                                      : "a product of what another one makes",
                                  "as one that keeps it");
    record.name = out->name;
    record.members = {one.name, two.name};
    record.taken = preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::chain);
    m_plan.groups.push_back(record);
    return record.taken ? std::move(out) : std::nullopt;
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

/// A row that others read as it lies, several of them only where work may be done again.
bool Chainer::mayRepeat(size_t row) const {
    const Step& step = m_plan.steps[row];
    if (!std::holds_alternative<Row>(step.program.code) || !mayChain(step) ||
        step.outputs.size() != 1)
        return false;
    const Uses& uses = m_uses[step.outputs[0]];
    auto isProduct = [&](size_t reader) {
        const Step& other = m_plan.steps[reader];
        return std::holds_alternative<Contraction>(other.program.code) && mayChain(other);
    };
    return passes(uses, step.outputs[0]) && !uses.readers.empty() &&
           (uses.readers.size() == 1 || m_options.recompute) &&
           std::all_of(uses.readers.begin(), uses.readers.end(), isProduct);
}

/// Each of its readers with the row in front, all of them or none; a record where all have kernels.
/// Only what changes is compared: the row with what its readers take longer, whose products are the
/// same.
std::optional<Chainer::Wholes> Chainer::offerAgain(size_t row) {
    if (!mayRepeat(row))
        return std::nullopt;
    const Step& step = m_plan.steps[row];
    Wholes out;
    std::vector<TimeEstimate> apart = {step.predicted};
    TimeEstimate together;
    std::vector<std::string> members = {step.name};
    std::string name = step.name;
    for (const size_t reader : m_uses[step.outputs[0]].readers) {
        auto made = whole(row, reader);
        if (!made)
            return std::nullopt;
        together += made->predicted;
        apart.push_back(m_plan.steps[reader].predicted);
        members.push_back(m_plan.steps[reader].name);
        name += " + " + members.back();
        out.steps.push_back(std::move(*made));
        out.at.push_back(reader);
    }
    const Decision decision = decideFusion(together, apart);
    GroupRecord record = recordOf(
        decision,
        fmt::format("{} of rows that another kernel makes",
                    out.at.size() == 1 ? "a product" : fmt::format("{} products", out.at.size()))
            .c_str(),
        out.at.size() == 1 ? "as one that makes them" : "as ones that each make them");
    record.name = std::move(name);
    record.members = std::move(members);
    record.taken = preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::rows,
                             step.predicted.seconds);
    m_plan.groups.push_back(record);
    return record.taken ? std::optional(std::move(out)) : std::nullopt;
}

void Chainer::remove(const std::vector<bool>& gone) {
    std::vector<Step> steps;
    for (size_t i = 0; i < gone.size(); ++i)
        if (!gone[i])
            steps.push_back(std::move(m_plan.steps[i]));
    m_plan.steps = std::move(steps);
}

void Chainer::chainPairs() {
    findUses();
    bool any = false;
    for (size_t i = 0; i < m_plan.steps.size() && !any; ++i)
        any = makerFor(i).has_value();
    if (!any)
        return;
    findPrices();
    std::vector<bool> gone(m_plan.steps.size(), false);
    for (size_t i = 0; i < m_plan.steps.size() && !m_progress.cancelled(); ++i)
        while (const auto first = taken(i)) // two products, then what makes their rows
            gone[*first] = true;
    remove(gone);
}

void Chainer::repeatRows() {
    findUses();
    bool any = false;
    for (size_t i = 0; i < m_plan.steps.size() && !any; ++i)
        any = mayRepeat(i);
    if (!any)
        return;
    findPrices();
    std::vector<bool> gone(m_plan.steps.size(), false);
    for (size_t i = 0; i < m_plan.steps.size() && !m_progress.cancelled(); ++i) {
        auto wholes = offerAgain(i);
        for (size_t k = 0; wholes && k < wholes->at.size(); ++k) {
            Step& step = wholes->steps[k];
            if (k > 0) { // a node is the model's once
                const Step& reader = m_plan.steps[wholes->at[k]];
                step.recomputed.insert(step.recomputed.end(), m_plan.steps[i].sources.begin(),
                                       m_plan.steps[i].sources.end());
                step.sources = reader.sources;
                step.rule = reader.rule;
            }
            m_plan.steps[wholes->at[k]] = std::move(step);
            gone[i] = true;
        }
    }
    remove(gone);
}

void Chainer::run() {
    chainPairs();
    repeatRows();
}

} // namespace

void chainSteps(Plan& plan, const PlanOptions& options, const Progress& progress) {
    // A processor's caches hold what passes between two steps, or sweeps see to it.
    if (options.profile->kind == DeviceKind::Gpu && options.backend)
        Chainer(plan, options, progress).run();
}

} // namespace fuselage::planner
