// SPDX-License-Identifier: Apache-2.0
// What each kernel of ours that accepts a convolution of a network is predicted to take on a GPU,
// and what is predicted of cuDNN: the order in which candidates stand while nothing is measured.
// Every different one of the fused network once, with how often it is there. No device is needed.
// `bench_gpu_candidates DEVICE PRECISION BATCH [MODEL ...]`.
#include "app/pipeline/compiled.h"
#include "core/cost/tactic_efficiency.h"
#include "gpu/backend/busy_share.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/kernels/variant_table.h"
#include "tests/bench/gpu_analysis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace fuselage;

namespace {

constexpr size_t mostShown = 6;
constexpr int64_t workspaceLimit = int64_t{256} << 20;

Result<std::shared_ptr<const Plan>> planOf(const std::string& model, Precision precision,
                                           int64_t batch, const DeviceProfile& profile) {
    const auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    auto analysis = analysedForGpu(model, precision, batch, profile, *backend);
    if (!analysis)
        return failure(analysis.error());
    return analysis->after.plan;
}

/// "32x128x56x56, 128 of 3x3, steps 2x2".
std::string textOf(const KernelProgram& program, const Contraction& code) {
    std::string out =
        fmt::format("{}, {} of {}", fmt::join(program.inputs[code.a.operand].extents, "x"),
                    code.space[1], fmt::join(code.window.kernel, "x"));
    const auto add = [&](const char* name, const Extents& numbers) {
        if (std::any_of(numbers.begin(), numbers.end(), [](int64_t n) { return n != 1; }))
            out += fmt::format(", {} {}", name, fmt::join(numbers, "x"));
    };
    add("steps", code.window.strides);
    add("dilations", code.window.dilations);
    return out + (code.groups > 1 ? fmt::format(", {} groups", code.groups) : "");
}

/// Seconds and names, the fastest first.
std::vector<std::pair<double, std::string>> candidatesOf(const gpu::KernelRequest& request,
                                                         const TimeEstimate& program) {
    std::vector<std::pair<double, std::string>> out;
    for (const gpu::KernelSet& set : gpu::emitAll(request).accepted)
        out.emplace_back(gpu::predictedRun(gpu::termsOf(request, set), program, *request.profile),
                         set.variant);
    out.emplace_back(
        predictSeconds(program, tacticEfficiency("cudnn"), 1, request.profile->overlap), "cudnn");
    std::sort(out.begin(), out.end());
    return out;
}

void print(const std::string& model, const Plan& plan, const DeviceProfile& profile) {
    const gpu::RequestTarget target{profile, profile.arch, workspaceLimit};
    std::vector<std::string> order;
    std::map<std::string, std::pair<int, std::string>> rows; ///< how often, and the candidates
    for (const Step& step : plan.steps) {
        const auto* code = std::get_if<Contraction>(&step.program.code);
        if (code == nullptr || code->kind != Contraction::Kind::Conv)
            continue;
        const std::string text = textOf(step.program, *code);
        auto& [count, candidates] = rows[text];
        if (count++ > 0)
            continue;
        order.push_back(text);
        const auto found = candidatesOf(gpu::requestOf(plan, step, target), step.predicted);
        for (size_t i = 0; i < std::min(found.size(), mostShown); ++i)
            candidates += fmt::format("{}{} {:.1f}", i == 0 ? "" : ", ", found[i].second,
                                      found[i].first * 1e6);
    }
    fmt::print("\n{}, predicted us\n\n| convolution | times | candidates |\n|---|--:|---|\n",
               model);
    for (const std::string& text : order)
        fmt::print("| {} | {} | {} |\n", text, rows[text].first, rows[text].second);
}

} // namespace

int main(int argc, char** argv) {
    const auto profile = deviceProfile(argc > 1 ? argv[1] : "h200");
    const auto precision = precisionFromName(argc > 2 ? argv[2] : "fp16");
    const int64_t batch = argc > 3 ? std::atoll(argv[3]) : 32;
    if (!profile || !precision) {
        fmt::print("bench_gpu_candidates DEVICE PRECISION BATCH [MODEL ...]\n");
        return 2;
    }
    std::vector<std::string> models(argv + std::min(argc, 4), argv + argc);
    if (models.empty())
        models = {"resnet50"};
    for (const std::string& model : models) {
        const auto plan = planOf(model, *precision, batch, *profile);
        if (!plan) {
            fmt::print("{}\n", plan.error().text());
            return 1;
        }
        print(model, **plan, *profile);
    }
}
