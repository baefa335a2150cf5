// SPDX-License-Identifier: Apache-2.0
// ResNet-18 and ResNet-50 (v1.5: the stride is on the 3x3 convolution), BatchNormalization kept.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

namespace fuselage::zoo {

namespace {

/// The last normalisation of a block is damped, so that sixteen residual sums stay in range.
constexpr double residualGain = 0.4;

ValueId downsample(Builder& b, ValueId x, int64_t in, int64_t out, int64_t stride) {
    Builder::Scope scope(b, "downsample");
    return b.batchNorm("1", b.conv("0", x, {in, out, 1, stride}), out, 0.7);
}

ValueId basicBlock(Builder& b, ValueId x, int64_t in, int64_t width, int64_t stride) {
    ValueId y = b.batchNorm("bn1", b.conv("conv1", x, {in, width, 3, stride, 1}), width);
    y = b.apply(Op::Relu, {y});
    y = b.batchNorm("bn2", b.conv("conv2", y, {width, width, 3, 1, 1}), width, residualGain);
    ValueId shortcut = stride != 1 || in != width ? downsample(b, x, in, width, stride) : x;
    return b.apply(Op::Relu, {b.apply(Op::Add, {y, shortcut})});
}

ValueId bottleneck(Builder& b, ValueId x, int64_t in, int64_t width, int64_t stride) {
    int64_t out = width * 4;
    ValueId y = b.batchNorm("bn1", b.conv("conv1", x, {in, width, 1}), width);
    y = b.apply(Op::Relu, {y});
    y = b.batchNorm("bn2", b.conv("conv2", y, {width, width, 3, stride, 1}), width);
    y = b.apply(Op::Relu, {y});
    y = b.batchNorm("bn3", b.conv("conv3", y, {width, out, 1}), out, residualGain);
    ValueId shortcut = stride != 1 || in != out ? downsample(b, x, in, out, stride) : x;
    return b.apply(Op::Relu, {b.apply(Op::Add, {y, shortcut})});
}

Graph resnet(const std::string& name, const std::vector<int64_t>& depths, bool deep,
             uint64_t seed) {
    Builder b(name, seed);
    ValueId x = b.input("input", DType::Float32, {Dim::symbol("N"), 3, 224, 224});
    x = b.batchNorm("bn1", b.conv("conv1", x, {3, 64, 7, 2, 3}), 64);
    x = b.apply(Op::Relu, {x});
    Attributes pool;
    pool.set("ceil_mode", int64_t{0});
    pool.set("kernel_shape", std::vector<int64_t>{3, 3});
    pool.set("pads", std::vector<int64_t>{1, 1, 1, 1});
    pool.set("strides", std::vector<int64_t>{2, 2});
    x = b.apply(Op::MaxPool, {x}, std::move(pool));
    int64_t in = 64;
    for (size_t stage = 0; stage < depths.size(); ++stage) {
        Builder::Scope layer(b, "layer" + std::to_string(stage + 1));
        int64_t width = 64LL << stage;
        for (int64_t i = 0; i < depths[stage]; ++i) {
            Builder::Scope block(b, std::to_string(i));
            int64_t stride = stage > 0 && i == 0 ? 2 : 1;
            x = deep ? bottleneck(b, x, in, width, stride) : basicBlock(b, x, in, width, stride);
            in = deep ? width * 4 : width;
        }
    }
    x = b.apply(Op::GlobalAveragePool, {x});
    Attributes flatten;
    flatten.set("axis", int64_t{1});
    x = b.apply(Op::Flatten, {x}, std::move(flatten));
    b.output(b.gemm("fc", x, in, 1000), "output");
    return b.finish();
}

} // namespace

Graph resnet18(uint64_t seed) {
    return resnet("resnet18", {2, 2, 2, 2}, false, seed);
}

Graph resnet50(uint64_t seed) {
    return resnet("resnet50", {3, 4, 6, 3}, true, seed);
}

} // namespace fuselage::zoo
