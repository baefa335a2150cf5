// SPDX-License-Identifier: Apache-2.0
// fuselage bench MODEL: before and after fusion, verified and timed kernel by kernel.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/gate_options.h"
#include "app/cli/saved_files.h"
#include "app/pipeline/bench.h"
#include "app/pipeline/compiled.h"
#include "app/quantize/node_error.h"
#include "app/report/escape.h"
#include "app/report/redact.h"
#include "app/report/render.h"
#include "app/report/text.h"
#include "app/report/verdict.h"
#include "core/onnx/model_file.h"
#include "core/support/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::cli {

namespace {

struct Options {
    app::BenchOptions bench;
    RewriteOptions rewrite;
    std::vector<std::string> reports;
    std::string saveFused;
    std::string plan;
    bool errors = false;
    bool redact = false;
    bool explain = false;
    std::vector<std::string> failOn; ///< conditions
};

/// What is asked for tells or counts what did not fuse: a report that shows or may be compared, or
/// a condition on it.
bool showsMisses(const Options& options) {
    const auto isSuchReport = [](const std::string& path) {
        return path.ends_with(".html") || path.ends_with(".sarif") || path.ends_with(".json");
    };
    const auto isSuchCondition = [](const std::string& condition) {
        return condition.find("near_misses") != std::string::npos ||
               condition.find("refusals") != std::string::npos;
    };
    return std::any_of(options.reports.begin(), options.reports.end(), isSuchReport) ||
           std::any_of(options.failOn.begin(), options.failOn.end(), isSuchCondition);
}

std::string endings() {
    return joined(app::reportFormats(), std::mem_fn(&app::ReportFormat::ending));
}

/// Each node beside its float twin, on the inputs of the run.
Result<void> addErrors(const app::BenchOptions& bench, app::Report& report, Progress& progress) {
    app::ModelRequest request{bench.model, bench.fuse.dims, bench.inputs};
    auto model = app::loadModel(request, progress);
    if (!model)
        return failure(model.error());
    if (auto sized = app::requireSizes(*model); !sized)
        return sized;
    auto sets = bench.inputs.empty() ? quantize::InputSets::generated(bench.seed, 1, bench.numbers)
                                     : quantize::InputSets::open(bench.inputs);
    if (!sets)
        return failure(sets.error());
    quantize::NodeErrorRequest asked{&*sets, bench.run};
    asked.run.precision = bench.fuse.precision;
    asked.run.precisionOf = bench.fuse.precisionOf;
    auto errors = quantize::nodeErrors(*model, asked, progress);
    if (!errors)
        return failure(errors.error());
    report.nodeErrors = std::move(*errors);
    return {};
}

/// Which nodes lose their numbers in 16 bits, where that is why the check failed, and the options
/// that keep them; empty otherwise.
std::string overflowText(const app::BenchOptions& bench, const app::Report& failed,
                         Progress& progress) {
    constexpr size_t mostNamed = 4;
    app::Report report;
    report.nodeErrors = failed.nodeErrors;
    if (bench.fuse.precision != Precision::Fp16 ||
        (report.nodeErrors.empty() && !addErrors(bench, report, progress)))
        return {};
    std::vector<std::string> lost;
    for (const app::NodeErrorReport& error : report.nodeErrors)
        if (std::isinf(error.maxAbsolute)) // a relative one is infinite beside zeros too
            lost.push_back(error.node);
    if (lost.empty())
        return {};
    const std::string what = lost.size() == 1 ? "`" + lost[0] + "` makes"
                                              : fmt::format("`{}` and {} more nodes make or read",
                                                            lost[0], lost.size() - 1);
    std::string keep;
    size_t named = 0;
    for (size_t i = 0; i < lost.size() && named < mostNamed; ++i)
        if (lost[i].find('\'') == std::string::npos) { // a shell would end the word there
            keep += " --precision-of '" + lost[i] + "=fp32'";
            ++named;
        }
    if (lost.size() > named)
        keep += " ... (--errors lists them)";
    return fmt::format("  float16 ends at 65504: {} larger numbers here\n"
                       "  fix: keep them in float32:{}; or take --precision bf16\n",
                       what, keep);
}

/// A run of this model, with a row for each condition: a host that reads JUnit sees what failed.
app::RunReport judgedBy(const std::vector<batch::Gate>& conditions, const app::Report& report) {
    constexpr auto nothingBefore = [](const app::ModelRun&) -> std::optional<batch::Baseline> {
        return {};
    };
    constexpr auto nothingRuns = [](const app::ModelRun&) -> std::optional<app::Report> {
        return {};
    };
    app::RunReport out = app::runOf(report);
    batch::judge({conditions, batch::Policy::Lenient, nothingBefore, nothingRuns, true}, out);
    return out;
}

int run(Options& options) {
    if (auto ready = finish(options.rewrite); !ready)
        return reportError(ready.error());
    if (!options.plan.empty()) {
        auto plan = app::readPlan(options.plan);
        if (!plan)
            return reportError(plan.error());
        options.rewrite.fuse.plan = std::move(*plan);
    }
    for (const std::string& path : options.reports)
        if (!app::reportFormatOf(path))
            return reportError(failure("usage.report", "no report format for `" + path + "`",
                                       "--report", "end the name in one of: " + endings())
                                   .error);
    if (options.bench.compile && options.bench.run.backend == BackendKind::Auto)
        options.bench.run.backend = BackendKind::Cuda; // nothing else is compiled
    if (options.bench.compile && options.bench.run.backend != BackendKind::Cuda)
        return reportError(
            failure("usage.compile",
                    std::string("only kernels of cuda are compiled, not those of `") +
                        nameOf(options.bench.run.backend) + "`",
                    "--compile", "leave out --backend, or write --backend cuda")
                .error);
    auto conditions = loadConditions(options.failOn);
    if (!conditions)
        return reportError(conditions.error());
    if (auto judged = requireJudged(options.failOn, {options.bench.measure, options.bench.verify},
                                    "leave out --no-measure", "leave out --no-verify");
        !judged)
        return reportError(judged.error());
    noteUnmatched(*conditions, {{}, ruleNames(*conditions, options.rewrite.rules)});
    if (options.redact && !options.saveFused.empty())
        return reportError(failure("usage.redact", "a model holds all names and weights",
                                   "--save-fused", "leave it out, or --redact")
                               .error);
    if (options.redact && !options.bench.dumpKernels.empty())
        return reportError(failure("usage.redact", "kernels hold values of the model",
                                   "--dump-kernels", "leave it out, or --redact")
                               .error);
    std::vector<std::string> outputs = options.reports;
    outputs.push_back(options.saveFused);
    for (const std::string& path : outputs)
        if (auto fine = checkWritable(path); !fine)
            return reportError(fine.error());
    options.bench.rules = options.rewrite.rules;
    options.bench.fuse = options.rewrite.fuse;
    options.bench.fuse.explain = options.explain || showsMisses(options);
    ConsoleProgress progress(options.rewrite.quiet);
    auto result = app::bench(options.bench, progress);
    if (!result)
        return reportError(result.error());
    if (options.errors)
        if (auto added = addErrors(options.bench, result->report, progress); !added)
            return reportError(added.error());
    if (!options.saveFused.empty()) {
        auto saved = model_io::save(result->fused, options.saveFused, {.progress = &progress});
        if (!saved)
            return reportError(saved.error());
        printNotes(dataFileNotes(*saved), options.rewrite.quiet);
    }
    if (options.redact) {
        auto hidden = app::redacted(result->report);
        if (!hidden)
            return reportError(hidden.error());
        result->report = std::move(*hidden);
    }
    const app::RunReport judged = judgedBy(*conditions, result->report);
    for (const std::string& path : options.reports) {
        const app::ReportFormat& format = *app::reportFormatOf(path);
        if (auto written =
                writeFile(path, format.renderRun != nullptr ? format.renderRun(judged)
                                                            : format.render(result->report));
            !written)
            return reportError(written.error());
    }
    bool onOutput = std::any_of(options.reports.begin(), options.reports.end(),
                                [](const std::string& path) { return path.rfind("-.", 0) == 0; });
    if (!onOutput)
        printOut(app::renderText(result->report));
    if (!result->dumped.empty() && !onOutput)
        printOut(result->dumped + "\n");
    const bool asksToRun = options.bench.measure || options.bench.verify || options.bench.counters;
    if (result->unusable && !result->compiled && asksToRun)
        return reportError(*result->unusable);
    const std::vector<std::string> broken = brokenConditions(judged.gates);
    for (const std::string& line : broken)
        onOutput ? fmt::print(stderr, "fuselage: fails on {}\n", app::visible(line))
                 : printOut("fails on " + line + "\n");
    const bool stopped = options.bench.verifySeconds > 0 && result->report.agreement.empty();
    bool failed =
        options.bench.verify && !stopped && !result->unusable && !result->report.verified();
    if (failed)
        fmt::print(stderr, "fuselage: verification failed: {}\n{}",
                   app::failedChecks(result->report),
                   options.redact ? "" // its nodes have names
                                  : overflowText(options.bench, result->report, progress));
    return failed ? ExitVerification : broken.empty() ? ExitOk : ExitGate;
}

} // namespace

