// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/compiled.h"

#include "app/pipeline/planned.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/settling.h"
#include "app/pipeline/stopwatch.h"
#include "core/graph/subgraph.h"
#include "core/graph/verify.h"
#include "core/passes/specialise.h"
#include "core/plan/lazy.h"
#include "core/support/text.h"
#if FUSELAGE_HAS_CUDA
#include "gpu/backend/cuda_backend.h"
#include "gpu/backend/dump_kernels.h"
#include "gpu/backend/planning_backend.h"
#endif

#include <algorithm>
#include <functional>

namespace fuselage {

namespace {

/// Parallel to BackendKind.
constexpr const char* backendNameOf[] = {"auto", "cpu", "cuda", "reference"};

/// Numbers for the open dimensions of the inputs.
Result<DimensionValues> sizesFor(Graph& graph, const DimensionValues& given,
                                 std::vector<std::string>& notes) {
    auto resolved = resolveDimensions(graph, given, notes);
    if (!resolved)
        return failure(resolved.error());
    auto chosen = chooseDimensions(graph, *resolved);
    if (!chosen)
        return failure(chosen.error());
    if (!chosen->note.empty())
        notes.push_back(chosen->note);
    return std::move(chosen->values);
}

Result<std::shared_ptr<const Plan>> planOf(std::shared_ptr<const Graph> graph,
                                           const CompileOptions& options,
                                           const DeviceProfile& profile, const Backend& backend,
                                           Progress& progress) {
    const app::PlanRequest request{&profile,       &backend,        options.precision,
                                   options.strict, options.allowed, nullptr};
    const app::Form form = options.oneKernelPerNode ? app::Form::Unfused : app::Form::Fused;
    auto planned = app::planSide(std::move(graph), form, request, progress);
    if (!planned)
        return failure(planned.error());
    return std::move(planned->plan);
}

Result<std::unique_ptr<Backend>> cudaBackend(const CompileOptions& options) {
#if FUSELAGE_HAS_CUDA
    gpu::CudaOptions cuda;
    cuda.threads = options.threads;
    cuda.measure = options.measureTactics;
    cuda.cache = options.cache;
    cuda.tune = options.tune;
    return gpu::makeCudaBackend(cuda);
#else
    (void)options;
    return failure("device.build", "this program was built without the cuda backend", "",
                   "build it with FUSELAGE_GPU=ON, or run with --backend cpu");
#endif
}

/// Where a size has no number, shapes would be taken for ones that depend on data.
Result<void> checkInputSizes(const Graph& graph) {
    for (ValueId id : graph.inputs())
        if (const Type& type = graph.value(id).type; type.extents() && !type.elementCount())
            return failure("resource.memory",
                           "input `" + graph.value(id).name + "` of " + type.text() +
                               " has more elements than a 64-bit number counts",
                           graph.name(), "give smaller dimensions with --dim");
    return {};
}

} // namespace

const char* nameOf(BackendKind kind) {
    return backendNameOf[static_cast<size_t>(kind)];
}

std::optional<BackendKind> backendFromName(std::string_view name) {
    for (size_t i = 0; i < std::size(backendNameOf); ++i)
        if (name == backendNameOf[i])
            return static_cast<BackendKind>(i);
    return std::nullopt;
}

std::string backendNames() {
    return joined(std::vector<std::string>(std::begin(backendNameOf), std::end(backendNameOf)));
}

std::unique_ptr<Backend> makePlanningBackend(BackendKind kind, const DeviceProfile& profile,
                                             const std::vector<std::string>& without) {
#if FUSELAGE_HAS_CUDA
    if (kind == BackendKind::Cuda)
        return gpu::makePlanningBackend(profile, without);
#endif
    (void)kind, (void)profile, (void)without;
    return nullptr;
}

std::unique_ptr<Backend> planningBackendOf(const DeviceProfile& profile) {
    return makePlanningBackend(
        profile.kind == DeviceKind::Gpu ? BackendKind::Cuda : BackendKind::Cpu, profile);
}

Result<std::string> writeKernels(const Plan& plan, const DeviceProfile& profile,
                                 const std::string& folder, Progress& progress) {
#if FUSELAGE_HAS_CUDA
    if (profile.kind != DeviceKind::Gpu)
        return failure("usage.dump",
                       "kernels are generated for a GPU, not for `" + profile.name + "`",
                       "--dump-kernels", "add --backend cuda, or --device h200");
    auto counts = gpu::dumpKernels(plan, profile, folder, progress);
    if (!counts)
        return failure(counts.error());
    std::string out = std::to_string(counts->kernels) + " kernels written to " + folder + ", " +
                      std::to_string(counts->checked) + " with expected results";
    if (counts->withoutOne > 0)
        out += "; " + std::to_string(counts->withoutOne) + " steps have no generated kernel";
    return out;
#else
    (void)plan, (void)profile, (void)progress;
    return failure("device.build", "this program was built without the cuda backend", folder);
#endif
}

Result<std::unique_ptr<Backend>> makeBackend(const CompileOptions& options) {
    constexpr int mostThreads = 1024; // more than a processor has, fewer than a system refuses
    if (options.threads < 0 || options.threads > mostThreads)
        return failure(
            "usage.threads", "there cannot be " + std::to_string(options.threads) + " threads", "",
            "give 1 to " + std::to_string(mostThreads) + ", or 0 for all of the machine");
    if (options.backend == BackendKind::Reference)
        return makeReferenceBackend(options.threads);
    if (options.backend == BackendKind::Cuda)
        return cudaBackend(options);
    if (options.backend == BackendKind::Auto)
        if (auto cuda = cudaBackend(options))
            return cuda;
    return makeCpuBackend({options.threads, false, options.tune.tune, options.tune.timingCache});
}

/// Made by whoever needs it first, and kept.
class CompiledGraph::PlanOnDemand {
public:
    using Made = Result<std::shared_ptr<const Plan>>;

