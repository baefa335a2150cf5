// SPDX-License-Identifier: Apache-2.0
// fuselage run MODEL: one run on a backend, unfused or fused; outputs saved as output_N.pb. Checks
// the numbers on request only.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/amplification.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "app/pipeline/run_check.h"
#include "app/report/verdict.h"
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

/// The model, if it can be run.
Result<app::LoadedModel> opened(const Options& options, Progress& progress) {
    auto model =
        app::loadModel({options.model, options.rewrite.fuse.dims, options.inputs}, progress);
    if (!model)
        return model;
    printNotes(model->notes);
    if (auto all = app::requireOperators(model->graph); !all)
        return failure(all.error());
    if (auto known = app::requireSizes(*model); !known)
        return failure(known.error());
    return model;
}

/// Numbers for dimensions, constants folded.
Result<Graph> bound(Graph graph, const app::LoadedModel& model) {
    bindAllDimensions(graph, model.dims);
    Progress progress;
    if (auto folded = prepareGraph(graph, progress); !folded)
        return failure(folded.error());
    return graph;
}

/// The graph to run; `compile` learns what rules allow.
Result<Graph> prepared(const app::LoadedModel& model, const Options& options,
                       CompileOptions& compile, Progress& progress) {
    Graph graph = model.graph.clone();
    if (!options.fuse) {
        if (auto done = setPrecision(graph, options.rewrite.fuse.precision); !done)
            return failure(done.error());
    } else {
        auto library = app::requireRuleLibrary(options.rewrite.rules);
        if (!library)
            return failure(library.error());
        app::FuseOptions fusing = options.rewrite.fuse;
        fusing.dims = model.dims;
        auto rewritten = app::fuseGraph(graph, *library, fusing, progress);
        if (!rewritten)
            return failure(rewritten.error());
        graph = std::move(rewritten->graph);
        compile.allowed = app::numericClasses(*library);
    }
    return bound(std::move(graph), model);
}

/// How each output compares with another run of the model.
Result<std::vector<app::OutputAgreement>>
verified(const app::LoadedModel& model, const Options& options, const CompileOptions& compile,
         const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    auto judged = bound(model.graph.clone(), model);
    if (!judged)
        return failure(judged.error());
    Progress progress;
    return app::checkRun(*judged, options.fuse, inputs, outputs, compile, progress);
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

CompileOptions compileOptions(const Options& options) {
    CompileOptions out;
    out.backend = options.backend;
    out.threads = options.threads;
    out.tune = options.tune;
    out.cache = options.cache;
    out.oneKernelPerNode = !options.fuse;
    out.precision = options.rewrite.fuse.precision;
    out.strict = options.rewrite.fuse.strict;
    return out;
}

struct Outputs {
    std::vector<std::string> names;
    std::vector<Tensor> tensors;
    std::vector<app::OutputAgreement> checked; ///< with --verify
    bool jumps = false;                        ///< small differences may become large ones
};

/// One attempt: prepares, compiles and runs.
Result<Outputs> runLoaded(const app::LoadedModel& model, const Options& options) {
    std::optional<ConsoleProgress> progress(options.rewrite.quiet);
    CompileOptions compile = compileOptions(options);
    auto graph = prepared(model, options, compile, *progress);
    if (!graph)
        return failure(graph.error());
    auto inputs = options.inputs.empty() ? app::generateInputs(*graph, options.seed)
                                         : Result<std::vector<Tensor>>(model.inputs);
    if (!inputs)
        return failure(inputs.error());
    Outputs out;
    for (ValueId id : graph->outputs())
        out.names.push_back(graph->value(id).name);
    if (progress->cancelled())
        return cancelledFailure("preparing");
    // From here nothing asks whether it was cancelled: Ctrl-C ends the program at once.
    progress.reset();
    auto compiled = CompiledGraph::compile(std::move(*graph), compile);
    if (!compiled)
        return failure(compiled.error());
    for (const std::string& note : compiled->backend().notes())
        fmt::print(stderr, "fuselage: {}\n", note);
    auto tensors = compiled->run(*inputs);
    if (!tensors)
        return failure(tensors.error());
    out.tensors = std::move(*tensors);
    if (!options.verify)
        return out;
    auto checked = verified(model, options, compile, *inputs, out.tensors);
    if (!checked)
        return failure(checked.error());
    out.checked = std::move(*checked);
    out.jumps = app::hasJumps(model.graph);
    return out;
}

Result<Outputs> runModel(const Options& options) {
    std::optional<ConsoleProgress> progress(options.rewrite.quiet);
    auto model = opened(options, *progress);
    progress.reset();
    if (!model)
        return failure(model.error());
    for (size_t lies = 0;; ++lies) {
        auto out = runLoaded(*model, options);
        if (out || lies == app::mostWrongDeclarations ||
            !app::forgetDeclaration(*model, out.error()))
            return out;
        printNotes({model->notes.back()});
    }
}

int run(Options& options) {
    if (auto ready = finish(options.rewrite); !ready)
        return reportError(ready.error());
    auto outputs = runModel(options);
    if (!outputs)
        return reportError(outputs.error());
    if (!options.output.empty())
        if (auto saved = saveOutputs(outputs->tensors, outputs->names, options.output); !saved)
            return reportError(saved.error());
    std::string out;
    for (size_t i = 0; i < outputs->names.size(); ++i)
        out += fmt::format("{}: {}\n", outputs->names[i], outputs->tensors[i].type().text());
    bool right = true;
    for (const app::OutputAgreement& output : outputs->checked) {
        right = right && output.ok;
        out +=
            fmt::format("verify {}: {}: max abs {:.2e}, relative {:.2e}, {} (limit {:.0e}){}{}\n",
                        output.output, output.side, output.maxAbsolute, output.maxRelative,
                        app::agreementVerdict(output), output.tolerance,
                        output.note.empty() ? "" : "; ", output.note);
    }
    if (!right && outputs->jumps)
        out += "verify: this model rounds or compares values on the way, so that roundings alone "
               "may turn a result over: `fuselage bench` tells that from a mistake\n";
    printOut(out);
    return right ? ExitOk : ExitVerification;
}

} // namespace

Action addRun(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    addRewriteOptions(app, options->rewrite);
    app.add_flag("--fuse", options->fuse,
                 "run the fused model; nothing is checked without --verify");
    app.add_flag("--verify", options->verify,
                 "compare the outputs: of --fuse with one unfused run on the same backend (in fp32 "
                 "for --precision fp16 and bf16), else or where those differ with the "
                 "double-precision interpreter; exit 4 where wrong. "
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
