// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/large_model.h"

#include "app/zoo/builder.h"
#include "core/onnx/model_file.h"

#include <fmt/format.h>

namespace fuselage::bench {

bool writeLargeModel(const std::string& path, int nodes) {
    constexpr int64_t channels = 8;
    zoo::Builder b("bench", 1);
    ValueId x = b.input("image", DType::Float32, {1, channels, 8, 8});
    for (int block = 0; block * 5 < nodes; ++block) {
        zoo::Builder::Scope scope(b, fmt::format("layer{}.block{}", block / 10, block % 10));
        ValueId y = b.apply(Op::Relu, {b.conv("conv1", x, {channels, channels, 3, 1, 1})});
        y = b.conv("conv2", y, {channels, channels, 3, 1, 1});
        x = b.apply(Op::Relu, {b.apply(Op::Add, {y, x})});
    }
    b.output(x, "features");
    return bool(model_io::save(b.finish(), path));
}

} // namespace fuselage::bench
