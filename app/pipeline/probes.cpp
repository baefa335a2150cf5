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
#include <sstream>

namespace fuselage::app {

namespace {

/// Corrections of one figure after another; a few rounds, since the terms of a time mix.
constexpr int rounds = 12;
constexpr std::array exponents{1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0};

/// Geometric mean of predicted over measured for probes of one resource; 1 when there are none.
double excess(const std::vector<MeasuredProbe>& probes, ProbeOf of, const DeviceProfile& profile) {
    double sum = 0;
    int count = 0;
    for (const MeasuredProbe& probe : probes)
        if (probe.probe->of == of) {
            sum += std::log(predict(probe, profile).seconds / probe.seconds);
            ++count;
        }
    return count == 0 ? 1 : std::exp(sum / count);
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

/// All figures for one exponent.
DeviceProfile fitted(DeviceProfile profile, const std::vector<MeasuredProbe>& probes) {
    for (int round = 0; round < rounds; ++round) {
        // What one probe says of a figure is bounded: a launch cannot become negative.
        auto step = [&](ProbeOf of) { return std::clamp(excess(probes, of, profile), 0.25, 4.0); };
        profile.launchSeconds /= step(ProbeOf::Launch);
        profile.dramBandwidth *= step(ProbeOf::Dram);
        profile.l2Bandwidth *= step(ProbeOf::Cache);
        profile.lanesPerUnit *= step(ProbeOf::Issue);
        scaleFlops(profile, step(ProbeOf::Matrix));
        profile.filterGain *= step(ProbeOf::Filter);
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

/// Its steps stay apart and the product counts.
bool hasProduct(const Probe& probe) {
    return probe.of == ProbeOf::Matrix || probe.of == ProbeOf::Filter;
}

} // namespace

Result<Graph> probeGraph(const Probe& probe) {
    auto graph = model_io::loadText(std::string("probe ") + probe.graph);
    if (!graph)
        return failure(graph.error());
    inferShapes(*graph);
    std::istringstream names(probe.weights);
    // Inputs that stay inputs may be large, and are generated when the probe runs.
    auto all = *probe.weights == 0 ? Result(std::vector<Tensor>()) : generateInputs(*graph, 1);
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
    return hasProduct(probe) ? std::move(*graph) : fuseWhole(*graph, "Probe");
}

std::optional<size_t> probeStep(const Probe& probe, const Plan& plan) {
    if (!hasProduct(probe))
        return plan.steps.size() == 1 ? std::optional<size_t>(0) : std::nullopt;
    for (size_t i = 0; i < plan.steps.size(); ++i)
        if (std::holds_alternative<Contraction>(plan.steps[i].program.code))
            return i;
    return std::nullopt;
}

std::span<const Probe> probes() {
    static constexpr Probe all[] = {
        {"launch", ProbeOf::Launch, "(float[16] x) => (float[16] y) { y = Relu(x) }", ""},
        {"copy 64 MiB", ProbeOf::Dram, "(float[8388608] x) => (float[8388608] y) { y = Relu(x) }",
         ""},
        {"add 96 MiB", ProbeOf::Dram,
         "(float[8388608] x, float[8388608] z) => (float[8388608] y) { y = Add(x, z) }", ""},
        {"copy 2 MiB", ProbeOf::Cache, "(float[262144] x) => (float[262144] y) { y = Relu(x) }",
         ""},
        {"copy 4 MiB", ProbeOf::Cache, "(float[524288] x) => (float[524288] y) { y = Relu(x) }",
         ""},
        {"add 3 MiB", ProbeOf::Cache,
         "(float[262144] x, float[262144] z) => (float[262144] y) { y = Add(x, z) }", ""},
        {"erf GELU", ProbeOf::Issue,
         "(float[128,1024] x) => (float[128,1024] y) { s = Constant<value = float {0.70710678}>() "
         "h = Constant<value = float {0.5}>() o = Constant<value = float {1}>() a = Mul(x, s) "
         "e = Erf(a) p = Add(e, o) m = Mul(x, h) y = Mul(m, p) }",
         ""},
        {"sigmoid", ProbeOf::Issue,
         "(float[128,1024] x) => (float[128,1024] y) { s = Sigmoid(x) y = Mul(x, s) }", ""},
        {"tanh", ProbeOf::Issue, "(float[128,1024] x) => (float[128,1024] y) { y = Tanh(x) }", ""},
        {"matmul 512", ProbeOf::Matrix,
         "(float[512,512] x, float[512,512] w) => (float[512,512] y) { r = Relu(x) c = MatMul(r, "
         "w) y = Relu(c) }",
         "w"},
        {"matmul 128x768x3072", ProbeOf::Matrix,
         "(float[128,768] x, float[768,3072] w) => (float[128,3072] y) { r = Relu(x) c = MatMul(r, "
         "w) y = Relu(c) }",
         "w"},
        {"conv 3x3 64 of 56x56", ProbeOf::Filter,
         "(float[1,64,56,56] x, float[64,64,3,3] w) => (float[1,64,56,56] y) "
         "{ r = Relu(x) c = Conv<pads = [1, 1, 1, 1]>(r, w) y = Relu(c) }",
         "w"},
        {"conv 1x1 256 to 64 of 56x56", ProbeOf::Matrix,
         "(float[1,256,56,56] x, float[64,256,1,1] w) => (float[1,64,56,56] y) "
         "{ r = Relu(x) c = Conv(r, w) y = Relu(c) }",
         "w"},
        {"conv 3x3 256 of 14x14", ProbeOf::Filter,
         "(float[1,256,14,14] x, float[256,256,3,3] w) => (float[1,256,14,14] y) "
         "{ r = Relu(x) c = Conv<pads = [1, 1, 1, 1]>(r, w) y = Relu(c) }",
         "w"},
        {"conv 1x1 1024 to 256 of 14x14", ProbeOf::Matrix,
         "(float[1,1024,14,14] x, float[256,1024,1,1] w) => (float[1,256,14,14] y) "
         "{ r = Relu(x) c = Conv(r, w) y = Relu(c) }",
         "w"},
        {"conv 1x1 512 to 2048 of 7x7", ProbeOf::Matrix,
         "(float[1,512,7,7] x, float[2048,512,1,1] w) => (float[1,2048,7,7] y) "
         "{ r = Relu(x) c = Conv(r, w) y = Relu(c) }",
         "w"},
        {"conv 3x3 512 of 7x7", ProbeOf::Filter,
         "(float[1,512,7,7] x, float[512,512,3,3] w) => (float[1,512,7,7] y) "
         "{ r = Relu(x) c = Conv<pads = [1, 1, 1, 1]>(r, w) y = Relu(c) }",
         "w"},
        {"conv 3x3 128 of 28x28", ProbeOf::Filter,
         "(float[1,128,28,28] x, float[128,128,3,3] w) => (float[1,128,28,28] y) "
         "{ r = Relu(x) c = Conv<pads = [1, 1, 1, 1]>(r, w) y = Relu(c) }",
         "w"},
        {"conv 7x7 3 of 224x224", ProbeOf::Mixed,
         "(float[1,3,224,224] x, float[64,3,7,7] w) => (float[1,64,112,112] y) "
         "{ y = Conv<pads = [3, 3, 3, 3], strides = [2, 2]>(x, w) }",
         "w"},
        {"layer norm 197x768", ProbeOf::Mixed,
         "(float[197,768] x, float[768] s, float[768] b) => (float[197,768] y) "
         "{ y = LayerNormalization(x, s, b) }",
         "s b"},
        {"matrix times vector, 64 MiB", ProbeOf::Mixed,
         "(float[1,4096] x, float[4096,4096] w) => (float[1,4096] y) { y = MatMul(x, w) }", "w"},
        {"sigmoid 64 MiB", ProbeOf::Mixed,
         "(float[8388608] x) => (float[8388608] y) { s = Sigmoid(x) y = Mul(x, s) }", ""},
        {"softmax 1024x512", ProbeOf::Mixed,
         "(float[1024,512] x) => (float[1024,512] y) { y = Softmax(x) }", ""},
    };
    return all;
}

TimeEstimate predict(const MeasuredProbe& probe, const DeviceProfile& profile) {
    return predictTime(probe.program, probe.work, probe.traffic, profile);
}

MeasuredProbe measuredProbe(const Probe& probe, KernelProgram program, const DeviceProfile& profile,
                            double seconds) {
    // Between two runs everything that the probe touches was touched once.
    const std::vector<int64_t> reuse(program.inputs.size(), logicalTraffic(program).logical());
    Traffic traffic = predictTraffic(program, profile, reuse);
    const Work work = workOf(program);
    return {&probe, std::move(program), work, traffic, seconds};
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
