// SPDX-License-Identifier: Apache-2.0
// Constants, shape arithmetic with known results, and nodes that change nothing. Nodes are taken
// once, in topological order, so that what one becomes is seen by the next.
#include "core/graph/bodies.h"
#include "core/graph/captures.h"
#include "core/graph/subgraph.h"
#include "core/ops/evaluate.h"
#include "core/ops/evaluate_stored.h"
#include "core/passes/einsum.h"
#include "core/passes/inference.h"
#include "core/passes/loops.h"
#include "core/passes/simplify.h"
#include "core/passes/unroll.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage {

namespace {

constexpr std::string_view stage = "fold constants";

/// Results up to this size may be larger than their operands.
constexpr int64_t maxGrownBytes = 1 << 20;
/// The same for operators that only repeat: writing the copies down gains nothing.
constexpr int64_t maxRepeatedBytes = 64 << 10;

bool onlyRepeats(Op op) {
    return op == Op::Expand || op == Op::Tile || op == Op::ConstantOfShape || op == Op::Range;
}

struct FoldShared {
    const FoldOptions& options;
    Progress& progress;
    ThreadPool threads{1};
    MovedTensors moved = {};
    bool cancelled = false;
};

class Folder {
public:
    using Constants = std::unordered_map<ValueId, TensorPtr>;

    Folder(Graph& graph, FoldShared& shared, Constants captured)
        : m_graph(graph), m_shared(shared), m_captured(std::move(captured)) {}

    /// Number of nodes removed, those of subgraphs included.
    size_t run();

private:
    void foldCaptures();
    void foldNode(NodeId id);
    void foldSubgraphs(NodeId id);
    bool foldConstantNode(NodeId id);
    bool isReadForItsType(const Node& node, ValueId input) const;
    bool foldView(NodeId id);
    bool foldByValue(NodeId id);
    bool foldByContents(NodeId id);
    bool inlineBranch(NodeId id);
    void keepPath(const Graph& body, const std::string& path, size_t firstCopy);
    bool inlineConstantBody(NodeId id);
    bool foldSequence(NodeId id);
    /// Where a Loop was changed: what took its place has types that nobody knows yet.
    bool anotherRound(bool changed) {
        m_removedInside += changed ? 1 : 0;
        return changed;
    }
    void inlineFused(NodeId id);
    bool bypass(ValueId out, ValueId in);
    void replace(ValueId out, ValueId in);
    bool bypassNoOp(NodeId id) {
        const Node& node = m_graph.node(id);
        if (isNoOp(m_graph, node, m_lookup)) {
            const ValueId in = node.inputs[0], out = node.outputs[0];
            const NodeId maker = m_graph.producer(in);
            // Of what an unknown operator makes, a copy may be all that says the type.
            if (maker.valid() && m_graph.node(maker).op == Op::Unknown)
                m_graph.setType(in, completed(m_graph.value(in).type, m_graph.value(out).type));
            return bypass(out, in);
        }
        const auto slot = onlyChoice(m_graph, node, m_lookup);
        return slot && bypass(node.outputs[0], node.inputs[*slot]);
    }
    bool sizeIsAcceptable(const Node& node, int64_t inputBytes) const;
    bool isSmall(const Node& node) const;

    TensorPtr constantOf(ValueId id) const {
        if (!id.valid())
            return nullptr;
        if (m_graph.value(id).constant)
            return m_graph.value(id).constant;
        auto found = m_captured.find(id);
        return found == m_captured.end() ? nullptr : found->second;
    }

