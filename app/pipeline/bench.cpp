// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/bench.h"

#include "app/pipeline/amplification.h"
#include "app/pipeline/analysis.h"
#include "app/pipeline/check_elsewhere.h"
#include "app/pipeline/compiled_kernels.h"
#include "app/pipeline/counters.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/kernel_text.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/match_errors.h"
#include "app/pipeline/model.h"
#include "app/pipeline/pair_effects.h"
#include "app/pipeline/precision_rules.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/shapes_of_run.h"
#include "app/pipeline/stopwatch.h"
#include "app/pipeline/summary.h"
#include "app/pipeline/verify.h"
#include "app/pipeline/wrong_step.h"
#include "core/graph/bodies.h"
#include "core/plan/specialised.h"

#include <fmt/format.h>

#include <utility>

namespace fuselage::app {

namespace {

/// One side made ready to run.
struct Side {
    Planned planned;
    std::unique_ptr<Executable> executable;
};

Result<std::vector<ReferenceValue>> referenceOutputs(const Graph& graph,
                                                     const std::vector<Tensor>& inputs, int threads,
                                                     Progress& progress,
                                                     const std::vector<ValueId>& keep = {}) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool pool(threads);
    return interpret(graph, std::move(values), pool, progress, keep);
}

/// What the 16-bit storage of a plan may lose, and what it does lose in double precision.
struct StorageLoss {
    DType storage = DType::Float32;
    double limit = 0;
    std::vector<ReferenceValue> outputs; ///< of the converted graph
};

/// None for precisions in which the graph is stored as the model says.
Result<std::optional<StorageLoss>> storageLoss(const BenchOptions& options, const Side& before,
                                               const std::vector<Tensor>& inputs,
                                               Progress& progress) {
    const DType storage = storageOf(options.fuse.precision);
    if (storage == DType::Float32)
        return std::optional<StorageLoss>();
    const Graph& converted = *before.planned.plan->graph;
    auto outputs = referenceOutputs(converted, inputs, options.run.threads, progress);
    if (!outputs)
        return failure(outputs.error());
    const double limit = storageTolerance(storage, roundingDepth(converted, storage));
    return std::optional(StorageLoss{storage, limit, std::move(*outputs)});
}

/// What one run of each side gave.
struct SideOutputs {
    std::vector<Tensor> unfused, fused;
};

/// Runs both sides and judges them by the model as it was loaded. The fused side may lose twice
/// what the unfused one loses; with 16-bit storage both may lose what the storage costs.
Result<SideOutputs> verifySides(Side& before, Side& after, const std::vector<Tensor>& inputs,
                                const std::vector<ReferenceValue>& reference,
                                const std::optional<StorageLoss>& loss, Report& report,
                                Progress& progress) {
    auto unfused = before.executable->outputs(inputs, progress);
    if (!unfused)
        return failure(unfused.error());
    auto fused = after.executable->outputs(inputs, progress);
    if (!fused)
        return failure(fused.error());
    const Graph& graph = *before.planned.plan->graph;
    std::vector<OutputAgreement> ofFused;
    for (size_t i = 0; i < reference.size(); ++i) {
        const std::string& name = graph.value(graph.outputs()[i]).name;
        DType dtype = reference[i].dtype;
        const bool stored = loss && isFloat(dtype);
        const double limit = stored ? loss->limit : ownTolerance(graph, dtype);
        if (stored)
            report.agreement.push_back(
                compareOutput(name, "weights", reference[i], loss->outputs[i].toTensor(), limit));
        report.agreement.push_back(
            compareOutput(name, "unfused", reference[i], (*unfused)[i], limit));
        double allowed = fusedTolerance(stored ? loss->storage : heldTo(graph, dtype),
                                        report.agreement.back().maxRelative, limit);
        ofFused.push_back(compareOutput(name, "fused", reference[i], (*fused)[i], allowed));
        if (after.planned.plan->strict)
            ofFused.push_back(compareBits(name, "exact", (*unfused)[i], (*fused)[i]));
    }
    report.agreement.insert(report.agreement.end(), ofFused.begin(), ofFused.end());
    return SideOutputs{std::move(*unfused), std::move(*fused)};
}

/// Adds "first_run" of the fused side, and "first_result": from the file to there.
Result<void> timeFirstRun(Side& side, const std::vector<Tensor>& inputs, Report& report,
                          Progress& progress) {
    Stopwatch watch;
    if (auto outputs = side.executable->outputs(inputs, progress); !outputs)
        return failure(outputs.error());
    auto& seconds = report.stageSeconds;
    seconds["first_run"] = watch.lap();
    double total = 0;
    for (const char* stage : {"rules", "load", "prepare", "fuse", "plan_fused", "first_run"})
        total += seconds[stage];
    seconds["first_result"] = total;
    return {};
}

/// As the fused side was compiled.
CompileOptions compileOptions(const BenchOptions& options) {
    CompileOptions out = options.run;
    out.tune.tune |= options.measure; // a few milliseconds more among seconds
    out.measureTactics = options.measure;
    return out;
}

/// The model as it was loaded, and the graph after its rules, both with numbers for dimensions.
struct Graphs {
    Graph model, fused;
};

Result<void> verifyAgainst(const Graphs& graphs, const BenchOptions& options,
                           const std::vector<Tensor>& inputs, Side& before, Side& after,
                           Report& report, Progress& progress) {
    std::vector<ValueId> kept = valuesOfMatches(graphs.model, graphs.fused);
    auto expected = referenceOutputs(graphs.model, inputs, options.run.threads, progress, kept);
    if (!expected)
        return failure(expected.error());
    std::vector<ReferenceValue> inner(
        std::make_move_iterator(expected->begin() +
                                static_cast<ptrdiff_t>(graphs.model.outputs().size())),
        std::make_move_iterator(expected->end()));
    expected->resize(graphs.model.outputs().size());
    auto loss = storageLoss(options, before, inputs, progress);
    if (!loss)
        return failure(loss.error());
    auto ran = verifySides(before, after, inputs, *expected, *loss, report, progress);
    if (!ran)
        return failure(ran.error());
    CompileOptions compile = compileOptions(options);
    compile.precision = options.fuse.precision;
    compile.precisionOf = options.fuse.precisionOf;
    compile.strict = options.fuse.strict;
    const DType storage = storageOf(options.fuse.precision);
    if (!options.fuse.strict && !report.verified())
        if (auto allowed = allowAmplification({graphs.model, graphs.fused, inputs, *expected,
                                               ran->unfused, ran->fused, compile, storage},
                                              report, progress);
            !allowed)
            return allowed;
    // Where digits are lost is a help, not a verdict: a model that has no room for it has no such
    // figures, and its own plan is not worth measuring kernels for.
    compile.measureTactics = false;
    (void)addMatchErrors(graphs.model, kept, inner, graphs.fused, compile, inputs, report);
    return {};
}

/// Cancels work below it that takes too long; asked wherever progress is reported.
class LimitedProgress final : public Progress {
public:
    LimitedProgress(Progress& outer, double seconds) : m_outer(outer), m_seconds(seconds) {}

