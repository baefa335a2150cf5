// SPDX-License-Identifier: Apache-2.0
// cuDNN's engine configurations as tactics. Equal graphs share their plans (graph_plans.h), all
// candidates of a request one copy of the packed constants; plans are finished in parallel where
// the tuner builds in parallel.
#include "core/support/text.h"
#include "gpu/libs/constant_memory.h"
#include "gpu/libs/graph_plans.h"
#include "gpu/libs/library_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

using namespace cudnn;

/// What the candidates of one request share.
struct BoundGraph {
    GraphDescription description;
    std::shared_ptr<PlannedGraph> planned; ///< the configurations refer to its graph
    ConstantMemory constants;
    std::vector<float> scalars; ///< parallel to the tensors

    BoundGraph(GraphDescription from, std::shared_ptr<PlannedGraph> plan,
               const std::vector<TensorPtr>& tensors)
        : description(std::move(from)), planned(std::move(plan)),
          constants(description.packed, tensors) {
        for (const GraphTensor& tensor : description.tensors)
            scalars.push_back(static_cast<float>(tensor.memory.value));
    }
};

class CudnnTactic final : public Tactic {
public:
    CudnnTactic(std::shared_ptr<Handles> handles, std::shared_ptr<GraphPlans> plans,
                std::shared_ptr<BoundGraph> graph, std::shared_ptr<PlannedConfiguration> planned,
                int64_t workspaceLimit)
        : m_handles(std::move(handles)), m_plans(std::move(plans)), m_graph(std::move(graph)),
          m_planned(std::move(planned)), m_workspaceLimit(workspaceLimit) {}

    std::string name() const override {
        const std::string& form = m_graph->description.form;
        return "cudnn " + (form.empty() ? "" : form + " ") + m_planned->facts.name();
    }

    Result<void> build(Progress& progress) override {
        if (progress.cancelled())
            return cancelledFailure("planning " + name());
        if (auto done = m_plans->finish(*m_graph->planned, *m_planned); !done)
            return done;
        if (auto* reason = std::get_if<Reason>(&*m_planned->plan))
            return failure(reason->code, reason->message, name());
        if (workspaceBytes() > m_workspaceLimit) {
            const Reason reason = workspaceReason(workspaceBytes(), m_workspaceLimit);
            return failure(reason.code, reason.message, name(), reason.flip);
        }
        return {};
    }

    TacticFacts facts() const override {
        TacticFacts out;
        out.numeric = std::max(m_graph->description.numeric, m_planned->facts.numeric);
        out.workspaceBytes = workspaceBytes();
        out.deterministic = m_planned->facts.deterministic;
        out.notes = joined(m_planned->facts.notes);
        return out;
    }

    Result<void> packConstants() override { return m_graph->constants.pack(); }

    Result<void> load(Device& device) override { return m_graph->constants.load(device); }

    bool reads(size_t operand) const override {
        const auto& tensors = m_graph->description.tensors;
        return std::any_of(tensors.begin(), tensors.end(), [&](const GraphTensor& tensor) {
            return tensor.memory.kind == TensorMemory::Kind::Input &&
                   tensor.memory.index == operand;
        });
    }

    Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) override {
        Borrowed handle(*m_handles);
        if (!handle.handle())
            return failure(handle.handle().error());
        const Library& library = *m_handles->library();
        auto check = [&](Status status) -> Result<void> {
            if (status == CUDNN_STATUS_SUCCESS)
                return {};
            return failure("cudnn.execute", library.words(status), name());
        };
        if (auto done = check(library.call().cudnnSetStream(*handle.handle(), stream.handle()));
            !done)
            return done;
        Descriptor pack = variantPack(arguments);
        if (auto reason = pack.finish("the operands"))
            return failure(reason->code, reason->message, name());
        return check(library.call().cudnnBackendExecute(*handle.handle(), plan().descriptor.raw(),
                                                        pack.raw()));
    }

