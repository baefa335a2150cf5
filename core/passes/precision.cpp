// SPDX-License-Identifier: Apache-2.0
// Two phases: decide in topological order which nodes compute on 16-bit values, then retype values,
// convert weights and put Casts where a reader wants the other type. One Cast a value and
// direction.
#include "core/passes/precision.h"

#include "core/graph/bodies.h"
#include "core/graph/captures.h"
#include "core/graph/float_spans.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"
#include "core/passes/precision_pairs_internal.h"
#include "core/passes/precision_range_internal.h"
#include "core/passes/precision_rows_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage {

namespace {

enum class Form : uint8_t {
    Wide,    ///< float32 operands and results
    Narrow,  ///< 16-bit operands and results
    Neutral, ///< reads a value in whatever type it is stored; results keep their types
};

class PrecisionPass {
public:
    PrecisionPass(Graph& graph, const PrecisionChoice& choice, PrecisionRecord& record)
        : m_graph(graph), m_except(choice.except), m_storage(storageOf(choice.precision)),
          m_record(record), m_narrow(graph.valueBound(), false),
          m_isScale(graph.valueBound(), false), m_named(choice.except.of.size(), false),
          m_isBetweenPairs(nodesBetweenPairs(graph)), m_constants(graph, m_storage),
          m_estimate(graph, m_storage, m_constants) {}

    void run();

private:
    Form decide(NodeId id);
    const PrecisionOf* askedFor(const Node& node);
    bool namesInBodies(const NodeChoice& choice) const;
    void refuse(std::string message, std::string fix);
    std::optional<Reason> refusal(const Node& node);
    bool followsWide(const Node& node) const;
    bool movesNarrow(const Node& node) const;
    bool makesScales(const Node& node) const;
    bool flushes(ValueId constant);

    bool isFloat32(ValueId id) const { return fuselage::isFloat32(m_graph, id); }

    void rewire(NodeId id, Form form);
    ValueId narrowed(ValueId id);
    ValueId widened(ValueId id);
    ValueId cast(ValueId id, DType to);
    ValueId narrowConstant(ValueId id);

