// SPDX-License-Identifier: Apache-2.0
// Phase 1 of planning: lowers every node. A fused node whose body no single program computes, or
// computes slower than parts of it would, is cut into the parts of least predicted time, and the
// reason is recorded; the graph that the person sees and exports keeps the fused node.
#include "core/cost/decision.h"
#include "core/cost/resources.h"
#include "core/graph/subgraph.h"
#include "core/graph/text.h"
#include "core/plan/cut.h"
#include "core/plan/planner_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace fuselage::planner {

namespace {

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

/// Puts a fused node's nodes back into the graph and wraps each part of several nodes again. `cut`
/// is of `body`.
void replaceByParts(Graph& graph, NodeId fused, const Graph& body, const BodyCut& cut) {
    Node whole = graph.node(fused);
    // inlineBody adds nodes in topological order of the body, at the end of the graph.
    const std::vector<NodeId> order = topologicalOrder(body);
    std::vector<ValueId> results = inlineBody(graph, body, whole.inputs);
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
    Reason reason;                           ///< of the cut, or why the cheapest one was not taken
    std::optional<double> wholeSeconds = {}; ///< of the one kernel, where there is one
};

/// Why parts may be faster than the one kernel that there is.
enum class Doubt : uint8_t { None, Repeats, Spills, Code, Slower };

Reason priceOf(Doubt doubt, const KernelResources& needs, double whole, const BodyCut& cut,
               bool isTaken) {
    const std::string one = fmt::format("{:.4g}", whole * 1e6);
    const std::string parts = fmt::format("{:.4g}", cut.seconds * 1e6);
    Reason out{"cost", {}, {}, {{"one_us", one}, {"parts_us", parts}}};
    if (doubt == Doubt::Repeats) {
        out.message = fmt::format("one kernel computes values again that {} parts compute once: "
                                  "predicted {} us, in parts {} us",
                                  cut.kernels, one, parts);
        out.flip = "end the pattern at the broadcast or the reduction";
    } else {
        const std::string why =
            doubt == Doubt::Spills
                ? fmt::format("keeps {} values alive in a thread, which has {} registers",
                              needs.registers, mostRegisters)
            : doubt == Doubt::Code ? std::string("has more code than its cache holds")
                                   : std::string("is slower than its nodes one by one");
        out.message = fmt::format("one kernel {}: predicted {} us, in {} parts {} us", why, one,
                                  cut.kernels, parts);
        out.flip = "match fewer nodes at once";
    }
    if (doubt == Doubt::Spills)
        out.facts.push_back({"registers", std::to_string(needs.registers)});
    if (!isTaken)
        out.flip.clear();
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

/// What was found of bodies that come again.
struct KnownBodies {
    using Orders = std::map<ValueId, Extents>;
    using CutKey = std::tuple<std::string, NumericClass, CutPlaces, Orders>;

    std::unordered_map<uint32_t, Doubt> doubts; ///< by LowerCache::alike()
    std::map<CutKey, BodyCut> cuts;             ///< ids of equal bodies are equal
};

/// What speaks against the one kernel, which a cut then has to bear out; wherever operands lie.
Doubt doubtOf(const KernelProgram& program, const KernelResources& needs, BodyCutter& cutter) {
    if (needs.spilledBytes > 0)
        return Doubt::Spills;
    if (exceedsCodeCache(needs))
        return Doubt::Code;
    if (cutter.repeatsWork(program))
        return Doubt::Repeats;
    return cutter.isSlower(program) ? Doubt::Slower : Doubt::None;
}

/// The whole body where one program computes it and no cut of it is clearly faster.
Lowered lowerOrCut(const Graph& graph, const LowerRequest& request, bool hasShapes,
                   NumericClass allowed, const PlanRound& options, LowerCache& cache,
                   KnownBodies& known) {
    Lowered out;
    LowerResult lowered = Reason{"dynamic-dim", "a shape depends on data", "", {}};
    if (hasShapes)
        lowered = cache.lowerWithin(request, allowed);
    BodyCutter cutter(request, options, allowed, cache);
    auto cheapest = [&](CutPlaces places) {
        KnownBodies::Orders orders;
        if (options.orders)
            orders = ordersOfBody(graph, request, *options.orders);
        cutter.assume(orders);
        std::optional<std::string> key = keyOf(request);
        if (!key)
            return cutter.cheapest(places);
        auto [cut, isNew] =
            known.cuts.try_emplace({std::move(*key), allowed, places, std::move(orders)});
        if (isNew)
            cut->second = cutter.cheapest(places);
        return cut->second;
    };
    if (auto* program = std::get_if<KernelProgram>(&lowered)) {
        std::optional<Reason> refusal =
            options.backend ? options.backend->supports(*program) : std::nullopt;
        const KernelResources needs = options.profile->kind == DeviceKind::Gpu
                                          ? predictResources(*program, *options.profile)
                                          : KernelResources{};
        Doubt doubt = Doubt::None;
        if (!refusal) {
            const uint32_t alike = cache.alike(*program);
            const auto found = known.doubts.find(alike);
            doubt = found != known.doubts.end() ? found->second : doubtOf(*program, needs, cutter);
            if (alike != 0)
                known.doubts.emplace(alike, doubt);
        }
        if (!refusal && doubt == Doubt::None) {
            out.program = std::move(*program);
            return out;
        }
        if (!refusal) {
            out.cut = cheapest(doubt == Doubt::Repeats ? CutPlaces::Extents : CutPlaces::All);
            const double whole = cutter.secondsOf(*program);
            const bool isTaken = preferred({whole, out.cut.seconds}, least_share::cut);
            if (std::isfinite(out.cut.seconds))
                out.reason = priceOf(doubt, needs, whole, out.cut, isTaken);
            out.wholeSeconds = whole;
            if (!isTaken)
                out.program = std::move(*program);
            return out;
        }
        out.reason = std::move(*refusal);
    } else {
        out.reason = std::get<Reason>(std::move(lowered));
    }
    out.cut = cheapest(CutPlaces::All);
    return out;
}

/// What is remembered of a fused node that was cut, or of the best cut that it might have had.
SplitRecord recordOf(const Node& node, const Graph& body, const Lowered& lowered) {
    const BodyCut& cut = lowered.cut;
    SplitRecord out{node.name, node.customOp, lowered.reason, cut.kernels, !lowered.program};
    size_t begin = 0;
    for (size_t end : cut.ends) {
        out.cut.push_back(sourcesOf(body, {cut.order.begin() + static_cast<ptrdiff_t>(begin),
                                           cut.order.begin() + static_cast<ptrdiff_t>(end)}));
        begin = end;
    }
    out.seconds = cut.seconds;
    out.wholeSeconds = lowered.wholeSeconds;
    return out;
}

/// Phase 1a: the programs of fused nodes; those that have none, and those that are faster in
/// parts, are cut.
Result<FusedPrograms> lowerFused(std::shared_ptr<const Graph>& graph, const PlanRound& options,
                                 LowerCache& cache, std::vector<SplitRecord>& splits,
                                 Progress& progress) {
    FusedPrograms out;
    std::shared_ptr<Graph> changed; // a copy, made for the first cut
    KnownBodies known;
    for (NodeId id : topologicalOrder(*graph)) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        const Graph& now = changed ? *changed : *graph;
        const Node& node = now.node(id);
        if (node.op != Op::Fused)
            continue;
        const LowerRequest request = bodyOf(now, id);
        Lowered lowered = lowerOrCut(now, request, isStatic(now, node), allowedClass(node, options),
                                     options, cache, known);
        const bool isCut = !lowered.program;
        if (!lowered.reason.code.empty())
            splits.push_back(recordOf(node, *request.body, lowered));
        if (!isCut) {
            out.emplace(id, std::move(*lowered.program));
            continue;
        }
        if (!changed)
            changed = std::make_shared<Graph>(graph->clone());
        replaceByParts(*changed, id, *request.body, lowered.cut);
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
            const NumericClass allowed = allowedClass(node, options);
            LowerResult lowered = node.op == Op::Fused ? cache.lowerWithin(added.request, allowed)
                                                       : cache.lowerShared(added.request, allowed);
            if (auto* program = std::get_if<KernelProgram>(&lowered))
                added.program = std::move(*program);
        }
        if (!added.program)
            added.program = libraryProgram(added.request);
    }
    return planned;
}

} // namespace fuselage::planner
