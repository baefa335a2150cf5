// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/quantized_internal.h"
#include "core/ops/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

/// Longer tapes are refused: registers are numbered with 16 bits and code size matters.
constexpr size_t maxSteps = 2048;

std::string keyOf(int scope, uint32_t number, const IndexMap& map) {
    return fmt::format("{}:{}:{}", scope, number, text(map));
}

const char* programOf(NodeClass cls) {
    switch (cls) {
    case NodeClass::Contraction:
        return "Contraction";
    case NodeClass::Reduction:
        return "Row";
    case NodeClass::Pool:
        return "Window";
    case NodeClass::Copying:
        return "Copy";
    case NodeClass::Elementwise:
        return "Pointwise";
    default:
        return "Library";
    }
}

} // namespace

Scalar Composer::fail(Reason reason) {
    if (!failed())
        m_reason = std::move(reason);
    return dummy();
}

Scalar Composer::fail(DimSplit split) {
    if (!failed())
        m_split = split;
    return dummy();
}

const IndexMap* Composer::unwrap(MapResult& result, const Node& node) {
    if (auto* map = std::get_if<IndexMap>(&result))
        return map;
    if (auto* split = std::get_if<DimSplit>(&result))
        fail(*split);
    else {
        auto& failure = std::get<MapFailure>(result);
        fail(shapeReason(failure.left, failure.right,
                         fmt::format("{} needs {} over {}, which is not affine", describe(node),
                                     failure.right, failure.left)));
    }
    return nullptr;
}

Scalar Composer::taggedInput(DType type, int tag) {
    m_inputs.push_back({std::nullopt, tag});
    return m_tape.input(type);
}

Scalar Composer::read(uint32_t operand, DType type, const IndexMap& map) {
    auto [found, isNew] = m_reads.try_emplace(keyOf(0, operand, map));
    if (isNew) {
        m_inputs.push_back({Access{operand, map}, -1});
        found->second = m_tape.input(type);
    }
    return widened(found->second);
}

std::optional<IndexMap> Composer::visited(ValueId id) const {
    auto found = m_visited.find(id);
    return found == m_visited.end() ? std::nullopt : std::optional(found->second);
}

void Composer::noteVisited(ValueId id, const IndexMap& map) {
    m_visited.try_emplace(id, map);
}

Scalar Composer::constantScalar(const Tensor& tensor) {
    const DType type = isNarrowFloat(tensor.dtype()) ? DType::Float32 : tensor.dtype();
    if (isFloat(type))
        return m_tape.constant(type, tensor.at(0));
    return m_tape.integer(type, tensor.intAt(0));
}

Scalar Composer::value(ValueId id, const IndexMap& map) {
    if (failed())
        return dummy();
    const Tensor* constant = m_body.constant(id);
    if (constant && constant->elementCount() == 1)
        return constantScalar(*constant);
    if (auto operand = m_body.operand(id)) {
        Scalar element = read(*operand, m_body.dtype(id), map);
        return m_scope == 1 && m_rowRead ? m_rowRead(element) : element;
    }
    if (constant)
        return fail({"io-count",
                     fmt::format("constant `{}` of {} lies inside the body and is no operand",
                                 m_body.graph().value(id).name, text(m_body.extents(id))),
                     "make it an input of the fused node",
                     {{"elements", std::to_string(constant->elementCount())}, {"limit", "1"}}});
    const std::string key = keyOf(m_scope, id.index(), map);
    auto found = m_values.find(key);
    if (found != m_values.end())
        return found->second;
    if (++m_steps > maxSteps)
        return fail({"io-count",
                     fmt::format("more than {} elementwise steps in one program", maxSteps),
                     "match fewer nodes",
                     {{"steps", std::to_string(m_steps)}, {"limit", std::to_string(maxSteps)}}});
    noteVisited(id, map);
    Scalar made = widened(produced(id, map));
    if (m_body.strict() && !failed() && !isView(id)) // a view hands on what was rounded before
        made = rounded(id, made);
    if (m_tape.full())
        return fail({"io-count",
                     fmt::format("more than {} scalar instructions in one program",
                                 TapeBuilder::maxInstructions),
                     "match fewer nodes",
                     {{"limit", std::to_string(TapeBuilder::maxInstructions)}}});
    m_values.emplace(key, made);
    return made;
}

