// SPDX-License-Identifier: Apache-2.0
// How good predicted registers are: every kernel of some models, before and after fusion, as
// core/cost predicts it against what NVRTC says of the kernel that would run. Needs no GPU.
#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/rules.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/cost/resources.h"
#include "core/passes/passes.h"
#include "gpu/backend/compiled_plan.h"
#include "tests/bench/figures.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

using namespace fuselage;

namespace {

struct Options {
    std::string device = "h200", cache, points;
    bench::Publication publication;
    std::vector<std::string> models{"resnet18",  "resnet50",           "convnext_tiny", "vit_b_16",
                                    "bert_base", "mobilenet_v3_large", "gpt2_block",    "unet"};
};

struct Point {
    std::string model, kind, tactic, step;
    int predicted = 0, counted = 0;
    int64_t operands = 0, elements = 0;
    uint32_t spilled = 0;
};

double errorOf(const Point& point) {
    return std::abs(double(point.predicted - point.counted)) / std::max(1, point.counted);
}

/// Alike in all that decides registers: models repeat their blocks.
std::string keyOf(const KernelProgram& program, const std::string& tactic) {
    return tactic + "\n" + text(program);
}

Result<std::vector<Point>> pointsOf(const std::string& model, Precision precision,
                                    const Options& options, const DeviceProfile& profile,
                                    std::set<std::string>& known, std::string& compiler) {
    auto graph = zoo::build(model);
    if (!graph)
        return failure(graph.error());
    app::LoadedModel loaded;
    loaded.graph = std::move(*graph);
    Progress progress;
    if (auto prepared = prepareGraph(loaded.graph, progress); !prepared)
        return failure(prepared.error());
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    app::AnalysisOptions analysing;
    analysing.profile = profile;
    analysing.backend = backend.get();
    analysing.fuse.precision = precision;
    auto analysis = app::analyse(loaded, *library, analysing, progress);
    if (!analysis)
        return failure(analysis.error());
    std::vector<Point> out;
    for (const auto& plan : {analysis->before.plan, analysis->after.plan}) {
        gpu::CudaOptions cuda;
        cuda.cache = options.cache;
        auto compiled = gpu::compilePlan(*plan, profile, cuda, progress);
        if (!compiled)
            return failure(compiled.error());
        compiler = compiled->compiler;
        for (size_t i = 0; i < plan->steps.size(); ++i) {
            const KernelProgram& program = plan->steps[i].program;
            const gpu::CompiledStep& step = compiled->steps[i];
            if (!step.facts || step.facts->registers == 0 ||
                !known.insert(keyOf(program, step.tactic)).second)
                continue;
            const KernelResources needs = predictResources(program, profile);
            out.push_back({model, nameOf(kindOf(program)), step.tactic, plan->steps[i].name,
                           needs.registers, static_cast<int>(step.facts->registers),
                           static_cast<int64_t>(program.inputs.size() + program.outputs.size()),
                           needs.elements, step.facts->spilledBytes});
        }
    }
    return out;
}

double quantile(std::vector<double> values, double at) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

std::string tableOf(const std::vector<Point>& points) {
    using Align = app::TextTable::Align;
    app::TextTable table(
        {Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right});
    table.row({"kind of kernel", "kernels", "counted", "median error", "90th", "signed median"});
    std::map<std::string, std::vector<Point>> kinds;
    for (const Point& point : points) {
        kinds[point.kind].push_back(point);
        kinds["all of them"].push_back(point);
    }
    for (const auto& [kind, members] : kinds) {
        std::vector<double> errors, signedErrors;
        int low = members[0].counted, high = low;
        for (const Point& point : members) {
            errors.push_back(errorOf(point));
            signedErrors.push_back(double(point.predicted - point.counted) /
                                   std::max(1, point.counted));
            low = std::min(low, point.counted);
            high = std::max(high, point.counted);
        }
        table.row({kind, std::to_string(members.size()), fmt::format("{} .. {}", low, high),
                   fmt::format("{:.1f} %", 100 * quantile(errors, 0.5)),
                   fmt::format("{:.1f} %", 100 * quantile(errors, 0.9)),
                   fmt::format("{:+.1f} %", 100 * quantile(signedErrors, 0.5))});
    }
    return table.text("");
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Registers of generated CUDA kernels: predicted from a program alone, and as "
                 "NVRTC counts them.");
    app.add_option("--device", options.device, "profile")->capture_default_str();
    app.add_option("--cache", options.cache, "folder of compiled kernels");
    app.add_option("--points", options.points, "also write every kernel to this file");
    bench::addOptions(app, options.publication);
    app.add_option("models", options.models, "names of the zoo")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    auto profile = deviceProfile(options.device);
    if (!profile) {
        fmt::print(stderr, "{}\n", profile.error().text());
        return 2;
    }
    std::vector<Point> points;
    std::set<std::string> known;
    std::string compiler;
    for (const std::string& model : options.models)
        for (Precision precision : {Precision::Fp32, Precision::Fp16}) {
            auto found = pointsOf(model, precision, options, *profile, known, compiler);
            if (!found) {
                fmt::print(stderr, "{}: {}\n", model, found.error().text());
                return 1;
            }
            points.insert(points.end(), found->begin(), found->end());
        }
    if (!options.points.empty()) {
        std::ofstream out(options.points);
        for (const Point& p : points)
            out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", p.model, p.kind, p.tactic,
                               p.step, p.predicted, p.counted, p.operands, p.elements, p.spilled);
    }
    const std::string body =
        fmt::format("{} for {}; kernels of the zoo that differ, before and after fusion, in fp32 "
                    "and fp16\n\n{}",
                    compiler, profile->title, tableOf(points));
    return bench::publish(
        options.publication, "Predicted over counted registers of CUDA kernels",
        "`counted` is the range of registers of a thread that NVRTC gives; errors are those of "
        "what `core/cost/resources`\npredicts from a program alone, relative to that.\n",
        body);
}
