// SPDX-License-Identifier: Apache-2.0
#include "tests/support/layered_graph.h"

#include "app/zoo/builder.h"

#include <fmt/format.h>

namespace fuselage::testing_support {

Graph layeredGraph(size_t nodes, const LayerSizes& sizes) {
    constexpr size_t nodesOfLayer = 18;
    const int64_t width = sizes.width, channels = sizes.channels;
    zoo::Builder builder("layers", 1);
    ValueId x = builder.input("x", DType::Float32, {Dim(1), Dim(sizes.tokens), Dim(width)});
    ValueId image = builder.input("image", DType::Float32,
                                  {Dim(1), Dim(channels), Dim(sizes.side), Dim(sizes.side)});
    for (size_t layer = 0; layer * nodesOfLayer < nodes; ++layer) {
        zoo::Builder::Scope scope(builder, fmt::format("layer{}", layer));
        ValueId h = builder.layerNorm("norm", x, width, 1e-5);
        h = builder.geluErf(builder.linear("up", h, width, width));
        x = builder.apply(Op::Add, {x, builder.linear("down", h, width, width)});
        ValueId c = builder.conv("conv1", image, {channels, channels, 3, 1, 1});
        c = builder.apply(Op::Relu, {builder.batchNorm("bn1", c, channels)});
        c = builder.conv("conv2", c, {channels, channels, 1});
        c = builder.batchNorm("bn2", c, channels);
        image = builder.apply(Op::Relu, {builder.apply(Op::Add, {c, image})});
    }
    builder.output(x, "y");
    builder.output(image, "z");
    return builder.finish();
}

} // namespace fuselage::testing_support
