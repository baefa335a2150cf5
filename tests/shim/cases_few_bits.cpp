// SPDX-License-Identifier: Apache-2.0
// Products with weights of 4 and 8 bits: few rows, which stream them, and tiles in which they
// become elements on their way; zero points of every kind, columns, rows and blocks that end
// anywhere.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

#include <random>

namespace fuselage::gpu_suite {

namespace {

enum class Zeros : uint8_t { None, Packed, Floats };

struct Row {
    int64_t rows = 1, k = 16, n = 1, block = 16, bits = 4;
    Zeros zeros = Zeros::None;
    bool bias = false;
    const char* type = "float16";
    const char* scaleType = nullptr; ///< as the rows where not given
};

std::string bodyOf(const Row& row) {
    const int64_t blocks = (row.k + row.block - 1) / row.block;
    const char* scaleType = row.scaleType ? row.scaleType : row.type;
    std::string inputs =
        fmt::format("{0}[{1},{2}] x, uint8[{3},{4},{5}] b, {6}[{7}] s", row.type, row.rows, row.k,
                    row.n, blocks, row.block * row.bits / 8, scaleType, row.n * blocks);
    if (row.zeros == Zeros::Packed)
        inputs += fmt::format(", uint8[{}] z", row.n * ((blocks * row.bits + 7) / 8));
    if (row.zeros == Zeros::Floats)
        inputs += fmt::format(", {}[{}] z", scaleType, row.n * blocks);
    if (row.bias)
        inputs += fmt::format(", {}[{}] c", row.type, row.n);
    return fmt::format("({}) => ({}[{},{}] y) {{ y = com.microsoft.MatMulNBits<K={}, N={}, "
                       "bits={}, block_size={}>(x, b, s{}{}) }}",
                       inputs, row.type, row.rows, row.n, row.k, row.n, row.bits, row.block,
                       row.zeros != Zeros::None ? ", z"
                       : row.bias               ? ", "
                                                : "",
                       row.bias ? ", , c" : "");
}

Case caseOf(const std::string& name, const std::string& body, const std::string& variants) {
    Case out;
    out.name = "few_bits_" + name;
    out.bodies = {body};
    out.variants = variants + " gemv_nibbles";
    return out;
}

/// Any size: rows that end in a tile, k in one of its steps, a block beyond K.
Case drawn(uint32_t seed) {
    std::mt19937 random(seed);
    auto draw = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    Row row;
    row.block = int64_t{16} << draw(0, 4);
    row.bits = draw(0, 3) == 0 ? 8 : 4;
    row.rows = draw(0, 3) == 0 ? draw(1, 8) : draw(1, 300);
    row.k = draw(0, 2) == 0 ? draw(1, 300) : 8 * draw(1, 50);
    row.n = draw(1, 200);
    row.zeros = static_cast<Zeros>(draw(0, 2));
    row.bias = draw(0, 1) == 0;
    row.type = draw(0, 2) == 0 ? "bfloat16" : "float16";
    Case out = caseOf(fmt::format("drawn_{}", seed), bodyOf(row), "");
    out.capability = draw(0, 2) == 0 ? 80 : 90;
    out.units = static_cast<int>(draw(1, 40));
    out.sharedBytes = 228 << 10;
    return out;
}

} // namespace

std::vector<Case> fewBitsCases() {
    std::vector<Case> out;
    auto add = [&](const std::string& name, const Row& row, const std::string& variants) -> Case& {
        out.push_back(caseOf(name, bodyOf(row), variants));
        return out.back();
    };
    const std::string small = "blocked_32x64 blocked_16x64 ", ofWarps = "blocked_64x64 " + small;
    add("one_row", {1, 2080, 40, 32}, "");
    add("bytes_one_row", {2, 264, 40, 32, 8, Zeros::Packed}, "");
    add("rows_with_zeros", {6, 136, 21, 16, 4, Zeros::Packed}, small);
    out.push_back(caseOf("float_rest_bias",
                         "(float[2,3,77] x, uint8[12,1,64] b, float[12] s, float[12] z, float[12] "
                         "c) => (float[2,3,12] y) { y = com.microsoft.MatMulNBits<K=77, N=12, "
                         "bits=4, block_size=128>(x, b, s, z, , c) }",
                         ""));
    add("large_tiles", {130, 272, 136, 32, 4, Zeros::Packed, true},
        "blocked_256x128 blocked_128x128 blocked_128x64 blocked_64x128 blocked_64x64 ");
    add("bytes", {67, 208, 72, 64, 8, Zeros::Packed, true}, ofWarps);
    add("bytes_middle", {37, 80, 40, 16, 8}, small);
    add("float_zeros", {35, 200, 66, 128, 4, Zeros::Floats}, small);
    add("scales_of_floats", {35, 136, 24, 16, 4, Zeros::Packed, false, "float16", "float"}, small);
    add("odd_k", {33, 77, 33, 32, 4, Zeros::Packed}, small);
    Case& parts = add("parts", {40, 1030, 70, 32, 4, Zeros::None, true}, "blocked_32x64_split ");
    parts.units = 60;
    for (const char* type : {"float16", "bfloat16"}) {
        Case& groups = add(fmt::format("warpgroups_{}", type),
                           {67, 520, 136, 16, 4, Zeros::Packed, true, type},
                           "blocked_wgmma_128x256 blocked_wgmma_128x128 blocked_wgmma_128x64 "
                           "blocked_wgmma_128x64_split ");
        groups.capability = 90;
    }
    for (const char* type : {"float16", "bfloat16"}) {
        Case& many = add(fmt::format("many_rows_{}", type),
                         {256, 136, 136, 32, 4, Zeros::Packed, true, type},
                         "expanded_tma_192x128 expanded_tma_128x128 expanded_256x128 "
                         "expanded_128x128 ");
        many.capability = 90;
    }
    add("many_rows_of_bytes", {257, 64, 72, 16, 8, Zeros::Floats}, "expanded_128x128 ");
    // Seeds whose kernels are of all forms that there are.
    for (uint32_t seed = 1; seed <= 10; ++seed)
        out.push_back(drawn(seed));
    for (const int64_t rows : {64, 512}) { // of a language model
        Case& large = add(fmt::format("prefill_{}", rows), {rows, 4096, 4096, 32}, "");
        large.compileOnly = true;
        large.units = 132;
        large.sharedBytes = 228 << 10;
    }
    return out;
}

} // namespace fuselage::gpu_suite
