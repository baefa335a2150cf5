// SPDX-License-Identifier: Apache-2.0
// Phase 1c of planning: horizontal fusion of products. Convolutions and layers of one operand
// become one product with their weights side by side, and each reads its columns of the result
// through a view. Branches may end in different work: the epilogue chooses by column. The graph
// that the person sees keeps its nodes.
#include "core/cost/decision.h"
#include "core/graph/subgraph.h"
#include "core/plan/join_body.h"
#include "core/plan/step_times_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace fuselage::planner {

namespace {

/// A GPU's libraries take no epilogue that chooses by column. Products that take longer than this,
/// their launches apart, want a library more than one launch.
constexpr double mostSecondsOfChoice = 5e-6;
constexpr size_t mostBranches = 16;
/// Of a result: sizes come from files, and plans beyond this are refused later (checkSizes).
constexpr int64_t mostElements = int64_t(1) << 43;

struct Candidate {
    size_t at = 0; ///< in the planned nodes
    ProductBranch branch;
};

using Candidates = std::vector<const Candidate*>;

struct JoinOffer {
    GroupRecord record;
    Candidates members;
    JoinedBody joined;
    KernelProgram program;
    double saved = 0; ///< predicted seconds
};

/// Each operand that is no constant, once.
void eachVarying(const LowerRequest& request, auto&& take) {
    const auto& operands = request.operands;
    for (size_t i = 0; i < std::min(operands.size(), request.constants.size()); ++i) {
        const auto at = operands.begin() + static_cast<ptrdiff_t>(i);
        if (!request.constants[i] && std::find(operands.begin(), at, *at) == at)
            take(*at);
    }
}

class ProductJoiner {
public:
    ProductJoiner(std::shared_ptr<const Graph> graph, std::vector<PlannedNode>& nodes,
                  const PlanRound& options, LowerCache& cache)
        : m_graph(std::move(graph)), m_nodes(nodes), m_options(options), m_cache(cache),
          m_isCopy(m_graph->nodeBound(), false) {
        for (const PlannedNode& node : nodes)
            m_isCopy[node.node.index()] =
                node.program && std::holds_alternative<Copy>(node.program->code);
    }

    /// Those that may stand side by side, by what they share.
    std::vector<Candidates> alike();

    /// The cheapest way to join some of them, or none that lowers.
    std::vector<JoinOffer> offers(const Candidates& all);

    void take(JoinOffer offer);

    /// As planned so far.
    std::shared_ptr<const Graph> graph() const { return m_graph; }

private:
    bool mayJoin(const PlannedNode& node) const;
    bool readInPlace(ValueId value, const ViewOf& as) const;
    bool mayStandAmongOthers(const ProductBranch& branch, ValueId result) const;
    std::optional<JoinOffer> price(const Candidates& members);
    void judge(JoinOffer& offer, const std::vector<TimeEstimate>& apart,
               const TimeEstimate& together);

    bool isCopy(NodeId node) const {
        return node.index() < m_isCopy.size() && m_isCopy[node.index()];
    }

    const Node& nodeOf(const Candidate& candidate) const {
        return m_graph->node(m_nodes[candidate.at].node);
    }

