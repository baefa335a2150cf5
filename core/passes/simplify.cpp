// SPDX-License-Identifier: Apache-2.0
#include "core/passes/simplify.h"

#include "core/ops/op_table.h"
#include "core/passes/written_steps.h"

#include <algorithm>

namespace fuselage {

namespace {

bool hasInput(const Node& node, size_t slot) {
    return slot < node.explicitInputs && node.inputs[slot].valid();
}

const Shape* shapeOf(const Graph& graph, ValueId id) {
    const auto& shape = graph.value(id).type.shape;
    return shape ? &*shape : nullptr;
}

/// Contents with unknown entries where nothing is known; none when even the length is unknown.
std::optional<Shape> knownContents(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    if (value.symbolicContents)
        return *value.symbolicContents;
    return std::nullopt;
}

/// The slot reads these values from now on, in the integer type that it had.
void setConstantInput(Graph& graph, NodeId id, uint32_t slot, const Extents& extents,
                      const std::vector<int64_t>& values) {
    const Value& like = graph.value(graph.node(id).inputs[slot]);
    const DType dtype = like.type.dtype == DType::Int32 ? DType::Int32 : DType::Int64;
    auto data = std::make_shared<Tensor>(dtype, extents);
    for (size_t i = 0; i < values.size(); ++i)
        data->setInt(static_cast<int64_t>(i), values[i]);
    graph.setInput(id, slot, graph.addConstant(like.name, std::move(data)));
}

bool replaceOperand(Graph& graph, NodeId id, uint32_t slot,
                    const std::optional<std::vector<int64_t>>& values) {
    if (!values)
        return false;
    setConstantInput(graph, id, slot, {static_cast<int64_t>(values->size())}, *values);
    return true;
}

/// [N,197,768] from [N,197,12,64]: [-1,197,768]; [N,L,12,64] from [N,L,768]: [0,0,12,64].
std::optional<std::vector<int64_t>> reshapeTarget(const Shape& from, const Shape& target,
                                                  bool allowZero) {
    std::vector<int64_t> out;
    std::vector<size_t> open;
    for (size_t i = 0; i < target.size(); ++i) {
        out.push_back(target[i].isNumber() ? target[i].value() : -1);
        if (out.back() == -1)
            open.push_back(i);
        // A written 0 copies a dimension; a computed 0 beside -1 would leave the rest undefined.
        if (out.back() == 0)
            return std::nullopt;
    }
    if (open.size() > 1) {
        std::erase_if(open, [&](size_t i) {
            const bool copied = !allowZero && i < from.size() && target[i] == from[i];
            out[i] = copied ? 0 : -1;
            return copied;
        });
    }
    return open.size() <= 1 ? std::optional(out) : std::nullopt;
}

std::optional<std::vector<int64_t>> expandTarget(const Shape& from, const Shape& target) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < target.size(); ++i) {
        if (target[i].isNumber()) {
            out.push_back(target[i].value());
            continue;
        }
        const size_t fromEnd = target.size() - i;
        if (fromEnd > from.size() || !(from[from.size() - fromEnd] == target[i]))
            return std::nullopt;
        out.push_back(1);
    }
    return out;
}

bool allPositive(const Tensor& steps) {
    for (int64_t i = 0; i < steps.elementCount(); ++i)
        if (steps.intAt(i) <= 0)
            return false;
    return true;
}

/// Ends that are the dimension itself become "to the end".
std::optional<std::vector<int64_t>> sliceEnds(const Graph& graph, const Node& node,
                                              const ConstantLookup& constantOf) {
    const Shape* x = shapeOf(graph, node.inputs[0]);
    auto ends = knownContents(graph, node.inputs[2]);
    TensorPtr axes = hasInput(node, 3) ? constantOf(node.inputs[3]) : nullptr;
    TensorPtr steps = hasInput(node, 4) ? constantOf(node.inputs[4]) : nullptr;
    if (!x || !ends || (hasInput(node, 3) && !axes) || (hasInput(node, 4) && !steps) ||
        (steps && !allPositive(*steps)) || (axes && axes->elementCount() < int64_t(ends->size())))
        return std::nullopt;
    const int64_t toTheEnd =
        graph.value(node.inputs[2]).type.dtype == DType::Int32 ? INT32_MAX : INT64_MAX;
    std::vector<int64_t> out;
    for (size_t i = 0; i < ends->size(); ++i) {
        if ((*ends)[i].isNumber()) {
            out.push_back((*ends)[i].value());
            continue;
        }
        int64_t axis = axes ? axes->intAt(static_cast<int64_t>(i)) : static_cast<int64_t>(i);
        axis += axis < 0 ? static_cast<int64_t>(x->size()) : 0;
        if (axis < 0 || axis >= static_cast<int64_t>(x->size()) ||
            !((*x)[static_cast<size_t>(axis)] == (*ends)[i]))
            return std::nullopt;
        out.push_back(toTheEnd);
    }
    return out;
}

