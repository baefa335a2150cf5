// SPDX-License-Identifier: Apache-2.0
// MobileNetV3-Large: inverted residuals with depthwise convolutions and squeeze-and-excitation.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

#include <algorithm>

namespace fuselage::zoo {

namespace {

struct BlockSpec {
    int64_t in, kernel, expanded, out;
    bool squeeze, hardSwish;
    int64_t stride;
};

constexpr BlockSpec blocks[] = {
    {16, 3, 16, 16, false, false, 1},  {16, 3, 64, 24, false, false, 2},
    {24, 3, 72, 24, false, false, 1},  {24, 5, 72, 40, true, false, 2},
    {40, 5, 120, 40, true, false, 1},  {40, 5, 120, 40, true, false, 1},
    {40, 3, 240, 80, false, true, 2},  {80, 3, 200, 80, false, true, 1},
    {80, 3, 184, 80, false, true, 1},  {80, 3, 184, 80, false, true, 1},
    {80, 3, 480, 112, true, true, 1},  {112, 3, 672, 112, true, true, 1},
    {112, 5, 672, 160, true, true, 2}, {160, 5, 960, 160, true, true, 1},
    {160, 5, 960, 160, true, true, 1},
};

/// The nearest multiple of 8 that is not below 90 % of the value.
int64_t toMultipleOf8(int64_t value) {
    int64_t rounded = std::max<int64_t>(8, (value + 4) / 8 * 8);
    return rounded * 10 < value * 9 ? rounded + 8 : rounded;
}

ValueId activation(Builder& b, ValueId x, bool hardSwish) {
    return b.apply(hardSwish ? Op::HardSwish : Op::Relu, {x});
}

ValueId squeezeExcite(Builder& b, ValueId x, int64_t width) {
    Builder::Scope scope(b, "se");
    int64_t squeezed = toMultipleOf8(width / 4);
    ValueId s = b.apply(Op::GlobalAveragePool, {x});
    s = b.apply(Op::Relu, {b.conv("fc1", s, {width, squeezed, 1, 1, 0, 1, true})});
    Attributes slope;
    slope.set("alpha", 1.0 / 6);
    slope.set("beta", 0.5);
    s = b.apply(Op::HardSigmoid, {b.conv("fc2", s, {squeezed, width, 1, 1, 0, 1, true})},
                std::move(slope));
    return b.apply(Op::Mul, {s, x});
}

ValueId invertedResidual(Builder& b, ValueId x, const BlockSpec& s) {
    ValueId y = x;
    if (s.expanded != s.in) {
        y = b.batchNorm("expand.1", b.conv("expand.0", y, {s.in, s.expanded}), s.expanded);
        y = activation(b, y, s.hardSwish);
    }
    y = b.conv("depthwise.0", y,
               {s.expanded, s.expanded, s.kernel, s.stride, s.kernel / 2, s.expanded});
    y = activation(b, b.batchNorm("depthwise.1", y, s.expanded), s.hardSwish);
    if (s.squeeze)
        y = squeezeExcite(b, y, s.expanded);
    y = b.batchNorm("project.1", b.conv("project.0", y, {s.expanded, s.out}), s.out, 0.6);
    return s.stride == 1 && s.in == s.out ? b.apply(Op::Add, {y, x}) : y;
}

} // namespace

Graph mobilenetV3Large(uint64_t seed) {
    Builder b("mobilenet_v3_large", seed);
    ValueId x = b.input("input", DType::Float32, {Dim::symbol("N"), 3, 224, 224});
    x = b.batchNorm("features.0.1", b.conv("features.0.0", x, {3, 16, 3, 2, 1}), 16);
    x = b.apply(Op::HardSwish, {x});
    for (size_t i = 0; i < std::size(blocks); ++i) {
        Builder::Scope scope(b, "features." + std::to_string(i + 1));
        x = invertedResidual(b, x, blocks[i]);
    }
    x = b.batchNorm("features.16.1", b.conv("features.16.0", x, {160, 960}), 960);
    x = b.apply(Op::GlobalAveragePool, {b.apply(Op::HardSwish, {x})});
    Attributes flatten;
    flatten.set("axis", int64_t{1});
    x = b.apply(Op::Flatten, {x}, std::move(flatten));
    x = b.apply(Op::HardSwish, {b.gemm("classifier.0", x, 960, 1280)});
    b.output(b.gemm("classifier.3", x, 1280, 1000), "output");
    return b.finish();
}

} // namespace fuselage::zoo
