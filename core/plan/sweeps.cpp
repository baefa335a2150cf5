// SPDX-License-Identifier: Apache-2.0
// Phase 6b of planning: sweeps. Finds the steps that can run for some images at a time, in which
// order-preserving stretches they can do so together, and makes the sweeps that pay by
// sweep_cost.cpp. A sweep changes no step: only when which part of it runs, and where values that
// live inside it lie.
#include "core/plan/sweep_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::planner {

namespace {

constexpr uint32_t never = std::numeric_limits<uint32_t>::max();

/// Elements from the first to one past the last of one image.
int64_t imageSpan(const PlanValue& value) {
    int64_t last = 0;
    for (size_t d = 1; d < value.extents.size(); ++d)
        last += (value.extents[d] - 1) * value.strides[d];
    return last + 1;
}

/// Whether the images of the value are parts of the images of the memory's owner, one after the
/// other.
bool liesByImages(const Plan& plan, uint32_t value) {
    const PlanValue& part = plan.values[value];
    const RootPlace place = placeOf(plan, value);
    const PlanValue& owner = plan.values[place.root];
    if (owner.extents.empty() || part.extents.empty() || owner.extents[0] != part.extents[0])
        return false;
    const int64_t step = owner.strides[0];
    return part.strides[0] == step && imageSpan(owner) <= step &&
           place.offset / static_cast<int64_t>(sizeOf(part.dtype)) + imageSpan(part) <= step;
}

class SweepFinder {
public:
    SweepFinder(Plan& plan, const PlanOptions& options)
        : m_plan(plan), m_options(options), m_spans(plan.values.size()),
          m_lastMade(plan.values.size(), -1) {}

    void run();

private:
    SweepStep describe(const Step& step) const;
    void noteUses(uint32_t number, const SweepStep& step);
    uint32_t beginOf(uint32_t number) const;
    void add(Stretch stretch, uint32_t workers);
    void note(const Stretch& stretch, int64_t passes, bool taken);

    Plan& m_plan;
    const PlanOptions& m_options;
    std::vector<SweepStep> m_steps;
    std::vector<ValueSpan> m_spans;
    std::vector<int64_t> m_lastMade; ///< by root, up to the step at hand
};

SweepStep SweepFinder::describe(const Step& step) const {
    SweepStep out;
    const int64_t images = imagesOf(step.program);
    std::optional<ImageSlice> slice;
    bool possible = images > 1 && !step.strict && !m_plan.isOnce(step);
    for (const auto* list : {&step.inputs, &step.outputs})
        for (uint32_t value : *list)
            possible = possible && m_plan.values[value].residence != Residence::Host;
    if (possible)
        slice = sliceImages(step.program, 1);
    if (slice && !m_options.backend->supports(slice->program))
        out.images = images;
    for (size_t i = 0; i < step.inputs.size(); ++i)
        out.inputs.push_back({rootOf(m_plan, step.inputs[i]), out.images > 0 && slice->inputs[i]});
    for (uint32_t output : step.outputs)
        out.outputs.push_back({rootOf(m_plan, output), out.images > 0});
    return out;
}

void SweepFinder::noteUses(uint32_t number, const SweepStep& step) {
    auto note = [&](const SweepOperand& operand, uint32_t value) {
        ValueSpan& span = m_spans[operand.root];
        span.lastUse = std::max(span.lastUse, number);
        span.mayBeInner = span.mayBeInner && operand.each && liesByImages(m_plan, value);
    };
    for (size_t i = 0; i < step.inputs.size(); ++i)
        note(step.inputs[i], m_plan.steps[number].inputs[i]);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        note(step.outputs[i], m_plan.steps[number].outputs[i]);
        ValueSpan& span = m_spans[step.outputs[i].root];
        if (span.made < 0)
            span.made = number;
    }
}

/// A step that reads all images of a value waits for all of them.
uint32_t SweepFinder::beginOf(uint32_t number) const {
    const SweepStep& step = m_steps[number];
    const bool goesOn = number > 0 && step.images > 0 && m_steps[number - 1].images == step.images;
    uint32_t begin = goesOn ? m_steps[number - 1].begin : number;
    for (const SweepOperand& input : step.inputs)
        if (!input.each)
            begin = std::max(begin, static_cast<uint32_t>(m_lastMade[input.root] + 1));
    return begin;
}

Reason reasonOf(const Stretch& stretch) {
    const std::string before = fmt::format("{:.0f}", stretch.wholeSeconds * 1e6);
    const std::string after = fmt::format("{:.0f}", stretch.seconds * 1e6);
    return {
        "cost",
        fmt::format("bytes and launches take {} us in passes of {} of the batch, {} us over the "
                    "whole batch, predicted",
                    after, stretch.images, before),
        "",
        {{"passes_us", after}, {"whole_us", before}}};
}

void SweepFinder::note(const Stretch& stretch, int64_t passes, bool taken) {
    m_plan.sweepOffers.push_back({m_plan.steps[stretch.first].name, m_plan.steps[stretch.last].name,
                                  stretch.images, passes, reasonOf(stretch), taken});
}

void SweepFinder::add(Stretch stretch, uint32_t workers) {
    Sweep sweep;
    sweep.first = stretch.first;
    sweep.last = stretch.last;
    sweep.images = stretch.images;
    sweep.passes = m_steps[stretch.last].images / stretch.images;
    sweep.workers = workers;
    sweep.traffic = std::move(stretch.traffic);
    for (uint32_t i = sweep.first; i <= sweep.last; ++i)
        sweep.slices.push_back(*sliceImages(m_plan.steps[i].program, sweep.images));
    for (uint32_t root = 0; root < m_spans.size(); ++root) {
        const ValueSpan& span = m_spans[root];
        if (span.mayBeInner && span.made >= sweep.first && span.lastUse <= sweep.last)
            m_plan.values[root].inner = true;
    }
    sweep.reason = reasonOf(stretch);
    note(stretch, sweep.passes, true);
    m_plan.sweeps.push_back(std::move(sweep));
}

void SweepFinder::run() {
    for (uint32_t root = 0; root < m_plan.values.size(); ++root)
        m_spans[root].mayBeInner = m_plan.values[root].residence == Residence::Arena;
    for (uint32_t i = 0; i < m_plan.steps.size(); ++i) {
        m_steps.push_back(describe(m_plan.steps[i]));
        noteUses(i, m_steps.back());
        m_steps.back().begin = beginOf(i);
        for (const SweepOperand& output : m_steps.back().outputs)
            m_lastMade[output.root] = i;
    }
    for (uint32_t output : m_plan.outputs)
        m_spans[rootOf(m_plan, output)].lastUse = never;
    const uint32_t workers = m_options.backend->sweepWorkers();
    StretchChoice choice = chooseStretches(m_plan, m_steps, m_spans, workers, *m_options.profile);
    if (choice.taken.empty() && choice.lost)
        note(*choice.lost, m_steps[choice.lost->last].images / choice.lost->images, false);
    for (Stretch& stretch : choice.taken)
        add(std::move(stretch), workers);
}

} // namespace

void findSweeps(Plan& plan, const PlanOptions& options) {
    if (!options.backend || options.backend->sweepWorkers() == 0)
        return;
    auto hasImages = [](const Step& step) { return imagesOf(step.program) > 1; };
    if (std::none_of(plan.steps.begin(), plan.steps.end(), hasImages))
        return;
    predictSteps(plan, *options.profile, options.backend);
    SweepFinder(plan, options).run();
}

} // namespace fuselage::planner
