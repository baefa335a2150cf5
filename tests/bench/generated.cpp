// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generated.h"

#include "app/zoo/builder.h"

#include <charconv>

namespace fuselage::bench {

std::optional<Graph> generatedModel(const std::string& name) {
    constexpr std::string_view kind = "rows:";
    constexpr int64_t rows = 128, width = 768, widest = 1 << 14;
    constexpr int repeats = 4;
    int64_t hidden = -1;
    if (!name.starts_with(kind) ||
        std::from_chars(name.data() + kind.size(), name.data() + name.size(), hidden).ptr !=
            name.data() + name.size() ||
        hidden < 0 || hidden > widest)
        return std::nullopt;
    zoo::Builder b("rows", 1);
    ValueId x = b.input("x", DType::Float32, {1, rows, width});
    for (int i = 0; i < repeats; ++i) {
        zoo::Builder::Scope scope(b, "layer" + std::to_string(i));
        x = b.layerNorm("norm", x, width, 1e-5);
        if (hidden > 0)
            x = b.linear("out", b.linear("in", x, width, hidden), hidden, width);
    }
    b.output(x, "y");
    return b.finish();
}

} // namespace fuselage::bench