private:
    /// After a build() that succeeded.
    const Plan& plan() const { return std::get<Plan>(*m_planned->plan); }

    int64_t workspaceBytes() const { return plan().workspaceBytes; }

    void* addressOf(size_t index, const LaunchArguments& arguments) const {
        const GraphTensor& tensor = m_graph->description.tensors[index];
        const TensorMemory& memory = tensor.memory;
        const int64_t offset = memory.offset * static_cast<int64_t>(sizeOf(tensor.dtype));
        auto at = [&](DevicePointer start) {
            return reinterpret_cast<void*>(start + static_cast<DevicePointer>(offset));
        };
        switch (memory.kind) {
        case TensorMemory::Kind::Input:
            return at(arguments.inputs[memory.index]);
        case TensorMemory::Kind::Output:
            return at(arguments.outputs[memory.index]);
        case TensorMemory::Kind::Packed:
            return at(m_graph->constants.address(memory.index));
        case TensorMemory::Kind::Scalar:
            return &m_graph->scalars[index];
        case TensorMemory::Kind::Virtual:
            break;
        }
        return nullptr;
    }

    Descriptor variantPack(const LaunchArguments& arguments) const {
        std::vector<int64_t> ids;
        std::vector<void*> pointers;
        for (size_t i = 0; i < m_graph->description.tensors.size(); ++i)
            if (void* address = addressOf(i, arguments)) {
                ids.push_back(uniqueId(i));
                pointers.push_back(address);
            }
        Descriptor out(m_handles->library(), Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
        out.set(Attribute::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
        out.set(Attribute::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, Type::CUDNN_TYPE_VOID_PTR,
                pointers.data(), pointers.size());
        auto* workspace = reinterpret_cast<void*>(arguments.workspace);
        out.set(Attribute::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, Type::CUDNN_TYPE_VOID_PTR, &workspace,
                1);
        return out;
    }

    std::shared_ptr<Handles> m_handles;
    std::shared_ptr<GraphPlans> m_plans;
    std::shared_ptr<BoundGraph> m_graph;
    std::shared_ptr<PlannedConfiguration> m_planned;
    int64_t m_workspaceLimit;
};

Reason named(Reason reason, const std::string& tactic) {
    reason.facts.insert(reason.facts.begin(), {"tactic", tactic});
    return reason;
}

class CudnnSource final : public TacticSource {
public:
    CudnnSource(std::shared_ptr<Handles> handles, PlanStore store)
        : m_handles(handles),
          m_plans(std::make_shared<GraphPlans>(std::move(handles), std::move(store))) {}

    const char* name() const override { return "cudnn"; }

    std::string version() const override { return m_handles->library()->version(); }

    TacticList candidates(const KernelRequest& request) override {
        TacticList out;
        auto described = describe(request);
        if (auto* reason = std::get_if<Reason>(&described)) {
            out.refused.push_back(named(std::move(*reason), "cudnn"));
            return out;
        }
        for (GraphDescription& graph : std::get<std::vector<GraphDescription>>(described))
            if (auto reason = addForm(request, std::move(graph), out))
                out.refused.push_back(named(std::move(*reason), "cudnn"));
        return out;
    }

private:
    std::optional<Reason> addForm(const KernelRequest& request, GraphDescription description,
                                  TacticList& out) {
        auto planned = m_plans->of(description);
        if (planned->refused)
            return planned->refused;
        auto bound =
            std::make_shared<BoundGraph>(std::move(description), planned, request.constants);
        for (const auto& candidate : planned->configurations) {
            const Configuration& configuration = candidate->facts;
            if (auto reason = configurationReason(configuration, request, bound->description))
                out.refused.push_back(named(std::move(*reason), "cudnn " + configuration.name()));
            else
                out.candidates.push_back(std::make_unique<CudnnTactic>(
                    m_handles, m_plans, bound, candidate, request.workspaceLimit));
        }
        return std::nullopt;
    }

    std::shared_ptr<Handles> m_handles;
    std::shared_ptr<GraphPlans> m_plans;
};

/// All that cuDNN's answers depend on beside the graph.
std::string machineOf(const Library& library, const DeviceFacts& facts) {
    return fmt::format("cudnn {} driver {} {} {} {} multiprocessors {} bytes", library.version(),
                       facts.driverVersion, facts.name, facts.arch, facts.multiprocessors,
                       facts.memoryBytes);
}

} // namespace

Result<std::unique_ptr<TacticSource>> makeCudnnSource(Device& device,
                                                      const std::string& cacheFolder) {
    auto library = Library::open();
    if (!library)
        return failure(library.error());
    auto handles = std::make_shared<Handles>(*library, device.context());
    if (Borrowed first(*handles); !first.handle())
        return failure(first.handle().error());
    return std::unique_ptr<TacticSource>(std::make_unique<CudnnSource>(
        std::move(handles), PlanStore(cacheFolder.empty() ? "" : cacheFolder + "/cudnn",
                                      machineOf(**library, device.facts()))));
}

} // namespace fuselage::gpu
