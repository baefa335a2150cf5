// SPDX-License-Identifier: Apache-2.0
#include "core/cost/decision.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

double memorySeconds(const TimeEstimate& estimate) {
    return std::max(estimate.dram, estimate.l2);
}

double computeSeconds(const TimeEstimate& estimate) {
    return std::max(estimate.issue, estimate.matrix);
}

GainBars barsOf(const TimeEstimate& fused, const std::vector<TimeEstimate>& parts) {
    GainBars out;
    double gain = -fused.seconds;
    out.traffic = -memorySeconds(fused);
    out.launch = -fused.launch;
    out.compute = -computeSeconds(fused);
    for (const TimeEstimate& part : parts) {
        gain += part.seconds;
        out.traffic += memorySeconds(part);
        out.launch += part.launch;
        out.compute += computeSeconds(part);
    }
    out.overlap = gain - out.traffic - out.launch - out.compute;
    return out;
}

std::string microseconds(double seconds) {
    return fmt::format("{:.2f}", seconds * 1e6);
}

} // namespace

const char* nameOf(Verdict verdict) {
    constexpr const char* names[] = {"fuse", "keep", "measure"};
    return names[static_cast<size_t>(verdict)];
}

bool preferred(const PricedChange& change, double leastShare, std::optional<double> of) {
    const double saved = change.before - change.after;
    return saved > leastShare * of.value_or(change.before) &&
           (saved > change.error || change.bytesSaved >= 0);
}

Decision decideFusion(const TimeEstimate& fused, const std::vector<TimeEstimate>& parts) {
    Decision out;
    double low = 0, high = 0;
    for (const TimeEstimate& part : parts) {
        out.unfusedSeconds += part.seconds;
        low += part.low;
        high += part.high;
    }
    out.fusedSeconds = fused.seconds;
    out.bars = barsOf(fused, parts);
    const double margin = std::max(0.01 * out.unfusedSeconds, 0.3e-6);
    out.error = (out.unfusedSeconds - low) + (fused.high - fused.seconds) + margin;
    if (fused.high + margin < low)
        out.verdict = Verdict::Fuse;
    else if (fused.low >= high)
        out.verdict = Verdict::Keep;
    out.reason.code = "cost";
    out.reason.message = fmt::format("fused {} us, unfused {} us: {}", microseconds(fused.seconds),
                                     microseconds(out.unfusedSeconds), nameOf(out.verdict));
    out.reason.facts = {{"fused_us", microseconds(fused.seconds)},
                        {"unfused_us", microseconds(out.unfusedSeconds)},
                        {"traffic_us", microseconds(out.bars.traffic)},
                        {"launch_us", microseconds(out.bars.launch)},
                        {"compute_us", microseconds(out.bars.compute)},
                        {"overlap_us", microseconds(out.bars.overlap)}};
    if (out.verdict == Verdict::Keep)
        out.reason.flip = out.bars.compute < 0 ? "fuse less work that is repeated or expensive"
                                               : "fuse only where a value is read soon after";
    return out;
}

PricedChange changeOf(const Decision& decision, double bytesSaved) {
    return {decision.unfusedSeconds, decision.fusedSeconds, decision.error, bytesSaved};
}

} // namespace fuselage
