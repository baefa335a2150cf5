// SPDX-License-Identifier: Apache-2.0
// How good the predictions are: every kernel of some models, predicted against measured on the cpu
// backend, and what deciding by prediction costs. Measured is the fastest of all runs of a kernel,
// so that a busy machine disturbs less.
#include "app/cli/wait_policy.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/rules.h"
#include "app/pipeline/scatter.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "tests/bench/figures.h"
#include "tests/bench/generated.h"
#include "tests/bench/sampled_plans.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

using namespace fuselage;

namespace {

struct Options {
    std::string device = "cpu", points;
    bench::Publication publication;
    int threads = 0;
    double seconds = 3; ///< of the runs that time steps of a model
    bench::RegretOptions regret;
    app::RuleOptions rules;
    std::vector<std::string> models{"resnet18",      "resnet50", "mobilenet_v3_large",
                                    "convnext_tiny", "vit_b_16", "bert_base",
                                    "unet"};
};

struct Point {
    app::ScatterPoint times;
    std::string tactic, operands;
    TimeEstimate predicted;
};

struct Subject {
    std::string model;
    std::vector<Point> points;
    std::optional<bench::Regret> regret;
};

/// Contractions differ more among themselves than from other kinds.
std::string kindName(const KernelProgram& program) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code)
        return nameOf(kindOf(program));
    if (code->kind == Contraction::Kind::MatMul) {
        int64_t rows = 1;
        for (uint32_t d = code->batchDims; d < code->batchDims + code->mDims; ++d)
            rows *= code->space[d];
        return rows == 1 ? "matrix times vector" : "matrix product";
    }
    const Extents& weights = program.inputs[code->b.operand].extents;
    if (code->groups > 1)
        return weights[1] == 1 ? "depthwise" : "convolution, groups";
    const Extents& kernel = code->window.kernel;
    const bool pointwise =
        std::all_of(kernel.begin(), kernel.end(), [](int64_t extent) { return extent == 1; });
    return pointwise ? "convolution 1x1" : "convolution";
}

/// "1x64x56x56 64x64x3x3 -> 1x64x56x56"
std::string operandText(const KernelProgram& program) {
    std::string out;
    for (const OperandType& input : program.inputs)
        out += fmt::format("{} ", fmt::join(input.extents, "x"));
    out += "->";
    for (const OperandType& output : program.outputs)
        out += fmt::format(" {}", fmt::join(output.extents, "x"));
    return out;
}

Result<app::LoadedModel> load(const std::string& model) {
    Progress progress;
    if (model.ends_with(".onnx"))
        return app::loadModel(model, {}, progress);
    app::LoadedModel out;
    if (auto generated = bench::generatedModel(model)) {
        out.graph = std::move(*generated);
    } else {
        auto graph = zoo::build(model);
        if (!graph)
            return failure(graph.error());
        out.graph = std::move(*graph);
    }
    if (auto prepared = prepareGraph(out.graph, progress); !prepared)
        return failure(prepared.error());
    return out;
}

/// A folder is all models in it.
std::vector<std::string> expanded(const std::vector<std::string>& models) {
    std::vector<std::string> out;
    for (const std::string& model : models) {
        if (!std::filesystem::is_directory(model)) {
            out.push_back(model);
            continue;
        }
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(model))
            if (entry.path().extension() == ".onnx")
                files.push_back(entry.path().string());
        std::sort(files.begin(), files.end());
        out.insert(out.end(), files.begin(), files.end());
    }
    return out;
}

Result<Subject> subjectOf(const std::string& model, const Options& options,
                          const DeviceProfile& profile) {
    auto loaded = load(model);
    if (!loaded)
        return failure(loaded.error());
    auto library = app::requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    auto backend = makeCpuBackend({options.threads, false});
    app::AnalysisOptions analysing;
    analysing.profile = profile;
    analysing.backend = backend.get();
    Progress progress;
    auto analysis = app::analyse(*loaded, *library, analysing, progress);
    if (!analysis)
        return failure(analysis.error());
    auto inputs = app::generateInputs(*analysis->before.plan->graph, 1);
    if (!inputs)
        return failure(inputs.error());
    const Plan& plan = *analysis->after.plan;
    auto executable = backend->prepare(analysis->after.plan, progress);
    if (!executable)
        return failure(executable.error());
    auto times = app::fastestSteps(**executable, *inputs, options.seconds, progress);
    if (!times)
        return failure(times.error());
    Subject out;
    out.model = std::filesystem::path(model).stem().string();
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        if ((*times)[i] > 0) // steps of constants ran while preparing
            out.points.push_back(
                {{step.name, kindName(step.program), step.predicted.seconds, (*times)[i]},
                 (*executable)->tactic(i),
                 operandText(step.program),
                 step.predicted});
    }
    executable->reset();
    if (options.regret.plans > 0 && !analysis->report.matches.empty()) {
        auto regret = bench::regretOf(*loaded, *library, analysing, *analysis, *backend, *inputs,
                                      options.regret);
        if (!regret)
            return failure(regret.error());
        out.regret = *regret;
    }
    return out;
}

std::vector<app::ScatterPoint> timesOf(const std::vector<Point>& points) {
    std::vector<app::ScatterPoint> out;
    for (const Point& point : points)
        out.push_back(point.times);
    return out;
}