    void report(std::string_view stage, size_t done, size_t total) override {
        m_outer.report(stage, done, total);
        if (m_outer.cancelled() || (m_seconds > 0 && m_watch.seconds() > m_seconds))
            cancel();
    }

private:
    Progress& m_outer;
    double m_seconds;
    Stopwatch m_watch;
};

/// Bodies that this run leaves out.
Result<void> verifyBodies(const LoadedModel& model, const Graph& fused, const BenchOptions& options,
                          const std::vector<Tensor>& inputs, Report& report, Progress& progress) {
    CompileOptions compile = compileOptions(options);
    compile.precision = options.fuse.precision;
    compile.precisionOf = options.fuse.precisionOf;
    compile.strict = options.fuse.strict;
    ElsewhereRequest request{model, fused, true, inputs, options.seed, std::move(compile)};
    request.sizes = false;
    auto elsewhere = checkElsewhere(request, progress);
    if (!elsewhere)
        return failure(elsewhere.error());
    report.agreement.insert(report.agreement.end(), elsewhere->found.begin(),
                            elsewhere->found.end());
    report.timingNotes.insert(report.timingNotes.end(), elsewhere->notes.begin(),
                              elsewhere->notes.end());
    return {};
}

Result<void> verifyWithin(const LoadedModel& model, const Graph& fused, const Graphs& graphs,
                          const BenchOptions& options, const std::vector<Tensor>& inputs,
                          Side& before, Side& after, Report& report, Progress& progress) {
    LimitedProgress limited(progress, options.verifySeconds);
    auto ran = verifyAgainst(graphs, options, inputs, before, after, report, limited);
    if (ran && !bodiesOf(model.graph).empty())
        ran = verifyBodies(model, fused, options, inputs, report, limited);
    if (ran || ran.error().code != "cancelled" || progress.cancelled())
        return ran;
    report.agreement.clear();
    report.timingNotes.push_back(fmt::format(
        "results are not checked: comparing was stopped after {:g} s", options.verifySeconds));
    return {};
}

/// The parts of a bench that run something: first result, agreement, times.
Result<void> runSides(const BenchOptions& options, const LoadedModel& model, const Graph& fused,
                      const Graphs& graphs, const std::vector<Tensor>& inputs, Side& before,
                      Side& after, Report& report, Progress& progress) {
    if (auto ran = timeFirstRun(after, inputs, report, progress); !ran)
        return ran;
    if (options.verify) {
        Stopwatch watch;
        if (auto ran = verifyWithin(model, fused, graphs, options, inputs, before, after, report,
                                    progress);
            !ran)
            return ran;
        report.stageSeconds["verify"] = watch.lap();
    }
    if (options.measure) {
        auto measured =
            measure(*before.executable, *after.executable, inputs, options.timing, progress);
        if (!measured)
            return failure(measured.error());
        addMeasurements(*measured, report);
    }
    // Last: counting makes kernels slower, and its hooks stay.
    if (options.counters)
        return addCounters(*before.executable, *after.executable, inputs, report, progress);
    return {};
}

/// What runs the plans, and for which device they are predicted.
struct Target {
    std::unique_ptr<Backend> backend; ///< null: cannot be used here
    DeviceProfile profile;
    std::optional<Error> unusable;
    std::unique_ptr<Backend> planning; ///< in its place: chooses layouts, runs nothing

