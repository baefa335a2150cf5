// SPDX-License-Identifier: Apache-2.0
// The type of a sequence describes what its elements have in common.
#include "core/ops/sequence.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

Type elementOf(Type type) {
    type.kind = TypeKind::Tensor;
    return type;
}

Type sequenceOf(Type type) {
    type.kind = TypeKind::Sequence;
    return type;
}

/// An input that must be a sequence; null otherwise.
const ReferenceValue* sequenceAt(ReferenceInputs inputs, size_t index) {
    const ReferenceValue* value = inputAt(inputs, index);
    return value && value->kind == TypeKind::Sequence ? value : nullptr;
}

const ReferenceValue* tensorAt(ReferenceInputs inputs, size_t index) {
    const ReferenceValue* value = inputAt(inputs, index);
    return value && value->kind == TypeKind::Tensor ? value : nullptr;
}

/// The position input as 0..bound-1; `fallback` when it is omitted.
std::optional<size_t> positionOf(const ReferenceValue* position, size_t bound, size_t count,
                                 size_t fallback) {
    if (!position)
        return fallback < bound ? std::optional(fallback) : std::nullopt;
    if (position->kind != TypeKind::Tensor || position->count() != 1 ||
        position->dtype == DType::String)
        return std::nullopt;
    int64_t at = position->intAt(0);
    at += at < 0 ? static_cast<int64_t>(count) : 0;
    return at >= 0 && at < static_cast<int64_t>(bound) ? std::optional(static_cast<size_t>(at))
                                                       : std::nullopt;
}

// --- making and editing -------------------------------------------------------------------

void inferConstruct(InferContext& context) {
    if (!context.has(0))
        return;
    Type common = context.input(0);
    for (size_t i = 1; i < context.inputCount(); ++i)
        if (context.has(i))
            common = commonType(common, context.input(i));
    context.setOutput(0, sequenceOf(std::move(common)));
}

Results runConstruct(const Node&, ReferenceInputs inputs, ReferenceContext&) {
    ReferenceValue out;
    out.kind = TypeKind::Sequence;
    out.dtype = inputs[0]->dtype;
    for (const ReferenceValue* input : inputs)
        if (input)
            out.elements.push_back(*input);
    return single(std::move(out));
}

DType emptyDtype(const Node& node) {
    return dtypeFromOnnx(node.attributes.integer("dtype", 1)).value_or(DType::Undefined);
}

void inferEmpty(InferContext& context) {
    context.setOutput(0, {TypeKind::Sequence, emptyDtype(context.node()), std::nullopt});
}

Results runEmpty(const Node& node, ReferenceInputs, ReferenceContext&) {
    ReferenceValue out;
    out.kind = TypeKind::Sequence;
    out.dtype = emptyDtype(node);
    return single(std::move(out));
}

void inferInsert(InferContext& context) {
    if (!context.has(0))
        return;
    // An empty sequence says nothing about shapes, so the union of both has none.
    Type type = elementOf(context.input(0));
    if (context.has(1))
        type = commonType(type, elementOf(context.input(1)));
    type.dtype = context.input(0).dtype;
    context.setOutput(0, sequenceOf(std::move(type)));
}

Results runInsert(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* sequence = sequenceAt(inputs, 0);
    const ReferenceValue* tensor = inputAt(inputs, 1);
    if (!sequence || !tensor)
        return badInput(node, "the inputs must be a sequence and a tensor");
    const size_t count = sequence->elements.size();
    const auto at = positionOf(inputAt(inputs, 2), count + 1, count, count);
    if (!at)
        return badInput(node, fmt::format("the position is out of range for {} elements", count));
    ReferenceValue out = *sequence;
    out.elements.insert(out.elements.begin() + static_cast<std::ptrdiff_t>(*at), *tensor);
    return single(std::move(out));
}

void inferErase(InferContext& context) {
    setSameAs(context, 0, 0);
}

Results runErase(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* sequence = sequenceAt(inputs, 0);
    if (!sequence)
        return badInput(node, "the input must be a sequence");
    const size_t count = sequence->elements.size();
    const auto at = positionOf(inputAt(inputs, 1), count, count, count ? count - 1 : 0);
    if (!at)
        return badInput(node, fmt::format("the position is out of range for {} elements", count));
    ReferenceValue out = *sequence;
    out.elements.erase(out.elements.begin() + static_cast<std::ptrdiff_t>(*at));
    return single(std::move(out));
}

