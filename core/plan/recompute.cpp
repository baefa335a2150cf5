// SPDX-License-Identifier: Apache-2.0
// Phase 1b of planning: cheap work with several readers. What it makes is written once and read by
// each of them; done again inside of every reader's kernel it is never written at all, which saves
// only where the last reader takes it too. The graph that the person sees keeps one node.
#include "core/cost/decision.h"
#include "core/graph/subgraph.h"
#include "core/ops/op_table.h"
#include "core/plan/planner_internal.h"
#include "core/plan/step_times_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace fuselage::planner {

namespace {

/// What is offered together: one node and what leads to it alone.
constexpr size_t mostOffered = 8, mostBodyNodes = 128;

using NodeSet = std::set<NodeId>;

/// Work that is offered, and who reads it.
struct Shared {
    std::vector<NodeId> nodes;   ///< producers first
    std::vector<NodeId> readers; ///< each once
};

/// A reader with what it would compute again in front of it.
struct Reader {
    NodeId node;
    NodeSet again;
    LowerRequest request;
    KernelProgram program;
};

struct Offer {
    RecomputeRecord record;
    Shared shared;
    std::vector<Reader> readers; ///< empty: they do not lower
};

Reason reasonOf(const RecomputeRecord& record) {
    const std::string once = fmt::format("{:.4g}", record.secondsBefore * 1e6);
    const std::string again = fmt::format("{:.4g}", record.secondsAfter * 1e6);
    return {"cost",
            fmt::format("predicted {} us done once, {} us done again by each of {} readers", once,
                        again, record.readers.size()),
            "",
            {{"once_us", once}, {"again_us", again}}};
}

/// A product, or a pool, with work in front of an operand that had none.
bool gainsPrologue(const KernelProgram& before, const KernelProgram& after) {
    auto count = [](const KernelProgram& program) {
        if (const auto* window = std::get_if<Window>(&program.code))
            return window->prologue ? 1 : 0;
        const auto* code = std::get_if<Contraction>(&program.code);
        return code ? (code->prologueA ? 1 : 0) + (code->prologueB ? 1 : 0) : 0;
    };
    return count(after) > count(before);
}

class Recomputer {
public:
    Recomputer(std::shared_ptr<const Graph> graph, std::vector<PlannedNode>& nodes,
               const PlanRound& options, LowerCache& cache)
        : m_graph(std::move(graph)), m_nodes(nodes), m_options(options), m_cache(cache),
          m_at(m_graph->nodeBound(), none) {
        for (uint32_t i = 0; i < nodes.size(); ++i)
            m_at[nodes[i].node.index()] = i;
    }

    /// Offers what the node makes to its readers, where it is cheap.
    void offer(NodeId node);

    /// With the readers that took work; the same where none did.
    std::shared_ptr<const Graph> graph() const { return m_graph; }

    std::vector<RecomputeRecord> records;

private:
    static constexpr uint32_t none = 0xffffffff;

    const PlannedNode& planned(NodeId node) const { return m_nodes[m_at[node.index()]]; }

    bool isView(NodeId node) const { return !planned(node).program; }

    const StepTimes& times() const;
    bool isCheap(NodeId node) const;
    bool isKept(NodeId node) const;
    bool takesWork(NodeId node) const;
    std::optional<Shared> closed(NodeSet nodes) const;
    NodeId leadingTo(const Shared& shared) const;

    std::optional<Offer> price(const Shared& shared);
    std::optional<Reader> withWork(NodeId reader, const NodeSet& shared);
    NumericClass allowedOf(NodeId reader, const NodeSet& again) const;
    bool isRounded(NodeId reader, const NodeSet& again) const;

    void take(Offer offer);

    std::shared_ptr<const Graph> m_graph;
    std::shared_ptr<Graph> m_changed; ///< the same, once it is a copy
    std::vector<PlannedNode>& m_nodes;
    const PlanRound& m_options;
    LowerCache& m_cache;
    std::vector<uint32_t> m_at; ///< in m_nodes, by node
    // Once there is something to price:
    mutable std::vector<int64_t> m_bytes; ///< of StepTimes
    mutable std::optional<StepTimes> m_times;
};

const StepTimes& Recomputer::times() const {
    if (!m_times) {
        m_bytes = logicalBytes(*m_graph, m_nodes);
        m_times.emplace(*m_graph, m_bytes, m_options);
    }
    return *m_times;
}

bool isElementMove(const KernelProgram& program) {
    const auto* copy = std::get_if<Copy>(&program.code);
    return copy && copy->pieces.size() == 1 && copy->pieces[0].read;
}

/// Work that may be done more than once: elementwise, or one that only moves elements. What
/// constants alone decide is done once, while a backend prepares.
bool Recomputer::isCheap(NodeId node) const {
    const auto& program = planned(node).program;
    const std::vector<ValueId>& inputs = m_graph->node(node).inputs;
    return (!program || std::holds_alternative<Pointwise>(program->code) ||
            isElementMove(*program)) &&
           std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId input) { return input.valid() && !m_graph->isConstant(input); });
}