    Graph& m_graph;
    const PrecisionExceptions& m_except;
    const DType m_storage;
    PrecisionRecord& m_record;
    std::vector<bool> m_narrow;  ///< per original value: its producer makes 16-bit values
    std::vector<bool> m_isScale; ///< per original value: a quantisation found it while running
    std::vector<bool> m_named;   ///< per exception: it names a node
    const std::vector<bool> m_isBetweenPairs; ///< per original node
    ConstantRanges m_constants;
    RangeEstimate m_estimate;
    std::unordered_map<ValueId, ValueId> m_down, m_up; ///< the value in the other type
};

/// A single element, not zero, that would become zero.
bool PrecisionPass::flushes(ValueId constant) {
    const float extreme = m_constants.of(constant).extreme;
    return m_graph.value(constant).constant->elementCount() == 1 && extreme != 0 &&
           roundTo(m_storage, extreme) == 0;
}

/// Why the node must compute in float32, from its operator and its weights.
std::optional<Reason> PrecisionPass::refusal(const Node& node) {
    if (hasTrait(node.op, ControlFlow)) {
        size_t inside = 0;
        for (const SubgraphRef& ref : subgraphsOf(node))
            inside += countNodes(*ref.graph);
        return Reason{"precision-control-flow",
                      fmt::format("bodies of control flow stay in float32, here {} node{}", inside,
                                  inside == 1 ? "" : "s"),
                      "",
                      {{"nodes", std::to_string(inside)}}};
    }
    if (const char* why = whyKept(node.op, m_storage))
        return Reason{"precision-op",
                      fmt::format("{} stays in float32: {}", nameOf(node.op), why),
                      "",
                      {{"op", nameOf(node.op)}}};
    for (uint32_t slot = 0; slot < node.explicitInputs; ++slot) {
        ValueId id = node.inputs[slot];
        if (!m_graph.isConstant(id) || !isFloat32(id) || keepsInput(node.op, slot))
            continue;
        const ConstantRange& range = m_constants.of(id);
        const std::string& name = m_graph.value(id).name;
        if (range.outside && !range.isMaskFill)
            return Reason{"precision-weight",
                          fmt::format("weight `{}` holds {}, which {} cannot store", name,
                                      range.extreme, nameOf(m_storage)),
                          m_storage == DType::Float16 ? "take --precision bf16" : "",
                          {{"weight", name}, {"value", fmt::format("{}", range.extreme)}}};
        if (flushes(id) && !toleratesRaisedScalar(node.op))
            return Reason{
                "precision-weight",
                fmt::format("scalar `{}` would be stored as zero in {}", name, nameOf(m_storage)),
                m_storage == DType::Float16 ? "take --precision bf16" : "",
                {{"weight", name}}};
    }
    return std::nullopt;
}

/// Movement of a value that a float32 node made moves float32; a question whose operands are all
/// float32 is answered in float32.
bool PrecisionPass::followsWide(const Node& node) const {
    const bool moves = hasTrait(node.op, View | DataMovement);
    const bool makesFloats = std::any_of(node.outputs.begin(), node.outputs.end(),
                                         [&](ValueId id) { return isFloat32(id); });
    if (!moves && makesFloats)
        return false;
    bool any = false;
    for (uint32_t slot = 0; slot < node.explicitInputs; ++slot) {
        ValueId id = node.inputs[slot];
        if (!isFloat32(id) || m_graph.isConstant(id))
            continue;
        if (m_narrow[id.index()] || (moves && !m_graph.producer(id).valid()))
            return false;
        any = true;
    }
    return any;
}

/// It computes with scales that DynamicQuantizeLinear found, and with constants: a small number
/// that everything is multiplied by, below what float16 holds with all its digits.
bool PrecisionPass::makesScales(const Node& node) const {
    if (node.op == Op::DynamicQuantizeLinear)
        return true;
    bool any = false;
    for (uint32_t slot = 0; slot < node.explicitInputs; ++slot) {
        const ValueId id = node.inputs[slot];
        if (!isFloat32(id) || m_graph.isConstant(id))
            continue;
        if (!m_isScale[id.index()])
            return false;
        any = true;
    }
    return any && hasTrait(node.op, Elementwise | View | DataMovement | Reduction);
}

Form PrecisionPass::decide(NodeId id) {
    const Node& node = m_graph.node(id);
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId id) { return isFloat32(id); });
    if (node.op == Op::Cast || hasTrait(node.op, ShapeQuery))
        return Form::Neutral;
    if (!reads) // float32 made from other types keeps what the model's Cast or fill gave it
        return Form::Neutral;
    if (node.op == Op::CastLike) // its second operand is read for its type
        return Form::Wide;
    auto reason = refusal(node);
    if (auto outside = m_estimate.refusal(node); outside && !reason)
        reason = std::move(outside);
    const PrecisionOf* asked = askedFor(node);
    const auto prefer = [&](const char* code, const char* why) { // unless it is asked for
        if (!asked && !reason)
            reason = Reason{
                code,
                why,
                fmt::format("`--precision-of '{}={}'`", node.name, nameOf(m_record.precision)),
                {}};
    };
    if (!m_except.restIsWide && m_isBetweenPairs[id.index()])
        prefer("precision-pair",
               "it computes with what pairs of QuantizeLinear and DequantizeLinear store");
    if (makesScales(node))
        prefer("precision-scale", "it makes scales of integers, which are float32 in ONNX");
    if (asked && !asked->wide && reason)
        refuse(fmt::format("`{}` asks for 16 bits, and node `{}` cannot: {}", asked->nodes.text(),
                           node.name, reason->message),
               "leave it out, or ask for fp32");
    if (asked && asked->wide && !reason)
        reason = Reason{"precision-asked",
                        fmt::format("`{}` asks for float32", asked->nodes.text()),
                        "",
                        {{"nodes", asked->nodes.text()}}};
    if (reason) {
        m_record.kept.push_back({node.name, std::move(*reason)});
        return Form::Wide;
    }
    if (!asked && m_except.restIsWide)
        return movesNarrow(node) ? Form::Narrow : Form::Wide;
    return !asked && followsWide(node) ? Form::Wide : Form::Narrow;
}

