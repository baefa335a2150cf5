// SPDX-License-Identifier: Apache-2.0
// Phase 6b, second half: what sweeps cost by the model of core/cost, and the cheapest way to cut a
// plan into sweeps and single steps. Times are those of bytes and launches only: the arithmetic is
// the same either way, and a core mostly waits for bytes that it finds in no cache.
#include "core/cost/decision.h"
#include "core/plan/sweep_internal.h"

#include <algorithm>
#include <limits>
#include <map>

namespace fuselage::planner {

namespace {

constexpr uint32_t mostSteps = 64;
/// Longer plans get shorter sweeps, so that choosing stays quick.
constexpr uint32_t stepsTimesLength = 80'000;

class SweepCost {
public:
    SweepCost(const Plan& plan, const std::vector<SweepStep>& steps,
              const std::vector<ValueSpan>& spans, uint32_t workers, const DeviceProfile& profile)
        : m_plan(plan), m_steps(steps), m_spans(spans), m_workers(workers), m_profile(profile) {
        for (const Step& step : plan.steps)
            m_whole.push_back(seconds(step.traffic) + profile.launchSeconds);
    }

    /// Of one step over the whole batch.
    double whole(uint32_t step) const { return m_whole[step]; }

    /// None when a program cannot be cut into passes of so many images.
    std::optional<Stretch> sweep(uint32_t first, uint32_t last, int64_t images);

private:
    double seconds(const Traffic& traffic) const {
        return static_cast<double>(traffic.dram) / m_profile.dramBandwidth +
               static_cast<double>(traffic.l2) / m_profile.l2Bandwidth;
    }

    const PassBytes* bytesOf(uint32_t step, int64_t images);
    double footprint(uint32_t first, uint32_t last, int64_t images);
    Traffic trafficOf(uint32_t step, uint32_t first, uint32_t last, int64_t images,
                      double footprint, std::map<uint32_t, double>& madeAt, double& moved);

