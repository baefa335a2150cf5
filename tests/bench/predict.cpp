// SPDX-License-Identifier: Apache-2.0
// How good the predictions are: every kernel of some models, predicted against measured on the cpu
// backend, and what deciding by prediction costs. Measured is the fastest of all runs of a kernel,
// so that a busy machine disturbs less.
//   bench_predict [--device PROFILE] [--threads N] [--seconds S] [--plans N] [--points FILE]
//                 [--publish FILE --command TEXT] [MODEL...]
// A MODEL is a name of the zoo, a file, or a folder of files.
#include "app/cli/wait_policy.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/rules.h"
#include "app/pipeline/scatter.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "tests/bench/sampled_plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

using namespace fuselage;

namespace {

struct Options {
    std::string device = "cpu", publish, command, points;
    int threads = 0;
    double seconds = 3; ///< of the runs that time steps of a model
    bench::RegretOptions regret;
    std::vector<std::string> models;
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
    auto graph = zoo::build(model);
    if (!graph)
        return failure(graph.error());
    app::LoadedModel out;
    out.graph = std::move(*graph);
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
    auto library = app::requireRuleLibrary({});
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

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word.rfind("--", 0) != 0)
            options.models.push_back(word);
        else if (word == "--device" && more)
            options.device = argv[++i];
        else if (word == "--threads" && more)
            options.threads = std::atoi(argv[++i]);
        else if (word == "--seconds" && more)
            options.seconds = std::atof(argv[++i]);
        else if (word == "--plans" && more)
            options.regret.plans = std::atoi(argv[++i]);
        else if (word == "--points" && more)
            options.points = argv[++i];
        else if (word == "--publish" && more)
            options.publish = argv[++i];
        else if (word == "--command" && more)
            options.command = argv[++i];
        else
            return false;
    }
    if (options.models.empty())
        options.models = {"resnet18",      "resnet50", "mobilenet_v3_large",
                          "convnext_tiny", "vit_b_16", "bert_base",
                          "unet"};
    options.models = expanded(options.models);
    return true;
}

std::string loadText() {
    double load = 0;
    return ::getloadavg(&load, 1) == 1 ? fmt::format("{:.1f}", load) : "not known";
}

std::string today() {
    const auto day = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    const std::chrono::year_month_day date(day);
    return fmt::format("{:04}-{:02}-{:02}", int(date.year()), unsigned(date.month()),
                       unsigned(date.day()));
}

} // namespace

int main(int argc, char** argv) {
    cli::shortenSpins(argv);
    Options options;
    if (!parse(argc, argv, options)) {
        fmt::print(stderr, "usage: bench_predict [--device PROFILE] [--threads N] [--seconds S] "
                           "[--plans N] [--points FILE] [--publish FILE --command TEXT] "
                           "[MODEL...]\n");
        return 2;
    }
    auto profile = deviceProfile(options.device);
    if (!profile) {
        fmt::print(stderr, "bench_predict: {}\n", profile.error().text());
        return 1;
    }
    if (options.threads > 0)
        *profile = withCores(std::move(*profile), options.threads);
    const std::string before = loadText();
    std::vector<Subject> subjects;
    std::string left;
    for (const std::string& model : options.models) {
        auto subject = subjectOf(model, options, *profile);
        if (subject)
            subjects.push_back(std::move(*subject));
        else
            left += fmt::format("not measured: {}: {}\n", model, subject.error().text());
    }
    const std::string figures = fmt::format(
        "{}\nthreads {}, load average before and after: {}, {}\npredictions of {}\n\n{}\n{}{}{}",
        app::text(app::inspectMachine()),
        options.threads == 0 ? "all" : std::to_string(options.threads), before, loadText(),
        profile->origin, kindTable(subjects), modelTable(subjects), left.empty() ? "" : "\n", left);
    fmt::print("{}", figures);
    if (!options.points.empty())
        writePoints(options.points, subjects);
    if (!options.publish.empty())
        std::ofstream(options.publish)
            << "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Predicted over measured time of "
               "kernels: last published figures\n\nWritten by `"
            << options.command << "` on " << today()
            << " (UTC). Do not edit: run it again.\n`all` is the sum of predictions over that of "
               "measurements; 10th, median and 90th are percentiles of\npredicted over measured; "
               "tau is Kendall's, over the kernels of a model. Regret is the time of the chosen\n"
               "plan over the best of plans with random matches switched off, less one.\n\n```\n"
            << figures << "```\n";
    return subjects.empty() ? 1 : 0;
}