/// Somebody outside of the plan reads it.
bool Recomputer::isKept(NodeId node) const {
    const std::vector<ValueId>& outputs = m_graph->node(node).outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
        return !output.valid() || m_graph->isGraphOutput(output);
    });
}

/// Copies are left out: a Concat may be no kernel at all, once its operands are written in place.
bool Recomputer::takesWork(NodeId node) const {
    const auto& program = planned(node).program;
    if (!program)
        return false;
    const ProgramKind kind = kindOf(*program);
    const bool strictly = !m_options.strict || kind == ProgramKind::Pointwise;
    const std::vector<ValueId>& outputs = m_graph->node(node).outputs;
    return strictly &&
           (kind == ProgramKind::Pointwise || kind == ProgramKind::Row ||
            kind == ProgramKind::Contraction || kind == ProgramKind::Window ||
            kind == ProgramKind::Attention) &&
           std::all_of(outputs.begin(), outputs.end(), [](ValueId id) { return id.valid(); });
}

/// With all views of what the nodes make; none where somebody cannot compute it again.
std::optional<Shared> Recomputer::closed(NodeSet nodes) const {
    NodeSet readers;
    std::vector<NodeId> waiting(nodes.begin(), nodes.end());
    while (!waiting.empty()) {
        const NodeId node = waiting.back();
        waiting.pop_back();
        if (isKept(node))
            return std::nullopt;
        for (ValueId output : m_graph->node(node).outputs)
            for (const Use& use : m_graph->value(output).uses) {
                if (nodes.contains(use.node))
                    continue;
                if (isView(use.node)) {
                    nodes.insert(use.node);
                    waiting.push_back(use.node);
                } else if (takesWork(use.node)) {
                    readers.insert(use.node);
                } else {
                    return std::nullopt;
                }
            }
    }
    Shared out{{nodes.begin(), nodes.end()}, {readers.begin(), readers.end()}};
    auto earlier = [&](NodeId a, NodeId b) { return times().placeOf(a) < times().placeOf(b); };
    std::sort(out.nodes.begin(), out.nodes.end(), earlier);
    std::sort(out.readers.begin(), out.readers.end(), earlier);
    return out;
}

/// The last node in front of the shared ones that is cheap and leads nowhere else.
NodeId Recomputer::leadingTo(const Shared& shared) const {
    auto isInside = [&](NodeId node) {
        return std::find(shared.nodes.begin(), shared.nodes.end(), node) != shared.nodes.end();
    };
    NodeId best;
    for (NodeId node : shared.nodes)
        for (ValueId input : m_graph->node(node).inputs) {
            const NodeId maker = m_graph->producer(input);
            if (!maker.valid() || isInside(maker) || !isCheap(maker) || isKept(maker))
                continue;
            const std::vector<ValueId>& made = m_graph->node(maker).outputs;
            const bool here = std::all_of(made.begin(), made.end(), [&](ValueId value) {
                const std::vector<Use>& uses = m_graph->value(value).uses;
                return std::all_of(uses.begin(), uses.end(),
                                   [&](const Use& use) { return isInside(use.node); });
            });
            if (here && (!best.valid() || times().placeOf(maker) > times().placeOf(best)))
                best = maker;
        }
    return best;
}

/// The worst class that all of them allow.
NumericClass Recomputer::allowedOf(NodeId reader, const NodeSet& again) const {
    NumericClass out = allowedClass(m_graph->node(reader), m_options);
    for (NodeId node : again)
        out = std::min(out, allowedClass(m_graph->node(node), m_options));
    return out;
}

/// What a kernel of its own stored was rounded to its type.
bool Recomputer::isRounded(NodeId reader, const NodeSet& again) const {
    auto is = [&](NodeId node) {
        return !planned(node).program || m_graph->node(node).op != Op::Fused ||
               planned(node).program->numeric == NumericClass::Exact;
    };
    return is(reader) && std::all_of(again.begin(), again.end(), is);
}

std::optional<Reader> Recomputer::withWork(NodeId reader, const NodeSet& shared) {
    NodeSet again;
    std::vector<NodeId> waiting{reader};
    while (!waiting.empty()) {
        const NodeId node = waiting.back();
        waiting.pop_back();
        for (ValueId input : m_graph->node(node).inputs)
            if (const NodeId maker = m_graph->producer(input);
                maker.valid() && shared.contains(maker) && again.insert(maker).second)
                waiting.push_back(maker);
    }
    std::vector<NodeId> nodes(again.begin(), again.end());
    nodes.push_back(reader);
    Reader out{
        reader, std::move(again), requestFor(*m_graph, nodes, m_graph->node(reader).outputs), {}};
    if (out.request.body->nodeCount() > mostBodyNodes)
        return std::nullopt;
    // Sums may change their order where the parts allow it; what is rounded stays so.
    out.request.strict = isRounded(reader, out.again);
    LowerResult lowered = m_cache.lowerWithin(out.request, allowedOf(reader, out.again));
    auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program || (m_options.backend && m_options.backend->supports(*program)))
        return std::nullopt;
    // It costs a product on a GPU its libraries and TMA, which no price knows.
    if (m_options.profile->kind == DeviceKind::Gpu &&
        gainsPrologue(*planned(reader).program, *program))
        return std::nullopt;
    out.program = std::move(*program);
    return out;
}

