// SPDX-License-Identifier: Apache-2.0
// Phase 1 of planning: lowers every node. A fused node whose body no single program computes, or
// computes slower than parts of it would, is cut into the parts of least predicted time, and the
// reason is recorded; the graph that the person sees and exports keeps the fused node.
#include "core/cost/resources.h"
#include "core/graph/subgraph.h"
#include "core/plan/cut.h"
#include "core/plan/planner_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage::planner {

namespace {

/// A cut must win this much of the time: both are predictions of one model.
constexpr double cutShare = 0.95;

bool isStatic(const Graph& graph, const std::vector<ValueId>& values) {
    return std::all_of(values.begin(), values.end(), [&](ValueId id) {
        if (!id.valid())
            return true;
        const Type& type = graph.value(id).type;
        return type.kind == TypeKind::Tensor && type.elementCount() &&
               type.dtype != DType::String && !isStorageOnly(type.dtype);
    });
}

bool isStatic(const Graph& graph, const Node& node) {
    return isStatic(graph, node.inputs) && isStatic(graph, node.outputs);
}

/// Puts a fused node's nodes back into the graph and wraps each part of several nodes again.
void replaceByParts(Graph& graph, NodeId fused, const BodyCut& cut) {
    Node whole = graph.node(fused);
    // inlineBody adds nodes in topological order of the body, at the end of the graph.
    const std::vector<NodeId> order = topologicalOrder(*whole.body);
    std::vector<ValueId> results = inlineBody(graph, *whole.body, whole.inputs);
    const size_t first = graph.nodeBound() - order.size();
    std::unordered_map<NodeId, NodeId> inlined;
    for (size_t i = 0; i < order.size(); ++i)
        inlined[order[i]] = NodeId(static_cast<uint32_t>(first + i));
    for (size_t i = 0; i < results.size(); ++i) {
        graph.replaceUses(whole.outputs[i], results[i]);
        graph.takeName(results[i], whole.outputs[i]);
    }
    graph.removeNode(fused);

    size_t begin = 0;
    for (size_t end : cut.ends) {
        std::vector<NodeId> nodes;
        for (size_t i = begin; i < end; ++i) {
            nodes.push_back(inlined.at(cut.order[i]));
            graph.edit(nodes.back()).provenance = whole.provenance;
        }
        if (nodes.size() > 1)
            replaceByFused(graph, nodes, cutOut(graph, nodes, escapingValues(graph, nodes)),
                           whole.customOp, whole.provenance);
        begin = end;
    }
}

} // namespace

NumericClass allowedClass(const Node& node, const PlanOptions& options) {
    if (options.strict)
        return NumericClass::Exact;
    auto found = options.allowed.find(node.provenance.rule);
    return node.op != Op::Fused || found == options.allowed.end() ? NumericClass::Reassociated
                                                                  : found->second;
}