// --- reading ------------------------------------------------------------------------------

void inferAt(InferContext& context) {
    if (context.has(0))
        context.setOutput(0, elementOf(context.input(0)));
}

Results runAt(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* sequence = sequenceAt(inputs, 0);
    if (!sequence || !inputAt(inputs, 1))
        return badInput(node, "the inputs must be a sequence and a position");
    const size_t count = sequence->elements.size();
    const auto at = positionOf(inputAt(inputs, 1), count, count, 0);
    if (!at)
        return badInput(node, fmt::format("the position is out of range for {} elements", count));
    return single(sequence->elements[*at]);
}

void inferLength(InferContext& context) {
    setTensor(context, 0, DType::Int64, Shape{});
}

Results runLength(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* sequence = sequenceAt(inputs, 0);
    if (!sequence)
        return badInput(node, "the input must be a sequence");
    ReferenceValue out = ReferenceValue::tensor(DType::Int64, {});
    out.ints[0] = static_cast<int64_t>(sequence->elements.size());
    return single(std::move(out));
}

// --- Map ----------------------------------------------------------------------------------

void inferMap(InferContext& context) {
    std::vector<Type> inputs;
    for (size_t i = 0; i < context.inputCount(); ++i)
        inputs.push_back(context.has(i) ? elementOf(context.input(i)) : Type{});
    const std::vector<Type> outputs = context.inferSubgraph("body", inputs);
    for (size_t i = 0; i < context.outputCount() && i < outputs.size(); ++i)
        context.setOutput(i, sequenceOf(outputs[i]));
}

Results runMap(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue* first = sequenceAt(inputs, 0);
    const size_t explicitInputs = std::min<size_t>(node.explicitInputs, inputs.size());
    if (!first)
        return badInput(node, "the first input must be a sequence");
    const size_t count = first->elements.size();
    std::vector<ReferenceValue> out(node.outputs.size());
    for (ReferenceValue& value : out)
        value.kind = TypeKind::Sequence;
    for (size_t k = 0; k < count; ++k) {
        std::vector<ReferenceValue> arguments;
        for (size_t i = 0; i < explicitInputs; ++i) {
            const ReferenceValue* input = inputs[i];
            const bool isSequence = input && input->kind == TypeKind::Sequence;
            if (!input || (isSequence && input->elements.size() != count))
                return badInput(node, fmt::format("input {} does not have {} elements", i, count));
            arguments.push_back(isSequence ? input->elements[k] : *input);
        }
        auto results = context.runSubgraph("body", std::move(arguments));
        if (!results)
            return results;
        if (results->size() < out.size())
            return badInput(node, "the body has too few outputs");
        for (size_t i = 0; i < out.size(); ++i) {
            out[i].dtype = (*results)[i].dtype;
            out[i].elements.push_back(std::move((*results)[i]));
        }
    }
    return out;
}

// --- to and from tensors ------------------------------------------------------------------

void inferConcatFromSequence(InferContext& context) {
    if (!context.has(0))
        return;
    const auto& attributes = context.node().attributes;
    const bool newAxis = attributes.integer("new_axis") != 0;
    Type type = elementOf(context.input(0));
    if (type.shape) {
        const auto axis =
            checkedAxis(context, attributes.integer("axis"), type.rank() + (newAxis ? 1 : 0));
        if (!axis)
            return;
        if (newAxis)
            type.shape->insert(type.shape->begin() + static_cast<std::ptrdiff_t>(*axis), Dim());
        else
            (*type.shape)[*axis] = Dim();
    }
    context.setOutput(0, std::move(type));
}

