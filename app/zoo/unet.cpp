// SPDX-License-Identifier: Apache-2.0
// A small U-Net: convolution pairs, max pooling down, transposed convolutions up, skip Concats.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

namespace fuselage::zoo {

namespace {

ValueId convPair(Builder& b, const std::string& name, ValueId x, int64_t in, int64_t out) {
    Builder::Scope scope(b, name);
    x = b.apply(Op::Relu, {b.batchNorm("1", b.conv("0", x, {in, out, 3, 1, 1}), out)});
    return b.apply(Op::Relu, {b.batchNorm("4", b.conv("3", x, {out, out, 3, 1, 1}), out)});
}

ValueId halve(Builder& b, ValueId x) {
    Attributes pool;
    pool.set("ceil_mode", int64_t{0});
    pool.set("kernel_shape", std::vector<int64_t>{2, 2});
    pool.set("pads", std::vector<int64_t>{0, 0, 0, 0});
    pool.set("strides", std::vector<int64_t>{2, 2});
    return b.apply(Op::MaxPool, {x}, std::move(pool));
}

} // namespace

Graph unet(uint64_t seed) {
    Builder b("unet", seed);
    ValueId x = b.input("input", DType::Float32, {Dim::symbol("N"), 3, 128, 128});
    std::vector<ValueId> skips;
    int64_t in = 3, width = 24;
    for (int i = 0; i < 3; ++i, in = width, width *= 2) {
        x = convPair(b, "down." + std::to_string(i), x, in, width);
        skips.push_back(x);
        x = halve(b, x);
    }
    x = convPair(b, "mid", x, in, width);
    for (int i = 0; i < 3; ++i, width /= 2) {
        std::string level = std::to_string(i);
        int64_t half = width / 2;
        x = b.batchNorm("up." + level + ".1",
                        b.convTranspose("up." + level + ".0", x, width, half, 2, 2), half);
        Attributes channels;
        channels.set("axis", int64_t{1});
        x = b.apply(Op::Concat, {skips[static_cast<size_t>(2 - i)], x}, std::move(channels));
        x = convPair(b, "dec." + level, x, width, half);
    }
    x = b.conv("out", x, {width, 2, 1, 1, 0, 1, true});
    b.output(b.apply(Op::Sigmoid, {x}), "output");
    return b.finish();
}

} // namespace fuselage::zoo
