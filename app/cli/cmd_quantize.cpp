// SPDX-License-Identifier: Apache-2.0
// fuselage quantize MODEL -o OUT.onnx: QuantizeLinear/DequantizeLinear pairs where fused nodes want
// them, with ranges from data; prints where they went and what they cost at the outputs.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/rewrite_input.h"
#include "app/cli/saved_files.h"
#include "app/cli/value_checks.h"
#include "app/quantize/pair_lint.h"
#include "app/quantize/quantize.h"
#include "app/report/format.h"
#include "core/onnx/file_opset.h"
#include "core/onnx/model_file.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <tuple>

namespace fuselage::cli {

namespace {

using app::TextTable;
using Align = TextTable::Align;

struct Options {
    std::string model, output, data, plan, planOut;
    std::string type = "int8", weights, range, bias = "float";
    uint64_t seed = 1;
    app::InputNumbers numbers;
    size_t sets = 4;
    bool mixed = false, lint = false;
    double maxError = 0.01;
    RewriteOptions rewrite;
    quantize::QuantizeOptions quantize;
    std::function<bool(const std::string&)> isGiven; ///< on the command line
};

Failure noSuchWord(const char* option, const std::string& word, const char* known) {
    return failure("usage.quantize", fmt::format("no `{}` here", word), option,
                   fmt::format("one of: {}", known));
}

/// --type and --weights.
Result<void> finishTypes(Options& options) {
    constexpr const char* ofValues = "float, int8, uint8, int16, uint16, float8e4m3fn, float8e5m2";
    const auto type = quantize::storedTypeFromName(options.type);
    const bool isFloat = options.type == "float";
    if (!isFloat && (!type || isOfConstants(*type)))
        return noSuchWord("--type", options.type, ofValues);
    options.quantize.type = isFloat ? std::nullopt : type;
    // Both factors of an 8-bit float product have its type.
    const bool ofFloat8 = type && fuselage::isFloat(dtypeOf(*type));
    const std::string weights = !options.weights.empty() ? options.weights
                                : ofFloat8               ? options.type
                                                         : "int8";
    const auto ofWeights = quantize::storedTypeFromName(weights);
    if (!ofWeights)
        return noSuchWord("--weights", weights, quantize::storedTypeNames());
    options.quantize.weights = *ofWeights;
    return {};
}

Result<void> finishWords(Options& options) {
    if (!options.plan.empty())
        for (const char* word : {"--type", "--weights", "--block", "--smooth", "--range", "--skip",
                                 "--everywhere", "--keep-float", "--percentile"})
            if (options.isGiven(word))
                return failure("usage.quantize", "a plan says this line by line", word,
                               "leave it out, or change the lines of the plan");
    if (auto known = finishTypes(options); !known)
        return known;
    // 128 steps, which entropy looks for, are what 8 bits have; 16 have enough for outliers.
    const bool isWide = options.type == "int16" || options.type == "uint16";
    auto range = quantize::rangeMethodFromName(!options.range.empty() ? options.range
                                               : isWide               ? "minmax"
                                                                      : "entropy");
    if (!range)
        return noSuchWord("--range", options.range, "minmax, average, percentile, entropy");
    auto bias = quantize::biasFormFromName(options.bias);
    if (!bias)
        return noSuchWord("--bias", options.bias, "float, int32");
    options.quantize.range.method = *range;
    options.quantize.bias = *bias;
    if (options.mixed)
        options.quantize.maxError = options.maxError;
    for (const std::string* path : {&options.output, &options.planOut})
        if (auto writable = checkWritable(*path); !writable)
            return writable;
    if (!options.rewrite.precision.of.empty())
        return failure("usage.quantize", "pairs are for float32", "--precision-of",
                       "leave it out; --skip and --keep-float leave nodes without pairs");
    if (options.rewrite.precision.all != "fp32")
        return noSuchWord("--precision", options.rewrite.precision.all,
                          "fp32: pairs are for float");
    return {};
}

std::string countsText(const quantize::Quantized& done) {
    TextTable table({Align::Left, Align::Left, Align::Right, Align::Right});
    table.row({"rule", "point", "quantised", "left out"});
    size_t placed = 0, left = 0;
    for (const quantize::PointCount& count : done.counts) {
        table.row(
            {count.rule, count.point, std::to_string(count.placed), std::to_string(count.leftOut)});
        placed += count.placed;
        left += count.leftOut;
    }
    table.row({"total", "", std::to_string(placed), std::to_string(left)});
    std::string out = table.text("");
    out += fmt::format("{} Quantize/Dequantize pairs, {} constants stored as integers",
                       done.inserted.pairs, done.inserted.constants);
    if (done.inserted.biases > 0)
        out += fmt::format(", {} biases as int32", done.inserted.biases);
    out += fmt::format("\nconstants {} -> {}\n", app::bytesText(done.bytesBefore),
                       app::bytesText(done.bytesAfter));
    if (done.foldedNorms > 0)
        out += fmt::format("{} normalisations folded into convolutions\n", done.foldedNorms);
    if (done.smoothed > 0)
        out += fmt::format("factors of channels moved into the weights behind {} normalisations\n",
                           done.smoothed);
    return out;
}

/// Reasons with how often, most frequent first in the order they came.
std::string leftOutText(const quantize::Quantized& done) {
    std::vector<std::pair<std::string, size_t>> reasons;
    for (const quantize::LeftOut& out : done.leftOut) {
        auto at = std::find_if(reasons.begin(), reasons.end(),
                               [&](const auto& row) { return row.first == out.why; });
        if (at == reasons.end())
            reasons.emplace_back(out.why, 1);
        else
            ++at->second;
    }
    std::string text;
    for (const auto& [why, count] : reasons)
        text += fmt::format("left out {}: {}\n", count, why);
    return text;
}

std::string mixedText(const quantize::MixedResult& mixed, bool points) {
    if (mixed.rows.empty())
        return {};
    TextTable units({Align::Left, Align::Left, Align::Left, Align::Right, Align::Right,
                     Align::Right, Align::Left});
    units.row({points ? "point" : "node", "operator", "rule", "SQNR", "error alone",
               "of float time", "stays"});
    for (const quantize::MixedUnit& unit : mixed.units)
        units.row({unit.node, unit.op, unit.rule,
                   std::isfinite(unit.decibels) ? fmt::format("{:.1f} dB", unit.decibels) : "-",
                   fmt::format("{:.2e}", unit.errorAlone), fmt::format("{:.1f} %", 100 * unit.gain),
                   unit.quantised ? "stored" : "float"});
    TextTable rows(
        {Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left});
    rows.row({points ? "points quantised" : "nodes quantised", "output error", "constants",
              "time, predicted", "measured", ""});
    for (const quantize::MixedRow& row : mixed.rows)
        rows.row({std::to_string(row.quantised), fmt::format("{:.2e}", row.error),
                  app::bytesText(row.bytes), app::secondsText(row.predictedSeconds),
                  row.measuredSeconds > 0 ? app::secondsText(row.measuredSeconds) : "-",
                  row.chosen ? "<- chosen" : ""});
    return "\nsensitivity, the first to stay in float first\n" + units.text() +
           "\naccuracy against size and time\n" + rows.text();
}

std::string errorsText(const std::vector<quantize::OutputError>& errors, const std::string& data) {
    if (errors.empty())
        return {};
    TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right});
    table.row({"output", "max abs", "relative", "SQNR", "same largest"});
    for (const quantize::OutputError& error : errors)
        table.row({error.output, fmt::format("{:.3g}", error.maxAbsolute),
                   fmt::format("{:.2e}", error.relative),
                   std::isfinite(error.decibels) ? fmt::format("{:.1f} dB", error.decibels) : "inf",
                   fmt::format("{:.1f} %", 100 * error.sameLargest)});
    return "\nagainst the float model, " + data + "\n" + table.text();
}

