// SPDX-License-Identifier: Apache-2.0
// Two blocks of diffusion models as PyTorch's exporter writes them: a residualBlock block with a
// transformer behind it of Stable Diffusion's U-Net, and a block of a diffusion transformer (DiT)
// whose norms are modulated by the time step.
#include "app/zoo/networks.h"
#include "app/zoo/sdpa.h"

namespace fuselage::zoo {

namespace {

constexpr int64_t blockChannels = 320, timeWidth = 1280, textWidth = 768, normGroups = 32;

Attributes atAxis(int64_t number) {
    Attributes out;
    out.set("axis", number);
    return out;
}

ValueId silu(Builder& b, ValueId x) {
    return b.apply(Op::Mul, {x, b.apply(Op::Sigmoid, {x})});
}

/// GroupNorm as exporters of opset 17 write it: an InstanceNormalization of the groups.
ValueId groupNorm(Builder& b, const std::string& name, ValueId x) {
    Builder::Scope scope(b, name);
    Tensor ones(DType::Float32, {normGroups}), zeros(DType::Float32, {normGroups});
    for (int64_t i = 0; i < normGroups; ++i)
        ones.set(i, 1);
    Attributes attributes;
    attributes.set("epsilon", 1e-5);
    const ValueId grouped = b.reshape(x, b.integers({0, normGroups, -1}));
    const ValueId normal =
        b.apply(Op::InstanceNormalization,
                {grouped, b.table("ones", std::move(ones)), b.table("zeros", std::move(zeros))},
                std::move(attributes));
    const ValueId back = b.reshape(normal, b.apply(Op::Shape, {x}));
    const ValueId scaled =
        b.apply(Op::Mul, {back, b.weight("weight", {blockChannels, 1, 1}, 0.1, 1)});
    return b.apply(Op::Add, {scaled, b.weight("bias", {blockChannels, 1, 1}, 0.1)});
}

ValueId imageConv(Builder& b, const std::string& name, ValueId x, int64_t kernel) {
    return b.conv(name, x,
                  {.in = blockChannels,
                   .out = blockChannels,
                   .kernel = kernel,
                   .padding = kernel / 2,
                   .bias = true});
}

ValueId residualBlock(Builder& b, ValueId x, ValueId time) {
    Builder::Scope scope(b, "resnets.0");
    const ValueId first = imageConv(b, "conv1", silu(b, groupNorm(b, "norm1", x)), 3);
    const ValueId moved = b.gemm("time_emb_proj", silu(b, time), timeWidth, blockChannels);
    const ValueId column =
        b.apply(Op::Unsqueeze, {b.apply(Op::Unsqueeze, {moved, b.integers({2})}), b.integers({3})});
    const ValueId mixed = b.apply(Op::Add, {first, column});
    const ValueId second = imageConv(b, "conv2", silu(b, groupNorm(b, "norm2", mixed)), 3);
    return b.apply(Op::Add, {x, second});
}

/// Linear layer to twice the inner width, one half times the Gelu of the other.
ValueId gatedFeedForward(Builder& b, ValueId x) {
    Builder::Scope scope(b, "ff");
    constexpr int64_t inner = 4 * blockChannels;
    const auto halves = b.applyMany(
        Op::Split, {b.linear("proj", x, blockChannels, 2 * inner), b.integers({inner, inner})}, 2,
        atAxis(-1));
    return b.linear("out", b.apply(Op::Mul, {halves[0], b.geluErf(halves[1])}), inner,
                    blockChannels);
}

ValueId spatialTransformer(Builder& b, ValueId x, ValueId text) {
    Builder::Scope scope(b, "attentions.0");
    const ValueId batch = b.dimension(x, 0), height = b.dimension(x, 2), across = b.dimension(x, 3);
    ValueId tokens = b.transpose(imageConv(b, "proj_in", groupNorm(b, "norm", x), 1), {0, 2, 3, 1});
    tokens = b.reshape(tokens, b.shape({{batch}, {ValueId(), -1}, {ValueId(), blockChannels}}));
    const SdpaSpec self{.width = blockChannels, .heads = 8, .bias = false};
    const SdpaSpec cross{
        .width = blockChannels, .heads = 8, .contextWidth = textWidth, .bias = false};
    tokens =
        b.apply(Op::Add, {sdpa(b, "attn1", self, b.layerNorm("norm1", tokens, blockChannels, 1e-5)),
                          tokens});
    tokens = b.apply(Op::Add, {sdpa(b, "attn2", cross,
                                    b.layerNorm("norm2", tokens, blockChannels, 1e-5), text, text),
                               tokens});
    tokens = b.apply(
        Op::Add, {gatedFeedForward(b, b.layerNorm("norm3", tokens, blockChannels, 1e-5)), tokens});
    const ValueId image = b.transpose(
        b.reshape(tokens, b.shape({{batch}, {height}, {across}, {ValueId(), blockChannels}})),
        {0, 3, 1, 2});
    return b.apply(Op::Add, {imageConv(b, "proj_out", image, 1), x});
}

} // namespace

Graph unetSdBlock(uint64_t seed) {
    Builder b("unet_sd_block", seed);
    const Dim n = Dim::symbol("N"), h = Dim::symbol("H"), w = Dim::symbol("W");
    const ValueId x = b.input("sample", DType::Float32, {n, blockChannels, h, w});
    const ValueId time = b.input("time_embedding", DType::Float32, {n, timeWidth});
    const ValueId text = b.input("encoder_hidden_states", DType::Float32, {n, 77, textWidth});
    b.output(spatialTransformer(b, residualBlock(b, x, time), text), "output");
    return b.finish();
}

Graph ditBlock(uint64_t seed) {
    constexpr int64_t width = 384;
    Builder b("dit_block", seed);
    const Dim n = Dim::symbol("N");
    ValueId x = b.input("tokens", DType::Float32, {n, 256, width});
    const ValueId condition = b.input("condition", DType::Float32, {n, width});
    const ValueId all = b.gemm("adaLN_modulation.1", silu(b, condition), width, 6 * width);
    const auto parts =
        b.applyMany(Op::Split, {all, b.integers(std::vector<int64_t>(6, width))}, 6, atAxis(1));
    auto row = [&](size_t part) { return b.apply(Op::Unsqueeze, {parts[part], b.integers({1})}); };
    auto modulated = [&](const std::string& name, size_t shift, size_t scale) {
        Builder::Scope scope(b, name);
        Tensor ones(DType::Float32, {width});
        for (int64_t i = 0; i < width; ++i)
            ones.set(i, 1);
        Attributes attributes = atAxis(-1);
        attributes.set("epsilon", 1e-6);
        const ValueId normal = b.apply(
            Op::LayerNormalization, {x, b.table("ones", std::move(ones))}, std::move(attributes));
        const ValueId factor = b.apply(Op::Add, {row(scale), b.constant(1)});
        return b.apply(Op::Add, {b.apply(Op::Mul, {normal, factor}), row(shift)});
    };
    auto added = [&](size_t gate, ValueId branch) {
        return b.apply(Op::Add, {x, b.apply(Op::Mul, {row(gate), branch})});
    };
    x = added(2, sdpa(b, "attn", {.width = width, .heads = 6}, modulated("norm1", 0, 1)));
    const ValueId up = b.geluTanh(b.linear("mlp.fc1", modulated("norm2", 3, 4), width, 4 * width));
    x = added(5, b.linear("mlp.fc2", up, 4 * width, width));
    b.output(x, "output");
    return b.finish();
}

} // namespace fuselage::zoo