/// What a reader of the stored value would get.
Scalar Composer::rounded(ValueId id, Scalar wide) {
    const DType type = m_body.dtype(id);
    const bool made = m_body.graph().producer(id).valid();
    return made && isNarrowFloat(type) ? widened(cast(wide, type)) : wide;
}

bool Composer::isView(ValueId id) const {
    const NodeId maker = m_body.graph().producer(id);
    return maker.valid() && m_body.classOf(maker) == NodeClass::View;
}

Scalar Composer::stored(ValueId id, const IndexMap& map) {
    Scalar wide = value(id, map);
    return failed() ? wide : cast(wide, m_body.dtype(id));
}

Scalar Composer::produced(ValueId id, const IndexMap& map) {
    NodeId maker = m_body.graph().producer(id);
    if (!maker.valid())
        return fail({"kind",
                     fmt::format("`{}` has no producer in the body", m_body.graph().value(id).name),
                     "",
                     {}});
    const uint32_t slot = m_body.graph().value(id).outputSlot;
    if (m_anchor)
        if (auto answered = m_anchor(maker, slot, map))
            return *answered;
    const Node& node = m_body.node(maker);
    const NodeClass cls = m_body.classOf(maker);
    if (cls == NodeClass::View) {
        ViewStepResult step = stepThroughView(m_body, maker, slot, map, m_space);
        if (auto* split = std::get_if<DimSplit>(&step))
            return fail(*split);
        if (auto* reason = std::get_if<Reason>(&step))
            return fail(std::move(*reason));
        auto& [operand, operandMap] = std::get<ViewStep>(step);
        return value(operand, operandMap);
    }
    if (cls == NodeClass::Elementwise && isElementwiseQuantisation(m_body, node))
        return quantisation(*this, node, map);
    if (cls == NodeClass::Elementwise)
        return node.op == Op::BatchNormalization ? batchNormalization(maker, map)
                                                 : elementwise(maker, map);
    return fail(kindReason(programOf(cls), "Pointwise",
                           fmt::format("{} is a program of its own kind", describe(node)),
                           "leave it out of the match"));
}

Scalar Composer::elementwise(NodeId id, const IndexMap& map) {
    const Node& node = m_body.node(id);
    const Extents& extents = m_body.extents(node.outputs[0]);
    // What jumps must see the value that the unfused graph stores, and a Cast is never elided.
    const bool rounds =
        hasTrait(node.op, Discontinuous) || node.op == Op::Cast || node.op == Op::CastLike;
    std::vector<Scalar> inputs;
    std::vector<DType> types;
    for (size_t slot = 0; slot < node.explicitInputs; ++slot) {
        ValueId input = node.inputs[slot];
        if (!input.valid())
            continue;
        MapResult broadcast = broadcastMap(map, extents, m_body.extents(input));
        const IndexMap* inputMap = unwrap(broadcast, node);
        Scalar operand = inputMap ? value(input, *inputMap) : dummy();
        if (failed())
            return dummy();
        if (rounds && !m_body.strict())
            operand = rounded(input, operand);
        inputs.push_back(operand);
        types.push_back(operand.type());
    }
    if (node.op == Op::CastLike) // the second operand is read for its type, which is widened here
        return cast(inputs[0], m_body.dtype(node.outputs[0]));
    auto tape = tapeOf(node, types);
    if (!tape)
        return fail({"unsupported-op",
                     fmt::format("{} has no scalar code for its operand types", describe(node)),
                     "leave it out of the match",
                     {{"node", node.name}}});
    return m_tape.append(*tape, inputs).front();
}

Scalar Composer::batchNormalization(NodeId id, const IndexMap& map) {
    const Node& node = m_body.node(id);
    if (node.attributes.integer("training_mode") != 0 || node.explicitInputs < 5)
        return fail({"unsupported-op",
                     fmt::format("{} is in training mode", describe(node)),
                     "export the model for inference",
                     {{"node", node.name}}});
    IndexMap channel(1);
    if (map.size() > 1)
        channel[0] = map[1];
    auto perChannel = [&](size_t slot) { return value(node.inputs[slot], channel); };
    Scalar x = value(node.inputs[0], map);
    Scalar gamma = perChannel(1), beta = perChannel(2), mean = perChannel(3), var = perChannel(4);
    if (failed())
        return dummy();
    m_reassociated = true;
    const DType type = x.type();
    Scalar scale = cast(gamma, type) /
                   unary(TapeOp::Sqrt, cast(var, type) + node.attributes.number("epsilon", 1e-5));
    Scalar shift = cast(beta, type) - cast(mean, type) * scale;
    return x * scale + shift;
}