/// Movement of a 16-bit value moves 16 bits.
bool PrecisionPass::movesNarrow(const Node& node) const {
    return hasTrait(node.op, View | DataMovement) &&
           std::all_of(node.inputs.begin(), node.inputs.begin() + node.explicitInputs,
                       [&](ValueId id) { return !isFloat32(id) || m_narrow[id.index()]; });
}

/// The last exception that names the node; null where none does.
const PrecisionOf* PrecisionPass::askedFor(const Node& node) {
    const PrecisionOf* out = nullptr;
    for (size_t i = 0; i < m_except.of.size(); ++i)
        if (m_except.of[i].nodes.names(node)) {
            m_named[i] = true;
            out = &m_except.of[i];
        }
    return out;
}

/// By their names or their paths.
bool PrecisionPass::namesInBodies(const NodeChoice& choice) const {
    for (const BodyPlace& body : bodiesOf(m_graph))
        for (NodeId id : body.graph->nodes()) {
            Node node = body.graph->node(id);
            if (choice.names(node))
                return true;
            node.name.insert(0, body.path);
            if (choice.names(node))
                return true;
        }
    return false;
}

void PrecisionPass::refuse(std::string message, std::string fix) {
    m_record.refused.push_back(
        {"precision.node", std::move(message), "--precision-of", std::move(fix)});
}

ValueId PrecisionPass::cast(ValueId id, DType to) {
    const Value source = m_graph.value(id);
    Attributes attributes;
    attributes.set("to", onnxNumber(to));
    const std::string name = source.name + "_" + nameOf(to);
    NodeId made = m_graph.addNode(
        {Op::Cast, name + "_cast", {id}, {name}, std::move(attributes), {"precision", "", 0, {}}});
    fillDefaults(m_graph.edit(made));
    ++m_record.casts;
    ValueId out = m_graph.node(made).outputs[0];
    Type type = source.type;
    type.dtype = to;
    m_graph.setType(out, std::move(type));
    return out;
}

ValueId PrecisionPass::narrowConstant(ValueId id) {
    const Value source = m_graph.value(id);
    auto out = std::make_shared<Tensor>(m_storage, source.constant->extents());
    std::span<const float> from = source.constant->as<float>();
    std::span<uint16_t> to = out->as<uint16_t>();
    const bool half = m_storage == DType::Float16;
    (half ? floatsToHalves : floatsToBfloats16)(from, to);
    if (m_constants.of(id).isMaskFill) {
        const auto lowest = static_cast<float>(-largestOf(m_storage));
        for (size_t i = 0; i < to.size(); ++i)
            if (std::isfinite(from[i]) && std::isinf(roundTo(m_storage, from[i])))
                to[i] = half ? floatToHalf(lowest) : floatToBfloat16(lowest);
    }
    if (flushes(id)) // the smallest number of its sign
        to[0] = static_cast<uint16_t>(from[0] < 0 ? 0x8001 : 0x0001);
    return m_graph.addConstant(m_graph.freshName(source.name), std::move(out));
}

ValueId PrecisionPass::narrowed(ValueId id) {
    if (id.index() < m_narrow.size() && m_narrow[id.index()])
        return id;
    auto [found, isNew] = m_down.try_emplace(id);
    if (isNew)
        found->second = m_graph.isConstant(id) ? narrowConstant(id) : cast(id, m_storage);
    return found->second;
}

ValueId PrecisionPass::widened(ValueId id) {
    if (id.index() >= m_narrow.size() || !m_narrow[id.index()])
        return id;
    auto [found, isNew] = m_up.try_emplace(id);
    if (isNew)
        found->second = cast(id, DType::Float32);
    return found->second;
}

