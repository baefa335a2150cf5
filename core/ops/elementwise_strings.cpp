// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise_strings.h"

#include "core/ops/elementwise.h"
#include "core/ops/evaluate.h"
#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"
#include "core/support/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

bool anyString(ReferenceInputs inputs) {
    for (const ReferenceValue* input : inputs)
        if (input && input->dtype == DType::String)
            return true;
    return false;
}

void inferBroadcast(InferContext& context, DType dtype, size_t first) {
    Shape out;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        const Shape* shape = shapeOf(context, i);
        auto joined = shape ? broadcastShapes(out, *shape) : std::nullopt;
        if (!joined) {
            if (shape)
                context.fail(fmt::format("input {} of shape {} does not broadcast with {}", i,
                                         text(*shape), text(out)));
            return setTensor(context, 0, dtype, std::nullopt);
        }
        out = std::move(*joined);
    }
    for (size_t i = first; i < context.inputCount(); ++i)
        if (dtypeOf(context, i) != DType::String)
            context.fail(fmt::format("{} mixes string and {}", nameOf(context.node().op),
                                     nameOf(dtypeOf(context, i))));
    setTensor(context, 0, dtype, std::move(out));
}

bool takesStrings(const InferContext& context, size_t input) {
    return dtypeOf(context, input) == DType::String;
}

std::string printed(const ReferenceValue& from, size_t i) {
    if (from.dtype == DType::Bool)
        return from.ints[i] != 0 ? "True" : "False";
    if (from.dtype == DType::UInt64)
        return std::to_string(static_cast<uint64_t>(from.ints[i]));
    if (!isFloat(from.dtype))
        return std::to_string(from.ints[i]);
    // The fewest digits that read back as the same element.
    return from.dtype == DType::Float64 ? fmt::format("{}", from.floats[i])
                                        : fmt::format("{}", static_cast<float>(from.floats[i]));
}

ReferenceValue toStrings(const ReferenceValue& from) {
    ReferenceValue out = ReferenceValue::tensor(DType::String, from.extents);
    for (size_t i = 0; i < out.strings.size(); ++i)
        out.strings[i] = from.dtype == DType::String ? from.strings[i] : printed(from, i);
    return out;
}

Outputs fromStrings(const Node& node, const ReferenceValue& from, DType to) {
    ReferenceValue out = ReferenceValue::tensor(to, from.extents);
    for (size_t i = 0; i < from.strings.size(); ++i) {
        const std::string& word = from.strings[i];
        const char* end = nullptr;
        double number = numberIn(word, &end);
        if (word.empty() || *end != '\0')
            return badInput(node, fmt::format("`{}` is not a number", word));
        if (isFloat(to))
            out.floats[i] = roundTo(to, number);
        else if (to == DType::UInt64)
            out.ints[i] = static_cast<int64_t>(std::strtoull(word.c_str(), nullptr, 10));
        else
            out.ints[i] = wrapTo(to, std::strtoll(word.c_str(), nullptr, 10));
    }
    return std::vector<ReferenceValue>{std::move(out)};
}

Outputs convert(const Node& node, const ReferenceValue& from, DType to, ReferenceContext& context) {
    if (to == DType::Undefined)
        return badInput(node, "the target type is not known");
    if (to == DType::String)
        return std::vector<ReferenceValue>{toStrings(from)};
    if (from.dtype == DType::String)
        return fromStrings(node, from, to);
    if (isFloat(to) && isStorageOnly(to)) {
        ReferenceValue out = ReferenceValue::tensor(to, from.extents);
        const bool saturates = node.attributes.integer("saturate", 1) != 0;
        for (size_t i = 0; i < out.floats.size(); ++i) {
            const auto number = static_cast<float>(from.at(static_cast<int64_t>(i)));
            out.floats[i] = float8ToFloat(to, floatToFloat8(to, number, saturates));
        }
        return std::vector<ReferenceValue>{std::move(out)};
    }
    if (isFloat(from.dtype) && isStorageOnly(to)) { // rounded, then cut to so many bits
        ReferenceValue out = ReferenceValue::tensor(to, from.extents);
        for (size_t i = 0; i < out.ints.size(); ++i) {
            const double number = std::nearbyint(from.floats[i]);
            out.ints[i] = std::fabs(number) < 0x1p62 ? wrapTo(to, static_cast<int64_t>(number)) : 0;
        }
        return std::vector<ReferenceValue>{std::move(out)};
    }
    Node cast = node;
    cast.op = Op::Cast;
    cast.attributes.set("to", onnxNumber(to));
    const ReferenceValue* input = &from;
    return evaluateByTape(cast, {&input, 1}, context);
}

} // namespace

