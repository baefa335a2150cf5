// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/calibrate.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/probes.h"
#include "core/support/parallel.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Cycles a second of one core: additions that wait for each other take one cycle each.
double measureClock() {
    constexpr int additions = 1 << 20, tries = 30;
    double best = 0;
    for (int i = 0; i < tries; ++i) {
        uint64_t sum = static_cast<uint64_t>(i);
        const auto begin = Clock::now();
        for (int k = 0; k < additions; k += 8) {
            // The compiler must neither join the additions nor leave them out.
#define FUSELAGE_ADD                                                                               \
    sum += 1;                                                                                      \
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

/// Nothing when the probe is not one kernel on this backend.
Result<std::optional<MeasuredProbe>> measureProbe(const Probe& probe,
                                                  const CalibrateOptions& options,
                                                  const DeviceProfile& profile,
                                                  Progress& progress) {
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
    auto seconds = fastestSteps(compiled->executable(), *inputs, options.seconds, progress);
    if (!seconds)
        return failure(seconds.error());
    const Plan& plan = compiled->plan();
    auto step = probeStep(probe, plan);
    if (!step || *step >= seconds->size() || !((*seconds)[*step] > 0))
        return std::optional<MeasuredProbe>();
    return std::optional(
        measuredProbe(probe, plan.steps[*step].program, profile, (*seconds)[*step]));
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
        {"launch_seconds", &DeviceProfile::launchSeconds, "measured: a program of 16 elements"},
        {"dram_bandwidth", &DeviceProfile::dramBandwidth, "measured: programs beyond the caches"},
        {"l2_bandwidth", &DeviceProfile::l2Bandwidth, "measured: programs within the last cache"},
        {"lanes_per_unit", &DeviceProfile::lanesPerUnit,
         "measured: long tapes, lanes that would issue them"},
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
    if (!after.name.ends_with("_calibrated"))
        after.name += "_calibrated";
    after.measured = today();
    const std::string backend = fmt::format("; {} backend", nameOf(options.backend));
    if (std::string& units = after.sources["units"]; !units.ends_with(backend))
        units += backend;
}

/// Threads and clock as they are; the peaks follow the clock.
DeviceProfile begin(const DeviceProfile& before, const CalibrateOptions& options) {
    DeviceProfile out = before;
    if (before.kind != DeviceKind::Cpu)
        return out;
    out.units = options.threads > 0 ? options.threads : machineThreads();
    out.clock = measureClock();
    const double faster = out.units * out.clock / (before.units * before.clock);
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
    const auto all = probes();
    for (size_t i = 0; i < all.size(); ++i) {
        progress.report("calibrate", i, all.size());
        auto probe = measureProbe(all[i], options, *profile, progress);
        if (!probe)
            return failure(probe.error());
        if (*probe)
            measured.push_back(std::move(**probe));
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