Result<quantize::Quantized> quantiseFile(Options& options, Progress& progress) {
    auto sets = options.data.empty()
                    ? quantize::InputSets::generated(options.seed, options.sets, options.numbers)
                    : quantize::InputSets::open(options.data);
    if (!sets)
        return failure(sets.error());
    auto opened = openForRewrite(options.model, options.rewrite, progress, sets->firstFolder());
    if (!opened)
        return failure(opened.error());
    const auto& [library, model] = *opened;
    printNotes(model.notes, options.rewrite.quiet);
    if (auto sizes = app::requireSizes(model); !sizes)
        return failure(sizes.error());
    options.quantize.fuse = options.rewrite.fuse;
    if (!options.plan.empty()) {
        auto plan = quantize::readPairPlan(options.plan);
        if (!plan)
            return failure(plan.error());
        options.quantize.plan = std::move(*plan);
    }
    auto done = quantize::quantizeModel(model, library, *sets, options.quantize, progress);
    if (done || !done.error().code.starts_with("plan.") || !done.error().where.empty())
        return done;
    Error error = done.error();
    error.where = options.plan;
    return failure(std::move(error));
}

/// What is amiss with the pairs that the model has.
int lint(Options& options) {
    ConsoleProgress progress(options.rewrite.quiet);
    auto opened = openForRewrite(options.model, options.rewrite, progress);
    if (!opened)
        return reportError(opened.error());
    printNotes(opened->model.notes, options.rewrite.quiet);
    auto fused =
        app::fuseGraph(opened->model.graph, opened->library, options.rewrite.fuse, progress);
    if (!fused)
        return reportError(fused.error());
    const auto findings = quantize::lintPairs(opened->model.graph, fused->graph);
    size_t advice = 0;
    for (const quantize::PairFinding& finding : findings) {
        printOut(fmt::format("{}: {} [{}]\n  {}: {}\n", finding.node, finding.message,
                             nameOf(finding.lint), isAdvice(finding.lint) ? "advice" : "fix",
                             finding.fix));
        advice += isAdvice(finding.lint) ? 1 : 0;
    }
    const size_t amiss = findings.size() - advice;
    printOut(fmt::format(
        "{} {}{}\n", amiss, amiss == 1 ? "finding" : "findings",
        advice > 0 ? fmt::format(", {} {} of advice", advice, advice == 1 ? "piece" : "pieces")
                   : ""));
    return amiss == 0 ? ExitOk : ExitGate;
}

