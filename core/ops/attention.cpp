// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attention.h"

#include "core/ops/attention_contrib_internal.h"
#include "core/ops/attention_core.h"
#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <limits>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// [B,L,H*D] or [B,H,L,D] as the latter.
Result<ReferenceValue> perHead(const Node& node, const ReferenceValue& x, const char* attribute) {
    if (x.extents.size() == 4 && isFloat(x.dtype))
        return x;
    const int64_t heads = node.attributes.integer(attribute);
    if (x.extents.size() != 3 || !isFloat(x.dtype) || heads < 1 || x.extents[2] % heads != 0)
        return badInput(
            node, fmt::format("{} cannot be split in `{}` {}", text(x.extents), attribute, heads));
    return splitHeads(x, heads);
}

/// Booleans become 0 where they keep and -inf where they drop; a mask shorter than the keys drops
/// the rest.
ReferenceValue additive(const ReferenceValue& mask, int64_t keys) {
    constexpr double dropped = -std::numeric_limits<double>::infinity();
    ReferenceValue out = mask;
    if (!isFloat(mask.dtype)) {
        out = ReferenceValue::tensor(DType::Float32, mask.extents);
        for (size_t i = 0; i < out.floats.size(); ++i)
            out.floats[i] = mask.ints[i] != 0 ? 0 : dropped;
    }
    if (out.extents.empty() || out.extents.back() >= keys || out.extents.back() == 1)
        return out;
    const auto have = static_cast<size_t>(out.extents.back());
    std::vector<double> padded;
    for (size_t i = 0; i < out.floats.size(); i += have) {
        padded.insert(padded.end(), out.floats.begin() + static_cast<std::ptrdiff_t>(i),
                      out.floats.begin() + static_cast<std::ptrdiff_t>(i + have));
        padded.resize(padded.size() + static_cast<size_t>(keys) - have, dropped);
    }
    out.extents.back() = keys;
    out.floats = std::move(padded);
    return out;
}

/// Keys from nonpad_kv_seqlen[b] on are dropped.
ReferenceValue lengthMask(const ReferenceValue& lengths, int64_t keys) {
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, {lengths.count(), 1, 1, keys});
    for (int64_t b = 0; b < lengths.count(); ++b)
        for (int64_t j = std::max<int64_t>(0, lengths.intAt(b)); j < keys; ++j)
            out.floats[static_cast<size_t>(b * keys + j)] =
                -std::numeric_limits<double>::infinity();
    return out;
}

Outputs runAttention(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto q = perHead(node, *inputs[0], "q_num_heads");
    auto k = perHead(node, *inputs[1], "kv_num_heads");
    auto v = perHead(node, *inputs[2], "kv_num_heads");
    for (auto* part : {&q, &k, &v})
        if (!*part)
            return failure(part->error());
    AttentionRequest request;
    const ReferenceValue *pastKey = inputAt(inputs, 4), *pastValue = inputAt(inputs, 5);
    if (pastKey && pastValue) {
        request.pastKeys = pastKey->extents.size() == 4 ? pastKey->extents[2] : 0;
        k = appendKeys(node, *pastKey, *k);
        v = appendKeys(node, *pastValue, *v);
        if (!k || !v)
            return failure(k ? v.error() : k.error());
    }
    const int64_t keys = k->extents[2];
    if (const ReferenceValue* mask = inputAt(inputs, 3)) {
        if (mask->dtype != DType::Bool && !isFloat(mask->dtype))
            return badInput(node, "attn_mask must be bool or floats");
        request.masks.push_back(additive(*mask, keys));
    }
    if (const ReferenceValue* lengths = inputAt(inputs, 6))
        request.masks.push_back(lengthMask(*lengths, keys));
    request.scale = node.attributes.number("scale");
    request.softcap = node.attributes.number("softcap");
    request.causal = node.attributes.integer("is_causal") != 0;
    constexpr AttentionStage stages[] = {AttentionStage::Scores, AttentionStage::Capped,
                                         AttentionStage::Masked, AttentionStage::Weights};
    const int64_t mode = node.attributes.integer("qk_matmul_output_mode");
    if (node.outputs.size() > 3 && mode >= 0 && mode < 4)
        request.stage = stages[mode];
    request.q = std::move(*q);
    request.k = *k;
    request.v = *v;
    auto out = attend(node, request, context.threads());
    if (!out)
        return failure(out.error());
    std::vector<ReferenceValue> results;
    results.push_back(inputs[0]->extents.size() == 3 ? joinHeads(out->y) : std::move(out->y));
    results.push_back(std::move(*k));
    results.push_back(std::move(*v));
    if (out->inner)
        results.push_back(std::move(*out->inner));
    return trimmed(node, std::move(results));
}

