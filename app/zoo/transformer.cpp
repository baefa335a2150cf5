// SPDX-License-Identifier: Apache-2.0
// ViT-B/16, BERT-base and a GPT-2 block. Attention is written as PyTorch's exporter writes
// nn.MultiheadAttention: a packed in-projection, bias first, three Slices with computed bounds,
// heads folded into the batch, Q scaled before the product, the out-projection as Gemm on 2-D.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

#include <limits>

namespace fuselage::zoo {

namespace {

constexpr int64_t width = 768, heads = 12, headWidth = 64;

ValueId gather(Builder& b, ValueId table, ValueId index) {
    return b.apply(Op::Gather, {table, index});
}

ValueId number(Builder& b, ValueId dimension, int64_t factor) {
    return b.apply(Op::Mul, {dimension, b.integer(factor)});
}

/// The three parts of a packed projection, cut by bounds computed from its own shape.
std::vector<ValueId> sliceInThree(Builder& b, ValueId packed) {
    Attributes axis0;
    axis0.set("axis", int64_t{0});
    ValueId last = b.integers({-1});
    ValueId extent = b.apply(Op::Gather, {b.apply(Op::Shape, {packed}), last}, axis0);
    ValueId third =
        b.apply(Op::Div, {b.apply(Op::Add, {extent, b.integers({2})}), b.integers({3})});
    std::vector<ValueId> parts;
    ValueId begin = b.integers({0});
    for (int64_t i = 1; i <= 3; ++i) {
        ValueId end = b.apply(Op::Mul, {third, b.integers({i})});
        parts.push_back(b.apply(Op::Slice, {packed, begin, end, last}));
        begin = end;
    }
    return parts;
}

/// [L, N, width] -> [N*heads, L, headWidth]
ValueId toHeads(Builder& b, ValueId x, ValueId length, ValueId batch) {
    ValueId target = b.shape({{length}, {number(b, batch, heads)}, {ValueId(), headWidth}});
    return b.transpose(b.reshape(x, target), {1, 0, 2});
}

/// Self-attention of a batch-first [N, L, width] value; `mask` is added to the scores if valid.
ValueId selfAttention(Builder& b, ValueId x, ValueId mask) {
    Builder::Scope scope(b, "self_attention");
    ValueId sequenceFirst = b.transpose(x, {1, 0, 2});
    ValueId length = b.dimension(sequenceFirst, 0);
    ValueId batch = b.dimension(sequenceFirst, 1);
    ValueId packed = b.linear("in_proj", sequenceFirst, width, 3 * width);
    std::vector<ValueId> qkv = sliceInThree(b, packed);
    ValueId q = toHeads(b, qkv[0], length, batch);
    ValueId v = toHeads(b, qkv[2], length, batch);
    q = b.apply(Op::Div, {q, b.constant(8)});
    ValueId target = b.shape({{length}, {number(b, batch, heads)}, {ValueId(), headWidth}});
    ValueId keys = b.transpose(b.reshape(qkv[1], target), {1, 2, 0});
    ValueId scores = b.apply(Op::MatMul, {q, keys});
    if (mask.valid())
        scores = b.apply(Op::Add, {scores, mask});
    Attributes axis;
    axis.set("axis", int64_t{-1});
    ValueId context = b.apply(Op::MatMul, {b.apply(Op::Softmax, {scores}, std::move(axis)), v});
    ValueId rows = b.apply(Op::Mul, {length, batch});
    ValueId flat =
        b.reshape(b.transpose(context, {1, 0, 2}), b.shape({{rows}, {ValueId(), width}}));
    ValueId projected = b.gemm("out_proj", flat, width, width);
    ValueId back = b.reshape(projected, b.shape({{length}, {batch}, {ValueId(), width}}));
    return b.transpose(back, {1, 0, 2});
}

ValueId mlp(Builder& b, ValueId x) {
    Builder::Scope scope(b, "mlp");
    return b.linear("3", b.geluErf(b.linear("0", x, width, 4 * width)), 4 * width, width);
}

/// The class token repeated for the batch, in front of the patches.
ValueId withClassToken(Builder& b, ValueId patches) {
    ValueId batch = b.dimension(patches, 0);
    ValueId token = b.apply(Op::Expand, {b.weight("class_token", {1, 1, width}, 0.5),
                                         b.shape({{batch}, {ValueId(), 1}, {ValueId(), width}})});
    Attributes axis;
    axis.set("axis", int64_t{1});
    return b.apply(Op::Concat, {token, patches}, std::move(axis));
}

} // namespace

Graph vitB16(uint64_t seed) {
    Builder b("vit_b_16", seed);
    ValueId image = b.input("input", DType::Float32, {Dim::symbol("N"), 3, 224, 224});
    ValueId batch = b.dimension(image, 0);
    ValueId rows = b.apply(Op::Div, {b.dimension(image, 2), b.integer(16)});
    ValueId columns = b.apply(Op::Div, {b.dimension(image, 3), b.integer(16)});
    ValueId x = b.conv("conv_proj", image, {3, width, 16, 16, 0, 1, true});
    ValueId count = b.apply(Op::Mul, {rows, columns});
    x = b.reshape(x, b.shape({{batch}, {ValueId(), width}, {count}}));
    x = withClassToken(b, b.transpose(x, {0, 2, 1}));
    x = b.apply(Op::Add, {x, b.weight("pos_embedding", {1, 197, width}, 0.2)});
    for (int layer = 0; layer < 12; ++layer) {
        Builder::Scope scope(b, "encoder.layers." + std::to_string(layer));
        ValueId attended = selfAttention(b, b.layerNorm("ln_1", x, width, 1e-6), ValueId());
        x = b.apply(Op::Add, {attended, x});
        x = b.apply(Op::Add, {x, mlp(b, b.layerNorm("ln_2", x, width, 1e-6))});
    }
    x = b.layerNorm("encoder.ln", x, width, 1e-6);
    Attributes axis;
    axis.set("axis", int64_t{1});
    x = b.apply(Op::Gather, {x, b.integer(0)}, std::move(axis));
    b.output(b.gemm("heads.head", x, width, 1000), "output");
    return b.finish();
}

Graph bertBase(uint64_t seed) {
    constexpr int64_t length = 128;
    Builder b("bert_base", seed);
    Dim n = Dim::symbol("N");
    ValueId ids = b.input("input_ids", DType::Int64, {n, length});
    ValueId attention = b.input("attention_mask", DType::Int64, {n, length});
    ValueId types = b.input("token_type_ids", DType::Int64, {n, length});
    std::vector<int64_t> positions(length);
    for (int64_t i = 0; i < length; ++i)
        positions[static_cast<size_t>(i)] = i;
    ValueId position = b.reshape(b.integers(positions), b.integers({1, length}));
    ValueId x = b.apply(Op::Add, {gather(b, b.weight("tok.weight", {30522, width}, 1), ids),
                                  gather(b, b.weight("pos.weight", {512, width}, 0.3), position)});
    x = b.apply(Op::Add, {x, gather(b, b.weight("typ.weight", {2, width}, 0.3), types)});
    x = b.layerNorm("ln", x, width, 1e-12);

    // 0 where a token counts, minus infinity where it is padding, for each head: [N*heads, 1, L].
    ValueId padding = b.apply(Op::Equal, {attention, b.integer(0)});
    ValueId batch = b.dimension(ids, 0);
    ValueId row =
        b.reshape(padding, b.shape({{batch}, {ValueId(), 1}, {ValueId(), 1}, {ValueId(), length}}));
    ValueId perHead =
        b.apply(Op::Expand,
                {row, b.shape({{batch}, {ValueId(), heads}, {ValueId(), 1}, {ValueId(), length}})});
    perHead = b.reshape(perHead,
                        b.shape({{number(b, batch, heads)}, {ValueId(), 1}, {ValueId(), length}}));
    ValueId mask = b.apply(
        Op::Where, {perHead, b.constant(-std::numeric_limits<float>::infinity()), b.constant(0)});
    for (int layer = 0; layer < 12; ++layer) {
        Builder::Scope scope(b, "enc.layers." + std::to_string(layer));
        x = b.layerNorm("norm1", b.apply(Op::Add, {x, selfAttention(b, x, mask)}), width, 1e-12);
        x = b.layerNorm("norm2", b.apply(Op::Add, {x, mlp(b, x)}), width, 1e-12);
    }
    b.output(x, "hidden");
    Attributes axis;
    axis.set("axis", int64_t{1});
    ValueId first = b.apply(Op::Gather, {x, b.integer(0)}, std::move(axis));
    b.output(b.apply(Op::Tanh, {b.gemm("pooler", first, width, width)}), "pooled");
    return b.finish();
}

Graph gpt2Block(uint64_t seed) {
    Builder b("gpt2_block", seed);
    Dim n = Dim::symbol("N"), s = Dim::symbol("S"), p = Dim::symbol("P");
    ValueId x = b.input("hidden", DType::Float32, {n, s, width});
    ValueId pastKey = b.input("past_key", DType::Float32, {n, heads, p, headWidth});
    ValueId pastValue = b.input("past_value", DType::Float32, {n, heads, p, headWidth});
    ValueId batch = b.dimension(x, 0), length = b.dimension(x, 1);
    ValueId packed = b.linear("qkv", b.layerNorm("ln1", x, width, 1e-5), width, 3 * width);
    Attributes last, join;
    last.set("axis", int64_t{2});
    join.set("axis", int64_t{2});
    auto qkv = b.applyMany(Op::Split, {packed, b.integers({width, width, width})}, 3, last);
    auto split = [&](ValueId part) {
        ValueId target = b.shape({{batch}, {length}, {ValueId(), heads}, {ValueId(), headWidth}});
        return b.transpose(b.reshape(part, target), {0, 2, 1, 3});
    };
    ValueId q = split(qkv[0]);
    ValueId key = b.apply(Op::Concat, {pastKey, split(qkv[1])}, join);
    ValueId value = b.apply(Op::Concat, {pastValue, split(qkv[2])}, join);
    ValueId scores = b.apply(Op::MatMul, {q, b.transpose(key, {0, 1, 3, 2})});
    scores = b.apply(Op::Mul, {scores, b.constant(0.125F)});

    // Row i of the causal table starts at the number of cached positions.
    constexpr int64_t context = 1024;
    Tensor lower(DType::UInt8, {1, 1, context, context});
    for (int64_t r = 0; r < context; ++r)
        for (int64_t c = 0; c <= r; ++c)
            lower.setInt(r * context + c, 1);
    ValueId total = b.dimension(key, 2);
    ValueId start = b.apply(Op::Unsqueeze, {b.apply(Op::Sub, {total, length}), b.integers({0})});
    ValueId end = b.apply(Op::Unsqueeze, {total, b.integers({0})});
    ValueId rows = b.apply(Op::Slice, {b.table("causal", std::move(lower)), start, end,
                                       b.integers({2}), b.integers({1})});
    ValueId square =
        b.apply(Op::Slice, {rows, b.integers({0}), end, b.integers({3}), b.integers({1})});
    Attributes toInteger;
    toInteger.set("to", int64_t{7});
    ValueId hidden = b.apply(Op::Equal, {b.apply(Op::Cast, {square}, toInteger), b.integer(0)});
    scores =
        b.apply(Op::Where, {hidden, b.constant(-std::numeric_limits<float>::infinity()), scores});
    Attributes axis;
    axis.set("axis", int64_t{-1});
    ValueId context4 = b.apply(Op::MatMul, {b.apply(Op::Softmax, {scores}, axis), value});
    ValueId merged = b.reshape(b.transpose(context4, {0, 2, 1, 3}),
                               b.shape({{batch}, {length}, {ValueId(), width}}));
    x = b.apply(Op::Add, {x, b.linear("o", merged, width, width)});
    ValueId up = b.geluTanh(b.linear("up", b.layerNorm("ln2", x, width, 1e-5), width, 4 * width));
    x = b.apply(Op::Add, {x, b.linear("down", up, 4 * width, width)});
    b.output(x, "output");
    b.output(key, "present_key");
    b.output(value, "present_value");
    return b.finish();
}

} // namespace fuselage::zoo
