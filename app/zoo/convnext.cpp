// SPDX-License-Identifier: Apache-2.0
// ConvNeXt as exported from channels-last code: Transpose around each normalisation.
#include "app/zoo/builder.h"
#include "app/zoo/networks.h"

namespace fuselage::zoo {

namespace {

constexpr double epsilon = 1e-6;

/// LayerNorm over channels of an NCHW value.
ValueId channelNorm(Builder& b, const std::string& name, ValueId x, int64_t width) {
    x = b.layerNorm(name, b.transpose(x, {0, 2, 3, 1}), width, epsilon);
    return b.transpose(x, {0, 3, 1, 2});
}

ValueId block(Builder& b, ValueId x, int64_t width) {
    ValueId y = b.conv("block.0", x, {width, width, 7, 1, 3, width, true});
    y = b.layerNorm("block.2", b.transpose(y, {0, 2, 3, 1}), width, epsilon);
    y = b.geluErf(b.linear("block.3", y, width, width * 4));
    y = b.transpose(b.linear("block.5", y, width * 4, width), {0, 3, 1, 2});
    y = b.apply(Op::Mul, {b.weight("layer_scale", {width, 1, 1}, 0.05, 0.2), y});
    return b.apply(Op::Add, {y, x});
}

Graph convnext(const std::string& name, const std::vector<int64_t>& depths, int64_t width,
               uint64_t seed) {
    Builder b(name, seed);
    ValueId x = b.input("input", DType::Float32, {Dim::symbol("N"), 3, 224, 224});
    {
        Builder::Scope features(b, "features.0");
        x = b.conv("0", x, {3, width, 4, 4, 0, 1, true});
        x = channelNorm(b, "1", x, width);
    }
    for (size_t stage = 0; stage < depths.size(); ++stage) {
        if (stage > 0) {
            Builder::Scope features(b, "features." + std::to_string(2 * stage));
            x = channelNorm(b, "0", x, width);
            x = b.conv("1", x, {width, width * 2, 2, 2, 0, 1, true});
            width *= 2;
        }
        Builder::Scope features(b, "features." + std::to_string(2 * stage + 1));
        for (int64_t i = 0; i < depths[stage]; ++i) {
            Builder::Scope scope(b, std::to_string(i));
            x = block(b, x, width);
        }
    }
    x = b.apply(Op::GlobalAveragePool, {x});
    x = channelNorm(b, "classifier.0", x, width);
    Attributes flatten;
    flatten.set("axis", int64_t{1});
    x = b.apply(Op::Flatten, {x}, std::move(flatten));
    b.output(b.gemm("classifier.2", x, width, 1000), "output");
    return b.finish();
}

} // namespace

Graph convnextTiny(uint64_t seed) {
    return convnext("convnext_tiny", {3, 3, 9, 3}, 96, seed);
}

Graph convnextBase(uint64_t seed) {
    return convnext("convnext_base", {3, 3, 27, 3}, 128, seed);
}

} // namespace fuselage::zoo