    explicit PlanOnDemand(std::function<Made(Progress&)> make) : m_make(std::move(make)) {}

    Made get(Progress& progress) {
        if (m_plan)
            return m_plan;
        Made made = m_make(progress);
        m_plan = made ? *made : nullptr;
        return made;
    }

private:
    std::function<Made(Progress&)> m_make;
    std::shared_ptr<const Plan> m_plan;
};

Result<CompiledGraph> CompiledGraph::compile(Graph graph, const CompileOptions& options) {
    Progress progress;
    return compile(std::move(graph), options, progress);
}

Result<CompiledGraph> CompiledGraph::compile(Graph graph, const CompileOptions& options,
                                             Progress& progress) {
    if (auto sound = verify(graph); !sound)
        return failure(sound.error());
    CompiledGraph out;
    auto backend = makeBackend(options);
    if (!backend)
        return failure(backend.error());
    out.m_backend = std::move(*backend);
    std::optional<DeviceProfile> queried = out.m_backend->profile();
    auto profile = queried ? Result<DeviceProfile>(*queried) : deviceProfile(options.profile);
    if (!profile)
        return failure(profile.error());
    auto dims = sizesFor(graph, options.dims, out.m_notes);
    if (!dims)
        return failure(dims.error());
    auto sized = app::withSizes(std::move(graph), *dims, progress);
    if (!sized)
        return failure(sized.error());
    if (auto counted = checkInputSizes(*sized); !counted)
        return failure(counted.error());
    auto prepared = app::prepare(std::move(*sized), {}, {options.precision, options.precisionOf});
    if (!prepared)
        return failure(prepared.error());
    const auto planned = [options, profile = *profile, backend = out.m_backend.get()](
                             std::shared_ptr<const Graph> whole, Progress& waiting) {
        return planOf(std::move(whole), options, profile, *backend, waiting);
    };
    const std::shared_ptr<const Graph> whole = std::move(prepared->graph);
    out.m_plan = std::make_shared<PlanOnDemand>(
        [planned, whole](Progress& waiting) { return planned(whole, waiting); });
    const auto general = [plan = out.m_plan, backend = out.m_backend.get()](
                             Progress& waiting) -> Result<std::unique_ptr<Executable>> {
        auto made = plan->get(waiting);
        return made ? backend->prepare(*made, waiting) : failure(made.error());
    };
    if (!dependsOnData(*whole)) {
        auto executable = general(progress);
        if (!executable)
            return failure(executable.error());
        out.m_executable = std::move(*executable);
        return out;
    }
    const app::PrepareGraphRun prepare =
        [planned, backend = out.m_backend.get()](
            Graph part, Progress& waiting) -> Result<std::unique_ptr<Executable>> {
        auto made = planned(std::make_shared<const Graph>(std::move(part)), waiting);
        return made ? backend->prepare(*made, waiting) : failure(made.error());
    };
    out.m_executable =
        app::makeSettling(app::makeStaged(makeLazy(general), whole, prepare), whole, prepare);
    return out;
}

const Plan& CompiledGraph::plan() const {
    static const Plan none;
    auto plan = sharedPlan();
    return plan ? **plan : none;
}

Result<std::shared_ptr<const Plan>> CompiledGraph::sharedPlan() const {
    Progress quiet;
    return m_plan->get(quiet);
}

Result<std::vector<Tensor>> CompiledGraph::run(const std::vector<Tensor>& inputs) {
    Progress progress;
    return m_executable->outputs(inputs, progress);
}

Result<std::vector<double>> CompiledGraph::time(const std::vector<Tensor>& inputs, double seconds) {
    if (auto warm = run(inputs); !warm)
        return failure(warm.error());
    std::vector<double> out;
    app::Stopwatch whole;
    while (out.size() < 5 || whole.seconds() < seconds) {
        app::Stopwatch watch;
        if (auto ran = run(inputs); !ran)
            return failure(ran.error());
        out.push_back(watch.seconds());
    }
    return out;
}

Result<void> bindInput(Graph& graph, const std::string& input, const Tensor& weight) {
    ValueId id = graph.findValue(input);
    auto at = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    if (!id.valid() || at == graph.inputs().end())
        return failure("run.input", "no input `" + input + "`", graph.name());
    const Type& type = graph.value(id).type;
    if (type.dtype != weight.dtype() || type.extents() != weight.extents())
        return failure("run.input",
                       "`" + input + "` is " + type.text() + ", not " + weight.type().text(),
                       graph.name(), "give a tensor of the input's type");
    auto position = static_cast<size_t>(at - graph.inputs().begin());
    ValueId constant =
        graph.addConstant(graph.freshName(input), std::make_shared<const Tensor>(weight.clone()));
    graph.replaceUses(id, constant);
    graph.takeName(constant, id);
    graph.removeInput(position);
    return {};
}

Graph fuseWhole(const Graph& graph, const std::string& name) {
    Graph out = graph.clone();
    std::vector<NodeId> nodes = topologicalOrder(out);
    replaceByFused(out, nodes, cutOut(out, nodes, escapingValues(out, nodes)), name, {});
    return out;
}

MemoryOperations memoryOperations(const Plan& plan) {
    MemoryOperations out;
    std::vector<bool> isMade(plan.values.size(), false);
    for (const Step& step : plan.steps) {
        for (uint32_t output : step.outputs)
            isMade[rootOf(plan, output)] = true;
        if (plan.isOnce(step))
            continue;
        for (uint32_t input : step.inputs)
            out.reads += plan.values[input].isFixed ? 0 : 1;
        out.writes += step.outputs.size();
    }
    for (size_t i = 0; i < plan.values.size(); ++i) {
        const PlanValue& value = plan.values[i]; // what stays in a kernel is made by no step
        const bool isBuffer = isMade[i] && value.residence == Residence::Arena && !value.isFixed;
        out.intermediateBuffers += isBuffer ? 1 : 0;
    }
    return out;
}

} // namespace fuselage