Results runConcatFromSequence(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* sequence = sequenceAt(inputs, 0);
    if (!sequence || sequence->elements.empty())
        return badInput(node, "the input must be a sequence of at least one tensor");
    const bool newAxis = node.attributes.integer("new_axis") != 0;
    const ReferenceValue& first = sequence->elements[0];
    const auto axis =
        normalizedAxis(node.attributes.integer("axis"), first.extents.size() + (newAxis ? 1 : 0));
    if (!axis)
        return badInput(node,
                        fmt::format("the axis is out of range for rank {}", first.extents.size()));
    Extents extents = first.extents;
    if (newAxis)
        extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
    const Extents model = extents;
    extents[*axis] = 0;
    std::vector<const ReferenceValue*> parts;
    for (const ReferenceValue& part : sequence->elements) {
        Extents own = part.extents;
        if (newAxis && own.size() + 1 == model.size())
            own.insert(own.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
        const int64_t length = own.size() == model.size() ? own[*axis] : -1;
        if (length >= 0)
            own[*axis] = model[*axis];
        if (own != model || part.dtype != first.dtype || part.kind != TypeKind::Tensor ||
            __builtin_add_overflow(extents[*axis], length, &extents[*axis]))
            return badInput(node, fmt::format("{} cannot be joined to {}", text(part.extents),
                                              text(first.extents)));
        parts.push_back(&part);
    }
    return single(joinAlong(node, *axis, extents, parts));
}

void inferSplitToSequence(InferContext& context) {
    if (!context.has(0))
        return;
    const auto& attributes = context.node().attributes;
    Type type = context.input(0);
    if (type.shape) {
        const auto axis = checkedAxis(context, attributes.integer("axis"), type.rank());
        if (!axis)
            return;
        const auto at = type.shape->begin() + static_cast<std::ptrdiff_t>(*axis);
        const Shape* split = shapeOf(context, 1);
        if (!context.has(1) && attributes.integer("keepdims", 1) == 0)
            type.shape->erase(at);
        else if (!context.has(1))
            *at = 1;
        else {
            // Pieces of one given length are alike only when it divides the axis.
            const auto length = split && split->empty() ? scalarOf(context, 1) : std::nullopt;
            const bool even = length && *length > 0 && at->isNumber() && at->value() % *length == 0;
            *at = even ? Dim(*length) : Dim();
        }
    }
    context.setOutput(0, sequenceOf(std::move(type)));
}

/// Lengths of the pieces; none when the split input does not fit.
std::optional<std::vector<int64_t>> pieceLengths(const ReferenceValue* split, int64_t extent) {
    if (!split)
        return std::vector<int64_t>(static_cast<size_t>(extent), 1);
    const std::vector<int64_t> given = intsOf(*split);
    std::vector<int64_t> out;
    if (split->extents.empty() && given.size() == 1) {
        if (given[0] < 1)
            return std::nullopt;
        for (int64_t begin = 0; begin < extent; begin += given[0])
            out.push_back(std::min(given[0], extent - begin));
        return out;
    }
    int64_t total = 0;
    for (int64_t length : given)
        if (length < 0 || __builtin_add_overflow(total, length, &total))
            return std::nullopt;
    return total == extent ? std::optional(given) : std::nullopt;
}

Results runSplitToSequence(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue* split = tensorAt(inputs, 1);
    const auto axis = normalizedAxis(node.attributes.integer("axis"), x.extents.size());
    if (!axis)
        return badInput(node,
                        fmt::format("the axis is out of range for rank {}", x.extents.size()));
    const int64_t extent = x.extents[*axis];
    const auto lengths = pieceLengths(split, extent);
    if (!lengths)
        return badInput(node, fmt::format("the split does not cut {} elements", extent));
    const int64_t outer = countOf(x.extents, 0, *axis);
    const int64_t inner = countOf(x.extents, *axis + 1, x.extents.size());
    const bool drop = !split && node.attributes.integer("keepdims", 1) == 0;
    ReferenceValue out;
    out.kind = TypeKind::Sequence;
    out.dtype = x.dtype;
    int64_t begin = 0;
    for (int64_t length : *lengths) {
        Extents extents = x.extents;
        extents[*axis] = length;
        ReferenceValue part = ReferenceValue::tensor(x.dtype, extents);
        onElements(x, part, [&](const auto& from, auto& to) {
            for (int64_t i = 0; i < outer; ++i)
                std::copy_n(from.begin() + (i * extent + begin) * inner, length * inner,
                            to.begin() + i * length * inner);
        });
        if (drop)
            part.extents.erase(part.extents.begin() + static_cast<std::ptrdiff_t>(*axis));
        begin += length;
        out.elements.push_back(std::move(part));
    }
    return single(std::move(out));
}

// --- Optional -----------------------------------------------------------------------------

void inferOptional(InferContext& context) {
    if (!context.has(0))
        return; // the `type` attribute is not kept: the declared type stays
    Type type = context.input(0);
    type.kind = TypeKind::Optional;
    context.setOutput(0, std::move(type));
}

Results runOptional(const Node&, ReferenceInputs inputs, ReferenceContext&) {
    ReferenceValue out;
    out.kind = TypeKind::Optional;
    if (const ReferenceValue* value = inputAt(inputs, 0)) {
        out.dtype = value->dtype;
        out.elements.push_back(*value);
    }
    return single(std::move(out));
}

void inferGetElement(InferContext& context) {
    // An optional's type does not say whether it holds a tensor or a sequence.
    if (context.has(0) && context.input(0).kind != TypeKind::Optional)
        setSameAs(context, 0, 0);
}

Results runGetElement(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* value = inputAt(inputs, 0);
    if (value && value->kind != TypeKind::Optional)
        return single(*value);
    if (!value || value->elements.empty())
        return badInput(node, "the optional is empty");
    return single(value->elements[0]);
}

void inferHasElement(InferContext& context) {
    setTensor(context, 0, DType::Bool, Shape{});
}

Results runHasElement(const Node&, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* value = inputAt(inputs, 0);
    ReferenceValue out = ReferenceValue::tensor(DType::Bool, {});
    out.ints[0] = value && (value->kind != TypeKind::Optional || !value->elements.empty());
    return single(std::move(out));
}

} // namespace

