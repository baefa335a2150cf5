// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attention_contrib_internal.h"
#include "core/ops/attention_core.h"
#include "core/ops/infer_support.h"
#include "core/ops/matmul.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// x[..., first : first + count] of the last dimension.
ReferenceValue lastSlice(const ReferenceValue& x, int64_t first, int64_t count) {
    Extents extents = x.extents;
    const int64_t width = extents.back();
    extents.back() = count;
    ReferenceValue out = ReferenceValue::tensor(x.dtype, extents);
    for (int64_t row = 0; width > 0 && row < x.count() / width; ++row)
        std::copy_n(x.floats.data() + row * width + first, count, out.floats.data() + row * count);
    return out;
}

/// Adds a slice of a bias vector to the last dimension.
void addBias(ReferenceValue& x, const ReferenceValue& bias, int64_t first) {
    const auto width = static_cast<size_t>(x.extents.back());
    for (size_t i = 0; i < x.floats.size(); ++i)
        x.floats[i] += bias.floats[static_cast<size_t>(first) + i % width];
}

/// The padding mask as an addend: [batch] key lengths, [batch, keys] or [batch, queries, keys]
/// with 0 where a key is dropped.
Result<ReferenceValue> paddingMask(const Node& node, const ReferenceValue& mask, int64_t batch,
                                   int64_t keys) {
    const double dropped = node.attributes.number("mask_filter_value", -10000.0);
    const Extents& from = mask.extents;
    if (isFloat(mask.dtype) || from.empty() || from.size() > 3 || from[0] != batch ||
        (from.size() > 1 && from.back() != keys))
        return badInput(
            node, fmt::format("mask of shape {} is not supported for {} keys", text(from), keys));
    Extents extents{batch, 1, 1, keys};
    if (from.size() == 3)
        extents[2] = from[1];
    auto out = allocateResult(node, DType::Float32, extents);
    for (size_t i = 0; out && i < out->floats.size(); ++i) {
        auto at = static_cast<int64_t>(i);
        bool kept = from.size() == 1 ? at % keys < mask.intAt(at / keys) : mask.intAt(at) != 0;
        out->floats[i] = kept ? 0 : dropped;
    }
    return out;
}

void setCommon(const Node& node, AttentionRequest& request) {
    request.scale = node.attributes.number("scale");
    request.causal = node.attributes.integer("unidirectional") != 0;
}

/// One half of `past` [2, batch, heads, length, size].
Result<ReferenceValue> pastHalf(const Node& node, const ReferenceValue& past, int64_t half) {
    if (past.extents.size() != 5 || past.extents[0] != 2 || !isFloat(past.dtype))
        return badInput(node, "past must be [2,B,H,L,D], is " + text(past.extents));
    ReferenceValue out;
    out.dtype = past.dtype;
    out.extents.assign(past.extents.begin() + 1, past.extents.end());
    auto count = static_cast<std::ptrdiff_t>(past.count() / 2);
    out.floats.assign(past.floats.begin() + half * count, past.floats.begin() + (half + 1) * count);
    return out;
}

struct HiddenSizes {
    int64_t q, k, v;
};

std::optional<HiddenSizes> hiddenSizes(const Node& node, int64_t total) {
    std::vector<int64_t> given = node.attributes.integers("qkv_hidden_sizes");
    HiddenSizes out{total / 3, total / 3, total / 3};
    if (given.size() == 3)
        out = {given[0], given[1], given[2]};
    const int64_t heads = node.attributes.integer("num_heads");
    for (int64_t size : {out.q, out.k, out.v})
        if (heads < 1 || size < 1 || size > total || size % heads != 0)
            return std::nullopt;
    return out.q + out.k + out.v == total && out.q == out.k ? std::optional(out) : std::nullopt;
}

} // namespace