/// None where a reader has no kernel that does the work too.
std::optional<Offer> Recomputer::price(const Shared& shared) {
    Offer out;
    out.shared = shared;
    const NodeSet nodes(shared.nodes.begin(), shared.nodes.end());
    std::vector<TimeEstimate> before;
    TimeEstimate after;
    double work = 0;
    auto addBefore = [&](NodeId node) {
        const PlannedNode& is = planned(node);
        if (!is.program)
            return;
        before.push_back(times().of(*is.program, is.request.operands, node));
        out.record.bytesSaved += logicalTraffic(*is.program).logical();
    };
    for (NodeId node : shared.nodes) {
        addBefore(node);
        out.record.nodes.push_back(m_graph->node(node).name);
    }
    for (const TimeEstimate& each : before)
        work += each.seconds;
    for (NodeId node : shared.readers) {
        addBefore(node);
        out.record.readers.push_back(m_graph->node(node).name);
        auto reader = withWork(node, nodes);
        // A product alone behind a Cast may multiply 16 bits as they are stored.
        if (!reader ||
            (shared.readers.size() == 1 && gainsPrologue(*planned(node).program, reader->program)))
            return std::nullopt;
        after += times().of(reader->program, reader->request.operands, node);
        out.record.bytesSaved -= logicalTraffic(reader->program).logical();
        out.readers.push_back(std::move(*reader));
    }
    const Decision decision = decideFusion(after, before);
    out.record.secondsBefore = decision.unfusedSeconds;
    out.record.secondsAfter = decision.fusedSeconds;
    out.record.reason = reasonOf(out.record);
    out.record.taken = preferred(changeOf(decision, static_cast<double>(out.record.bytesSaved)),
                                 least_share::again, work);
    return out;
}

void Recomputer::offer(NodeId node) {
    if (m_at[node.index()] == none || !isCheap(node))
        return;
    std::optional<Offer> best;
    auto cost = [](const Offer& of) { return of.record.secondsAfter - of.record.secondsBefore; };
    NodeSet nodes{node};
    // A Cast is how its only reader reads, and nothing is done twice.
    const size_t leastReaders = m_graph->node(node).op == Op::Cast ? 1 : 2;
    for (size_t i = 0; i < mostOffered; ++i) {
        auto shared = closed(nodes);
        if (!shared || shared->readers.size() < leastReaders)
            break;
        // Views alone are no work.
        if (!std::all_of(shared->nodes.begin(), shared->nodes.end(),
                         [&](NodeId each) { return isView(each); }))
            if (auto priced = price(*shared); priced && (!best || cost(*priced) < cost(*best)))
                best = std::move(priced);
        const NodeId more = leadingTo(*shared);
        if (!more.valid())
            break;
        nodes = NodeSet(shared->nodes.begin(), shared->nodes.end());
        nodes.insert(more);
    }
    if (!best)
        return;
    best->record.node = m_graph->node(node).name;
    records.push_back(best->record);
    if (best->record.taken)
        take(std::move(*best));
}

void Recomputer::take(Offer offer) {
    if (!m_changed) {
        m_changed = std::make_shared<Graph>(m_graph->clone());
        m_graph = m_changed;
    }
    for (Reader& reader : offer.readers) {
        PlannedNode& is = m_nodes[m_at[reader.node.index()]];
        for (NodeId again : offer.shared.nodes)
            if (reader.again.contains(again) && !isView(again)) {
                const Node& node = m_graph->node(again);
                const std::vector<std::string>& sources = node.provenance.sources;
                if (sources.empty())
                    is.recomputed.push_back(node.name);
                is.recomputed.insert(is.recomputed.end(), sources.begin(), sources.end());
            }
        becomeFused(*m_changed, reader.node, reader.request);
        m_bytes[reader.node.index()] = logicalTraffic(reader.program).logical();
        is.request = std::move(reader.request);
        is.program = std::move(reader.program);
    }
    for (size_t i = offer.shared.nodes.size(); i-- > 0;) {
        m_at[offer.shared.nodes[i].index()] = none;
        m_changed->removeNode(offer.shared.nodes[i]);
    }
    m_times.emplace(*m_graph, m_bytes, m_options);
}

} // namespace

Result<std::vector<RecomputeRecord>> recomputeShared(std::shared_ptr<const Graph>& graph,
                                                     std::vector<PlannedNode>& nodes,
                                                     const PlanRound& options, LowerCache& cache,
                                                     Progress& progress) {
    std::vector<NodeId> order;
    for (const PlannedNode& node : nodes)
        order.push_back(node.node);
    Recomputer recomputer(graph, nodes, options, cache);
    // Readers first, so that what leads to shared work is offered with it.
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        if (progress.cancelled())
            return cancelledFailure("planning");
        recomputer.offer(*node);
    }
    adopt(graph, recomputer.graph(), nodes);
    return std::move(recomputer.records);
}

} // namespace fuselage::planner