ComposedTape finishTape(Composer& composer, const std::vector<Scalar>& results,
                        std::optional<DType> leading) {
    Tape whole = composer.tape().finish(results);
    const std::vector<Composer::Input>& inputs = composer.inputs();
    std::vector<bool> used(inputs.size(), false);
    for (const TapeInstruction& at : whole.code)
        if (at.op == TapeOp::Input)
            used[at.index] = true;
    ComposedTape out;
    std::vector<uint16_t> moved(inputs.size(), 0);
    if (leading)
        out.tape.inputs.push_back(*leading);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!used[i] || !inputs[i].read)
            continue; // a tagged input is the leading one, number 0
        moved[i] = static_cast<uint16_t>(out.tape.inputs.size());
        out.tape.inputs.push_back(whole.inputs[i]);
        out.reads.push_back(*inputs[i].read);
    }
    out.tape.code = std::move(whole.code);
    out.tape.outputs = std::move(whole.outputs);
    for (TapeInstruction& at : out.tape.code)
        if (at.op == TapeOp::Input)
            at.index = moved[at.index];
    return out;
}

std::vector<uint32_t> outputOrder(const LowerBody& body) {
    const std::vector<ValueId>& outputs = body.graph().outputs();
    std::vector<uint32_t> order(outputs.size());
    for (uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    auto count = [&](uint32_t i) { return *elementCount(body.extents(outputs[i])); };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        if (count(a) != count(b))
            return count(a) > count(b);
        return body.position(outputs[a]) > body.position(outputs[b]);
    });
    return order;
}

std::variant<IndexMap, DimSplit, Reason> writeMapOf(const Composer& composer, ValueId output,
                                                    const ResultMap& first, const Extents& space) {
    const LowerBody& body = composer.body();
    const Extents& extents = body.extents(output);
    auto met = composer.visited(output);
    if (met && coversOnce(*met, extents, space))
        return *met;
    const Extents& firstExtents = body.extents(body.graph().outputs()[first.output]);
    if (elementCount(extents) == elementCount(firstExtents)) {
        MapResult shaped = reshapeMap(first.map, firstExtents, extents, composer.space());
        if (auto* map = std::get_if<IndexMap>(&shaped))
            return *map;
        if (auto* split = std::get_if<DimSplit>(&shaped))
            return *split;
    }
    return shapeReason(text(extents), text(firstExtents),
                       fmt::format("result `{}` is {}, the program runs over {}",
                                   body.graph().value(output).name, text(extents),
                                   text(firstExtents)),
                       "fuse only results of one shape");
}

ComposedResults composeResults(Composer& composer, const std::vector<uint32_t>& order,
                               const IndexMap& first, size_t written) {
    const std::vector<ValueId>& outputs = composer.body().graph().outputs();
    const ResultMap base{order[0], first};
    Extents space = composer.space();
    std::fill(space.begin() + static_cast<std::ptrdiff_t>(written), space.end(), 1);
    ComposedResults out;
    for (uint32_t number : order) {
        IndexMap map = first;
        if (number != order[0]) {
            auto found = writeMapOf(composer, outputs[number], base, space);
            if (auto* split = std::get_if<DimSplit>(&found))
                composer.fail(*split);
            else if (auto* reason = std::get_if<Reason>(&found))
                composer.fail(*reason);
            else
                map = std::get<IndexMap>(found);
        }
        if (composer.failed())
            break;
        out.results.push_back(composer.stored(outputs[number], map));
        out.writes.push_back({number, map});
    }
    return out;
}

NumericClass numericOf(const LowerBody& body, bool reassociated) {
    if (reassociated)
        return NumericClass::Reassociated;
    const bool wider = body.hasNarrowInnerEdges() && !body.strict();
    return wider ? NumericClass::Wider : NumericClass::Exact;
}

} // namespace fuselage