    const Backend* planner() const { return backend ? backend.get() : planning.get(); }
};

/// A backend that needs a device and has none still predicts, for a device of its kind.
Result<Target> openTarget(const BenchOptions& options) {
    Target out;
    auto backend = makeBackend(compileOptions(options));
    if (backend)
        out.backend = std::move(*backend);
    else if (backend.error().code.starts_with("device."))
        out.unusable = backend.error();
    else
        return failure(backend.error());
    const std::string fallback = out.backend ? options.fuse.profile : "h200";
    std::optional<DeviceProfile> queried = out.backend ? out.backend->profile() : std::nullopt;
    auto profile = !options.device.empty() ? deviceProfile(options.device)
                   : queried               ? Result<DeviceProfile>(*queried)
                                           : deviceProfile(fallback);
    if (!profile)
        return failure(profile.error());
    out.profile = std::move(*profile);
    if (out.unusable)
        out.planning =
            makePlanningBackend(options.run.backend, out.profile, options.run.tune.without);
    return out;
}

/// What analyse() could not say: where it runs.
void addMachine(MachineReport& out, const Target& target, const BenchOptions& options) {
    MachineInfo machine = inspectMachine();
    out.cpu = text(machine);
    out.cores = machine.cores;
    out.threadsUsed = options.run.threads > 0 ? options.run.threads : machine.cores;
    out.backend = target.backend ? target.backend->name() : nameOf(options.run.backend);
    out.backendText =
        target.backend ? target.backend->description() : "not usable: " + target.unusable->text();
    if (!target.backend)
        out.notes.push_back("nothing was run: all times are predictions");
    else if (machine.cudaDriver.empty())
        out.notes.push_back("no CUDA device: libcuda.so.1 not found");
    const Precision precision = options.fuse.precision;
    if (out.backend == "cpu" && (precision == Precision::Fp16 || precision == Precision::Bf16))
        out.notes.push_back(fmt::format(
            "both sides store {0} and mostly compute in float32, as processors do: the same model "
            "in --precision fp32 may be faster here than {0} on either side",
            precisionNames[static_cast<size_t>(precision)]));
    if (target.backend && out.backend == "cuda" && !options.counters)
        out.notes.push_back(
            "bytes are predicted: bench --counters reads the device's hardware counters");
}

/// In the place of a device's figures, as far as a compiler knows them.
/// False without a compiler for the device.
Result<bool> addCompiled(const BenchOptions& options, const Plan& plan, const Target& target,
                         Report& report, Progress& progress) {
    Stopwatch watch;
    auto compiled =
        compileKernels(plan, target.profile,
                       {options.run.threads, options.run.cache, options.run.tune.workspaceLimit},
                       report, progress);
    report.stageSeconds["compile"] = watch.lap();
    return compiled;
}

/// The kernels of the fused plan as they would run on the device: where another backend runs here,
/// its layouts are not theirs, so the device's own plan is made for them.
Result<std::string> dumpKernels(const BenchOptions& options, const LoadedModel& model,
                                const RuleLibrary& library, const Target& target,
                                const Analysis& analysis, Progress& progress) {
    std::shared_ptr<const Plan> plan = analysis.after.plan;
    const std::string runs = target.backend ? target.backend->name() : "cuda";
    if (auto planner =
            makePlanningBackend(BackendKind::Cuda, target.profile, options.run.tune.without);
        planner && runs != "cuda" && target.profile.kind == DeviceKind::Gpu) {
        auto own = analyse(model, library, {options.fuse, target.profile, planner.get()}, progress);
        if (!own)
            return failure(own.error());
        plan = own->after.plan;
    }
    return writeKernels(*plan, target.profile, options.dumpKernels, progress);
}

bool isRun(const BenchOptions& options, const Target& target) {
    return target.backend && (options.measure || options.verify || options.counters);
}

/// Both sides by their plans; with `forData` for the data of this run.
Result<Analysis> analyseSides(const BenchOptions& options, const Target& target,
                              const RuleLibrary& library, const LoadedModel& model, bool forData,
                              Progress& progress) {
    const AnalysisOptions analysing{options.fuse, target.profile, target.planner()};
    if (!forData || !isRun(options, target) || target.backend->name() == "reference")
        return analyse(model, library, analysing, progress);
    auto inputs = inputsOf(model, sized(model.graph.clone(), model.dims), options.seed);
    if (!inputs)
        return failure(inputs.error());
    return analyseForData(model, library, analysing, *inputs, options.run.threads, progress);
}

/// All of it for a model that is loaded.
Result<BenchResult> benchLoaded(const BenchOptions& options, const Target& target,
                                const RuleLibrary& library, const LoadedModel& model, bool forData,
                                Progress& progress) {
    Stopwatch watch;
    auto analysis = analyseSides(options, target, library, model, forData, progress);
    if (!analysis)
        return failure(analysis.error());
    BenchResult out{std::move(analysis->report), analysis->fused->clone(), target.unusable};
    Report& report = out.report;
    addMachine(report.machine, target, options);
    auto pairs =
        pairEffects(model, library, options.fuse, out.fused, *analysis->after.plan, progress);
    if (!pairs)
        return failure(pairs.error());
    report.pairs = std::move(*pairs);
    hashKernelTexts(*analysis->after.plan, target.profile, report.after.kernels);
    if (!options.dumpKernels.empty()) {
        auto dumped = dumpKernels(options, model, library, target, *analysis, progress);
        if (!dumped)
            return failure(dumped.error());
        out.dumped = *dumped;
    }
    if (target.planning) {
        const int64_t limit = options.run.tune.workspaceLimit;
        addPlannedKernels(*analysis->before.plan, target.profile, limit, report.before.kernels);
        addPlannedKernels(*analysis->after.plan, target.profile, limit, report.after.kernels);
    }
    if (options.compile && !target.backend) {
        auto compiled = addCompiled(options, *analysis->after.plan, target, report, progress);
        if (!compiled)
            return failure(compiled.error());
        out.compiled = *compiled;
    }
    if (!isRun(options, target))
        return out;

    Side before{analysis->before, {}}, after{analysis->after, {}};
    for (auto [side, stage] : {std::pair(&before, "plan_unfused"), {&after, "plan_fused"}}) {
        watch.lap();
        auto executable = target.backend->prepare(side->planned.plan, progress);
        if (!executable)
            return failure(executable.error());
        side->executable = makeSpecialised(std::move(*executable), side->planned.assumed);
        report.stageSeconds[stage] += watch.lap();
    }
    for (std::string& note : target.backend->notes())
        report.machine.notes.push_back(std::move(note));
    const Graphs graphs{sized(model.graph.clone(), model.dims),
                        sized(out.fused.clone(), model.dims)};
    auto inputs = inputsOf(model, sized(model.graph.clone(), model.dims), options.seed);
    if (!inputs)
        return failure(inputs.error());
    if (auto ran =
            runSides(options, model, out.fused, graphs, *inputs, before, after, report, progress);
        !ran)
        return failure(ran.error());
    if (!report.agreement.empty() && !report.verified() && target.backend->name() == "cuda")
        for (const auto& [side, name] : {std::pair(&before, "unfused"), {&after, "fused"}})
            noteWrongStep({*side->executable, *side->planned.plan, *inputs, target.profile,
                           options.run.cache, options.model, name, options.run.threads},
                          report, progress);
    // What this machine used says nothing beside times that are predicted for another device.
    if (!options.measure && !options.device.empty())
        return out;
    // Only a run decides how steps with data-dependent shapes are computed.
    addTactics(*before.executable, report.before.kernels);
    addTactics(*after.executable, report.after.kernels);
    return out;
}

} // namespace