std::span<const OpRow> sequenceRows() {
    static const OpRow rows[] = {
        {.op = Op::ConcatFromSequence,
         .name = "ConcatFromSequence",
         .since = 11,
         .inputs = "input_sequence",
         .attributes = "axis:int! new_axis:int=0",
         .infer = inferConcatFromSequence,
         .reference = runConcatFromSequence},
        {.op = Op::Optional,
         .name = "Optional",
         .since = 15,
         .minInputs = 0,
         .inputs = "input",
         .attributes = "type:string", // a type in the file, its text here
         .infer = inferOptional,
         .reference = runOptional},
        {.op = Op::OptionalGetElement,
         .name = "OptionalGetElement",
         .since = 15,
         .inputs = "input",
         .infer = inferGetElement,
         .reference = runGetElement},
        {.op = Op::OptionalHasElement,
         .name = "OptionalHasElement",
         .since = 15,
         .minInputs = 0,
         .inputs = "input",
         .infer = inferHasElement,
         .reference = runHasElement},
        {.op = Op::SequenceAt,
         .name = "SequenceAt",
         .since = 11,
         .minInputs = 2,
         .maxInputs = 2,
         .inputs = "input_sequence position",
         .infer = inferAt,
         .reference = runAt},
        {.op = Op::SequenceConstruct,
         .name = "SequenceConstruct",
         .since = 11,
         .maxInputs = variadic,
         .inputs = "inputs",
         .infer = inferConstruct,
         .reference = onTensors<runConstruct>},
        {.op = Op::SequenceEmpty,
         .name = "SequenceEmpty",
         .since = 11,
         .minInputs = 0,
         .maxInputs = 0,
         .inputs = "",
         .attributes = "dtype:int",
         .infer = inferEmpty,
         .reference = runEmpty},
        {.op = Op::SequenceErase,
         .name = "SequenceErase",
         .since = 11,
         .maxInputs = 2,
         .inputs = "input_sequence position",
         .infer = inferErase,
         .reference = runErase},
        {.op = Op::SequenceInsert,
         .name = "SequenceInsert",
         .since = 11,
         .minInputs = 2,
         .maxInputs = 3,
         .inputs = "input_sequence tensor position",
         .infer = inferInsert,
         .reference = runInsert},
        {.op = Op::SequenceLength,
         .name = "SequenceLength",
         .since = 11,
         .inputs = "input_sequence",
         .infer = inferLength,
         .reference = runLength},
        {.op = Op::SequenceMap,
         .name = "SequenceMap",
         .since = 17,
         .maxInputs = variadic,
         .maxOutputs = variadic,
         .traits = ControlFlow,
         .inputs = "input_sequence additional_inputs",
         .attributes = "body:graph!",
         .infer = inferMap,
         .reference = runMap},
        {.op = Op::SplitToSequence,
         .name = "SplitToSequence",
         .since = 11,
         .maxInputs = 2,
         .inputs = "input split",
         .attributes = "axis:int=0 keepdims:int=1",
         .infer = inferSplitToSequence,
         .reference = onTensors<runSplitToSequence>},
    };
    return rows;
}

} // namespace fuselage
