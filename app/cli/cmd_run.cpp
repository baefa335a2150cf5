// SPDX-License-Identifier: Apache-2.0
// fuselage run MODEL: one run on a backend, unfused or fused; outputs saved as output_N.pb. Checks
// the numbers on request only.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "app/pipeline/run_check.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/passes/precision.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model, inputs, output, backend = "auto";
    bool fuse = false, verify = false;
    int threads = 0;
    uint64_t seed = 1;
    RewriteOptions rewrite;
    gpu::TuneOptions tune;
    std::string cache;
};

/// Numbers for dimensions, constants folded.
Result<Graph> bound(Graph graph, const Options& options, Progress& progress) {
    bindAllDimensions(graph, options.rewrite.fuse.dims);
    if (auto folded = prepareGraph(graph, progress); !folded)
        return failure(folded.error());
    return graph;
}

struct Ready {
    Graph graph;                ///< to run
    std::optional<Graph> model; ///< as loaded, for --verify
};

/// What to run; `compile` learns what rules allow.
Result<Ready> prepared(const Options& options, CompileOptions& compile, Progress& progress) {
    auto model = app::loadModel(options.model, options.rewrite.fuse.dims, progress);
    if (!model)
        return failure(model.error());
    printNotes(model->notes);
    if (auto all = app::requireOperators(model->graph); !all)
        return failure(all.error());
    Ready out;
    if (options.verify) {
        auto kept = bound(model->graph.clone(), options, progress);
        if (!kept)
            return failure(kept.error());
        out.model = std::move(*kept);
    }
    Graph graph = std::move(model->graph);
    if (!options.fuse) {
        if (auto done = setPrecision(graph, options.rewrite.fuse.precision); !done)
            return failure(done.error());
    } else {
        auto library = app::requireRuleLibrary(options.rewrite.rules);
        if (!library)
            return failure(library.error());
        auto rewritten = app::fuseGraph(graph, *library, options.rewrite.fuse, progress);
        if (!rewritten)
            return failure(rewritten.error());
        graph = std::move(rewritten->graph);
        compile.allowed = app::numericClasses(*library);
    }
    auto ready = bound(std::move(graph), options, progress);
    if (!ready)
        return failure(ready.error());
    out.graph = std::move(*ready);
    return out;
}

/// Prints how each output compares; false when one of them is wrong.
Result<bool> verified(const Graph& model, const Options& options, const CompileOptions& compile,
                      const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    Progress progress;
    auto found = app::checkRun(model, options.fuse, inputs, outputs, compile, progress);
    if (!found)
        return failure(found.error());
    bool right = true;
    std::string out;
    for (const app::OutputAgreement& output : *found) {
        right = right && output.ok;
        out += fmt::format("verify {}: {}: max abs {:.2e}, relative {:.2e}, {} (limit {:.0e})\n",
                           output.output, output.side, output.maxAbsolute, output.maxRelative,
                           output.ok ? "ok" : "FAILED", output.tolerance);
    }
    printOut(out);
    return right;
}

/// File names are numbers, whatever the values are called; the tensors in them have the names.
Result<void> saveOutputs(const std::vector<Tensor>& outputs, const std::vector<std::string>& names,
                         const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    for (size_t i = 0; i < outputs.size(); ++i) {
        std::string path = folder + "/output_" + std::to_string(i) + ".pb";
        if (auto saved = model_io::saveTensor(outputs[i], path, names[i]); !saved)
            return failure(saved.error());
    }
    return {};
}

int run(Options& options) {
    if (auto fits = finish(options.rewrite); !fits)
        return reportError(fits.error());
    std::optional<ConsoleProgress> progress(options.rewrite.quiet);
    CompileOptions compile;
    compile.backend = options.backend;
    compile.threads = options.threads;
    compile.tune = options.tune;
    compile.cache = options.cache;
    compile.oneKernelPerNode = !options.fuse;
    compile.precision = options.rewrite.fuse.precision;
    compile.strict = options.rewrite.fuse.strict;
    auto ready = prepared(options, compile, *progress);
    if (!ready)
        return reportError(ready.error());
    Graph& graph = ready->graph;
    auto inputs = options.inputs.empty() ? app::generateInputs(graph, options.seed)
                                         : app::readInputs(graph, options.inputs);
    if (!inputs)
        return reportError(inputs.error());
    std::vector<std::string> names;
    for (ValueId id : graph.outputs())
        names.push_back(graph.value(id).name);
    if (progress->cancelled())
        return reportError(cancelledFailure("preparing").error);
    // From here nothing asks whether it was cancelled: Ctrl-C ends the program at once.
    progress.reset();
    auto compiled = CompiledGraph::compile(std::move(graph), compile);
    if (!compiled)
        return reportError(compiled.error());
    for (const std::string& note : compiled->backend().notes())
        fmt::print(stderr, "fuselage: {}\n", note);
    auto outputs = compiled->run(*inputs);
    if (!outputs)
        return reportError(outputs.error());
    if (!options.output.empty())
        if (auto saved = saveOutputs(*outputs, names, options.output); !saved)
            return reportError(saved.error());
    std::string out;
    for (size_t i = 0; i < outputs->size(); ++i)
        out += fmt::format("{}: {}\n", names[i], (*outputs)[i].type().text());
    printOut(out);
    if (!options.verify)
        return ExitOk;
    auto right = verified(*ready->model, options, compile, *inputs, *outputs);
    if (!right)
        return reportError(right.error());
    return *right ? ExitOk : ExitVerification;
}

} // namespace

Action addRun(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    addRewriteOptions(app, options->rewrite);
    app.add_flag("--fuse", options->fuse,
                 "run the fused model; nothing is checked without --verify");
    app.add_flag("--verify", options->verify,
                 "compare the outputs: of --fuse with one unfused run on the same backend, else or "
                 "where those differ with the double-precision interpreter; exit 4 where wrong. "
                 "bench compares both sides with the interpreter always");
    app.add_option("--backend", options->backend, backendNames())->capture_default_str();
    app.add_option("--threads", options->threads, "0: all of this machine")
        ->check(threadCount())
        ->capture_default_str();
    app.add_option("--seed", options->seed, "of generated inputs")
        ->check(seedNumber())
        ->capture_default_str();
    app.add_option("--inputs", options->inputs, "folder of input_N.pb instead of generated ones");
    app.add_option("-o,--save-outputs", options->output,
                   "folder for output_N.pb; each tensor keeps its name");
    addTuneOptions(app, options->tune);
    addCacheOption(app, options->cache);
    return [options, &app] {
        auto fits = checkTuneOptions(app, options->backend);
        return fits ? run(*options) : reportError(fits.error());
    };
}

} // namespace fuselage::cli