void PrecisionPass::rewire(NodeId id, Form form) {
    if (form == Form::Neutral)
        return;
    const Node node = m_graph.node(id);
    for (uint32_t slot = 0; slot < node.inputs.size(); ++slot) {
        ValueId input = node.inputs[slot];
        const bool wasFloat32 = input.valid() && (isFloat32(input) || m_narrow[input.index()]);
        if (!wasFloat32)
            continue;
        const bool wide = form == Form::Wide || keepsInput(node.op, slot);
        ValueId wanted = wide ? widened(input) : narrowed(input);
        if (wanted != input)
            m_graph.setInput(id, slot, wanted);
    }
}

void PrecisionPass::run() {
    const std::vector<NodeId> order = topologicalOrder(m_graph);
    std::vector<Form> forms;
    for (NodeId id : order) {
        const Node& node = m_graph.node(id);
        forms.push_back(decide(id));
        if (forms.back() == Form::Wide && makesScales(node))
            for (size_t slot = 0; slot < node.outputs.size(); ++slot)
                if (isFloat32(node.outputs[slot]))
                    m_isScale[node.outputs[slot].index()] = true;
        if (forms.back() != Form::Narrow)
            continue;
        ++m_record.narrowed;
        for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
            if (isFloat32(node.outputs[slot]) && !keepsOutput(node.op, slot))
                m_narrow[node.outputs[slot].index()] = true;
    }
    for (uint32_t i = 0; i < m_narrow.size(); ++i)
        if (m_narrow[i]) {
            Type type = m_graph.value(ValueId(i)).type;
            type.dtype = m_storage;
            m_graph.setType(ValueId(i), std::move(type));
        }
    for (size_t i = 0; i < order.size(); ++i)
        rewire(order[i], forms[i]);
    for (size_t i = 0; i < m_graph.outputs().size(); ++i) {
        ValueId output = m_graph.outputs()[i];
        ValueId wide = widened(output);
        if (wide == output)
            continue;
        m_graph.takeName(wide, output);
        m_graph.setOutput(i, wide);
    }
    // A weight that all of its readers took in 16 bits gives its name to that form.
    for (const auto& [wide, narrow] : m_down)
        if (m_graph.isConstant(narrow) && m_graph.value(wide).uses.empty() &&
            !m_graph.isGraphOutput(wide))
            m_graph.takeName(narrow, wide);
    m_graph.removeDead();
    for (size_t i = 0; i < m_named.size(); ++i)
        if (!m_named[i] && !m_except.of[i].rule.empty())
            refuse("`" + m_except.of[i].nodes.text() + "` names a rule, and no rules are read here",
                   "name nodes or operators");
        else if (!m_named[i] && namesInBodies(m_except.of[i].nodes))
            refuse(
                fmt::format("`{}` names nodes in bodies of If, Loop and Scan only, which stay in "
                            "float32",
                            m_except.of[i].nodes.text()),
                "leave it out");
        else if (!m_named[i])
            refuse(fmt::format("`{}` names no node that computes with float32",
                               m_except.of[i].nodes.text()),
                   "`fuselage inspect MODEL --graph` lists the nodes");
}

int64_t weightBytes(const Graph& graph) {
    int64_t out = 0;
    for (ValueId id : graph.values())
        if (graph.isConstant(id))
            out += static_cast<int64_t>(graph.value(id).constant->byteCount());
    return out;
}

} // namespace

PrecisionRecord unchanged(const Graph& graph, Precision precision) {
    PrecisionRecord out;
    out.precision = precision;
    out.weightBytesBefore = weightBytes(graph);
    out.weightBytesAfter = out.weightBytesBefore;
    return out;
}

Result<PrecisionRecord> setPrecision(Graph& graph, const PrecisionChoice& choice) {
    PrecisionRecord out = unchanged(graph, choice.precision);
    if (!changesGraphs(choice.precision))
        return out;
    PrecisionPass(graph, choice, out).run();
    out.weightBytesAfter = weightBytes(graph);
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return failure("precision.types", problem.message,
                           problem.node.valid() ? graph.node(problem.node).name : "",
                           "take --precision fp32");
    return out;
}

} // namespace fuselage