void inferEqual(InferContext& context) {
    if (takesStrings(context, 0) || takesStrings(context, 1))
        inferBroadcast(context, DType::Bool, 0);
    else
        inferElementwise(context);
}

void inferWhere(InferContext& context) {
    if (takesStrings(context, 1) || takesStrings(context, 2))
        inferBroadcast(context, DType::String, 1);
    else
        inferElementwise(context);
}

void inferCast(InferContext& context) {
    auto to = dtypeFromOnnx(context.node().attributes.integer("to"));
    if (!to || *to == DType::Undefined)
        context.fail(fmt::format("Cast to element type {}, which is not supported",
                                 context.node().attributes.integer("to")));
    if (to == DType::String || takesStrings(context, 0)) {
        const Shape* shape = shapeOf(context, 0);
        setTensor(context, 0, to.value_or(DType::Undefined),
                  shape ? std::optional(*shape) : std::nullopt);
    } else if (to && dtypeOf(context, 0) == DType::Undefined && shapeOf(context, 0)) {
        setTensor(context, 0, *to, *shapeOf(context, 0));
    } else if (to) {
        inferElementwise(context);
    }
}

void inferCastLike(InferContext& context) {
    const Shape* shape = shapeOf(context, 0);
    setTensor(context, 0, dtypeOf(context, 1), shape ? std::optional(*shape) : std::nullopt);
    if (isInteger(dtypeOf(context, 0)) && isInteger(dtypeOf(context, 1)) &&
        sizeOf(dtypeOf(context, 1)) >= 4)
        passContents(context, 0, 0);
}

Outputs runEqual(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    if (!anyString(inputs))
        return evaluateByTape(node, inputs, context);
    const ReferenceValue *a = inputs[0], *b = inputs[1];
    auto extents = broadcastExtents(a->extents, b->extents);
    if (!extents || a->dtype != b->dtype)
        return badInput(node, "strings are compared with strings of a fitting shape only");
    auto out = allocateResult(node, DType::Bool, *extents);
    if (!out)
        return failure(out.error());
    for (StridedWalk walk(*extents, {broadcastStrides(a->extents, *extents),
                                     broadcastStrides(b->extents, *extents)});
         walk.valid(); walk.next())
        out->ints[static_cast<size_t>(walk.position())] =
            a->strings[static_cast<size_t>(walk.offset(0))] ==
            b->strings[static_cast<size_t>(walk.offset(1))];
    return single(std::move(out));
}

Outputs runWhere(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    if (!anyString(inputs))
        return evaluateByTape(node, inputs, context);
    const ReferenceValue *c = inputs[0], *a = inputs[1], *b = inputs[2];
    auto extents = broadcastExtents(a->extents, b->extents);
    if (extents)
        extents = broadcastExtents(*extents, c->extents);
    if (!extents || a->dtype != b->dtype || c->dtype != DType::Bool)
        return badInput(node, "strings are chosen from two string tensors of fitting shapes");
    auto out = allocateResult(node, DType::String, *extents);
    if (!out)
        return failure(out.error());
    for (StridedWalk walk(*extents, {broadcastStrides(c->extents, *extents),
                                     broadcastStrides(a->extents, *extents),
                                     broadcastStrides(b->extents, *extents)});
         walk.valid(); walk.next())
        out->strings[static_cast<size_t>(walk.position())] =
            c->ints[static_cast<size_t>(walk.offset(0))] != 0
                ? a->strings[static_cast<size_t>(walk.offset(1))]
                : b->strings[static_cast<size_t>(walk.offset(2))];
    return single(std::move(out));
}

Outputs runCast(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto to = dtypeFromOnnx(node.attributes.integer("to"));
    return convert(node, *inputs[0], to.value_or(DType::Undefined), context);
}

Outputs runCastLike(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return convert(node, *inputs[0], inputs[1]->dtype, context);
}

} // namespace fuselage