    const Plan& m_plan;
    const std::vector<SweepStep>& m_steps;
    const std::vector<ValueSpan>& m_spans;
    double m_workers;
    const DeviceProfile& m_profile;
    std::vector<double> m_whole;
    std::map<std::pair<uint32_t, int64_t>, std::optional<PassBytes>> m_bytes;
};

const PassBytes* SweepCost::bytesOf(uint32_t step, int64_t images) {
    auto [at, isNew] = m_bytes.try_emplace({step, images});
    if (isNew)
        if (auto slice = sliceImages(m_plan.steps[step].program, images))
            at->second = passBytes(slice->program, m_profile);
    return at->second ? &*at->second : nullptr;
}

/// Distinct bytes that a pass of every worker touches: what is shared, and the most that any step
/// needs of what goes along with the images, since inner values share memory.
double SweepCost::footprint(uint32_t first, uint32_t last, int64_t images) {
    double shared = 0, own = 0;
    for (uint32_t i = first; i <= last; ++i) {
        const PassBytes& bytes = *bytesOf(i, images);
        double live = 0;
        for (size_t k = 0; k < m_steps[i].inputs.size(); ++k)
            (m_steps[i].inputs[k].each ? live : shared) += bytes.read[k];
        for (double written : bytes.written)
            live += written;
        own = std::max(own, live);
    }
    return shared + m_workers * own;
}

Traffic SweepCost::trafficOf(uint32_t step, uint32_t first, uint32_t last, int64_t images,
                             double footprint, std::map<uint32_t, double>& madeAt, double& moved) {
    const PassBytes& bytes = *bytesOf(step, images);
    const SweepStep& operands = m_steps[step];
    const double passes = static_cast<double>(operands.images / images);
    double l2 = 0, dram = 0, here = 0;
    for (size_t k = 0; k < operands.inputs.size(); ++k) {
        const auto [root, each] = operands.inputs[k];
        const double size = bytes.read[k];
        l2 += size * bytes.passes[k] * passes;
        const auto made = madeAt.find(root);
        const double total = each ? size * passes : size;
        if (made != madeAt.end()) // by a step before, for the same images
            dram += passes * size * missShare(moved - made->second, size, m_profile);
        else if (each)
            dram += total * (m_spans[root].made < 0 ? 1 : missShare(0, total, m_profile));
        else // from memory once, then from where the pass before left it
            dram += size * (1 + (passes - 1) * missShare(footprint - size, size, m_profile));
        here += each ? m_workers * size : size;
    }
    for (size_t k = 0; k < operands.outputs.size(); ++k) {
        const uint32_t root = operands.outputs[k].root;
        const double size = bytes.written[k];
        const ValueSpan& span = m_spans[root];
        const bool inner = span.mayBeInner && span.made >= first && span.lastUse <= last;
        const double missed = inner ? missShare(footprint - size, size, m_profile)
                                    : missShare(0, size * passes, m_profile);
        l2 += size * passes;
        dram += 2 * size * passes * missed;
        here += m_workers * size;
    }
    moved += here;
    for (const SweepOperand& output : operands.outputs)
        madeAt[output.root] = moved;
    Traffic out = m_plan.steps[step].traffic;
    out.l2 = static_cast<int64_t>(l2);
    out.dram = static_cast<int64_t>(dram);
    return out;
}

std::optional<Stretch> SweepCost::sweep(uint32_t first, uint32_t last, int64_t images) {
    const int64_t passes = m_steps[last].images / images;
    for (uint32_t i = first; i <= last; ++i)
        if (!bytesOf(i, images))
            return std::nullopt;
    Stretch out{first, last, images, 0, 0, {}};
    const double bytes = footprint(first, last, images);
    std::map<uint32_t, double> madeAt;
    double moved = 0;
    for (uint32_t i = first; i <= last; ++i) {
        out.traffic.push_back(trafficOf(i, first, last, images, bytes, madeAt, moved));
        out.seconds += seconds(out.traffic.back()) +
                       m_profile.launchSeconds * static_cast<double>(passes) / m_workers;
        out.wholeSeconds += m_whole[i];
    }
    return out;
}

/// Images of a pass: powers of two that leave every worker as many passes as the others, and all of
/// them at a time a quarter of the batch at most: inner values shall need less memory, not more.
std::vector<int64_t> passSizes(int64_t images, uint32_t workers) {
    std::vector<int64_t> out;
    for (int64_t size = 1; 4 * size * workers <= images; size *= 2)
        if (images % (size * workers) == 0)
            out.push_back(size);
    return out;
}

} // namespace

StretchChoice chooseStretches(const Plan& plan, const std::vector<SweepStep>& steps,
                              const std::vector<ValueSpan>& spans, uint32_t workers,
                              const DeviceProfile& profile) {
    SweepCost cost(plan, steps, spans, workers, profile);
    const auto count = static_cast<uint32_t>(steps.size());
    const uint32_t longest = std::clamp(stepsTimesLength / std::max(count, 1U), 4U, mostSteps);
    std::vector<double> best(count + 1, 0);
    std::vector<std::optional<Stretch>> chosen(count + 1);
    StretchChoice out;
    auto saved = [](const Stretch& stretch) { return stretch.wholeSeconds - stretch.seconds; };
    for (uint32_t end = 1; end <= count; ++end) {
        const uint32_t last = end - 1;
        best[end] = best[last] + cost.whole(last);
        if (steps[last].images == 0)
            continue;
        const auto sizes = passSizes(steps[last].images, workers);
        for (uint32_t first = last; first-- > steps[last].begin && end - first <= longest;)
            for (int64_t size : sizes) {
                auto sweep = cost.sweep(first, last, size);
                if (!sweep)
                    continue;
                if (!preferred({sweep->wholeSeconds, sweep->seconds}, least_share::sweep)) {
                    if (!out.lost || saved(*sweep) > saved(*out.lost))
                        out.lost = std::move(sweep);
                    continue;
                }
                if (best[first] + sweep->seconds >= best[end])
                    continue;
                best[end] = best[first] + sweep->seconds;
                chosen[end] = std::move(sweep);
            }
    }
    for (uint32_t end = count; end > 0;) {
        if (!chosen[end]) {
            --end;
            continue;
        }
        out.taken.push_back(std::move(*chosen[end]));
        end = out.taken.back().first;
    }
    std::reverse(out.taken.begin(), out.taken.end());
    return out;
}

} // namespace fuselage::planner
