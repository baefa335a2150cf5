// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/bench.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/machine.h"
#include "app/pipeline/model.h"
#include "app/pipeline/summary.h"
#include "app/pipeline/verify.h"
#include "core/passes/passes.h"

#include <chrono>

namespace fuselage::app {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One side made ready to run.
struct Side {
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Executable> executable;
};

struct SideOptions {
    Backend& backend;
    const DeviceProfile& profile;
    bool fused = false;
    bool run = true;
};

/// Symbols become numbers, shape arithmetic that depended on them is folded, then plan and prepare.
Result<Side> makeSide(Graph graph, const SideOptions& options,
                      const std::map<std::string, int64_t>& dims, Progress& progress) {
    bindAllDimensions(graph, dims);
    if (auto prepared = prepareGraph(graph, progress); !prepared)
        return failure(prepared.error());
    PlanOptions planning;
    planning.profile = &options.profile;
    planning.backend = &options.backend;
    planning.stridedViews = options.fused;
    Side side;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(graph)), planning, progress);
    if (!plan)
        return failure(plan.error());
    side.plan = *plan;
    if (!options.run)
        return side;
    auto executable = options.backend.prepare(side.plan, progress);
    if (!executable)
        return failure(executable.error());
    side.executable = std::move(*executable);
    return side;
}

Result<std::vector<ReferenceValue>> referenceOutputs(const Graph& graph,
                                                     const std::vector<Tensor>& inputs, int threads,
                                                     Progress& progress) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool pool(threads);
    return interpret(graph, std::move(values), pool, progress);
}

/// Runs both sides and judges them; the fused side may lose twice what the unfused one loses.
Result<void> verifySides(Side& before, Side& after, const std::vector<Tensor>& inputs,
                         const std::vector<ReferenceValue>& reference, Report& report,
                         Progress& progress) {
    auto unfused = before.executable->run(inputs, {}, progress);
    if (!unfused)
        return failure(unfused.error());
    auto fused = after.executable->run(inputs, {}, progress);
    if (!fused)
        return failure(fused.error());
    const Graph& graph = *before.plan->graph;
    std::vector<OutputAgreement> ofFused;
    for (size_t i = 0; i < reference.size(); ++i) {
        const std::string& name = graph.value(graph.outputs()[i]).name;
        DType dtype = reference[i].dtype;
        report.agreement.push_back(
            compareOutput(name, "unfused", reference[i], (*unfused)[i], originalTolerance(dtype)));
        double allowed = fusedTolerance(dtype, report.agreement.back().maxRelative);
        ofFused.push_back(compareOutput(name, "fused", reference[i], (*fused)[i], allowed));
    }
    report.agreement.insert(report.agreement.end(), ofFused.begin(), ofFused.end());
    return {};
}

/// Adds "first_run" of the fused side, and "first_result": from the file to there.
Result<void> timeFirstRun(Side& side, const std::vector<Tensor>& inputs, Report& report,
                          Progress& progress) {
    auto start = Clock::now();
    if (auto outputs = side.executable->run(inputs, {}, progress); !outputs)
        return failure(outputs.error());
    auto& seconds = report.stageSeconds;
    seconds["first_run"] = since(start);
    double total = 0;
    for (const char* stage : {"rules", "load", "prepare", "fuse", "plan_fused", "first_run"})
        total += seconds[stage];
    seconds["first_result"] = total;
    return {};
}

/// The parts of a bench that run something: first result, agreement, times.
Result<void> runSides(const BenchOptions& options, const Graph& reference, Side& before,
                      Side& after, Report& report, Progress& progress) {
    auto inputs = options.inputs.empty() ? generateInputs(reference, options.seed)
                                         : readInputs(reference, options.inputs);
    if (!inputs)
        return failure(inputs.error());
    if (auto ran = timeFirstRun(after, *inputs, report, progress); !ran)
        return ran;
    if (options.verify) {
        auto start = Clock::now();
        auto expected = referenceOutputs(reference, *inputs, options.threads, progress);
        if (!expected)
            return failure(expected.error());
        if (auto ran = verifySides(before, after, *inputs, *expected, report, progress); !ran)
            return ran;
        report.stageSeconds["verify"] = since(start);
    }
    if (options.measure) {
        auto measured =
            measure(*before.executable, *after.executable, *inputs, options.timing, progress);
        if (!measured)
            return failure(measured.error());
        addMeasurements(*measured, report);
    }
    return {};
}

MachineReport machineReport(const Backend& backend, const DeviceProfile& profile, int threads) {
    MachineInfo machine = inspectMachine();
    MachineReport out;
    out.cpu = text(machine);
    out.cores = machine.cores;
    out.threadsUsed = threads > 0 ? threads : machine.cores;
    out.backend = backend.name();
    out.backendText = backend.description();
    out.profile = profile.name;
    out.profileTitle = profile.title;
    out.notes.push_back(machine.cudaDriver.empty()
                            ? "no CUDA device: libcuda.so.1 not found"
                            : "a CUDA driver is here, but this build has no CUDA backend");
    return out;
}

} // namespace

Result<BenchResult> bench(const BenchOptions& options, Progress& progress) {
    BenchResult out;
    Report& report = out.report;
    auto backend = makeBackend(options.backend, options.threads);
    if (!backend)
        return failure(backend.error());
    auto profile = deviceProfile(options.device.empty() ? options.fuse.profile : options.device);
    if (!profile)
        return failure(profile.error());
    auto start = Clock::now();
    auto library = requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    double rules = since(start);
    auto model = loadModel(options.model, options.fuse.dims, progress);
    if (!model)
        return failure(model.error());
    report.stageSeconds = model->seconds;
    report.stageSeconds["rules"] = rules;
    if (auto all = requireOperators(model->graph); !all)
        return failure(all.error());

    start = Clock::now();
    FuseOptions fusing = options.fuse;
    fusing.profile = profile->name;
    auto rewritten = fuseGraph(model->graph, *library, fusing, progress);
    if (!rewritten)
        return failure(rewritten.error());
    report.stageSeconds["fuse"] = since(start);
    out.fused = rewritten->graph;

    Graph reference = model->graph.clone();
    std::map<std::string, int64_t> dims = bindAllDimensions(reference, options.fuse.dims);
    bool run = options.measure || options.verify;
    start = Clock::now();
    auto before = makeSide(model->graph, {**backend, *profile, false, run}, dims, progress);
    if (!before)
        return failure(before.error());
    report.stageSeconds["plan_unfused"] = since(start);
    start = Clock::now();
    auto after = makeSide(rewritten->graph, {**backend, *profile, true, run}, dims, progress);
    if (!after)
        return failure(after.error());
    report.stageSeconds["plan_fused"] = since(start);

    report.machine = machineReport(**backend, *profile, options.threads);
    report.model = summariseModel(*model, dims);
    report.before = summariseSide(*before->plan);
    report.after = summariseSide(*after->plan);
    report.kernels = summariseKernels(*after->plan, after->executable.get());
    report.rules = summariseRules(library->loaded.rules, *rewritten, *before->plan, *after->plan);
    report.splits = summariseSplits(*after->plan);
    if (run)
        if (auto ran = runSides(options, reference, *before, *after, report, progress); !ran)
            return failure(ran.error());
    return out;
}

} // namespace fuselage::app