Action addBench(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app::BenchOptions& bench = options->bench;
    app.add_option("model", bench.model, "ONNX file")->required();
    addRewriteOptions(app, options->rewrite);
    addBenchOptions(app, bench);
    app.add_flag_callback(
        "--no-measure", [&bench] { bench.measure = false; },
        "do not time, only predict; results are still verified, unless --no-verify");
    app.add_flag("--compile", bench.compile,
                 "cuda without a device: compile each step's preferred kernel for the predicted "
                 "one and show registers, spills and occupancy");
    app.add_flag("--counters", bench.counters,
                 "count each kernel's bytes with the device's hardware counters, in runs after the "
                 "timed ones (see doctor)");
    app.add_option("--plan", options->plan,
                   "apply the matches of this plan (fuse --plan-out) and no others");
    app.add_flag("--errors", options->errors,
                 "of a quantised model or a 16-bit precision: the error of every node against "
                 "float, the worst in text and all in JSON and HTML");
    app.add_flag("--explain", options->explain, "keep near misses, whatever the format");
    app.add_option("--report", options->reports,
                   "write the report; format by ending: " + endings() +
                       "; -.json is standard output");
    app.add_flag(
        "--redact", options->redact,
        "names of nodes and values become hashes, values of weights are left out; names of open "
        "dimensions stay");
    app.add_option("--save-fused", options->saveFused, "write the fused model");
    app.add_option("--fail-on", options->failOn,
                   "exit code 1 where a condition on a metric holds, e.g. 'slower_matches > 0', "
                   "'fallbacks > 0' or 'speed_up < 1.1', or the metric was not measured; "
                   "repeatable")
        ->delimiter(',');
    app.add_option("--dump-kernels", bench.dumpKernels,
                   "folder for every generated kernel of the fused plan as CUDA text with a repro");
    return [options, &app] {
        auto fits = checkTuneOptions(app, options->bench.run.backend);
        return fits ? run(*options) : reportError(fits.error());
    };
}

} // namespace fuselage::cli
