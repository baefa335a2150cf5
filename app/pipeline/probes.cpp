// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/probes.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "core/cost/time_model.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

namespace fuselage::app {

namespace {

/// Corrections of one figure after another; many rounds, since the terms of a time mix.
constexpr int rounds = 40;
constexpr std::array exponents{1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0};

/// Geometric mean of predicted over measured for probes of one resource; 1 when there are none.
double excess(const std::vector<const MeasuredProbe*>& probes, const DeviceProfile& profile) {
    double sum = 0;
    for (const MeasuredProbe* probe : probes)
        sum += std::log(predict(*probe, profile).seconds / probe->seconds);
    return probes.empty() ? 1 : std::exp(sum / static_cast<double>(probes.size()));
}

void scaleFlops(DeviceProfile& profile, double factor) {
    profile.matrixEfficiency *= factor;
    // More than the peak is a peak that was understated.
    if (profile.matrixEfficiency > 1) {
        for (double* peak :
             {&profile.fp32Flops, &profile.fp16MatrixFlops, &profile.tf32MatrixFlops})
            *peak *= profile.matrixEfficiency;
        profile.matrixEfficiency = 1;
    }
}

/// A price that probes decide, to begin with and at most: where other terms explain all of a time,
/// nothing else bounds it.
struct Price {
    ProbeOf of;
    double DeviceProfile::*member;
    double start, least, most;
};

constexpr std::array prices{
    Price{ProbeOf::Launch, &DeviceProfile::launchSeconds, 1e-6, 1e-8, 1e-3},
    Price{ProbeOf::Fork, &DeviceProfile::forkSeconds, 1e-6, 1e-8, 1e-3},
    Price{ProbeOf::Reduce, &DeviceProfile::reduceIssue, 1, 0.1, 100},
    Price{ProbeOf::Row, &DeviceProfile::rowIssue, 10, 0.1, 1e4},
    Price{ProbeOf::Window, &DeviceProfile::windowIssue, 2, 0.1, 100},
    Price{ProbeOf::Score, &DeviceProfile::scoreIssue, 8, 1, 1000},
    Price{ProbeOf::Run, &DeviceProfile::runIssue, 100, 1, 1e4},
    Price{ProbeOf::Turn, &DeviceProfile::turnIssue, 4, 0.1, 100},
    Price{ProbeOf::Routine, &DeviceProfile::routineIssue, 4, 0.1, 1000},
    Price{ProbeOf::LaneProduct, &DeviceProfile::laneProductIssue, 1, 0.1, 100},
    Price{ProbeOf::Epilogue, &DeviceProfile::epilogueShare, 0.5, 0.01, 2},
    Price{ProbeOf::Channels, &DeviceProfile::fewChannels, 1, 0.01, 16},
};

/// Rates, and the probes that decide them. Where other terms are what takes the time, a rate could
/// grow for ever: it stays when moving it leaves more than this share of the error.
constexpr std::array<std::pair<ProbeOf, double DeviceProfile::*>, 4> rates{{
    {ProbeOf::Dram, &DeviceProfile::dramBandwidth},
    {ProbeOf::Cache, &DeviceProfile::l2Bandwidth},
    {ProbeOf::Wait, &DeviceProfile::waitBandwidth},
    {ProbeOf::Issue, &DeviceProfile::issueEfficiency},
}};
constexpr double leastGain = 0.98;

/// All figures for one exponent.
DeviceProfile fitted(DeviceProfile profile, const std::vector<MeasuredProbe>& probes) {
    // By the figure that they decide.
    std::map<std::pair<ProbeOf, size_t>, std::vector<const MeasuredProbe*>> parts;
    for (const MeasuredProbe& probe : probes) {
        ProbeOf of = probe.probe->of;
        if (of == ProbeOf::Wait && profile.coreBytes <= 0)
            of = ProbeOf::Cache; // there is one cache
        parts[{of, of == ProbeOf::Tape ? static_cast<size_t>(probe.probe->op) : 0}].push_back(
            &probe);
    }
    // What one probe says of a figure is bounded: a launch cannot become negative.
    auto step = [&](ProbeOf of, size_t op = 0) {
        return std::clamp(excess(parts[{of, op}], profile), 0.25, 4.0);
    };
    for (const Price& price : prices)
        if (profile.*price.member <= 0 && !parts[{price.of, 0}].empty())
            profile.*price.member = price.start;
    if (profile.waitBandwidth <= 0 && !parts[{ProbeOf::Wait, 0}].empty())
        profile.waitBandwidth = profile.l2Bandwidth;
    for (int round = 0; round < rounds; ++round) {
        for (const auto& [of, member] : rates) {
            const double before = profile.*member,
                         wrong = std::log(excess(parts[{of, 0}], profile));
            profile.*member *= step(of);
            const double left = std::log(excess(parts[{of, 0}], profile));
            if (std::abs(left) > leastGain * std::abs(wrong))
                profile.*member = before;
        }
        for (const Price& price : prices)
            if (!parts[{price.of, 0}].empty())
                profile.*price.member =
                    std::clamp(profile.*price.member / step(price.of), price.least, price.most);
        scaleFlops(profile, step(ProbeOf::Matrix));
        profile.filterGain = std::max(1.0, profile.filterGain * step(ProbeOf::Filter));
        for (const auto& [key, some] : parts)
            if (key.first == ProbeOf::Tape) {
                double& price = profile.tapeIssue[key.second];
                if (price <= 0)
                    price = static_cast<double>(rowOf(static_cast<TapeOp>(key.second)).cost.issue);
                price = std::clamp(price / step(ProbeOf::Tape, key.second), 0.1, 1e5);
            }
    }
    return profile;
}

double misfit(const std::vector<MeasuredProbe>& probes, const DeviceProfile& profile) {
    double sum = 0;
    for (const MeasuredProbe& probe : probes) {
        const double error = std::log(predict(probe, profile).seconds / probe.seconds);
        sum += error * error;
    }
    return sum;
}

} // namespace

Result<Graph> probeGraph(const Probe& probe) {
    auto graph = model_io::loadText("probe " + probe.graph);
    if (!graph)
        return failure(graph.error());
    inferShapes(*graph);
    std::istringstream names(probe.weights);
    // Inputs that stay inputs may be large, and are generated when the probe runs.
    auto all = probe.weights.empty() ? Result(std::vector<Tensor>()) : generateInputs(*graph, 1);
    if (!all)
        return failure(all.error());
    for (std::string name; names >> name;)
        for (size_t i = 0; i < all->size(); ++i)
            if (graph->value(graph->inputs()[i]).name == name) {
                if (auto bound = bindInput(*graph, name, (*all)[i]); !bound)
                    return failure(bound.error());
                all->erase(all->begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
    Progress progress;
    if (auto prepared = prepareGraph(*graph, progress); !prepared)
        return failure(prepared.error());
    return probe.step.empty() ? fuseWhole(*graph, "Probe") : std::move(*graph);
}

std::optional<size_t> probeStep(const Probe& probe, const Plan& plan) {
    if (probe.step.empty())
        return plan.steps.size() == 1 ? std::optional<size_t>(0) : std::nullopt;
    for (size_t i = 0; i < plan.steps.size(); ++i)
        for (uint32_t output : plan.steps[i].outputs)
            if (plan.values[output].name == probe.step)
                return i;
    return std::nullopt;
}

TimeEstimate predict(const MeasuredProbe& probe, const DeviceProfile& profile) {
    return predictTime(probe.program, probe.work, probe.traffic, profile);
}

MeasuredProbe measuredProbe(const Probe& probe, const Step& step, LaidWork work, double seconds) {
    return {&probe, step.program, std::move(work), step.traffic, seconds};
}

DeviceProfile fitProfile(DeviceProfile start, const std::vector<MeasuredProbe>& probes) {
    DeviceProfile best = start;
    double least = std::numeric_limits<double>::infinity();
    for (double exponent : exponents) {
        start.overlap = exponent;
        DeviceProfile tried = fitted(start, probes);
        if (const double error = misfit(probes, tried); error < least) {
            least = error;
            best = tried;
        }
    }
    return best;
}

} // namespace fuselage::app