Outputs runMsAttention(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue &x = *inputs[0], &weights = *inputs[1];
    if (x.extents.size() != 3 || weights.extents.size() != 2 || !isFloat(x.dtype))
        return badInput(node, fmt::format("input is {}, weights are {}", text(x.extents),
                                          text(weights.extents)));
    auto sizes = hiddenSizes(node, weights.extents[1]);
    const ReferenceValue* bias = inputAt(inputs, 2);
    if (!sizes || node.attributes.integer("do_rotary") != 0 ||
        (bias && (bias->count() != weights.extents[1] || !isFloat(bias->dtype))))
        return badInput(node, "hidden sizes, heads or rotary embedding are not supported");
    auto projected = matrixProduct(node, x, weights, x.dtype, context.threads());
    if (!projected)
        return failure(projected.error());
    if (bias)
        addBias(*projected, *bias, 0);
    const int64_t heads = node.attributes.integer("num_heads");
    AttentionRequest request;
    setCommon(node, request);
    request.q = splitHeads(lastSlice(*projected, 0, sizes->q), heads);
    request.k = splitHeads(lastSlice(*projected, sizes->q, sizes->k), heads);
    request.v = splitHeads(lastSlice(*projected, sizes->q + sizes->k, sizes->v), heads);
    if (const ReferenceValue* past = inputAt(inputs, 4)) {
        auto oldKeys = pastHalf(node, *past, 0), oldValues = pastHalf(node, *past, 1);
        if (!oldKeys || !oldValues)
            return failure(oldKeys ? oldValues.error() : oldKeys.error());
        request.pastKeys = oldKeys->extents[2];
        auto k = appendKeys(node, *oldKeys, request.k), v = appendKeys(node, *oldValues, request.v);
        if (!k || !v)
            return failure(k ? v.error() : k.error());
        request.k = std::move(*k);
        request.v = std::move(*v);
    }
    if (const ReferenceValue* mask = inputAt(inputs, 3)) {
        auto addend = paddingMask(node, *mask, x.extents[0], request.k.extents[2]);
        if (!addend)
            return failure(addend.error());
        request.masks.push_back(std::move(*addend));
    }
    if (const ReferenceValue* scores = inputAt(inputs, 5))
        request.masks.push_back(*scores);
    auto out = attend(node, request, context.threads());
    if (!out)
        return failure(out.error());
    ReferenceValue present = request.k;
    present.extents.insert(present.extents.begin(), 2);
    present.floats.insert(present.floats.end(), request.v.floats.begin(), request.v.floats.end());
    std::vector<ReferenceValue> results{joinHeads(out->y), std::move(present)};
    return trimmed(node, std::move(results));
}

Outputs runMultiHeadAttention(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const int64_t heads = node.attributes.integer("num_heads");
    const ReferenceValue* bias = inputAt(inputs, 3);
    AttentionRequest request;
    setCommon(node, request);
    ReferenceValue* parts[] = {&request.q, &request.k, &request.v};
    int64_t used = 0;
    for (size_t i = 0; i < 3; ++i) {
        const ReferenceValue* part = inputAt(inputs, i);
        if (part && i > 0 && part->extents.size() == 4 && isFloat(part->dtype)) {
            *parts[i] = *part; // keys and values of cross attention come split
            continue;
        }
        if (!part || part->extents.size() != 3 || !isFloat(part->dtype) || heads < 1 ||
            part->extents[2] < 1 || part->extents[2] % heads != 0)
            return badInput(node, fmt::format("input {} must be [B,L,H*D]; packed forms are not "
                                              "supported",
                                              i));
        ReferenceValue biased = *part;
        const int64_t width = part->extents[2];
        if (bias && (!isFloat(bias->dtype) || bias->count() < used + width))
            return badInput(node, fmt::format("bias has {} numbers", bias->count()));
        if (bias)
            addBias(biased, *bias, used);
        used += width;
        *parts[i] = splitHeads(biased, heads);
    }
    const ReferenceValue *pastKey = inputAt(inputs, 6), *pastValue = inputAt(inputs, 7);
    if (pastKey && pastValue) {
        auto k = appendKeys(node, *pastKey, request.k), v = appendKeys(node, *pastValue, request.v);
        if (!k || !v)
            return failure(k ? v.error() : k.error());
        request.pastKeys = pastKey->extents[2];
        request.k = std::move(*k);
        request.v = std::move(*v);
    }
    if (const ReferenceValue* mask = inputAt(inputs, 4)) {
        auto addend = paddingMask(node, *mask, request.q.extents[0], request.k.extents[2]);
        if (!addend)
            return failure(addend.error());
        request.masks.push_back(std::move(*addend));
    }
    if (const ReferenceValue* scores = inputAt(inputs, 5))
        request.masks.push_back(*scores);
    request.stage = node.outputs.size() > 3 ? AttentionStage::Scores : AttentionStage::None;
    auto out = attend(node, request, context.threads());
    if (!out)
        return failure(out.error());
    std::vector<ReferenceValue> results{joinHeads(out->y), std::move(request.k),
                                        std::move(request.v)};
    if (out->inner)
        results.push_back(std::move(*out->inner));
    return trimmed(node, std::move(results));
}

