// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/calibrate.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/probes.h"
#include "core/plan/step_work.h"
#include "core/support/parallel.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Cycles a second of one core: additions that wait for each other take one cycle each. What is
/// added is a register, since some processors add small constants without a cycle.
double measureClock() {
    constexpr int additions = 1 << 20, tries = 30;
    double best = 0;
    uint64_t one = 1;
    asm volatile("" : "+r"(one));
    for (int i = 0; i < tries; ++i) {
        uint64_t sum = static_cast<uint64_t>(i);
        const auto begin = Clock::now();
        for (int k = 0; k < additions; k += 8) {
            // The compiler must neither join the additions nor leave them out.
#define FUSELAGE_ADD                                                                               \
    sum += one;                                                                                    \
    asm volatile("" : "+r"(sum));
            FUSELAGE_ADD FUSELAGE_ADD FUSELAGE_ADD FUSELAGE_ADD FUSELAGE_ADD FUSELAGE_ADD
                FUSELAGE_ADD FUSELAGE_ADD
#undef FUSELAGE_ADD
        }
        const std::chrono::duration<double> took = Clock::now() - begin;
        best = std::max(best, additions / took.count());
    }
    return best;
}

/// What else the machine does comes and goes: each probe is measured at so many times, far apart.
constexpr int visits = 3;

/// Nothing when the probe is not one kernel on this backend.
Result<std::optional<MeasuredProbe>>
measureProbe(const Probe& probe, const CalibrateOptions& options, Progress& progress) {
    auto graph = probeGraph(probe);
    if (!graph)
        return failure(graph.error());
    auto inputs = generateInputs(*graph, 1);
    if (!inputs)
        return failure(inputs.error());
    CompileOptions compile;
    compile.backend = options.backend;
    compile.threads = options.threads;
    compile.profile = options.device;
    auto compiled = CompiledGraph::compile(std::move(*graph), compile);
    if (!compiled)
        return failure(compiled.error());
    auto seconds =
        fastestSteps(compiled->executable(), *inputs, options.seconds / visits, progress);
    if (!seconds)
        return failure(seconds.error());
    const Plan& plan = compiled->plan();
    auto step = probeStep(probe, plan);
    if (!step || *step >= seconds->size() || !((*seconds)[*step] > 0))
        return std::optional<MeasuredProbe>();
    const Step& measured = plan.steps[*step];
    return std::optional(measuredProbe(
        probe, measured, workOf(plan, measured, &compiled->backend()), (*seconds)[*step]));
}

std::string today() {
    const auto day = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    const std::chrono::year_month_day date(day);
    return fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()),
                       unsigned(date.day()));
}

/// A source without what stood there before it: profiles are calibrated again and again.
std::string withoutHistory(const std::string& source) {
    return source.substr(0, source.find("; before "));
}

/// What was measured, beside what stood there before.
void sign(DeviceProfile& after, const DeviceProfile& before, const CalibrateOptions& options) {
    struct Changed {
        const char* name;
        double DeviceProfile::*member;
        const char* how;
    };
    constexpr Changed all[] = {
        {"clock", &DeviceProfile::clock, "measured: additions that wait for each other"},
        {"launch_seconds", &DeviceProfile::launchSeconds,
         "measured: 16 elements behind a large step"},
        {"dram_bandwidth", &DeviceProfile::dramBandwidth, "measured: weights beyond the caches"},
        {"l2_bandwidth", &DeviceProfile::l2Bandwidth, "measured: programs within the last cache"},
        {"wait_bandwidth", &DeviceProfile::waitBandwidth,
         "measured: rows and pools whose data a core has lost"},
        {"issue_efficiency", &DeviceProfile::issueEfficiency, "measured: elementwise programs"},
        {"reduce_issue", &DeviceProfile::reduceIssue, "measured: long rows"},
        {"row_issue", &DeviceProfile::rowIssue, "measured: short rows"},
        {"window_issue", &DeviceProfile::windowIssue, "measured: pools"},
        {"score_issue", &DeviceProfile::scoreIssue, "measured: attentions"},
        {"run_issue", &DeviceProfile::runIssue, "measured: borders around images"},
        {"turn_issue", &DeviceProfile::turnIssue, "measured: transposed matrices"},
        {"routine_issue", &DeviceProfile::routineIssue, "measured: resized images"},
        {"lane_product_issue", &DeviceProfile::laneProductIssue,
         "measured: depthwise convolutions"},
        {"epilogue_share", &DeviceProfile::epilogueShare, "measured: a product with an epilogue"},
        {"few_channels", &DeviceProfile::fewChannels, "measured: convolutions of 3 channels"},
        {"fork_seconds", &DeviceProfile::forkSeconds, "measured: a program just worth sharing"},
        {"fp32_flops", &DeviceProfile::fp32Flops, "derived: clock, lanes, multiply-add"},
        {"fp16_matrix_flops", &DeviceProfile::fp16MatrixFlops, "scaled like float32"},
        {"tf32_matrix_flops", &DeviceProfile::tf32MatrixFlops, "scaled like float32"},
        {"matrix_efficiency", &DeviceProfile::matrixEfficiency,
         "measured: products and convolutions"},
        {"filter_gain", &DeviceProfile::filterGain, "measured: 3x3 convolutions"},
        {"overlap", &DeviceProfile::overlap, "fitted to all probes"},
    };
    for (const Changed& figure : all)
        if (after.*figure.member != before.*figure.member) {
            auto known = before.sources.find(figure.name);
            after.sources[figure.name] = fmt::format(
                "{}; before {} ({})", figure.how, before.*figure.member,
                known == before.sources.end() ? "not said" : withoutHistory(known->second));
        }
    for (size_t op = 0; op < tapeOpCount; ++op)
        if (after.tapeIssue[op] != before.tapeIssue[op])
            after.sources[std::string("tape_") + nameOf(static_cast<TapeOp>(op))] =
                "measured: the operator alone";
    if (!after.name.ends_with("_calibrated"))
        after.name += "_calibrated";
    after.measured = today();
    const std::string backend = fmt::format("; {} backend", nameOf(options.backend));
    if (std::string& units = after.sources["units"]; !units.ends_with(backend))
        units += backend;
}