int run(Options& options) {
    if (options.lint)
        return lint(options);
    ConsoleProgress progress(options.rewrite.quiet);
    if (auto ready = finishWords(options); !ready)
        return reportError(ready.error());
    auto done = quantiseFile(options, progress);
    if (!done)
        return reportError(done.error());
    if (!options.output.empty()) {
        auto saved = model_io::saveOf(done->graph, options.output, model_io::ownOpset(done->graph),
                                      {.progress = &progress});
        if (!saved)
            return reportError(saved.error());
        printNotes(dataFileNotes(*saved), options.rewrite.quiet);
    }
    if (!options.planOut.empty())
        if (auto written = writeFile(options.planOut, quantize::planText(done->plan)); !written)
            return reportError(written.error());
    printNotes(done->notes);
    printOut(countsText(*done) + leftOutText(*done) +
             mixedText(done->mixed, options.quantize.mixedPoints) +
             errorsText(done->errors, done->checkedOn) +
             (options.output.empty() && options.planOut.empty()
                  ? "\nnothing is written: -o FILE writes the model, --plan-out its placement\n"
                  : "") +
             (options.output.empty() ? ""
                                     : fmt::format("\n{}: opset {}\n", options.output,
                                                   model_io::ownOpset(done->graph))));
    return ExitOk;
}

} // namespace