void inferMsAttention(InferContext& context) {
    const Shape *x = shapeOf(context, 0), *weights = shapeOf(context, 1);
    DType dtype = dtypeOf(context, 0);
    const int64_t heads = context.node().attributes.integer("num_heads");
    if (!x || x->size() != 3 || heads < 1) {
        setTensor(context, 0, dtype, std::nullopt);
        return setTensor(context, 1, dtype, std::nullopt);
    }
    std::vector<int64_t> sizes = context.node().attributes.integers("qkv_hidden_sizes");
    Dim hidden = weights && weights->size() == 2 ? Dim::divide((*weights)[1], 3) : Dim();
    Dim values = sizes.size() == 3 ? Dim(sizes[2]) : hidden;
    Dim keys = sizes.size() == 3 ? Dim(sizes[1]) : hidden;
    const Shape* past = shapeOf(context, 4);
    Dim length = past && past->size() == 5 ? (*past)[3] + (*x)[1]
                 : context.has(4)          ? Dim()
                                           : (*x)[1];
    setTensor(context, 0, dtype, Shape{(*x)[0], (*x)[1], values});
    setTensor(context, 1, dtype, Shape{2, (*x)[0], heads, length, Dim::divide(keys, heads)});
}

void inferMultiHeadAttention(InferContext& context) {
    const Shape *q = shapeOf(context, 0), *k = shapeOf(context, 1), *v = shapeOf(context, 2);
    DType dtype = dtypeOf(context, 0);
    const int64_t heads = context.node().attributes.integer("num_heads");
    std::optional<Shape> shapes[4];
    if (q && q->size() == 3 && k && v && heads > 0) {
        auto size = [&](const Shape& s) {
            return s.size() == 4 ? s[3] : s.size() == 3 ? Dim::divide(s[2], heads) : Dim();
        };
        Dim fresh = k->size() == 4 ? (*k)[2] : k->size() == 3 ? (*k)[1] : Dim();
        const Shape* past = shapeOf(context, 6);
        Dim length = past && past->size() == 4 ? (*past)[2] + fresh
                     : context.has(6)          ? Dim()
                                               : fresh;
        shapes[0] = Shape{(*q)[0], (*q)[1], size(*v) * Dim(heads)};
        shapes[1] = Shape{(*q)[0], heads, length, size(*k)};
        shapes[2] = Shape{(*q)[0], heads, length, size(*v)};
        shapes[3] = Shape{(*q)[0], heads, (*q)[1], length};
    }
    for (size_t output = 0; output < 4; ++output)
        setTensor(context, output, dtype, std::move(shapes[output]));
}

} // namespace fuselage