/// Time counts, not only kernels: the share of all measured time.
std::string kindTable(const std::vector<Subject>& subjects) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                          Align::Right, Align::Right});
    table.row({"kind of kernel", "kernels", "share of time", "all", "10th", "median", "90th"});
    std::map<std::string, std::vector<app::ScatterPoint>> kinds;
    double all = 0;
    for (const Subject& subject : subjects)
        for (const Point& point : subject.points) {
            kinds[point.times.kind].push_back(point.times);
            kinds["all of them"].push_back(point.times);
            all += point.times.measured;
        }
    for (const auto& [kind, points] : kinds) {
        const app::ScatterSummary summary = app::summarise(points);
        double measured = 0;
        for (const app::ScatterPoint& point : points)
            measured += point.measured;
        table.row({kind, std::to_string(points.size()),
                   fmt::format("{:.1f} %", 100 * measured / all),
                   fmt::format("{:.2f}", summary.total), fmt::format("{:.2f}", summary.low),
                   fmt::format("{:.2f}", summary.median), fmt::format("{:.2f}", summary.high)});
    }
    return table.text("");
}

std::string modelTable(const std::vector<Subject>& subjects) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                          Align::Right, Align::Right, Align::Right, Align::Right, Align::Right,
                          Align::Right});
    table.row({"model", "kernels", "measured", "all", "10th", "median", "90th", "tau", "regret",
               "plans", "tau of plans"});
    for (const Subject& subject : subjects) {
        const app::ScatterSummary summary = app::summarise(timesOf(subject.points));
        double measured = 0;
        for (const Point& point : subject.points)
            measured += point.times.measured;
        const bool known = subject.regret && subject.regret->plans > 0;
        table.row({subject.model, std::to_string(subject.points.size()), app::secondsText(measured),
                   fmt::format("{:.2f}", summary.total), fmt::format("{:.2f}", summary.low),
                   fmt::format("{:.2f}", summary.median), fmt::format("{:.2f}", summary.high),
                   fmt::format("{:.2f}", summary.tau),
                   known ? fmt::format("{:.1f} %", 100 * subject.regret->regret) : "-",
                   known ? std::to_string(subject.regret->plans) : "-",
                   known ? fmt::format("{:.2f}", subject.regret->planTau) : "-"});
    }
    return table.text("");
}

/// For whoever looks for the cause of an error.
void writePoints(const std::string& file, const std::vector<Subject>& subjects) {
    std::ofstream out(file);
    out << "model\tkind\ttactic\tnode\tmeasured_us\tpredicted_us\tlaunch_us\tdram_us\tl2_us\t"
           "issue_us\tmatrix_us\toperands\n";
    for (const Subject& subject : subjects)
        for (const Point& point : subject.points) {
            const TimeEstimate& p = point.predicted;
            out << fmt::format("{}\t{}\t{}\t{}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t"
                               "{:.2f}\t{}\n",
                               subject.model, point.times.kind, point.tactic, point.times.name,
                               point.times.measured * 1e6, p.seconds * 1e6, p.launch * 1e6,
                               p.dram * 1e6, p.l2 * 1e6, p.issue * 1e6, p.matrix * 1e6,
                               point.operands);
        }
}

} // namespace

int main(int argc, char** argv) {
    cli::shortenSpins(argv);
    Options options;
    CLI::App app("How good the predictions are: every kernel of some models, predicted against "
                 "measured on the cpu backend, and what deciding by prediction costs.");
    app.add_option("--device", options.device, "profile")->capture_default_str();
    app.add_option("--threads", options.threads, "0: all")->check(CLI::NonNegativeNumber);
    app.add_option("--seconds", options.seconds, "of the runs that time steps of a model")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--plans", options.regret.plans, "sampled plans of a model")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--without-rule", options.rules.without,
                   "name of a rule to leave out; repeatable")
        ->allow_extra_args(false);
    app.add_option("--points", options.points, "also write every kernel to this file");
    bench::addOptions(app, options.publication);
    app.add_option("models", options.models,
                   "names of the zoo, files, folders of files, rows:WIDTH, or "
                   "attention:HEADSxROWSxCOLUMNS")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    auto profile = deviceProfile(options.device);
    if (!profile) {
        fmt::print(stderr, "bench_predict: {}\n", profile.error().text());
        return 1;
    }
    if (options.threads > 0)
        *profile = withCores(std::move(*profile), options.threads);
    const std::string before = bench::loadText();
    std::vector<Subject> subjects;
    std::string left;
    for (const std::string& model : expanded(options.models)) {
        auto subject = subjectOf(model, options, *profile);
        if (subject)
            subjects.push_back(std::move(*subject));
        else
            left += fmt::format("not measured: {}: {}\n", model, subject.error().text());
    }
    const std::string figures = fmt::format(
        "{}\nthreads {}, load average before and after: {}, {}\npredictions of {}\n\n{}\n{}{}{}",
        app::text(app::inspectMachine()),
        options.threads == 0 ? "all" : std::to_string(options.threads), before, bench::loadText(),
        profile->origin, kindTable(subjects), modelTable(subjects), left.empty() ? "" : "\n", left);
    if (!options.points.empty())
        writePoints(options.points, subjects);
    const int published = bench::publish(
        options.publication, "Predicted over measured time of kernels",
        "`all` is the sum of predictions over that of measurements; 10th, median and 90th are "
        "percentiles of\npredicted over measured; tau is Kendall's, over the kernels of a model. "
        "Regret is the time of the chosen\nplan over the best of plans with random matches "
        "switched off, less one.\n",
        figures);
    return subjects.empty() ? 1 : published;
}
