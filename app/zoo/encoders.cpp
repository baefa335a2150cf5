// SPDX-License-Identifier: Apache-2.0
// Whisper's audio encoder, and DETR's transformer with its heads on the features of a backbone, as
// PyTorch's exporter writes them; fewer layerCount than the real ones.
#include "app/zoo/networks.h"
#include "app/zoo/sdpa.h"

#include <cmath>

namespace fuselage::zoo {

namespace {

constexpr int64_t layerCount = 2;

/// Convolution over time, kernel 3.
ValueId timeConv(Builder& b, const std::string& name, ValueId x, int64_t in, int64_t out,
                 int64_t stride) {
    Builder::Scope scope(b, name);
    Attributes attributes;
    attributes.set("dilations", std::vector<int64_t>{1});
    attributes.set("group", int64_t{1});
    attributes.set("kernel_shape", std::vector<int64_t>{3});
    attributes.set("pads", std::vector<int64_t>{1, 1});
    attributes.set("strides", std::vector<int64_t>{stride});
    return b.apply(Op::Conv,
                   {x, b.weight("weight", {out, in, 3}, std::sqrt(2.0 / (3.0 * double(in)))),
                    b.weight("bias", {out}, 0.1)},
                   std::move(attributes));
}

ValueId sum(Builder& b, ValueId x, ValueId y) {
    return b.apply(Op::Add, {x, y});
}

} // namespace

Graph whisperEncoder(uint64_t seed) {
    constexpr int64_t width = 384, mels = 80, frames = 600;
    Builder b("whisper_encoder", seed);
    ValueId x = b.input("mel", DType::Float32, {Dim::symbol("N"), mels, frames});
    x = b.geluErf(timeConv(b, "conv1", x, mels, width, 1));
    x = b.geluErf(timeConv(b, "conv2", x, width, width, 2));
    x = sum(b, b.transpose(x, {0, 2, 1}), b.weight("embed_positions", {frames / 2, width}, 0.1));
    for (int64_t i = 0; i < layerCount; ++i) {
        Builder::Scope scope(b, "layers." + std::to_string(i));
        x = sum(b, x,
                sdpa(b, "self_attn", {.width = width, .heads = 6},
                     b.layerNorm("self_attn_layer_norm", x, width, 1e-5)));
        x = sum(b, x,
                feedForward(b, "mlp", b.layerNorm("final_layer_norm", x, width, 1e-5), width,
                            4 * width));
    }
    b.output(b.layerNorm("layer_norm", x, width, 1e-5), "hidden");
    return b.finish();
}

Graph detr(uint64_t seed) {
    constexpr int64_t width = 256, features = 2048, side = 16, queries = 100, inner = 1024;
    const SdpaSpec attention{.width = width, .heads = 8};
    Builder b("detr", seed);
    const ValueId image =
        b.input("features", DType::Float32, {Dim::symbol("N"), features, side, side});
    const ValueId narrow =
        b.conv("input_proj", image, {.in = features, .out = width, .bias = true});
    ValueId x = b.transpose(b.reshape(narrow, b.integers({0, width, -1})), {0, 2, 1});
    const ValueId places = b.weight("position", {side * side, width}, 1);
    for (int64_t i = 0; i < layerCount; ++i) {
        Builder::Scope scope(b, "encoder.layers." + std::to_string(i));
        const ValueId placed = sum(b, x, places);
        x = b.layerNorm("norm1", sum(b, x, sdpa(b, "self_attn", attention, placed, placed, x)),
                        width, 1e-5);
        x = b.layerNorm("norm2", sum(b, x, feedForward(b, "mlp", x, width, inner)), width, 1e-5);
    }
    const ValueId asked = b.weight("query_embed", {queries, width}, 1);
    const ValueId zero = b.apply(
        Op::Mul, {b.apply(Op::Slice, {x, b.integers({0}), b.integers({queries}), b.integers({1})}),
                  b.constant(0)});
    ValueId y = zero;
    const ValueId placed = sum(b, x, places);
    for (int64_t i = 0; i < layerCount; ++i) {
        Builder::Scope scope(b, "decoder.layers." + std::to_string(i));
        const ValueId own = sum(b, y, asked);
        y = b.layerNorm("norm1", sum(b, y, sdpa(b, "self_attn", attention, own, own, y)), width,
                        1e-5);
        y = b.layerNorm("norm2",
                        sum(b, y, sdpa(b, "cross_attn", attention, sum(b, y, asked), placed, x)),
                        width, 1e-5);
        y = b.layerNorm("norm3", sum(b, y, feedForward(b, "mlp", y, width, inner)), width, 1e-5);
    }
    b.output(b.linear("class_embed", y, width, 92), "logits");
    ValueId box = b.apply(Op::Relu, {b.linear("bbox_embed.0", y, width, width)});
    box = b.apply(Op::Relu, {b.linear("bbox_embed.1", box, width, width)});
    b.output(b.apply(Op::Sigmoid, {b.linear("bbox_embed.2", box, width, 4)}), "boxes");
    return b.finish();
}

} // namespace fuselage::zoo