/// Threads and clock as they are; the peaks follow the clock.
DeviceProfile begin(const DeviceProfile& before, const CalibrateOptions& options) {
    if (before.kind != DeviceKind::Cpu)
        return before;
    DeviceProfile out = withCores(before, options.threads > 0 ? options.threads : machineThreads());
    out.clock = measureClock();
    const double faster = out.clock / before.clock;
    for (double* peak : {&out.fp32Flops, &out.fp16MatrixFlops, &out.tf32MatrixFlops})
        *peak *= faster;
    return out;
}

} // namespace

Result<Calibration> calibrate(const CalibrateOptions& options, Progress& progress) {
    auto profile = deviceProfile(options.device);
    if (!profile)
        return failure(profile.error());
    if ((options.backend == BackendKind::Cuda) != (profile->kind == DeviceKind::Gpu))
        return failure("device.profile",
                       fmt::format("profile `{}` is of a {}, backend `{}` is not", options.device,
                                   nameOf(profile->kind), nameOf(options.backend)),
                       "--device", "name a profile of the backend's device");
    Calibration out;
    out.before = *profile;
    std::vector<MeasuredProbe> measured;
    const std::vector<Probe>& all = probes();
    std::vector<std::optional<MeasuredProbe>> best(all.size());
    for (size_t i = 0; i < visits * all.size(); ++i) {
        progress.report("calibrate", i, visits * all.size());
        const size_t at = i % all.size();
        if (all[at].of == ProbeOf::Fork && options.threads == 1)
            continue;
        auto probe = measureProbe(all[at], options, progress);
        if (!probe)
            return failure(probe.error());
        if (*probe && (!best[at] || (*probe)->seconds < best[at]->seconds))
            best[at] = std::move(*probe);
    }
    // Steps of networks find other steps' data in the caches: so much is missing of a probe that
    // ran by itself.
    double missing = 0;
    for (const std::optional<MeasuredProbe>& probe : best)
        if (probe && probe->probe->of == ProbeOf::Launch)
            missing += probe->seconds;
        else if (probe && probe->probe->of == ProbeOf::Again)
            missing -= probe->seconds;
    for (std::optional<MeasuredProbe>& probe : best)
        if (probe) {
            if (probe->probe->step.empty())
                probe->seconds += std::max(0.0, missing);
            measured.push_back(std::move(*probe));
        }
    out.after = fitProfile(begin(out.before, options), measured);
    for (const MeasuredProbe& probe : measured)
        for (auto [points, used] :
             {std::pair(&out.probesBefore, &out.before), std::pair(&out.probesAfter, &out.after)})
            points->push_back({probe.probe->name, nameOf(kindOf(probe.program)),
                               predict(probe, *used).seconds, probe.seconds});
    sign(out.after, out.before, options);
    return out;
}

} // namespace fuselage::app