Action addQuantize(CLI::App& app) {
    auto options = std::make_shared<Options>();
    quantize::QuantizeOptions& to = options->quantize;
    app.add_option("model", options->model, "ONNX file, float32")->required();
    app.add_option("-o,--output", options->output,
                   "quantised ONNX file to write, of the model's own opset where that is at least "
                   "13, with 8-bit floats 19, with 16 bits, 4 bits and blocks 21");
    app.add_option("--data", options->data,
                   "folder of input_N.pb, input_N.npy or NAME.npy, or of such folders, one set of "
                   "inputs each; without it "
                   "inputs are generated, and the file says so");
    app.add_option("--plan-out", options->planOut,
                   ".fuseplan to write: one line a read that is quantised, with its range");
    app.add_option("--plan", options->plan,
                   ".fuseplan to replay: its reads and no others, or an error with the line");
    app.add_option("--type", options->type,
                   "of activations: int8, symmetric; uint8, with a zero point; int16, uint16, "
                   "float8e4m3fn, float8e5m2; float: they stay as they are, and only weights are "
                   "stored")
        ->capture_default_str();
    app.add_option("--weights", options->weights,
                   "type of weights: those of --type, or int4, uint4 (default: int8, with 8-bit "
                   "floats that type)");
    app.add_option("--block", to.block,
                   "elements of a 4-bit weight along what is summed that share a scale (TensorRT "
                   "takes 64 and 128); 0: one scale for each output channel")
        ->check(wholeNumber(0, 1 << 20))
        ->capture_default_str();
    app.add_option("--range", options->range,
                   "how ranges are taken from data: minmax, average (of the sets' ends), "
                   "percentile, entropy (Kullback-Leibler) (default: entropy, with 16 bits "
                   "minmax)");
    app.add_option("--percentile", to.range.percentile,
                   "share of the numbers that --range percentile keeps")
        ->check(number(50, 100))
        ->capture_default_str();
    app.add_option("--bias", options->bias,
                   "float, as TensorRT wants it, or int32 in steps of input times weight")
        ->capture_default_str();
    app.add_flag_callback(
        "--keep-norm", [&to] { to.foldNorm = false; },
        "do not fold batch normalisation into convolutions before");
    app.add_option("--smooth", to.smooth,
                   "move the outliers of channels from normalisations into the weights behind "
                   "them, so strongly (0.5 is usual): for transformers")
        ->check(number(0, 1));
    app.add_flag("--lint", options->lint,
                 "say what is amiss with the pairs that the model has, and what could be better, "
                 "and write nothing; exit 1 where something is amiss");
    app.add_flag(
        "--again", to.again,
        "take the pairs that the model has out first: of a quantised file a new placement");
    app.add_option("--skip", to.skip,
                   "leave out what this names: rule:NAME, point:NAME, op:OPERATOR, 'op:Conv "
                   "group>1', node:NAME; repeatable");
    app.add_flag(
        "--everywhere", to.everywhere,
        "also the values of attention's two products and of ConvTranspose, which no kernel "
        "here computes in integers and TensorRT does");
    app.add_option("--keep-float", to.keepFloat, "node that reads nothing quantised; repeatable");
    app.add_flag("--mixed", options->mixed,
                 "measure what each node's pairs cost at the outputs, and leave the worst in float "
                 "until --max-error holds");
    app.add_flag("--points", to.mixedPoints,
                 "with --mixed, each point by itself in place of all points of a node");
    app.add_option("--max-error", options->maxError,
                   "relative error of the worst output that --mixed allows")
        ->check(number(0, 1e6))
        ->capture_default_str();
    app.add_flag_callback(
        "--no-check", [&to] { to.check = false; }, "do not compare outputs with the float model");
    app.add_option("--sets", options->sets, "how many sets to generate without --data")
        ->check(wholeNumber(1, 1000))
        ->capture_default_str();
    app.add_option("--seed", options->seed, "of generated inputs")
        ->check(seedNumber())
        ->capture_default_str();
    addSetOption(app, options->numbers);
    addBackendOption(app, to.run.backend, backendNames());
    app.add_option("--threads", to.run.threads, "0: all of this machine")
        ->check(threadCount())
        ->capture_default_str();
    options->isGiven = [&app](const std::string& word) { return app.count(word) > 0; };
    // A point says what may be quantised, whether or not fusing pays in float.
    options->rewrite.decide = "rules";
    addRewriteOptions(app, options->rewrite);
    return [options, &app] {
        for (const char* word : {"--output", "--plan-out", "--plan", "--data"})
            if (options->lint && app.count(word) != 0)
                return reportError(failure("usage.quantize", "`--lint` reads pairs and writes none",
                                           word, "leave it out, or --lint")
                                       .error);
        const std::tuple<const char*, bool, const char*> needs[] = {
            {"--max-error", options->mixed, "--mixed"},
            {"--points", options->mixed, "--mixed"},
            {"--percentile", options->range == "percentile", "--range percentile"},
            {"--block", options->weights == "int4" || options->weights == "uint4",
             "--weights int4 or uint4"}};
        for (const auto& [word, isUsed, other] : needs)
            if (app.count(word) != 0 && !isUsed)
                return reportError(failure("usage.quantize",
                                           fmt::format("only `{}` asks for it", other), word,
                                           fmt::format("add {}, or leave it out", other))
                                       .error);
        for (const char* word : {"--sets", "--seed", "--set"})
            if (app.count(word) != 0 && !options->data.empty())
                return reportError(failure("usage.quantize", "only generated inputs ask for it",
                                           word, "leave it out, or --data")
                                       .error);
        return run(*options);
    };
}

} // namespace fuselage::cli