bool isRead(const Graph& graph, ValueId id) {
    return id.valid() && (!graph.value(id).uses.empty() || graph.isGraphOutput(id));
}

bool isInferenceDropout(const Graph& graph, const Node& node, const ConstantLookup& constantOf) {
    if (node.outputs.size() > 1 && isRead(graph, node.outputs[1]))
        return false; // somebody wants the mask
    if (hasInput(node, 2)) {
        TensorPtr training = constantOf(node.inputs[2]);
        if (training && training->elementCount() == 1 && training->intAt(0) == 0)
            return true;
        TensorPtr ratio = hasInput(node, 1) ? constantOf(node.inputs[1]) : nullptr;
        return ratio && ratio->elementCount() == 1 && ratio->at(0) == 0;
    }
    return node.attributes.integer("training_mode") == 0;
}

bool isIdentityPermutation(const Graph& graph, const Node& node) {
    const Shape* x = shapeOf(graph, node.inputs[0]);
    std::vector<int64_t> perm = node.attributes.integers("perm");
    if (perm.empty())
        return x && x->size() <= 1;
    for (size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<int64_t>(i))
            return false;
    return true;
}

bool isZeroPad(const Node& node, const ConstantLookup& constantOf) {
    TensorPtr pads = hasInput(node, 1) ? constantOf(node.inputs[1]) : nullptr;
    if (!pads)
        return false;
    for (int64_t i = 0; i < pads->elementCount(); ++i)
        if (pads->intAt(i) != 0)
            return false;
    return true;
}

bool slicesForward(const Node& node, const ConstantLookup& constantOf) {
    TensorPtr steps = hasInput(node, 4) ? constantOf(node.inputs[4]) : nullptr;
    return !hasInput(node, 4) || (steps && allPositive(*steps));
}

bool worksOnRows(const Node& node) {
    return (node.op == Op::Softmax || node.op == Op::LogSoftmax || node.op == Op::Hardmax) &&
           hasInput(node, 0) && node.attributes.integer("axis", -1) == -1;
}

/// The one axis from `first` on that may be longer than 1, -1 for the last; none when several may.
std::optional<int64_t> onlyWideAxis(const Shape& shape, int64_t first) {
    const auto rank = static_cast<int64_t>(shape.size());
    first += first < 0 ? rank : 0;
    if (first < 0 || first >= rank)
        return std::nullopt;
    int64_t wide = first;
    int64_t count = 0;
    for (int64_t axis = first; axis < rank; ++axis)
        if (!(shape[static_cast<size_t>(axis)] == Dim(1))) {
            wide = axis;
            ++count;
        }
    if (count > 1)
        return std::nullopt;
    return wide == rank - 1 ? -1 : wide;
}

const Node* producerOf(const Graph& graph, const Node& reader, size_t slot, Op op) {
    if (!hasInput(reader, slot))
        return nullptr;
    const NodeId id = graph.producer(reader.inputs[slot]);
    return id.valid() && graph.node(id).op == op ? &graph.node(id) : nullptr;
}

/// Whether `holds(element, row)` for all elements of a constant that is broadcast to `rows` rows in
/// its last dimension but one.
template <typename Holds> bool ofAllRows(const TensorPtr& tensor, int64_t rows, Holds holds) {
    if (!tensor || tensor->extents().size() < 2)
        return false;
    const Extents& extents = tensor->extents();
    const int64_t own = extents[extents.size() - 2], inner = extents.back();
    if (own != rows || tensor->elementCount() == 0)
        return false;
    for (int64_t i = 0; i < tensor->elementCount(); ++i)
        if (!holds(tensor->intAt(i), i / inner % own))
            return false;
    return true;
}

/// Rows behind the last ones only, filled with zeros: how many; none where the Pad does otherwise.
std::optional<int64_t> rowsPaddedBehind(const Node& pad, size_t rank,
                                        const ConstantLookup& constantOf) {
    const TensorPtr pads = hasInput(pad, 1) ? constantOf(pad.inputs[1]) : nullptr;
    if (!pads || pad.explicitInputs > 2 ||
        pad.attributes.string("mode", "constant") != "constant" ||
        pads->elementCount() != static_cast<int64_t>(2 * rank))
        return std::nullopt;
    const auto behind = static_cast<int64_t>(2 * rank - 2);
    for (int64_t i = 0; i < pads->elementCount(); ++i)
        if (i != behind && pads->intAt(i) != 0)
            return std::nullopt;
    return pads->intAt(behind);
}

} // namespace

