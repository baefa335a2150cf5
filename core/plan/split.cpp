// SPDX-License-Identifier: Apache-2.0
// Phase 1 of planning: lowers every node. A fused node whose body no single program computes is
// split into the fewest parts that lower, and the reason is recorded; the graph that the person
// sees and exports keeps the fused node.
#include "core/graph/subgraph.h"
#include "core/kernel/lower_cache.h"
#include "core/plan/planner_internal.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace fuselage::planner {

namespace {

/// Bodies beyond this are cut greedily, so that planning stays linear.
constexpr size_t maxExactBody = 96;

bool isStatic(const Graph& graph, const std::vector<ValueId>& values) {
    return std::all_of(values.begin(), values.end(), [&](ValueId id) {
        if (!id.valid())
            return true;
        const Type& type = graph.value(id).type;
        return type.kind == TypeKind::Tensor && type.elementCount() && type.dtype != DType::String;
    });
}

bool isStatic(const Graph& graph, const Node& node) {
    return isStatic(graph, node.inputs) && isStatic(graph, node.outputs);
}

/// Launches needed for the body's nodes [begin, end) as one part, or none when they do not lower.
struct PartCost {
    uint32_t launches = 0;
    bool lowers = false;
};

class BodySplitter {
public:
    BodySplitter(const Graph& body, ViewKinds views, NumericClass allowed)
        : m_body(body), m_views(views), m_allowed(allowed), m_order(topologicalOrder(body)) {}

    /// Ends of the parts, ascending; the last one is the number of nodes. Fewest launches, then
    /// fewest parts.
    std::vector<size_t> partition() {
        size_t count = m_order.size();
        constexpr auto unreachable = std::numeric_limits<uint32_t>::max();
        std::vector<uint32_t> best(count + 1, unreachable);
        std::vector<size_t> from(count + 1, 0);
        best[0] = 0;
        for (size_t end = 1; end <= count; ++end)
            for (size_t begin = end; begin-- > 0;) {
                if (best[begin] == unreachable || (count > maxExactBody && end - begin > 12))
                    continue;
                PartCost cost = costOf(begin, end);
                // A launch weighs more than any number of parts.
                uint32_t total = best[begin] + cost.launches * 1024 + 1;
                if (cost.lowers && total <= best[end]) {
                    best[end] = total;
                    from[end] = begin;
                }
            }
        std::vector<size_t> ends;
        for (size_t end = count; end > 0; end = from[end])
            ends.push_back(end);
        std::reverse(ends.begin(), ends.end());
        return ends;
    }

    const std::vector<NodeId>& order() const { return m_order; }

private:
    PartCost costOf(size_t begin, size_t end) {
        if (end - begin == 1) {
            bool view = mayBeView(m_body, m_body.node(m_order[begin]), m_views);
            return {view ? 0U : 1U, true};
        }
        std::vector<NodeId> nodes(m_order.begin() + static_cast<std::ptrdiff_t>(begin),
                                  m_order.begin() + static_cast<std::ptrdiff_t>(end));
        Cut cut = cutOut(m_body, nodes, escapingValues(m_body, nodes));
        LowerRequest request;
        for (ValueId input : cut.inputs)
            request.constants.push_back(m_body.value(input).constant);
        request.operands = cut.inputs;
        request.results = cut.outputs;
        request.body = std::make_shared<const Graph>(std::move(cut.body));
        return {1,
                std::holds_alternative<KernelProgram>(lowerWithin(std::move(request), m_allowed))};
    }

    const Graph& m_body;
    ViewKinds m_views;
    NumericClass m_allowed;
    std::vector<NodeId> m_order;
};

/// Puts a fused node's nodes back into the graph and wraps each part of several nodes again.
std::vector<NodeId> replaceByParts(Graph& graph, NodeId fused, ViewKinds views,
                                   NumericClass allowed) {
    Node whole = graph.node(fused);
    BodySplitter splitter(*whole.body, views, allowed);
    std::vector<size_t> ends = splitter.partition();

    std::vector<ValueId> results = inlineBody(graph, *whole.body, whole.inputs);
    // inlineBody adds nodes in topological order of the body, at the end of the graph.
    size_t first = graph.nodeBound() - splitter.order().size();
    for (size_t i = 0; i < results.size(); ++i) {
        graph.replaceUses(whole.outputs[i], results[i]);
        graph.takeName(results[i], whole.outputs[i]);
    }
    graph.removeNode(fused);

    std::vector<NodeId> parts;
    size_t begin = 0;
    for (size_t end : ends) {
        std::vector<NodeId> nodes;
        for (size_t i = begin; i < end; ++i) {
            NodeId inlined(static_cast<uint32_t>(first + i));
            graph.edit(inlined).provenance = whole.provenance;
            nodes.push_back(inlined);
        }
        if (nodes.size() == 1)
            parts.push_back(nodes[0]);
        else
            parts.push_back(replaceByFused(graph, nodes,
                                           cutOut(graph, nodes, escapingValues(graph, nodes)),
                                           whole.customOp, whole.provenance));
        begin = end;
    }
    return parts;
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

/// Phase 1a: the programs of fused nodes; those that have none are split.
Result<FusedPrograms> lowerFused(std::shared_ptr<const Graph>& graph, const PlanOptions& options,
                                 ViewKinds views, LowerCache& cache,
                                 std::vector<SplitRecord>& splits, Progress& progress) {
    FusedPrograms out;
    std::shared_ptr<Graph> changed; // a copy, made for the first split
    for (NodeId id : topologicalOrder(*graph)) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        const Graph& now = changed ? *changed : *graph;
        const Node& node = now.node(id);
        if (node.op != Op::Fused)
            continue;
        const NumericClass allowed = allowedClass(node, options);
        std::optional<Reason> refusal;
        if (!isStatic(now, node)) {
            refusal = Reason{"dynamic-dim", "a shape depends on data", "", {}};
        } else {
            LowerResult lowered = cache.lowerWithin(bodyOf(now, id), allowed);
            if (auto* reason = std::get_if<Reason>(&lowered))
                refusal = *reason;
            else if (options.backend)
                refusal = options.backend->supports(std::get<KernelProgram>(lowered));
            if (!refusal)
                out.emplace(id, std::move(std::get<KernelProgram>(lowered)));
        }
        if (!refusal)
            continue;
        SplitRecord record{node.name, node.customOp, *refusal, 0};
        if (!changed)
            changed = std::make_shared<Graph>(graph->clone());
        record.parts = static_cast<uint32_t>(replaceByParts(*changed, id, views, allowed).size());
        splits.push_back(std::move(record));
    }
    if (changed)
        graph = std::move(changed);
    return out;
}

} // namespace

Result<std::vector<PlannedNode>> lowerNodes(std::shared_ptr<const Graph>& graph,
                                            const PlanOptions& options,
                                            std::vector<SplitRecord>& splits, Progress& progress) {
    ViewKinds views = options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous;
    LowerCache cache;
    // Split first, so that the order below sees the final nodes.
    Result<FusedPrograms> fused = lowerFused(graph, options, views, cache, splits, progress);
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