    Graph& m_graph;
    FoldShared& m_shared;
    Constants m_captured;
    ConstantLookup m_lookup = [this](ValueId id) { return constantOf(id); };
    KnownSequences m_sequences{m_graph, m_lookup};
    size_t m_removedInside = 0;
};

bool Folder::bypass(ValueId out, ValueId in) {
    if (!m_graph.isGraphOutput(out)) {
        m_graph.replaceUses(out, in);
        return true;
    }
    if (TensorPtr constant = m_graph.value(in).constant) {
        m_graph.makeConstant(out, constant);
        return true;
    }
    if (!m_graph.producer(in).valid() || m_graph.isGraphOutput(in))
        return false;
    m_graph.takeName(in, out);
    m_graph.replaceUses(out, in);
    return true;
}

/// Like bypass; what cannot take the name of an output, since it has one of its own, is copied.
void Folder::replace(ValueId out, ValueId in) {
    if (bypass(out, in))
        return;
    const NodeId copy = m_graph.addNode({Op::Identity, "", {in}, {"copy"}});
    const ValueId copied = m_graph.node(copy).outputs[0];
    m_graph.setType(copied, m_graph.value(in).type);
    bypass(out, copied);
}

bool Folder::foldConstantNode(NodeId id) {
    const Node& node = m_graph.node(id);
    if (node.op != Op::Constant || node.outputs.empty() || !node.outputs[0].valid())
        return false;
    if (TensorPtr value = node.attributes.tensor("value")) {
        m_graph.makeConstant(node.outputs[0], value);
        return true;
    }
    auto results = evaluateStored(node, {}, m_shared.threads);
    if (!results || results->size() != 1 || !results->front())
        return false;
    m_graph.makeConstant(node.outputs[0], results->front());
    return true;
}

bool Folder::sizeIsAcceptable(const Node& node, int64_t inputBytes) const {
    const int64_t grown = onlyRepeats(node.op) ? maxRepeatedBytes : maxGrownBytes;
    for (ValueId output : node.outputs) {
        if (!output.valid())
            continue;
        const Type& type = m_graph.value(output).type;
        auto bytes = type.byteCount();
        if (type.dtype == DType::String || !bytes) {
            // Never larger than their operands, though nobody knows how large.
            if (node.op != Op::NonZero && node.op != Op::Unique && node.op != Op::Compress)
                return false;
            bytes = inputBytes;
        }
        const bool small = *bytes <= grown || *bytes <= 2 * inputBytes;
        if (!small || *bytes > static_cast<int64_t>(m_shared.options.maxBytes))
            return false;
    }
    return true;
}

/// The second operand of CastLike, and that of EyeLike: contents do not matter.
bool Folder::isReadForItsType(const Node& node, ValueId input) const {
    const Type& type = m_graph.value(input).type;
    const bool isRead = node.op == Op::CastLike ? input == node.inputs[1] && input != node.inputs[0]
                                                : node.op == Op::EyeLike && type.extents();
    return isRead && type.kind == TypeKind::Tensor && type.dtype != DType::Undefined;
}

/// The same bytes under another shape.
bool Folder::foldView(NodeId id) {
    const Node& node = m_graph.node(id);
    if (!hasTrait(node.op, View) || node.outputs.size() != 1)
        return false;
    const TensorPtr from = constantOf(node.inputs[0]);
    const auto extents = m_graph.value(node.outputs[0]).type.extents();
    if (!from || sizeOf(from->dtype()) == 0 || !extents ||
        elementCount(*extents) != from->elementCount())
        return false;
    m_graph.makeConstant(node.outputs[0], std::make_shared<Tensor>(from->reshaped(*extents)));
    return true;
}

/// All results together may be a shape, or what a shape is computed from.
bool Folder::isSmall(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
        return !output.valid() || m_graph.value(output).type.elementCount().value_or(
                                      maxSmallElements + 1) <= maxSmallElements;
    });
}

bool Folder::foldByValue(NodeId id) {
    const Node& node = m_graph.node(id);
    if (hasTrait(node.op, Nondeterministic | ControlFlow) || node.explicitInputs == 0 ||
        node.inputs.size() != node.explicitInputs || !canEvaluate(node.op) || keepsStored(node.op))
        return false;
    int64_t inputBytes = 0;
    bool isAssumed = false;
    for (ValueId input : node.inputs) {
        TensorPtr tensor = constantOf(input);
        if (input.valid() && !tensor && !isReadForItsType(node, input))
            return false;
        isAssumed = isAssumed || (tensor && tensor->isAssumed());
        inputBytes += tensor ? static_cast<int64_t>(tensor->byteCount()) : 0;
    }
    if (!sizeIsAcceptable(node, inputBytes) || (isAssumed && !isSmall(node)))
        return false;
    if (!isAssumed && foldView(id))
        return true;
    std::vector<StoredOperand> operands;
    for (ValueId input : node.inputs) {
        const TensorPtr tensor = constantOf(input);
        if (tensor || !input.valid())
            operands.emplace_back(tensor);
        else
            operands.emplace_back(m_graph.value(input).type.dtype,
                                  m_graph.value(input).type.extents().value_or(Extents()));
    }
    const auto results = evaluateStored(node, operands, m_shared.threads, m_shared.moved);
    if (!results || results->size() < node.outputs.size() ||
        std::count(results->begin(), results->end(), nullptr) > 0)
        return false;
    const std::vector<ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].valid()) {
            TensorPtr result = (*results)[i];
            if (isAssumed) {
                auto marked = std::make_shared<Tensor>(*result);
                marked->setAssumed();
                result = std::move(marked);
            }
            m_graph.makeConstant(outputs[i], std::move(result));
        }
    return true;
}

