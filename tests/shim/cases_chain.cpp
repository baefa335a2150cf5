// SPDX-License-Identifier: Apache-2.0
// Two layers in one kernel: what stands between them and behind, and in front, rows that end within
// a tile, weights that stay and weights that pass through, operands that lie otherwise. And one
// product of few rows behind what makes them.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

namespace fuselage::gpu_suite {

namespace {

/// The erf form of GELU as exporters write it, from `u` to `y`.
constexpr const char* gelu =
    "ch = Constant<value_float=0.5>() half = Cast<to={0}>(ch) "
    "co = Constant<value_float=1.0>() one = Cast<to={0}>(co) "
    "cr = Constant<value_float=1.41421356>() root = Cast<to={0}>(cr) "
    "d = Div(u, root) e = Erf(d) p = Add(e, one) q = Mul(u, p) y = Mul(q, half)";

/// What makes the rows of the first product: {0} is the type, {1} rows of {2} elements.
struct Front {
    const char* body;
    int inputs;
};

constexpr Front layerNorm = {"({0}[{1},{2}] z, {0}[{2}] g, {0}[{2}] b) => ({0}[{1},{2}] y) "
                             "{{ y = LayerNormalization<axis=-1, epsilon=1e-6>(z, g, b) }}",
                             3};
/// In float32, as exporters write it, with float32 numbers of columns.
constexpr Front rootMeanSquare = {
    "({0}[{1},{2}] z, float[{2}] g) => ({0}[{1},{2}] y) <float e = {{1e-6}}> "
    "{{ x = Cast<to=1>(z) q = Mul(x, x) m = ReduceMean<axes=[1], keepdims=1>(q) n = Add(m, e) "
    "r = Sqrt(n) d = Div(x, r) w = Mul(d, g) y = Cast<to={3}>(w) }}",
    2};
constexpr Front softmax = {"({0}[{1},{2}] z) => ({0}[{1},{2}] y) {{ y = Softmax<axis=-1>(z) }}", 1};
/// With a number of each column and one of all.
constexpr Front shiftedSoftmax = {"({0}[{1},{2}] z, {0}[{2}] g, {0} s) => ({0}[{1},{2}] y) "
                                  "{{ a = Mul(z, s) c = Add(a, g) y = Softmax<axis=-1>(c) }}",
                                  3};
/// Of a sum, as decoders have it between their layers.
constexpr Front sumRootMeanSquare = {
    "({0}[{1},{2}] z, {0}[{1},{2}] r, {0}[{2}] g) => ({0}[{1},{2}] y) "
    "{{ s = Add(z, r) y = RMSNormalization<axis=-1, epsilon=1e-5>(s, g) }}",
    3};

/// A chain over rows of `terms` elements: `hidden` columns, `results` results.
struct ChainRow {
    const char *name, *type;
    int rows, terms, hidden, results;
    const char *first = "y = Relu(u)", *second = "y = Identity(u)"; ///< from `u`, with its bias
    int units = 0, shared = 0; ///< of the device; 0: what all have, so small slices
    bool compileOnly = false;
    uint32_t capability = 80;
    const Front* front = nullptr; ///< none: the rows are read as they lie
};

constexpr const char* scaled = "s = Mul(u, g) y = Add(s, r)";

constexpr ChainRow rows[] = {
    {"convnext", "float16", 70, 96, 128, 96, gelu, scaled, 1, 233472},
    {"tiles", "float16", 300, 32, 64, 32, gelu, scaled, 2, 233472},
    {"many_tiles", "bfloat16", 700, 16, 48, 32, "y = Relu(u)", scaled, 2, 233472},
    {"passing", "float16", 150, 96, 256, 96, gelu, scaled, 1, 131072},
    {"passing_wide", "bfloat16", 40, 192, 256, 192, "y = Relu(u)", scaled, 1, 233472},
    {"two_stages", "float16", 40, 64, 192, 64, "y = Tanh(u)", scaled, 1, 50000},
    {"any_device", "float16", 33, 32, 80, 16},
    {"odd_results", "float16", 17, 48, 64, 48},
    {"one_row", "bfloat16", 1, 16, 16, 16, "y = Sigmoid(u)"},
    {"narrow", "float16", 64, 128, 32, 32, "y = Identity(u)"},
    {"wide_results", "float16", 64, 32, 32, 160, "y = Relu(u)", scaled, 1, 233472},
    {"convnext_tiny_1", "float16", 100352, 96, 384, 96, gelu, scaled, 132, 233472, true},
    {"convnext_tiny_2", "float16", 25088, 192, 768, 192, gelu, scaled, 132, 233472, true},
    {"convnext_tiny_1_few", "float16", 3136, 96, 384, 96, gelu, scaled, 132, 233472, true},
    {"groups", "float16", 200, 96, 192, 96, gelu, scaled, 1, 233472, false, 90},
    {"groups_tiles", "bfloat16", 500, 32, 64, 48, "y = Relu(u)", scaled, 1, 233472, false, 90},
    {"groups_wide", "float16", 130, 192, 256, 192, gelu, scaled, 1, 233472, false, 90},
    {"groups_few", "bfloat16", 70, 64, 128, 16, "y = Tanh(u)", "y = Identity(u)", 1, 233472, false,
     90},
    {"groups_tiny_1", "float16", 100352, 96, 384, 96, gelu, scaled, 132, 233472, true, 90},
    {"groups_tiny_2", "float16", 25088, 192, 768, 192, gelu, scaled, 132, 233472, true, 90},
    {"groups_base_1", "bfloat16", 100352, 128, 512, 128, gelu, scaled, 132, 233472, true, 90},
    {"on_an_a10", "bfloat16", 25088, 192, 768, 192, gelu, scaled, 72, 102400, true},
    {"norm", "float16", 70, 96, 128, 96, gelu, scaled, 1, 233472, false, 80, &layerNorm},
    {"norm_tiles", "bfloat16", 300, 32, 64, 32, gelu, scaled, 2, 233472, false, 80, &layerNorm},
    {"norm_wide", "float16", 40, 192, 256, 192, "y = Relu(u)", scaled, 1, 233472, false, 80,
     &layerNorm},
    {"norm_one_row", "float16", 2, 16, 16, 16, "y = Relu(u)", "y = Identity(u)", 0, 0, false, 80,
     &rootMeanSquare},
    {"norm_groups", "float16", 200, 96, 192, 96, gelu, scaled, 1, 233472, false, 90, &layerNorm},
    {"norm_groups_wide", "bfloat16", 130, 128, 256, 128, gelu, scaled, 1, 233472, false, 90,
     &rootMeanSquare},
    {"softmax_groups", "float16", 70, 64, 128, 16, "y = Tanh(u)", "y = Identity(u)", 1, 233472,
     false, 90, &shiftedSoftmax},
    {"norm_tiny_1", "float16", 100352, 96, 384, 96, gelu, scaled, 132, 233472, true, 90,
     &layerNorm},
    {"norm_tiny_2", "float16", 25088, 192, 768, 192, gelu, scaled, 132, 233472, true, 80,
     &layerNorm},
    {"norm_base_1", "bfloat16", 100352, 128, 512, 128, gelu, scaled, 132, 233472, true, 90,
     &layerNorm},
    {"norm_on_an_a10", "bfloat16", 25088, 192, 768, 192, gelu, scaled, 72, 102400, true, 80,
     &layerNorm},
};

std::string firstBody(const std::string& type, const std::string& x, int terms, int hidden,
                      const std::string& result, const std::string& steps) {
    return fmt::format("({0}[{1},{2}] x, {0}[{2},{3}] w, {0}[{3}] b) => ({0}[{4}] y) "
                       "{{ m = MatMul(x, w) u = Add(m, b) {5} }}",
                       type, x, terms, hidden, result,
                       fmt::format(fmt::runtime(steps), type == "float16" ? 10 : 16));
}

Case chainCase(const ChainRow& row) {
    Case out;
    out.name = fmt::format("chain_{}", row.name);
    const std::string type = row.type;
    out.bodies = {firstBody(type, std::to_string(row.rows), row.terms, row.hidden,
                            fmt::format("{},{}", row.rows, row.hidden), row.first),
                  fmt::format("({0}[{1},{2}] h, {0}[{2},{3}] w, {0}[{3}] b{5}) => ({0}[{1},{3}] y) "
                              "{{ m = MatMul(h, w) u = Add(b, m) {4} }}",
                              type, row.rows, row.hidden, row.results, row.second,
                              row.second == scaled ? fmt::format(", {0}[{2}] g, {0}[{1},{2}] r",
                                                                 type, row.rows, row.results)
                                                   : std::string())};
    out.chained = true;
    const bool onGroups = row.capability == 90;
    out.variants = onGroups ? "chain_wgmma chain_tensor" : "chain_tensor";
    out.constants = "in1 in3";
    if (row.front != nullptr) {
        out.bodies.insert(out.bodies.begin(),
                          fmt::format(fmt::runtime(row.front->body), type, row.rows, row.terms,
                                      type == "float16" ? 10 : 16));
        out.constants = fmt::format("in{} in{}", row.front->inputs, row.front->inputs + 2);
    }
    out.capability = row.capability;
    out.units = row.units;
    out.sharedBytes = row.shared;
    out.compileOnly = row.compileOnly;
    return out;
}

/// Sizes that nobody chose: rows, widths, and how much of the weights stays in shared memory.
std::vector<Case> drawnCases() {
    std::vector<Case> out;
    uint32_t state = 7;
    auto draw = [&](int least, int most) {
        state = state * 1664525U + 1013904223U;
        return least + static_cast<int>((state >> 8) % static_cast<uint32_t>(most - least + 1));
    };
    for (int i = 0; i < 20; ++i) {
        const std::string name = fmt::format("drawn_{}", i);
        ChainRow row{name.c_str(), draw(0, 1) == 0 ? "float16" : "bfloat16"};
        row.capability = i % 2 == 0 ? 80 : 90;
        row.rows = draw(1, 400);
        row.terms = 16 * draw(1, 8);
        row.hidden = (row.capability == 90 ? 64 : 16) * draw(1, 4);
        row.results = 16 * draw(1, 8);
        row.first = draw(0, 1) == 0 ? "y = Tanh(u)" : gelu;
        row.second = draw(0, 1) == 0 ? scaled : row.second;
        row.units = draw(1, 3);
        row.shared = draw(0, 1) == 0 ? 233472 : 131072;
        const Front* const fronts[] = {nullptr, &layerNorm, &rootMeanSquare, &softmax};
        row.front = fronts[draw(0, 3)];
        out.push_back(chainCase(row));
    }
    return out;
}

/// A row and one product: `rows` are extents, "1,1" of a token.
struct FrontRow {
    const char *name, *type;
    const Front* front;
    const char* rows;
    int terms, results;
    bool byColumns = false; ///< the weight has a row for each result
    bool compileOnly = false;
    int units = 1;
    const char* tail = "y = Add(u, b)";
};

constexpr const char* swish = "v = Add(u, b) s = Sigmoid(v) y = Mul(v, s)";

constexpr FrontRow fronts[] = {
    {"token", "float16", &layerNorm, "1,1", 768, 264},
    {"token_by_columns", "float16", &layerNorm, "1,1", 768, 45, true},
    {"tokens", "bfloat16", &rootMeanSquare, "3", 264, 136, false, false, 2, swish},
    {"eight_by_columns", "float16", &rootMeanSquare, "8", 520, 70, true, false, 2, swish},
    {"sum", "float16", &sumRootMeanSquare, "1", 4096, 96, true, false, 3},
    {"sums", "float16", &sumRootMeanSquare, "2,2", 128, 200},
    {"packed", "float16", &rootMeanSquare, "1", 72, 21},
    {"odd_terms", "float16", &rootMeanSquare, "2", 65, 64},
    {"weights", "bfloat16", &softmax, "5", 96, 24},
    {"shifted_weights", "float16", &shiftedSoftmax, "1", 1000, 16, true},
    {"float", "float", &rootMeanSquare, "1", 300, 44, true},
    {"floats", "float", &layerNorm, "7", 36, 100},
    {"tiles", "float16", &rootMeanSquare, "1", 64, 700, true}, // several a block
    {"tiles_of_rows", "float16", &rootMeanSquare, "4", 64, 640, false, false, 2},
    {"llama_1b", "float16", &rootMeanSquare, "1", 2048, 8192, false, true, 132, swish},
    {"llama_8b", "float16", &sumRootMeanSquare, "1,1", 4096, 14336, true, true, 132, swish},
    {"llama_8b_batch", "bfloat16", &sumRootMeanSquare, "8", 4096, 6144, false, true, 132},
    {"gpt_on_a_t4", "float16", &layerNorm, "1", 768, 2304, false, true, 40},
};

Case frontCase(const FrontRow& row) {
    Case out;
    const std::string type = row.type;
    out.name = fmt::format("front_{}", row.name);
    const int number = type == "float16" ? 10 : type == "float" ? 1 : 16;
    out.bodies = {
        fmt::format(fmt::runtime(row.front->body), type, row.rows, row.terms, number),
        fmt::format("({0}[{1},{2}] x, {0}[{3}] w, {0}[{4}] b) => ({0}[{1},{4}] y) {{ {5} {6} }}",
                    type, row.rows, row.terms,
                    row.byColumns ? fmt::format("{},{}", row.results, row.terms)
                                  : fmt::format("{},{}", row.terms, row.results),
                    row.results,
                    row.byColumns ? "t = Transpose<perm=[1,0]>(w) u = MatMul(x, t)"
                                  : "u = MatMul(x, w)",
                    row.tail)};
    out.chained = true;
    out.variants = "gemv_row";
    out.constants = fmt::format("in{}", row.front->inputs);
    out.units = row.units;
    out.sharedBytes = 233472;
    out.compileOnly = row.compileOnly;
    return out;
}

/// Sizes, fronts and weights that nobody chose.
std::vector<Case> drawnFronts() {
    std::vector<Case> out;
    uint32_t state = 11;
    auto draw = [&](int least, int most) {
        state = state * 1664525U + 1013904223U;
        return least + static_cast<int>((state >> 8) % static_cast<uint32_t>(most - least + 1));
    };
    constexpr const char* types[] = {"float16", "bfloat16", "float"};
    const Front* const makers[] = {&layerNorm, &rootMeanSquare, &softmax, &shiftedSoftmax,
                                   &sumRootMeanSquare};
    for (int i = 0; i < 40; ++i) {
        const std::string name = fmt::format("drawn_{}", i), rows = std::to_string(draw(1, 8));
        FrontRow row{name.c_str(), types[draw(0, 2)], makers[draw(0, 4)], rows.c_str()};
        row.terms = draw(0, 1) == 0 ? 8 * draw(1, 100) : draw(1, 300);
        // Whole accesses to the weight lie along one of them.
        const bool whole = row.terms % 8 != 0 || draw(0, 1) == 0;
        row.results = whole ? 8 * draw(1, 40) : draw(1, 300);
        row.byColumns = row.terms % 8 == 0 && draw(0, 1) == 0;
        row.units = draw(1, 8);
        row.tail = draw(0, 1) == 0 ? swish : row.tail;
        out.push_back(frontCase(row));
    }
    return out;
}

} // namespace

std::vector<Case> chainCases() {
    std::vector<Case> out = drawnCases();
    for (Case& made : drawnFronts())
        out.push_back(std::move(made));
    for (const FrontRow& row : fronts)
        out.push_back(frontCase(row));
    for (const ChainRow& row : rows)
        out.push_back(chainCase(row));
    auto add = [&](const std::string& name, std::vector<std::string> bodies) -> Case& {
        ChainRow row = rows[0];
        Case made = chainCase(row);
        made.name = "chain_" + name;
        made.bodies = std::move(bodies);
        out.push_back(std::move(made));
        return out.back();
    };
    // As ConvNeXt has it: pictures with channels innermost in memory, whatever their shape says.
    const std::string picture = "float16[2,32,5,7]";
    Case& layers = add(
        "pictures",
        {firstBody("float16", "2,5,7", 32, 64, "2,5,7,64", gelu),
         fmt::format("(float16[2,5,7,64] h, float16[64,32] w, float16[32] b, float16[32,1,1] g, "
                     "{0} r) => ({0} y) {{ m = MatMul(h, w) u = Add(b, m) "
                     "t = Transpose<perm=[0,3,1,2]>(u) s = Mul(t, g) y = Add(s, r) }}",
                     picture)});
    layers.placements["in6"] = layers.placements["out0"] = {{0, 2, 3, 1}};
    Case& apart = add("pictures_apart", layers.bodies); // results side by side along rows
    apart.placements["in0"] = {{}, 16};
    // Weights as Gemm has them, and what stands between the products has rows of its own.
    add("transposed",
        {"(float16[50,32] x, float16[64,32] w, float16[64] b, float16[50,64] z) => "
         "(float16[50,64] y) { u = Gemm<transB=1>(x, w, b) q = Relu(u) y = Mul(q, z) }",
         "(float16[50,64] h, float16[48,64] w, float16[48] b) => (float[50,48] y) "
         "{ u = Gemm<transB=1>(h, w, b) y = Cast<to=1>(u) }"})
        .constants = "in1 in4";
    // x once more behind the products.
    add("rows_once_more",
        {"(float16[40,32] x, float16[32,64] w) => (float16[40,64] y) "
         "{ u = MatMul(x, w) y = Relu(u) }",
         "(float16[40,64] h, float16[64,32] w, float16[40,32] r) => (float16[40,32] y) "
         "{ m = MatMul(h, w) y = Add(m, r) }"})
        .constants = "in1 in2";
    return out;
}

} // namespace fuselage::gpu_suite