/// Heads, length and size of an operand in either layout.
struct Layout {
    Dim heads, length, size;
};

std::optional<Layout> layoutOf(const InferContext& context, size_t input, const char* attribute) {
    const Shape* shape = shapeOf(context, input);
    if (shape && shape->size() == 4)
        return Layout{(*shape)[1], (*shape)[2], (*shape)[3]};
    const int64_t heads = context.node().attributes.integer(attribute);
    if (!shape || shape->size() != 3 || heads < 1)
        return std::nullopt;
    return Layout{heads, (*shape)[1], Dim::divide((*shape)[2], heads)};
}

void inferAttention(InferContext& context) {
    DType dtype = dtypeOf(context, 0);
    auto q = layoutOf(context, 0, "q_num_heads"), k = layoutOf(context, 1, "kv_num_heads"),
         v = layoutOf(context, 2, "kv_num_heads");
    if (!q || !k || !v) {
        for (size_t output = 0; output < 4; ++output)
            setTensor(context, output, dtype, std::nullopt);
        return;
    }
    if (certainlyDifferent(q->size, k->size))
        context.fail(fmt::format("Attention: Q has heads of size {}, K of {}", q->size.text(),
                                 k->size.text()));
    const Shape& first = *shapeOf(context, 0);
    const Dim batch = first[0];
    const Shape* past = shapeOf(context, 4);
    Dim keys = past && past->size() == 4 ? (*past)[2] + k->length
               : context.has(4)          ? Dim()
                                         : k->length;
    setTensor(context, 0, dtype,
              first.size() == 3 ? Shape{batch, q->length, q->heads * v->size}
                                : Shape{batch, q->heads, q->length, v->size});
    setTensor(context, 1, dtypeOf(context, 1), Shape{batch, k->heads, keys, k->size});
    setTensor(context, 2, dtypeOf(context, 2), Shape{batch, v->heads, keys, v->size});
    setTensor(context, 3, dtype, Shape{batch, q->heads, q->length, keys});
}

} // namespace

std::span<const OpRow> attentionRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::Attention,
         .name = "Attention",
         .since = 23,
         .minInputs = 3,
         .maxInputs = 7,
         .maxOutputs = 4,
         .traits = ContractionOp,
         .inputs = "Q K V attn_mask past_key past_value nonpad_kv_seqlen",
         .attributes = "is_causal:int=0 kv_num_heads:int q_num_heads:int "
                       "qk_matmul_output_mode:int=0 scale:float softcap:float=0.0 "
                       "softmax_precision:int",
         .infer = inferAttention,
         .reference = onTensors<runAttention>},
        {.op = Op::MsAttention,
         .name = "Attention",
         .domain = "com.microsoft",
         .minInputs = 2,
         .maxInputs = 7,
         .maxOutputs = 2,
         .traits = ContractionOp,
         .inputs = "input weights bias mask_index past attention_bias past_sequence_length",
         .attributes = "num_heads:int! unidirectional:int=0 qkv_hidden_sizes:ints scale:float "
                       "mask_filter_value:float=-10000.0 do_rotary:int=0 "
                       "rotary_embedding_dim:int past_present_share_buffer:int",
         .infer = inferMsAttention,
         .reference = onTensors<runMsAttention>},
        {.op = Op::MultiHeadAttention,
         .name = "MultiHeadAttention",
         .domain = "com.microsoft",
         .maxInputs = 10,
         .maxOutputs = 4,
         .traits = ContractionOp,
         .inputs = "query key value bias key_padding_mask attention_bias past_key past_value "
                   "past_sequence_length cache_indirection",
         .attributes = "num_heads:int! unidirectional:int=0 scale:float "
                       "mask_filter_value:float=-10000.0",
         .infer = inferMultiHeadAttention,
         .reference = onTensors<runMultiHeadAttention>},
    };
    return rows;
}

} // namespace fuselage