bool Folder::foldByContents(NodeId id) {
    const Node& node = m_graph.node(id);
    if (hasTrait(node.op, Nondeterministic | ControlFlow) || node.op == Op::Fused)
        return false;
    std::vector<std::pair<ValueId, TensorPtr>> known;
    for (ValueId output : node.outputs) {
        if (!output.valid())
            continue;
        auto tensor = tensorOfContents(m_graph.value(output));
        if (!tensor)
            return false; // an output cannot go alone: Split must keep all of its own
        for (ValueId input : node.inputs)
            if (const TensorPtr operand = constantOf(input); operand && operand->isAssumed())
                tensor->setAssumed();
        known.emplace_back(output, std::move(tensor));
    }
    for (auto& [output, tensor] : known)
        m_graph.makeConstant(output, std::move(tensor));
    return !known.empty();
}

/// Copies of a body's nodes say where they come from: reports name those that stayed inside so.
void Folder::keepPath(const Graph& body, const std::string& path, size_t firstCopy) {
    size_t copy = firstCopy;
    for (NodeId id : topologicalOrder(body)) {
        std::vector<std::string> sources = body.node(id).provenance.sources;
        if (sources.empty())
            sources.push_back(body.node(id).name);
        for (std::string& source : sources)
            source.insert(0, path);
        m_graph.edit(NodeId(static_cast<uint32_t>(copy++))).provenance.sources = std::move(sources);
    }
}

bool Folder::inlineBranch(NodeId id) {
    const Node& node = m_graph.node(id);
    if (node.op != Op::If || node.explicitInputs != 1)
        return false;
    TensorPtr condition = constantOf(node.inputs[0]);
    if (!condition || condition->elementCount() != 1 || condition->dtype() != DType::Bool)
        return false;
    const std::string branch = condition->intAt(0) != 0 ? "then_branch" : "else_branch";
    for (const SubgraphRef& ref : subgraphsOf(node)) {
        if (ref.attribute != branch || !ref.graph->inputs().empty())
            continue;
        auto first = node.inputs.begin() + ref.firstCapture;
        const std::vector<ValueId> captures(
            first, first + static_cast<std::ptrdiff_t>(ref.graph->captures().size()));
        const std::vector<ValueId> outputs = node.outputs;
        const std::string path = bodyPath("", node.name, branch);
        const size_t firstCopy = m_graph.nodeBound();
        std::vector<ValueId> results = inlineBody(m_graph, *ref.graph, {}, captures);
        keepPath(*ref.graph, path, firstCopy);
        for (size_t i = 0; i < std::min(outputs.size(), results.size()); ++i) {
            if (outputs[i].valid())
                replace(outputs[i], results[i]);
        }
        return true;
    }
    return false;
}

void Folder::inlineFused(NodeId id) {
    const Node& node = m_graph.node(id);
    const std::vector<ValueId> outputs = node.outputs;
    const size_t first = m_graph.nodeBound();
    std::vector<ValueId> results = inlineBody(m_graph, *node.body, node.inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
        bypass(outputs[i], results[i]);
    for (size_t inner = first; inner < m_graph.nodeBound(); ++inner)
        foldNode(NodeId(static_cast<uint32_t>(inner)));
}

/// Whether it does nothing with numbers but choose between them.
bool placesRows(const Graph& body) {
    const std::vector<NodeId> nodes = body.nodes();
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node& node = body.node(id);
        return node.op == Op::Where || !isFloat(body.value(node.outputs[0]).type.dtype);
    });
}

