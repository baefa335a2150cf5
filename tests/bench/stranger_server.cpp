// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/stranger_server.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/shapes_of_run.h"
#include "app/pipeline/stopwatch.h"
#include "core/passes/passes.h"
#include "core/plan/specialised.h"
#include "tests/ort/onnx_runtime.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <unistd.h>

namespace fuselage::bench {

namespace {

using nlohmann::json;

void say(const json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
}

int fail(const Error& error) {
    say({{"error", error.text()}});
    return 1;
}

/// Both sides of one case, ready to run.
struct Sides {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Executable> fused, unfused;
    size_t fusedSteps = 0, unfusedSteps = 0;
};

/// Steps that reference code computes; only a run decides about those whose shapes depend on data.
size_t fallbacksOf(const Executable& executable, size_t steps) {
    size_t out = 0;
    for (size_t i = 0; i < steps; ++i)
        out += executable.isFallback(i) ? 1 : 0;
    return out;
}

/// As `fuselage bench` does; with `forData` for the shapes that these inputs lead to.
Result<Sides> prepare(const strangers::Opened& opened, int threads, bool forData) {
    Sides out;
    CompileOptions compile;
    compile.threads = threads;
    auto backend = makeBackend(compile);
    if (!backend)
        return failure(backend.error());
    out.backend = std::move(*backend);
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    app::AnalysisOptions options;
    options.fuse.dims = opened.dims;
    options.backend = out.backend.get();
    auto profile = deviceProfile("cpu");
    if (!profile)
        return failure(profile.error());
    options.profile = *profile;
    Progress progress;
    auto analysis = forData ? app::analyseForData(opened.model, *library, options, opened.inputs,
                                                  threads, progress)
                            : app::analyse(opened.model, *library, options, progress);
    if (!analysis)
        return failure(analysis.error());
    for (auto [plan, assumed, made] :
         {std::tuple(analysis->before.plan, &analysis->before.assumed, &out.unfused),
          {analysis->after.plan, &analysis->after.assumed, &out.fused}}) {
        auto executable = out.backend->prepare(plan, progress);
        if (!executable)
            return failure(executable.error());
        *made = makeSpecialised(std::move(*executable), *assumed);
        if (auto ran = (*made)->outputs(opened.inputs, progress); !ran)
            return failure(ran.error());
    }
    out.fusedSteps = analysis->after.plan->steps.size();
    out.unfusedSteps = analysis->before.plan->steps.size();
    return out;
}

/// Seconds of at least one run, and of as many as fit.
Result<std::vector<double>> timed(Executable& side, const std::vector<Tensor>& inputs,
                                  double budget) {
    std::vector<double> out;
    Progress progress;
    app::Stopwatch whole;
    while (out.empty() || whole.seconds() < budget) {
        app::Stopwatch watch;
        if (auto ran = side.outputs(inputs, progress); !ran)
            return failure(ran.error());
        out.push_back(watch.seconds());
    }
    return out;
}

Result<std::string> writeJob(const strangers::Opened& opened, const ServerOptions& options) {
    const Graph& graph = opened.model.graph;
    ort::Job job;
    job.model = options.stranger.model;
    job.threads = options.threads;
    for (size_t i = 0; i < opened.inputs.size(); ++i)
        job.inputs.push_back({graph.value(graph.inputs()[i]).name, opened.inputs[i]});
    return ort::writeJob(job, options.folder);
}

/// The model with the sizes that its stored inputs give, as `fuselage run --inputs` loads it.
Result<strangers::Opened> openFor(const strangers::Case& stranger) {
    if (stranger.data.empty())
        return strangers::open(stranger);
    Progress progress;
    auto loaded = app::loadModel({stranger.model, {}, stranger.data}, progress);
    if (!loaded)
        return failure(loaded.error());
    std::vector<Tensor> inputs = std::move(loaded->inputs);
    return strangers::Opened{std::move(*loaded), std::move(inputs), {}};
}

/// As `fuselage run --fuse --inputs` does.
Result<double> first(const ServerOptions& options) {
    app::Stopwatch watch;
    auto opened = openFor(options.stranger);
    if (!opened)
        return failure(opened.error());
    auto library = app::requireRuleLibrary({});
    if (!library)
        return failure(library.error());
    app::FuseOptions fusing;
    fusing.dims = opened->dims;
    Progress progress;
    auto rewritten = app::fuseGraph(opened->model.graph, *library, fusing, progress);
    if (!rewritten)
        return failure(rewritten.error());
    bindAllDimensions(rewritten->graph, opened->dims);
    CompileOptions compile;
    compile.threads = options.threads;
    compile.allowed = app::numericClasses(*library);
    auto compiled = CompiledGraph::compile(std::move(rewritten->graph), compile);
    if (!compiled)
        return failure(compiled.error());
    if (auto ran = compiled->run(opened->inputs); !ran)
        return failure(ran.error());
    return watch.seconds();
}

} // namespace

int serveStranger(const ServerOptions& options) {
    alarm(options.limit);
    auto opened = strangers::open(options.stranger);
    if (!opened)
        return fail(opened.error());
    auto sides = prepare(*opened, options.threads, true);
    if (!sides && sides.error().code == "run.assumed") // the sides round to other lengths
        sides = prepare(*opened, options.threads, false);
    if (!sides)
        return fail(sides.error());
    for (Executable* side : {sides->fused.get(), sides->unfused.get()})
        if (auto ran = timed(*side, opened->inputs, 0); !ran)
            return fail(ran.error());
    auto job = writeJob(*opened, options);
    if (!job)
        return fail(job.error());
    say({{"ready", *job},
         {"fallbacks",
          {fallbacksOf(*sides->fused, sides->fusedSteps),
           fallbacksOf(*sides->unfused, sides->unfusedSteps)}}});
    std::string side;
    double seconds = 0;
    while (std::cin >> side >> seconds) {
        auto times =
            timed(side == "fused" ? *sides->fused : *sides->unfused, opened->inputs, seconds);
        if (!times)
            return fail(times.error());
        say({{"seconds", *times}});
    }
    return 0;
}

int firstOfStranger(const ServerOptions& options) {
    alarm(options.limit);
    auto seconds = first(options);
    if (!seconds)
        return fail(seconds.error());
    say({{"seconds", {*seconds}}});
    return 0;
}

} // namespace fuselage::bench
