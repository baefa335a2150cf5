// SPDX-License-Identifier: Apache-2.0
#include "core/ops/rotary.h"

#include "core/ops/attention_core.h"
#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

struct Caches {
    const ReferenceValue *cosine, *sine; ///< [positions, half], or [batch, length, half]
    const ReferenceValue* positions;     ///< [batch, length], one offset, or null
};

/// Row of the caches for one token; none when it is outside.
std::optional<int64_t> cacheRow(const Caches& caches, int64_t batch, int64_t length,
                                int64_t token) {
    int64_t row = batch * length + token;
    if (caches.positions && caches.positions->count() == 1)
        row = caches.positions->intAt(0) + token;
    else if (caches.positions)
        row = caches.positions->intAt(row);
    else if (caches.cosine->extents.size() == 2)
        row = token;
    const int64_t rows =
        caches.cosine->count() / std::max<int64_t>(1, caches.cosine->extents.back());
    return row >= 0 && row < rows ? std::optional(row) : std::nullopt;
}

/// Rotates pairs of one head's vector.
void rotate(double* x, int64_t half, bool interleaved, const double* cosine, const double* sine) {
    for (int64_t i = 0; i < half; ++i) {
        double& a = x[interleaved ? 2 * i : i];
        double& b = x[interleaved ? 2 * i + 1 : i + half];
        const double real = a * cosine[i] - b * sine[i];
        b = a * sine[i] + b * cosine[i];
        a = real;
    }
}

Outputs embed(const Node& node, const ReferenceValue& input, const Caches& caches) {
    const bool flat = input.extents.size() == 3;
    int64_t dimension = node.attributes.integer("rotary_embedding_dim");
    int64_t heads = node.attributes.integer("num_heads");
    if ((!flat && input.extents.size() != 4) || !isFloat(input.dtype) ||
        !isFloat(caches.cosine->dtype) || caches.cosine->extents != caches.sine->extents ||
        caches.cosine->extents.size() < 2 || caches.cosine->dtype != caches.sine->dtype ||
        (caches.positions && isFloat(caches.positions->dtype)))
        return badInput(node,
                        fmt::format("X is {}, the caches are {} and {}", text(input.extents),
                                    text(caches.cosine->extents), text(caches.sine->extents)));
    // com.microsoft leaves num_heads out where the cache tells the size of a head.
    if (flat && heads == 0 && caches.cosine->extents.back() > 0)
        heads = input.extents[2] / (2 * caches.cosine->extents.back());
    if (flat && (heads < 1 || input.extents[2] % heads != 0))
        return badInput(node,
                        fmt::format("{} cannot be split in {} heads", text(input.extents), heads));
    ReferenceValue x = flat ? splitHeads(input, heads) : input;
    const int64_t size = x.extents[3], length = x.extents[2];
    dimension = dimension == 0 ? size : dimension;
    const int64_t half = caches.cosine->extents.back();
    if (dimension < 0 || dimension > size || half * 2 != dimension ||
        (caches.positions && caches.positions->count() != 1 &&
         caches.positions->count() != x.extents[0] * length))
        return badInput(
            node, fmt::format("caches of width {} do not rotate {} of {}", half, dimension, size));
    const bool interleaved = node.attributes.integer("interleaved") != 0;
    for (int64_t i = 0; i < x.extents[0] * x.extents[1] * length; ++i) {
        auto row = cacheRow(caches, i / (x.extents[1] * length), length, i % length);
        if (!row)
            return badInput(node, "a position lies outside the caches");
        rotate(x.floats.data() + i * size, half, interleaved,
               caches.cosine->floats.data() + *row * half,
               caches.sine->floats.data() + *row * half);
    }
    return std::vector<ReferenceValue>{flat ? joinHeads(x) : std::move(x)};
}

Outputs runRotary(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    return embed(node, *inputs[0], {inputs[1], inputs[2], inputAt(inputs, 3)});
}

Outputs runMsRotary(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    if (node.attributes.integer("is_packed_batching") != 0)
        return badInput(node, "packed batches are not supported");
    auto out = embed(node, *inputs[0], {inputs[2], inputs[3], inputs[1]});
    const double scale = node.attributes.number("scale", 1.0);
    if (out && scale != 1)
        for (double& value : (*out)[0].floats)
            value *= scale;
    return out;
}

void inferRotary(InferContext& context) {
    setSameAs(context, 0, 0);
}

} // namespace

std::span<const OpRow> rotaryRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::RotaryEmbedding,
         .name = "RotaryEmbedding",
         .since = 23,
         .minInputs = 3,
         .maxInputs = 4,
         .inputs = "X cos_cache sin_cache position_ids",
         .attributes = "interleaved:int=0 num_heads:int rotary_embedding_dim:int=0",
         .infer = inferRotary,
         .reference = onTensors<runRotary>},
        {.op = Op::MsRotaryEmbedding,
         .name = "RotaryEmbedding",
         .domain = "com.microsoft",
         .minInputs = 4,
         .maxInputs = 4,
         .inputs = "input position_ids cos_cache sin_cache",
         .attributes = "interleaved:int=0 num_heads:int=0 rotary_embedding_dim:int=0 "
                       "scale:float=1.0 is_packed_batching:int=0",
         .infer = inferRotary,
         .reference = onTensors<runMsRotary>},
    };
    return rows;
}

} // namespace fuselage