    std::shared_ptr<const Graph> m_graph; ///< as planned so far
    std::shared_ptr<Graph> m_changed;     ///< the same, once it is a copy
    std::vector<PlannedNode>& m_nodes;
    const PlanRound& m_options;
    LowerCache& m_cache;
    std::vector<Candidate> m_candidates;
    std::vector<bool> m_isCopy;       ///< by node
    std::optional<StepTimes> m_times; ///< once there is something to price
};

/// What a caller reads lies where the caller wants it.
bool ProductJoiner::mayJoin(const PlannedNode& node) const {
    const Node& is = m_graph->node(node.node);
    return node.program && std::holds_alternative<Contraction>(node.program->code) &&
           is.outputs.size() == 1 && is.outputs[0].valid() &&
           !m_graph->isGraphOutput(is.outputs[0]) &&
           allowedClass(is, m_options) >= NumericClass::Reassociated;
}

std::vector<Candidates> ProductJoiner::alike() {
    // Branches point to requests, groups to candidates. take() adds no more than it takes away.
    m_nodes.reserve(2 * m_nodes.size());
    m_candidates.reserve(m_nodes.size());
    std::unordered_map<ValueId, size_t> products; // that read it
    for (const PlannedNode& node : m_nodes)
        if (mayJoin(node))
            eachVarying(node.request, [&](ValueId value) { ++products[value]; });
    std::map<std::pair<ValueId, std::string>, Candidates> groups;
    std::vector<std::pair<ValueId, std::string>> order;
    for (size_t i = 0; i < m_nodes.size(); ++i) {
        bool shares = false;
        if (mayJoin(m_nodes[i]))
            eachVarying(m_nodes[i].request,
                        [&](ValueId value) { shares = shares || products.at(value) > 1; });
        if (!shares)
            continue;
        auto branch = branchOf(m_nodes[i].request);
        if (!branch || !mayStandAmongOthers(*branch, m_graph->node(m_nodes[i].node).outputs[0]))
            continue;
        const Candidate& made = m_candidates.emplace_back(Candidate{i, std::move(*branch)});
        auto [entry, isNew] = groups.try_emplace({made.branch.shared, made.branch.key});
        if (isNew)
            order.push_back(entry->first);
        entry->second.push_back(&made);
    }
    std::vector<Candidates> out;
    for (const auto& key : order)
        if (const Candidates& group = groups.at(key);
            group.size() > 1 && group.size() <= mostBranches)
            out.push_back(group);
    return out;
}

/// No reader would need a copy: a Concat writes in place what is its operand alone, and a Reshape
/// of columns may be no view.
bool ProductJoiner::readInPlace(ValueId value, const ViewOf& as) const {
    if (m_graph->isGraphOutput(value))
        return false;
    const std::vector<Use>& uses = m_graph->value(value).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        const Node& reader = m_graph->node(use.node);
        if (isCopy(use.node))
            return false;
        if (use.slot != 0 || !mayBeView(*m_graph, reader, ViewKinds::Strided))
            return true;
        for (uint32_t slot = 0; slot < reader.outputs.size(); ++slot) {
            if (!reader.outputs[slot].valid())
                continue;
            const auto view = viewOf(*m_graph, reader, slot, as, ViewKinds::Strided);
            if (!view || !readInPlace(reader.outputs[slot], *view))
                return false;
        }
        return true;
    });
}

/// Whether its columns may stand among others, however many.
bool ProductJoiner::mayStandAmongOthers(const ProductBranch& branch, ValueId result) const {
    Extents wider = branch.result;
    wider[branch.column] *= 2;
    const auto elements = elementCount(wider);
    return elements && *elements <= mostElements &&
           readInPlace(result, {0, branch.result, rowMajorStrides(wider)});
}

void ProductJoiner::judge(JoinOffer& offer, const std::vector<TimeEstimate>& apart,
                          const TimeEstimate& together) {
    const Decision decision = decideFusion(together, apart);
    offer.saved = decision.unfusedSeconds - decision.fusedSeconds;
    offer.record.taken =
        preferred({decision.unfusedSeconds, decision.fusedSeconds}, least_share::joined);
    const std::string one = fmt::format("{:.4g}", decision.fusedSeconds * 1e6);
    const std::string each = fmt::format("{:.4g}", decision.unfusedSeconds * 1e6);
    offer.record.reason = {"cost",
                           fmt::format("{} products of one operand: predicted {} us, as one {} us",
                                       apart.size(), each, one),
                           "",
                           {{"apart_us", each}, {"one_us", one}}};
    const bool isLarge = std::any_of(apart.begin(), apart.end(), [](const TimeEstimate& each) {
        return each.seconds - each.launch > mostSecondsOfChoice;
    });
    if (m_options.profile->kind == DeviceKind::Gpu && offer.joined.kinds > 1 && isLarge)
        offer.record.taken = false;
}

std::optional<JoinOffer> ProductJoiner::price(const Candidates& members) {
    if (!m_times)
        m_times.emplace(*m_graph, logicalBytes(*m_graph, m_nodes), m_options);
    JoinOffer out;
    out.members = members;
    std::vector<const ProductBranch*> branches;
    std::vector<TimeEstimate> apart;
    for (const Candidate* member : members) {
        const PlannedNode& node = m_nodes[member->at];
        branches.push_back(&member->branch);
        apart.push_back(m_times->of(*node.program, node.request.operands, node.node));
        out.record.members.push_back(nodeOf(*member).name);
        out.record.name += (out.record.name.empty() ? "" : " + ") + nodeOf(*member).name;
    }
    out.joined = joinBodies(branches);
    // What constants hold is no part of a program; they are put side by side once it is taken.
    out.joined.request.constants.resize(out.joined.inputs.size());
    LowerResult lowered = m_cache.lowerWithin(out.joined.request, NumericClass::Reassociated);
    auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program || !std::holds_alternative<Contraction>(program->code) ||
        (m_options.backend && m_options.backend->supports(*program)))
        return std::nullopt;
    out.program = std::move(*program);
    std::vector<ValueId> operands;
    for (const JoinedInput& input : out.joined.inputs)
        operands.push_back(input.value);
    judge(out, apart, m_times->of(out.program, operands, m_nodes[members[0]->at].node));
    return out;
}