/// A fused node that only computes constants gives way to its body, which then folds; so does one
/// that puts rows in their places, now that these are constants: see joinPlacedRows().
bool Folder::inlineConstantBody(NodeId id) {
    const Node& node = m_graph.node(id);
    if (node.op != Op::Fused)
        return false;
    size_t rows = 0, rooms = 0;
    for (ValueId input : node.inputs) {
        if (const TensorPtr operand = constantOf(input)) {
            if (operand->isAssumed() && !isSmall(node))
                return false; // it would not fold
            continue;
        }
        const NodeId from = m_graph.producer(input);
        const Op op = from.valid() ? m_graph.node(from).op : Op::Fused;
        const bool isRow = op == Op::GatherElements || isOneRow(m_graph.value(input).type);
        rows += isRow ? 1 : 0;
        rooms += op == Op::Pad && !isRow ? 1 : 0;
        if (!isRow && op != Op::Pad)
            return false;
    }
    if (rows != rooms || !placesRows(*node.body))
        return false;
    inlineFused(id);
    return true;
}

/// A tensor that is read out of a sequence whose elements are known.
bool Folder::foldSequence(NodeId id) {
    m_sequences.note(id);
    const size_t firstMade = m_graph.nodeBound();
    const std::optional<ValueId> tensor = m_sequences.tensorOf(id);
    if (!tensor)
        return false;
    replace(m_graph.node(id).outputs[0], *tensor);
    for (size_t made = firstMade; made < m_graph.nodeBound(); ++made)
        foldNode(NodeId(static_cast<uint32_t>(made)));
    return true;
}

void Folder::foldSubgraphs(NodeId id) {
    const std::vector<SubgraphRef> refs = subgraphsOf(m_graph.node(id));
    for (size_t k = 0; k < refs.size(); ++k) {
        Constants captured;
        for (size_t i = 0; i < refs[k].graph->captures().size(); ++i) {
            const ValueId outside = m_graph.node(id).inputs[refs[k].firstCapture + i];
            TensorPtr known = constantOf(outside);
            if (!known && outside.valid())
                known = tensorOfContents(m_graph.value(outside));
            if (known)
                captured.emplace(refs[k].graph->captures()[i], std::move(known));
        }
        // The reference list itself holds the graph, so that ownSubgraph would always copy.
        auto graph = std::make_shared<Graph>(*refs[k].graph);
        m_graph.edit(id).attributes.set(refs[k].attribute, graph);
        m_removedInside += Folder(*graph, m_shared, std::move(captured)).run();
    }
}

void Folder::foldCaptures() {
    for (const auto& [capture, tensor] : m_captured)
        if (tensor->elementCount() <= maxSmallElements && !m_graph.value(capture).uses.empty())
            m_graph.replaceUses(capture, m_graph.addConstant(m_graph.value(capture).name, tensor));
}

void Folder::foldNode(NodeId id) {
    if (m_graph.node(id).inputs.size() > m_graph.node(id).explicitInputs ||
        hasTrait(m_graph.node(id).op, ControlFlow))
        foldSubgraphs(id);
    if (bypassNoOp(id) || inlineBranch(id) || inlineConstantBody(id) || foldConstantNode(id) ||
        foldByValue(id) || foldByContents(id) || restoreSoftmax(m_graph, id) ||
        joinPlacedRows(m_graph, id, m_lookup) || anotherRound(dropUnread(m_graph, id)) ||
        foldSequence(id) || anotherRound(unrollConstantLoop(m_graph, id, m_lookup, m_sequences)))
        return;
    const size_t first = m_graph.nodeBound();
    if (writeOutEinsum(m_graph, id) || reshapeInOrder(m_graph, id, m_lookup)) {
        for (size_t step = first; step < m_graph.nodeBound(); ++step)
            foldNode(NodeId(static_cast<uint32_t>(step)));
        return;
    }
    if (simplifyShapeOperands(m_graph, id, m_lookup))
        bypassNoOp(id); // a Slice whose end became constant may take everything
}

size_t Folder::run() {
    foldCaptures();
    const std::vector<NodeId> order = topologicalOrder(m_graph);
    for (size_t i = 0; i < order.size() && !m_shared.cancelled; ++i) {
        m_shared.cancelled = m_shared.progress.cancelled();
        foldNode(order[i]);
        if (i % 1024 == 0)
            m_shared.progress.report(stage, i, order.size());
    }
    return m_graph.removeDead() + m_removedInside;
}

} // namespace

Result<size_t> foldConstants(Graph& graph, const FoldOptions& options, Progress& progress) {
    FoldShared shared{options, progress};
    const size_t removed = Folder(graph, shared, {}).run();
    if (shared.cancelled)
        return cancelledFailure(stage);
    return removed;
}

} // namespace fuselage