bool isOneRow(const Type& type) {
    const auto extents = type.extents();
    return extents && extents->size() >= 3 && (*extents)[extents->size() - 2] == 1;
}

bool joinPlacedRows(Graph& graph, NodeId id, const ConstantLookup& constantOf) {
    const Node& outer = graph.node(id);
    const Node* room = outer.op == Op::Where ? producerOf(graph, outer, 2, Op::Pad) : nullptr;
    // One that is true everywhere is gone by now.
    const Node* inner = room ? producerOf(graph, outer, 1, Op::Where) : nullptr;
    const Node* placing = inner ? inner : &outer;
    const Node* picked = room ? producerOf(graph, *placing, 1, Op::GatherElements) : nullptr;
    if (!room || !hasInput(*room, 0) || !hasInput(*placing, 1) ||
        (picked && (!hasInput(*picked, 0) || !hasInput(*picked, 1))))
        return false;
    const ValueId old = room->inputs[0], added = picked ? picked->inputs[0] : placing->inputs[1];
    if (!picked && !isOneRow(graph.value(added).type))
        return false;
    const auto from = graph.value(old).type.extents(), to = graph.value(added).type.extents();
    const auto all = graph.value(outer.outputs[0]).type.extents();
    if (!from || !to || !all || from->size() < 3 || to->size() != from->size() ||
        all->size() != from->size())
        return false;
    const size_t axis = from->size() - 2;
    const int64_t first = (*from)[axis], more = (*to)[axis], rows = first + more;
    Extents joined = *from, like = *to;
    joined[axis] = rows;
    like[axis] = first;
    if (*all != joined || like != *from ||
        rowsPaddedBehind(*room, from->size(), constantOf) != more)
        return false;
    const auto inTheirOrder = [&] {
        const auto asked = picked->attributes.integer("axis");
        const Node* expanded = producerOf(graph, *picked, 1, Op::Expand);
        const TensorPtr places = constantOf(expanded ? expanded->inputs[0] : picked->inputs[1]);
        return (asked == static_cast<int64_t>(axis) || asked == -2) &&
               ofAllRows(places, rows, [&](int64_t place, int64_t row) {
                   return row < first || place == row - first;
               });
    };
    const bool isBehind =
        ofAllRows(constantOf(outer.inputs[0]), rows,
                  [&](int64_t taken, int64_t row) { return (taken != 0) == (row >= first); }) &&
        (!inner ||
         ofAllRows(constantOf(inner->inputs[0]), rows,
                   [&](int64_t taken, int64_t row) { return row < first || taken != 0; })) &&
        (!picked || inTheirOrder());
    if (!isBehind)
        return false;
    graph.eraseInputsFrom(id, 2);
    graph.setInput(id, 0, old);
    graph.setInput(id, 1, added);
    Node& node = graph.edit(id);
    node.op = Op::Concat;
    node.attributes = {};
    node.attributes.set("axis", static_cast<int64_t>(axis));
    return true;
}

bool simplifyShapeOperands(Graph& graph, NodeId id, const ConstantLookup& constantOf) {
    const Node& node = graph.node(id);
    const uint32_t slot = node.op == Op::Slice ? 2 : 1;
    if ((node.op != Op::Reshape && node.op != Op::Expand && node.op != Op::Slice) ||
        !hasInput(node, 0) || !hasInput(node, slot) || constantOf(node.inputs[slot]))
        return false;
    if (node.op == Op::Slice)
        return replaceOperand(graph, id, slot, sliceEnds(graph, node, constantOf));
    const Shape* from = shapeOf(graph, node.inputs[0]);
    auto target = knownContents(graph, node.inputs[slot]);
    if (!from || !target)
        return false;
    if (node.op == Op::Expand)
        return replaceOperand(graph, id, slot, expandTarget(*from, *target));
    const bool allowZero = node.attributes.integer("allowzero") != 0;
    return replaceOperand(graph, id, slot, reshapeTarget(*from, *target, allowZero));
}

