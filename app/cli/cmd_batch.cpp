// SPDX-License-Identifier: Apache-2.0
// fuselage batch MODELS... -o OUT: many models, each in a process of its own; gates, baselines,
// shards, reports. And the commands on what it wrote: compare, merge, baseline.
#include "app/batch/baseline.h"
#include "app/batch/outputs.h"
#include "app/batch/run.h"
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/gate_options.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/bench.h"
#include "core/support/file.h"
#include "core/support/hash.h"
#include "core/support/parallel.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

namespace fuselage::cli {

namespace {

struct Options {
    batch::BatchOptions batch;
    GateOptions gates;
    RewriteOptions rewrite; ///< checked here, handed on as they were written
    app::BenchOptions bench;
    std::vector<CLI::Option*> forwarded;
    std::vector<std::string> forModels; ///< "PATTERN:NAME=VALUE"
    std::string shard = "1/1", timeout = "10m", measure = "off";
    bool redact = false;
};

/// Below it not even the program starts.
constexpr int64_t leastMemory = int64_t{256} << 20;

constexpr const char* noMeasure = "--no-measure"; ///< handed on to bench where nothing is timed

/// "90", "90s", "10m", "2h" in seconds.
Result<double> parseDuration(const std::string& text) {
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string unit(end, text.data() + text.size());
    const double factor = unit.empty() || unit == "s" ? 1
                          : unit == "m"               ? 60
                          : unit == "h"               ? 3600
                                                      : 0;
    if (error != std::errc() || !(number > 0) || factor == 0 || number * factor > mostSeconds)
        return failure("usage.timeout", "`" + text + "` is no duration", "--timeout",
                       "write e.g. 90s, 10m or 2h; at most 24h");
    return number * factor;
}

/// Options of bench as the person wrote them.
std::vector<std::string> writtenOptions(const std::vector<CLI::Option*>& options) {
    std::vector<std::string> out;
    for (const CLI::Option* option : options) {
        if (option->count() == 0)
            continue;
        const std::string name = option->get_name();
        if (option->get_expected_max() == 0) {
            out.push_back(name);
            continue;
        }
        for (std::string value : option->results()) {
            const size_t equals = value.find('=');
            // Each model has some of the dimensions.
            if (name == "--dim" && equals != std::string::npos && equals > 0 &&
                value[equals - 1] != '?')
                value.insert(equals, "?");
            out.push_back(name + "=" + value);
        }
    }
    return out;
}

/// "PATTERN:NAME=VALUE" as an option of bench for models whose ids fit.
Result<batch::ModelOption> parseModelOption(const std::string& text,
                                            const std::vector<CLI::Option*>& known) {
    const size_t colon = text.find(':'), equals = text.find('=', colon);
    if (colon == 0 || colon == std::string::npos || equals == std::string::npos)
        return failure("usage.model_option", "`" + text + "` is not PATTERN:NAME=VALUE",
                       "--model-option", "write e.g. --model-option \"resnet50*:dim=N=4\"");
    batch::ModelOption out{text.substr(0, colon), "--" + text.substr(colon + 1, equals - colon - 1),
                           text.substr(equals + 1), false};
    auto option = std::find_if(known.begin(), known.end(), [&](const CLI::Option* candidate) {
        return candidate->check_lname(out.name.substr(2));
    });
    if (option == known.end())
        return failure("usage.model_option", "a model has no option `" + out.name + "` of its own",
                       "--model-option", "take one of bench, e.g. dim, precision or no-verify");
    out.flag = (*option)->get_expected_max() == 0;
    return out;
}

/// What results depend on, whatever it is called on this machine: options, the texts of rules, the
/// contents of files that options name, and whether it measures. Shards of one run have one.
std::string configOf(const Options& options, const app::RuleLibrary& library) {
    // What is computed depends on neither, and rules are their texts.
    constexpr std::array left{"--threads", "--cache", "--patterns", "--import-path"};
    Hasher out;
    for (const std::string& text : options.forModels)
        out.text(text);
    for (const std::string& word : writtenOptions(options.forwarded)) {
        const size_t equals = std::min(word.find('='), word.size());
        const std::string name = word.substr(0, equals),
                          value = word.substr(std::min(equals + 1, word.size()));
        if (std::find(left.begin(), left.end(), name) != left.end())
            continue;
        std::error_code failed;
        const auto contents = std::filesystem::is_regular_file(value, failed)
                                  ? readFile(value)
                                  : Result<std::string>(value);
        out.text(name).text(contents ? *contents : value);
    }
    if (options.redact)
        out.text("--redact");
    // Gates of times would skip what one shard has measured and another has not.
    const auto& forward = options.batch.forward;
    if (std::find(forward.begin(), forward.end(), noMeasure) == forward.end())
        out.text("--measure");
    for (uint32_t i = 0; i < library.sources->size(); ++i)
        out.text((*library.sources)[i].text());
    return out.hex();
}

/// `timed`: some gate asks for times.
Result<void> prepare(Options& options, bool timed) {
    batch::BatchOptions& run = options.batch;
    if (auto ready = finish(options.rewrite); !ready)
        return ready;
    auto shard = batch::parseShard(options.shard);
    if (!shard)
        return failure(shard.error());
    run.shard = *shard;
    auto seconds = parseDuration(options.timeout);
    if (!seconds)
        return failure(seconds.error());
    run.timeoutSeconds = *seconds;
    auto program = batch::ownProgram();
    if (!program)
        return failure(program.error());
    run.program = *program;
    run.version = FUSELAGE_VERSION;
    run.forward = writtenOptions(options.forwarded);
    if (options.redact) {
        run.forward.emplace_back("--redact");
        run.keepModels = false; // they hold all names
        run.redact = true;
    }
    for (const std::string& text : options.forModels) {
        auto option = parseModelOption(text, options.forwarded);
        if (!option)
            return failure(option.error());
        run.forModels.push_back(std::move(*option));
    }
    Judged judged{true, options.bench.verify};
    if (options.measure == "on" || (options.measure == "auto" && timed)) {
        run.jobs = 1; // two at once would measure each other
    } else {
        judged.times = false;
        run.forward.emplace_back(noMeasure);
    }
    if (auto fine = requireJudged(options.gates.failOn, judged, "add --measure on",
                                  "leave out --no-verify");
        !fine)
        return failure(fine.error());
    // What is computed does not depend on threads; so many jobs share the machine.
    if (run.jobs > 1 && options.bench.run.threads == 0)
        run.forward.push_back(fmt::format(
            "--threads={}", std::max<size_t>(1, static_cast<size_t>(machineThreads()) / run.jobs)));
    return {};
}

int run(Options& options) {
    auto gates = loadGates(options.gates, Against::Baseline);
    if (!gates)
        return reportError(gates.error());
    const bool timed = std::any_of(gates->begin(), gates->end(), [](const batch::Gate& gate) {
        return batch::isTimed(gate.metric);
    });
    if (auto ready = prepare(options, timed); !ready)
        return reportError(ready.error());
    auto models = batch::findModels(options.batch.models);
    if (!models)
        return reportError(models.error());
    auto library = app::requireRuleLibrary(options.rewrite.rules);
    if (!library)
        return reportError(library.error()); // once, not for every model
    options.batch.config = configOf(options, *library);
    batch::Names names;
    for (const batch::ModelFile& model : *models) // of all shards
        names.models.push_back(model.id);
    for (const Rule& rule : library->loaded.rules.rules)
        names.rules.push_back(rule.name);
    noteUnmatched(*gates, names);
    ConsoleProgress progress(true);
    auto log = [&](const std::string& line) {
        if (!options.rewrite.quiet)
            fmt::print(stderr, "{}\n", line);
    };
    auto result = batch::runModels(options.batch, log, progress);
    if (!result)
        return reportError(result.error());
    auto again = [&](const app::ModelRun& model) -> std::optional<app::Report> {
        auto report = batch::measureAgain(options.batch, {model.id, model.file}, progress);
        return report ? std::optional(std::move(*report)) : std::nullopt;
    };
    if (auto judged = applyGates(options.gates, *gates, again, *result); !judged)
        return reportError(judged.error());
    addUnmatched(options.gates, *gates, names, *result);
    if (options.redact)
        for (app::ModelRun& model : result->models) {
            model.file = std::filesystem::path(model.file).filename().string();
            if (model.report)
                model.report->model.path = model.file;
        }
    if (auto written = batch::writeOutputs(*result, options.batch.output); !written)
        return reportError(written.error());
    if (progress.cancelled()) {
        fmt::print(stderr, "fuselage: interrupted; what ran is in {}\n", options.batch.output);
        return interruptedCode();
    }
    return printVerdict(*result, options.gates);
}

} // namespace

Action addBatch(CLI::App& app) {
    auto options = std::make_shared<Options>();
    batch::BatchOptions& batch = options->batch;
    app.add_option("models", batch.models,
                   "ONNX files, or folders of them; folders in those are not entered")
        ->required();
    app.add_option("-o,--output", batch.output, "folder for results and reports")->required();
    const std::vector<CLI::Option*> own = app.get_options();
    addRewriteOptions(app, options->rewrite);
    addBenchOptions(app, options->bench);
    for (CLI::Option* option : app.get_options())
        if (std::find(own.begin(), own.end(), option) == own.end() &&
            option->get_name() != "--quiet")
            options->forwarded.push_back(option);
    app.add_option("--measure", options->measure,
                   "on, off, or auto: when a gate asks for times; then one model runs at a time")
        ->check(CLI::IsMember({"auto", "on", "off"}))
        ->capture_default_str();
    app.add_option("--jobs", batch.jobs, "models at once")
        ->check(wholeNumber(1, 1024))
        ->capture_default_str();
    app.add_option("--timeout", options->timeout, "for each model: 90s, 10m, 2h")
        ->capture_default_str();
    app.add_option("--memory", batch.memoryBytes, "address space for each model, e.g. 8GiB")
        ->transform(CLI::Validator(size(leastMemory), ""))
        ->type_name("SIZE");
    app.add_option("--shard", options->shard, "run only part I of N, e.g. 1/4")
        ->capture_default_str();
    app.add_option("--model-option", options->forModels,
                   "PATTERN:NAME=VALUE, an option for the models whose ids fit, e.g. "
                   "bert*:dim=S=384; repeatable");
    app.add_flag("--fail-fast,!--keep-going", batch.failFast, "start nothing after a failure");
    app.add_flag(
        "--redact", options->redact,
        "names of nodes and values become hashes in all reports, those of open dimensions stay; "
        "no fused models");
    app.add_flag_callback(
        "--no-models", [&batch] { batch.keepModels = false; }, "do not write the fused models");
    addGateOptions(app, options->gates, Against::Baseline);
    return [options, &app] {
        auto fits = checkTuneOptions(app, options->bench.run.backend);
        return fits ? run(*options) : reportError(fits.error());
    };
}

} // namespace fuselage::cli
