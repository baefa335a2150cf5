// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/generated.h"

#include "app/zoo/builder.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace fuselage::bench {

namespace {

/// The numbers behind `kind`, with an x between: "12x224x16". None: another text, or one that is
/// too large.
std::optional<std::vector<int64_t>> numbersOf(std::string_view name, std::string_view kind,
                                              size_t count) {
    constexpr int64_t largest = 1 << 14;
    if (!name.starts_with(kind))
        return std::nullopt;
    std::vector<int64_t> out;
    const char *at = name.data() + kind.size(), *end = name.data() + name.size();
    while (out.size() < count) {
        int64_t number = 0;
        const auto read = std::from_chars(at, end, number);
        if (read.ec != std::errc() || number < 0 || number > largest)
            return std::nullopt;
        out.push_back(number);
        const bool isLast = out.size() == count;
        if (isLast ? read.ptr != end : read.ptr == end || *read.ptr != 'x')
            return std::nullopt;
        at = read.ptr + (isLast ? 0 : 1);
    }
    return out;
}

Graph normalisedRows(int64_t hidden) {
    constexpr int64_t rows = 128, width = 768;
    constexpr int repeats = 4;
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

Graph attention(int64_t heads, int64_t rows, int64_t depth) {
    zoo::Builder b("attention", 1);
    const auto operand = [&](const char* name) {
        return b.input(name, DType::Float32, {1, heads, rows, depth});
    };
    const ValueId q = operand("q"), k = operand("k"), v = operand("v");
    const ValueId scores = b.apply(Op::MatMul, {q, b.transpose(k, {0, 1, 3, 2})});
    const ValueId scaled = b.apply(Op::Mul, {scores, b.constant(0.125F)});
    Attributes axis;
    axis.set("axis", int64_t{-1});
    b.output(b.apply(Op::MatMul, {b.apply(Op::Softmax, {scaled}, axis), v}), "y");
    return b.finish();
}

} // namespace

std::optional<Graph> generatedModel(const std::string& name) {
    if (const auto width = numbersOf(name, "rows:", 1))
        return normalisedRows((*width)[0]);
    const auto sizes = numbersOf(name, "attention:", 3);
    if (!sizes || std::count(sizes->begin(), sizes->end(), 0) > 0)
        return std::nullopt;
    return attention((*sizes)[0], (*sizes)[1], (*sizes)[2]);
}

} // namespace fuselage::bench