bool reshapeInOrder(Graph& graph, NodeId id, const ConstantLookup& constantOf) {
    const Node& gather = graph.node(id);
    if (gather.op != Op::Gather || !hasInput(gather, 0) || !hasInput(gather, 1))
        return false;
    const TensorPtr places = constantOf(gather.inputs[1]);
    const auto from = graph.value(gather.inputs[0]).type.extents();
    const auto to = graph.value(gather.outputs[0]).type.extents();
    const auto rank = static_cast<int64_t>(from ? from->size() : 0);
    int64_t axis = gather.attributes.integer("axis");
    axis += axis < 0 ? rank : 0;
    if (!places || !isInteger(places->dtype()) || !to || axis < 0 || axis >= rank ||
        places->elementCount() != (*from)[static_cast<size_t>(axis)])
        return false;
    for (int64_t i = 0; i < places->elementCount(); ++i)
        if (places->intAt(i) != i)
            return false;
    WrittenSteps steps(graph, gather);
    const ValueId x = gather.inputs[0];
    Attributes attributes;
    if (std::find(to->begin(), to->end(), 0) != to->end())
        attributes.set("allowzero", int64_t(1)); // its 0 is a size: nothing is copied
    const ValueId made = steps.add(Op::Reshape, {x, steps.constant(Tensor::ofInts(*to))},
                                   graph.value(gather.outputs[0]).type, std::move(attributes));
    steps.replace(id, std::span(&made, 1));
    return true;
}

bool restoreSoftmax(Graph& graph, NodeId id) {
    const Node& reshape = graph.node(id);
    if (reshape.op != Op::Reshape || !hasInput(reshape, 0))
        return false;
    const NodeId rowsId = graph.producer(reshape.inputs[0]);
    if (!rowsId.valid() || !worksOnRows(graph.node(rowsId)))
        return false;
    const NodeId flattenId = graph.producer(graph.node(rowsId).inputs[0]);
    if (!flattenId.valid() || graph.node(flattenId).op != Op::Flatten)
        return false;
    const ValueId x = graph.node(flattenId).inputs[0];
    if (!x.valid() || !certainlyEqual(graph.value(x).type, graph.value(reshape.outputs[0]).type))
        return false;
    auto axis = onlyWideAxis(*graph.value(x).type.shape,
                             graph.node(flattenId).attributes.integer("axis", 1));
    if (!axis)
        return false;
    graph.eraseInputsFrom(id, 1);
    graph.setInput(id, 0, x);
    Node& node = graph.edit(id);
    node.op = graph.node(rowsId).op;
    node.attributes = graph.node(rowsId).attributes;
    node.attributes.set("axis", *axis);
    return true;
}

std::shared_ptr<Tensor> tensorOfContents(const Value& value) {
    auto extents = value.type.extents();
    const bool integral = isInteger(value.type.dtype) || value.type.dtype == DType::Bool;
    if (!value.symbolicContents || !extents || !integral ||
        elementCount(*extents) != static_cast<int64_t>(value.symbolicContents->size()))
        return nullptr;
    auto out = std::make_shared<Tensor>(value.type.dtype, *extents);
    int64_t at = 0;
    for (const Dim& dim : *value.symbolicContents) {
        if (!dim.isNumber())
            return nullptr;
        out->setInt(at++, dim.value());
    }
    return out;
}

bool isNoOp(const Graph& graph, const Node& node, const ConstantLookup& constantOf) {
    if (!hasInput(node, 0) || node.outputs.empty() || !node.outputs[0].valid())
        return false;
    const Type& from = graph.value(node.inputs[0]).type;
    const Type& to = graph.value(node.outputs[0]).type;
    switch (node.op) {
    case Op::Identity:
        return true;
    case Op::Dropout:
        return isInferenceDropout(graph, node, constantOf);
    case Op::Cast:
    case Op::CastLike:
        return from.dtype != DType::Undefined && from.dtype == to.dtype;
    case Op::Transpose:
        return isIdentityPermutation(graph, node);
    case Op::Pad:
        return isZeroPad(node, constantOf);
    case Op::Concat:
        return node.explicitInputs == 1;
    case Op::Slice:
        return certainlyEqual(from, to) && slicesForward(node, constantOf);
    case Op::Reshape:
    case Op::Flatten:
    case Op::Squeeze:
    case Op::Unsqueeze:
    case Op::Expand:
    case Op::Tile:
        return certainlyEqual(from, to);
    default:
        return false;
    }
}

std::optional<size_t> onlyChoice(const Graph& graph, const Node& node,
                                 const ConstantLookup& constantOf) {
    if (node.op != Op::Where || !hasInput(node, 0) || !node.outputs[0].valid())
        return std::nullopt;
    const TensorPtr condition = constantOf(node.inputs[0]);
    if (!condition || condition->elementCount() == 0)
        return std::nullopt;
    const bool first = condition->intAt(0) != 0;
    for (int64_t i = 1; i < condition->elementCount(); ++i)
        if ((condition->intAt(i) != 0) != first)
            return std::nullopt;
    const size_t slot = first ? 1 : 2;
    const bool isIt = hasInput(node, slot) && certainlyEqual(graph.value(node.inputs[slot]).type,
                                                             graph.value(node.outputs[0]).type);
    return isIt ? std::optional(slot) : std::nullopt;
}

} // namespace fuselage