namespace {

using FusedPrograms = std::unordered_map<NodeId, KernelProgram>;

/// What is done with a fused node.
struct Lowered {
    std::optional<KernelProgram> program; ///< none: it is cut
    BodyCut cut;
    Reason reason; ///< of the cut, or why the cheapest one was not taken
};

Reason priceOf(double whole, const BodyCut& cut, bool isTaken) {
    const std::string one = fmt::format("{:.4g}", whole * 1e6);
    const std::string parts = fmt::format("{:.4g}", cut.seconds * 1e6);
    return {"cost",
            fmt::format("one kernel computes values again that {} parts compute once: predicted "
                        "{} us, in parts {} us",
                        cut.kernels, one, parts),
            isTaken ? "end the pattern at the broadcast or the reduction" : "",
            {{"one_us", one}, {"parts_us", parts}}};
}

Reason priceOfRegisters(const KernelResources& needs, double whole, const BodyCut& cut,
                        bool isTaken) {
    Reason out = priceOf(whole, cut, isTaken);
    out.message = fmt::format(
        "one kernel keeps {} values alive in a thread, which has {} registers: "
        "predicted {} us, in {} parts {} us",
        needs.registers, mostRegisters, out.facts[0].value, cut.kernels, out.facts[1].value);
    if (isTaken)
        out.flip = "match fewer nodes at once";
    out.facts.push_back({"registers", std::to_string(needs.registers)});
    return out;
}

/// By value of the body, those of what it reads and makes.
std::map<ValueId, Extents> ordersOfBody(const Graph& graph, const LowerRequest& request,
                                        const ValueOrders& orders) {
    std::map<ValueId, Extents> out;
    auto add = [&](const std::vector<ValueId>& inside, const std::vector<ValueId>& outside) {
        for (size_t i = 0; i < inside.size() && i < outside.size(); ++i)
            if (auto found = orders.find(graph.value(outside[i]).name); found != orders.end())
                out[inside[i]] = found->second;
    };
    add(request.body->inputs(), request.operands);
    add(request.body->outputs(), request.results);
    return out;
}

/// The whole body where one program computes it, and does not repeat more work than it saves.
Lowered lowerOrCut(const Graph& graph, const LowerRequest& request, bool hasShapes,
                   NumericClass allowed, const PlanRound& options, LowerCache& cache) {
    Lowered out;
    LowerResult lowered = Reason{"dynamic-dim", "a shape depends on data", "", {}};
    if (hasShapes)
        lowered = cache.lowerWithin(request, allowed);
    BodyCutter cutter(request, options, allowed, cache);
    if (options.orders)
        cutter.assume(ordersOfBody(graph, request, *options.orders));
    if (auto* program = std::get_if<KernelProgram>(&lowered)) {
        std::optional<Reason> refusal =
            options.backend ? options.backend->supports(*program) : std::nullopt;
        const KernelResources needs = options.profile->kind == DeviceKind::Gpu
                                          ? predictResources(*program, *options.profile)
                                          : KernelResources{};
        const bool spills = needs.spilledBytes > 0;
        if (!refusal && !spills && !cutter.repeatsWork(*program)) {
            out.program = std::move(*program);
            return out;
        }
        if (!refusal) {
            out.cut = cutter.cheapest(spills ? CutPlaces::All : CutPlaces::Extents);
            const double whole = cutter.secondsOf(*program);
            const bool isTaken = out.cut.seconds < whole * cutShare;
            if (std::isfinite(out.cut.seconds))
                out.reason = spills ? priceOfRegisters(needs, whole, out.cut, isTaken)
                                    : priceOf(whole, out.cut, isTaken);
            if (!isTaken)
                out.program = std::move(*program);
            return out;
        }
        out.reason = std::move(*refusal);
    } else {
        out.reason = std::get<Reason>(std::move(lowered));
    }
    out.cut = cutter.cheapest(CutPlaces::All);
    return out;
}

/// Phase 1a: the programs of fused nodes; those that have none, and those that are faster in
/// parts, are cut.
Result<FusedPrograms> lowerFused(std::shared_ptr<const Graph>& graph, const PlanRound& options,
                                 LowerCache& cache, std::vector<SplitRecord>& splits,
                                 Progress& progress) {
    FusedPrograms out;
    std::shared_ptr<Graph> changed; // a copy, made for the first cut
    for (NodeId id : topologicalOrder(*graph)) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        const Graph& now = changed ? *changed : *graph;
        const Node& node = now.node(id);
        if (node.op != Op::Fused)
            continue;
        const LowerRequest request = bodyOf(now, id);
        Lowered lowered = lowerOrCut(now, request, isStatic(now, node), allowedClass(node, options),
                                     options, cache);
        const bool isCut = !lowered.program;
        if (!lowered.reason.code.empty())
            splits.push_back(
                {node.name, node.customOp, lowered.reason, lowered.cut.kernels, isCut});
        if (!isCut) {
            out.emplace(id, std::move(*lowered.program));
            continue;
        }
        if (!changed)
            changed = std::make_shared<Graph>(graph->clone());
        replaceByParts(*changed, id, lowered.cut);
    }
    if (changed)
        graph = std::move(changed);
    return out;
}

} // namespace

Result<std::vector<PlannedNode>> lowerNodes(std::shared_ptr<const Graph>& graph,
                                            const PlanRound& options, LowerCache& cache,
                                            std::vector<SplitRecord>& splits, Progress& progress) {
    ViewKinds views = options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous;
    // Split first, so that the order below sees the final nodes.
    Result<FusedPrograms> fused = lowerFused(graph, options, cache, splits, progress);
    if (!fused)
        return failure(fused.error());

    std::vector<PlannedNode> planned;
    std::vector<NodeId> order = topologicalOrder(*graph);
    planned.reserve(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        progress.report("lower", i, order.size());
        const Node& node = graph->node(order[i]);
        PlannedNode& added =
            planned.emplace_back(PlannedNode{order[i], bodyOf(*graph, order[i]), {}});
        if (auto known = fused->find(order[i]); known != fused->end()) {
            added.program = std::move(known->second);
            continue;
        }
        bool fixed = isStatic(*graph, node);
        if (fixed && node.op != Op::Fused && mayBeView(*graph, node, views))
            continue;
        if (fixed) {
            LowerResult lowered = cache.lowerWithin(added.request, allowedClass(node, options));
            if (auto* program = std::get_if<KernelProgram>(&lowered))
                added.program = std::move(*program);
        }
        if (!added.program)
            added.program = libraryProgram(added.request);
    }
    return planned;
}

} // namespace fuselage::planner