Result<BenchResult> bench(const BenchOptions& asked, Progress& progress) {
    BenchOptions options = asked;
    options.fuse = timedAs(std::move(options.fuse), options.run);
    auto target = openTarget(options);
    if (!target)
        return failure(target.error());
    Stopwatch watch;
    auto library = requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    const double rules = watch.lap();
    ModelRequest request{options.model, options.fuse.dims, options.inputs};
    readFor(*library, options.fuse.pipeline, request);
    request.numbers = options.numbers;
    auto model = loadModel(request, progress);
    if (!model)
        return failure(model.error());
    enterDeclared(*model, *library);
    if (auto all = requireOperators(model->graph); !all)
        return failure(all.error());
    if (auto found = lookUpRules(*model, *library, options.fuse, progress); !found)
        return failure(found.error());
    bool forData = true;
    for (size_t lies = 0;; ++lies) {
        auto out = benchLoaded(options, *target, *library, *model, forData, progress);
        if (out)
            out->report.stageSeconds["rules"] = rules;
        if (!out && out.error().code == "run.assumed" && std::exchange(forData, false)) {
            model->notes.push_back("shapes depend on data and differ between runs (" +
                                   out.error().message + "): their steps are planned as they run");
            continue;
        }
        if (out)
            return out;
        if (lies == mostWrongDeclarations || !forgetDeclaration(*model, out.error()))
            return failure(inFile(out.error(), *model));
    }
}

} // namespace fuselage::app
