// SPDX-License-Identifier: Apache-2.0
// Operators with kernels of their own: Gather, Scatter and their relatives, running sums, Resize,
// TopK, recurrent layers, linear attention.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

namespace fuselage::gpu_suite {

namespace {

Case caseOf(const std::string& name, const std::string& body, const char* variant) {
    Case made;
    made.name = name;
    made.bodies = {body};
    made.variants = variant;
    return made;
}

std::string resize(const std::string& type, const std::string& from, const std::string& to,
                   const std::string& attributes, const std::string& scales) {
    return fmt::format("({0}[{1}] x) => ({0}[{2}] y) {{ s = Constant<value_floats=[{4}]>() "
                       "y = Resize<{3}>(x, , s) }}",
                       type, from, to, attributes, scales);
}

std::string recurrent(const std::string& type, const std::string& op, int gates, int directions,
                      const std::string& attributes) {
    const int rows = gates * 6;
    return fmt::format("({0}[5,2,7] x, {0}[{3},{4},7] w, {0}[{3},{4},6] r, {0}[{3},{5}] b, "
                       "{0}[{3},2,6] h0) => ({0}[5,{3},2,6] y, {0}[{3},2,6] h) "
                       "{{ y, h = {1}<hidden_size=6, {2}>(x, w, r, b, , h0) }}",
                       type, op, attributes, directions, rows, 2 * rows);
}

void addResizes(std::vector<Case>& out) {
    auto add = [&](const std::string& name, const std::string& body) -> Case& {
        out.push_back(caseOf("resize_" + name, body, "resize_table"));
        return out.back();
    };
    const std::map<std::string, Placement> channelsLast = {{"in0", {{0, 2, 3, 1}}},
                                                           {"out0", {{0, 2, 3, 1}}}};
    add("nearest_double_last", resize("float16", "1,16,5,6", "1,16,10,12",
                                      "mode=\"nearest\", nearest_mode=\"floor\", "
                                      "coordinate_transformation_mode=\"asymmetric\"",
                                      "1.0,1.0,2.0,2.0"))
        .placements = channelsLast;
    add("nearest_bytes",
        resize("uint8", "2,3,7,5", "2,3,9,4", "mode=\"nearest\"", "1.0,1.0,1.3,0.9"));
    add("linear_half_pixel",
        resize("float", "1,3,7,6", "1,3,14,15", "mode=\"linear\"", "1.0,1.0,2.0,2.5"));
    add("linear_align_corners_half_last",
        resize("float16", "1,8,5,5", "1,8,10,10",
               "mode=\"linear\", coordinate_transformation_mode=\"align_corners\"",
               "1.0,1.0,2.0,2.0"))
        .placements = channelsLast;
    add("linear_pytorch_shrinks",
        resize("float", "1,2,9,11", "1,2,4,5",
               "mode=\"linear\", coordinate_transformation_mode=\"pytorch_half_pixel\"",
               "1.0,1.0,0.5,0.5"));
    add("cubic",
        resize("float", "1,1,6,7", "1,1,12,10",
               "mode=\"cubic\", exclude_outside=1, cubic_coeff_a=-0.5", "1.0,1.0,2.0,1.5"));
    add("one_dim", resize("bfloat16", "2,3,9", "2,3,18", "mode=\"linear\"", "1.0,1.0,2.0"));
}

/// Floats of 8 bits: each format, a scale of the tensor, of an axis, of blocks, infinities and NaN.
void addFloat8(std::vector<Case>& out) {
    auto add = [&](const std::string& name, DType type, bool quantises,
                   const std::string& body) -> Case& {
        out.push_back(caseOf("float8_" + name, body, "float8_linear"));
        out.back().types = {{quantises ? "y" : "x", type}};
        return out.back();
    };
    add("quantise_half", DType::Float8E4M3FN, true,
        "(float16[6,64] x) => (uint8[6,64] y) <float f = {0.01}> "
        "{ s = Cast<to=10>(f)  y = QuantizeLinear<output_dtype=17>(x, s) }")
        .special = true;
    add("quantise_axis", DType::Float8E5M2, true,
        "(float[5,7,3] x, float[7] s) => (uint8[5,7,3] y) "
        "{ y = QuantizeLinear<axis=1, output_dtype=19, saturate=0>(x, s) }");
    add("quantise_unsigned_zero", DType::Float8E4M3FNUZ, true,
        "(float[9,32] x, float[1] s) => (uint8[9,32] y) "
        "{ y = QuantizeLinear<output_dtype=18>(x, s) }");
    add("dequantise_blocks", DType::Float8E4M3FN, false,
        "(uint8[4,64] x, float16[4,4] s) => (float16[4,64] y) "
        "{ y = DequantizeLinear<axis=1, block_size=16>(x, s) }");
    add("dequantise_last", DType::Float8E5M2, false,
        "(uint8[3,2,4,5] x, bfloat16 s) => (bfloat16[3,2,4,5] y) "
        "{ y = DequantizeLinear(x, s) }")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    add("dequantise_unsigned_zero", DType::Float8E5M2FNUZ, false,
        "(uint8[2,48] x, float s) => (float[2,48] y) { y = DequantizeLinear(x, s) }");
}

/// Ties, rows of several warps and of less than one, every type, an output that nobody reads.
void addTopK(std::vector<Case>& out) {
    auto add = [&](const std::string& name, const std::string& from, const std::string& to,
                   const std::string& type, const std::string& attributes, int k,
                   bool onlyIndices = false) -> Case& {
        const std::string body =
            onlyIndices
                ? fmt::format("({0}[{1}] x) => (int64[{2}] i) {{ k = Constant<value_ints=[{4}]>() "
                              "v, i = TopK<{3}>(x, k) }}",
                              type, from, to, attributes, k)
                : fmt::format("({0}[{1}] x) => ({0}[{2}] v, int64[{2}] i) "
                              "{{ k = Constant<value_ints=[{4}]>() v, i = TopK<{3}>(x, k) }}",
                              type, from, to, attributes, k);
        out.push_back(caseOf("topk_" + name, body, "topk"));
        return out.back();
    };
    add("router", "5,32", "5,4", "float", "axis=-1", 4);
    add("half_few", "3,9", "3,9", "float16", "axis=1, largest=0", 9);
    add("special", "4,70", "4,33", "float", "axis=-1", 33).special = true;
    add("special_smallest", "4,70", "4,33", "bfloat16", "axis=-1, largest=0", 33).special = true;
    add("long_row", "2,1300", "2,50", "float", "axis=1", 50);
    add("bytes_tie", "2,200,3", "2,17,3", "uint8", "axis=1", 17);
    add("signed_bytes", "3,4,40", "3,4,8", "int8", "axis=2, largest=0", 8);
    add("integers_first_axis", "90,2", "5,2", "int32", "axis=0", 5);
    add("only_indices", "6,64", "6,2", "float", "axis=-1", 2, true);
    add("channels_last", "2,40,3,5", "2,6,3,5", "float16", "axis=1", 6).placements = {
        {"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
}

/// Every rule of linear attention, heads whose rate is one, states of odd sizes and of several
/// blocks, operands of several types.
void addRecurrences(std::vector<Case>& out) {
    struct Sizes {
        int batch, tokens, heads, rows, depth, width;
    };
    auto add = [&](const std::string& name, const Sizes& n, const std::string& more,
                   const std::string& arguments, const std::string& type = "float") {
        const std::string token = fmt::format("{},{},{}", n.batch, n.tokens, n.heads);
        const std::string state = fmt::format("{},{},{},{}", n.batch, n.heads, n.depth, n.width);
        out.push_back(caseOf(
            "recurrence_" + name,
            fmt::format("(float[{0}] s, {1}[{2},{3},{4}] q, {1}[{2},{4},1] k, {1}[{2},1,{5}] v{6}) "
                        "=> (float[{0}] l, {1}[{2},{3},{5}] y) "
                        "{{ l, y = fuselage.LinearRecurrence(s, q, k, v{7}) }}",
                        state, type, token, n.rows, n.depth, n.width, more, arguments),
            "recurrence"));
    };
    add("linear", {2, 4, 2, 1, 16, 8}, "", "");
    add("gated_head", {1, 5, 3, 1, 20, 33}, ", float[1,5,3,1,1] g", ", g");
    add("gated_rows", {1, 4, 2, 2, 24, 40}, ", float[1,4,2,24,1] g", ", g", "float16");
    add("delta", {2, 3, 2, 1, 5, 7}, ", float[2,3,2,1,1] b", ", , b");
    add("gated_delta", {1, 3, 2, 1, 36, 65}, ", float[1,3,2,36,1] g, float[1,3,1,1,1] b", ", g, b",
        "bfloat16");
    add("queries", {1, 2, 1, 3, 70, 9}, ", float16[1,2,1,1,1] g, float[1,2,1,1,1] b", ", g, b");
    add("one_token", {1, 1, 2, 1, 128, 32}, ", float[1,1,2,1,1] g, float[1,1,2,1,1] b", ", g, b");
}

/// Indices of the suite's data go beyond the extent on both sides only where it is below 11.
void addGathers(std::vector<Case>& out) {
    auto gather = [&](const std::string& name, const std::string& body) -> Case& {
        out.push_back(caseOf("gather_" + name, body, "gather"));
        return out.back();
    };
    gather("embedding", "(float16[32,24] e, int64[3,5] i) => (float16[3,5,24] y) "
                        "{ y = Gather<axis=0>(e, i) }");
    gather("middle_axis", "(float[3,40,5] x, int32[7] i) => (float[3,7,5] y) "
                          "{ y = Gather<axis=1>(x, i) }");
    gather("last_axis_bytes", "(uint8[6,21] x, int64[4] i) => (uint8[6,4] y) "
                              "{ y = Gather<axis=-1>(x, i) }");
    gather("wide_integers", "(int64[21,4] x, int64[2,2] i) => (int64[2,2,4] y) "
                            "{ y = Gather(x, i) }");
    gather("elements_middle", "(float[3,14,6] x, int64[3,9,6] i) => (float[3,9,6] y) "
                              "{ y = GatherElements<axis=1>(x, i) }");
    gather("elements_fewer", "(float16[5,4,12] x, int32[2,3,7] i) => (float16[2,3,7] y) "
                             "{ y = GatherElements<axis=-1>(x, i) }");
    gather("elements_channels_last", "(float[2,13,3,4] x, int64[2,13,3,4] i) => "
                                     "(float[2,13,3,4] y) { y = GatherElements<axis=1>(x, i) }")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    gather("tuples_rows", "(float16[11,12,16] x, int64[5,2] i) => (float16[5,16] y) "
                          "{ y = GatherND(x, i) }");
    gather("tuples_elements", "(bool[12,11,13] x, int64[2,7,3] i) => (bool[2,7] y) "
                              "{ y = GatherND(x, i) }");
    gather("tuples_batch", "(float[3,2,14,5] x, int64[3,2,6,1] i) => (float[3,2,6,5] y) "
                           "{ y = GatherND<batch_dims=2>(x, i) }");
    gather("tuples_of_nothing",
           "(float[7] x, int64[3,0] i) => (float[3,7] y) { y = GatherND(x, i) }");
    gather("tuples_of_all_batches", "(int64[4,11] x, int32[4,1] i) => (int64[4] y) "
                                    "{ y = GatherND<batch_dims=1>(x, i) }");
}

/// Random indices meet: updates for one place come in their order. Lines that the index does not
/// reach, threads with several positions and with a rest of them, every reduction.
void addScatters(std::vector<Case>& out) {
    auto elements = [&](const std::string& name, const std::string& type, const std::string& data,
                        const std::string& index, const std::string& attributes) -> Case& {
        out.push_back(caseOf("scatter_" + name,
                             fmt::format("({0}[{1}] x, int64[{2}] i, {0}[{2}] u) => ({0}[{1}] y) "
                                         "{{ y = ScatterElements<{3}>(x, i, u) }}",
                                         type, data, index, attributes),
                             "scatter"));
        return out.back();
    };
    elements("first_axis", "float", "13,20", "40,20", "axis=0");
    elements("last_axis", "float16", "5,33", "5,70", "axis=-1");
    elements("middle_fewer", "uint8", "4,15,6", "3,8,5", "axis=1");
    elements("outer_fewer", "float", "5,3,12", "2,3,9", "axis=2");
    elements("sum_half", "float16", "17,24", "60,24", "axis=0, reduction=\"add\"");
    elements("sum_one_line", "float", "200", "90", "axis=0, reduction=\"add\"");
    elements("product_integers", "int32", "3,11,4", "3,30,4", "axis=1, reduction=\"mul\"");
    elements("greatest_special", "float", "12,9", "40,9", "axis=0, reduction=\"max\"").special =
        true;
    elements("least_bytes", "int8", "6,25", "6,80", "axis=1, reduction=\"min\"");
    elements("channels_last", "bfloat16", "2,12,3,5", "2,20,3,5", "axis=1, reduction=\"add\"")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    elements("several_positions", "float", "601,300", "3,300", "axis=0");
    auto slices = [&](const std::string& name, const std::string& types, const std::string& more) {
        out.push_back(caseOf("scatter_" + name,
                             fmt::format("({}) {{ y = ScatterND{}(x, i, u) }}", types, more),
                             "scatter"));
    };
    slices("rows", "float16[14,16] x, int64[5,1] i, float16[5,16] u) => (float16[14,16] y", "");
    slices("sum_rows", "float[23,8] x, int64[70,1] i, float[70,8] u) => (float[23,8] y",
           "<reduction=\"add\">");
    slices("tuples_sum", "float[12,13,4] x, int64[6,5,2] i, float[6,5,4] u) => (float[12,13,4] y",
           "<reduction=\"add\">");
    slices("elements", "bool[11,12,13] x, int32[40,3] i, bool[40] u) => (bool[11,12,13] y", "");
    slices("many_rows", "float[700,200] x, int64[3,1] i, float[3,200] u) => (float[700,200] y", "");
}

/// Lines in memory's order and across it, shorter and longer than a block, both directions.
void addRunningSums(std::vector<Case>& out) {
    auto add = [&](const std::string& name, const std::string& type, const std::string& extents,
                   int axis, const std::string& more, const char* op = "CumSum") -> Case& {
        out.push_back(caseOf("cumulative_" + name,
                             fmt::format("({0}[{1}] x) => ({0}[{1}] y) {{ a = "
                                         "Constant<value_int={2}>() y = {4}{3}(x, a) }}",
                                         type, extents, axis, more, op),
                             "cumulative"));
        return out.back();
    };
    add("short", "float", "7,12", 1, "");
    add("long", "float", "3,1000", -1, "");
    add("long_reverse_exclusive", "float16", "2,300", 1, "<exclusive=1, reverse=1>");
    add("piece_of_one", "int64", "4,64", 1, "<exclusive=1>");
    add("across", "float", "3,90,20", 1, "<reverse=1>");
    add("bytes_wrap", "uint8", "5,200", 1, "");
    add("signed_wrap", "int8", "200,3", 0, "<exclusive=1>");
    add("half_across", "bfloat16", "40,33", 0, "");
    add("few_lines_across", "float", "500,3", 0, "<exclusive=1>");
    add("channels_last", "float", "2,70,3,4", 1, "").placements = {{"in0", {{0, 2, 3, 1}}},
                                                                   {"out0", {{0, 2, 3, 1}}}};
    add("products", "int32", "6,129", 1, "<reverse=1>", "CumProd");
}

} // namespace

std::vector<Case> libraryCases() {
    std::vector<Case> out;
    addGathers(out);
    addScatters(out);
    addRunningSums(out);
    addFloat8(out);
    addResizes(out);
    addTopK(out);
    addRecurrences(out);
    auto layer = [&](const std::string& name, const std::string& body) {
        out.push_back(caseOf("recurrent_" + name, body, "recurrent"));
    };
    layer("lstm_both_ways", recurrent("float", "LSTM", 4, 2, "direction=\"bidirectional\""));
    layer("lstm_half", recurrent("float16", "LSTM", 4, 1, "direction=\"forward\""));
    layer("gru_reverse", recurrent("float", "GRU", 3, 1, "direction=\"reverse\""));
    layer("gru_linear_reset",
          recurrent("float", "GRU", 3, 2, "direction=\"bidirectional\", linear_before_reset=1"));
    layer("rnn", recurrent("float", "RNN", 1, 1, "direction=\"forward\""));
    return out;
}

} // namespace fuselage::gpu_suite