/// All in one, or those of one epilogue each: whatever saves more.
std::vector<JoinOffer> ProductJoiner::offers(const Candidates& all) {
    std::vector<Candidates> kinds;
    for (const Candidate* each : all) {
        auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Candidates& known) {
            return sameEpilogue(known[0]->branch, each->branch);
        });
        (kind == kinds.end() ? kinds.emplace_back() : *kind).push_back(each);
    }
    std::optional<JoinOffer> whole = price(all);
    if (kinds.size() < 2)
        return whole ? std::vector{std::move(*whole)} : std::vector<JoinOffer>();
    std::vector<JoinOffer> parts;
    double saved = 0;
    for (const Candidates& kind : kinds)
        if (kind.size() > 1)
            if (auto part = price(kind)) {
                saved += part->record.taken ? part->saved : 0;
                parts.push_back(std::move(*part));
            }
    if (whole && (parts.empty() || (whole->record.taken && whole->saved > saved)))
        return {std::move(*whole)};
    return parts;
}

/// The product of all, and the view that gives each its columns.
void ProductJoiner::take(JoinOffer offer) {
    if (!m_changed) {
        m_changed = std::make_shared<Graph>(m_graph->clone());
        m_graph = m_changed;
    }
    Graph& graph = *m_changed;
    Provenance provenance;
    std::vector<ValueId> results, read;
    std::vector<int64_t> columns;
    for (const Candidate* member : offer.members) {
        const Node& node = nodeOf(*member);
        if (provenance.rule.empty() && !node.provenance.rule.empty()) {
            provenance.rule = node.provenance.rule;
            provenance.file = node.provenance.file;
            provenance.line = node.provenance.line;
        }
        const std::vector<std::string>& sources = node.provenance.sources;
        provenance.sources.insert(provenance.sources.end(), sources.begin(), sources.end());
        if (sources.empty())
            provenance.sources.push_back(node.name);
        results.push_back(node.outputs[0]);
        columns.push_back(member->branch.columns());
        read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    }
    LowerRequest& request = offer.joined.request;
    for (size_t i = 0; i < offer.joined.inputs.size(); ++i) {
        const JoinedInput& input = offer.joined.inputs[i];
        if (!input.value.valid())
            request.constants[i] = sideBySide(input.parts, input.axis);
        request.operands.push_back(
            input.value.valid()
                ? input.value
                : graph.addConstant(graph.freshName("joined"), request.constants[i]));
    }
    const std::string name = graph.freshName("joined");
    const NodeId joined = graph.addNode(
        {Op::Fused, offer.record.name, request.operands, {name}, {}, std::move(provenance)});
    graph.edit(joined).body = request.body;
    graph.edit(joined).customOp = "joined";
    const ValueId whole = graph.node(joined).outputs[0];
    graph.setType(whole, offer.joined.type);
    request.results = {whole};

    const ValueId sizes = graph.addConstant(graph.freshName("columns"),
                                            std::make_shared<Tensor>(Tensor::ofInts(columns)));
    NodeSpec spec{Op::Split, offer.record.name + " columns", {whole, sizes}, {}, {}, {}};
    spec.attributes.set("axis", static_cast<int64_t>(offer.members[0]->branch.column));
    spec.outputs.assign(results.size(), "");
    const NodeId split = graph.addNode(std::move(spec));
    for (uint32_t i = 0; i < results.size(); ++i)
        graph.moveOutput(results[i], split, i);
    for (const Candidate* member : offer.members) {
        const NodeId gone = m_nodes[member->at].node;
        m_nodes[member->at].node = NodeId();
        graph.removeNode(gone);
    }
    for (ValueId value : read)
        if (value.valid() && graph.alive(value) && graph.isConstant(value) &&
            graph.value(value).uses.empty() && !graph.isGraphOutput(value))
            graph.removeValue(value);
    m_nodes.push_back({joined, std::move(request), std::move(offer.program)});
    m_nodes.push_back({split, bodyOf(graph, split), {}});
}

} // namespace

Result<std::vector<GroupRecord>> joinProducts(std::shared_ptr<const Graph>& graph,
                                              std::vector<PlannedNode>& nodes,
                                              const PlanRound& options, LowerCache& cache,
                                              Progress& progress) {
    std::vector<GroupRecord> out;
    ProductJoiner joiner(graph, nodes, options, cache);
    for (const Candidates& group : joiner.alike()) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        for (JoinOffer& offer : joiner.offers(group)) {
            out.push_back(offer.record);
            if (offer.record.taken)
                joiner.take(std::move(offer));
        }
    }
    adopt(graph, joiner.graph(), nodes);
    return out;
}

} // namespace fuselage::planner
