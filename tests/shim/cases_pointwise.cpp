// SPDX-License-Identifier: Apache-2.0
// Elementwise bodies: shapes that divide and that do not, broadcasts, every type, strides, GELU.
#include "tests/shim/suite_cases.h"

namespace fuselage::gpu_suite {

std::vector<Case> pointwiseCases() {
    const std::string both = "pointwise_vector pointwise_plain";
    std::vector<Case> out;
    auto add = [&](std::string name, std::string body, std::string variants) -> Case& {
        Case made;
        made.name = "pointwise_" + std::move(name);
        made.bodies = {std::move(body)};
        made.variants = std::move(variants);
        out.push_back(std::move(made));
        return out.back();
    };
    add("add_relu",
        "(float[3,5,64] a, float[3,5,64] b) => (float[3,5,64] y) "
        "{ s = Add(a, b) y = Relu(s) }",
        both);
    add("odd_tail",
        "(float[7,11,13] a, float[7,11,13] b) => (float[7,11,13] y) "
        "{ s = Sub(a, b) y = Tanh(s) }",
        both)
        .special = true;
    add("bias_column_half",
        "(float16[4,6,7,7] x, float16[6,1,1] b) => (float16[4,6,7,7] y) "
        "{ s = Add(x, b) y = Relu(s) }",
        both)
        .special = true;
    add("bias_row_gelu_half",
        "(float16[37,64] x, float16[64] b) => (float16[37,64] y) { s = Add(x, b) f = Cast<to=1>(s) "
        "half = Constant<value_float=0.5>() one = Constant<value_float=1.0>() "
        "root = Constant<value_float=1.4142135>() d = Div(f, root) e = Erf(d) p = Add(e, one) "
        "m = Mul(f, p) g = Mul(m, half) y = Cast<to=10>(g) }",
        both)
        .special = true;
    add("gelu_bfloat16",
        "(bfloat16[33,24] x) => (bfloat16[33,24] y) { f = Cast<to=1>(x) "
        "half = Constant<value_float=0.5>() one = Constant<value_float=1.0>() "
        "root = Constant<value_float=1.4142135>() d = Div(f, root) e = Erf(d) p = Add(e, one) "
        "m = Mul(f, half) g = Mul(m, p) y = Cast<to=16>(g) }",
        both)
        .special = true;
    add("gelu_float",
        "(float[9,40] x) => (float[9,40] y) { half = Constant<value_float=0.5>() "
        "one = Constant<value_float=1.0>() root = Constant<value_float=1.4142135>() "
        "d = Div(x, root) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, half) }",
        both)
        .special = true;
    for (const char* type : {"float16", "bfloat16"})
        add(std::string("gelu_every_") + type,
            std::string("(") + type + "[256,256] x) => (" + type +
                "[256,256] y) { f = Cast<to=1>(x) half = Constant<value_float=0.5>() "
                "one = Constant<value_float=1.0>() root = Constant<value_float=1.4142135>() "
                "d = Div(f, root) e = Erf(d) p = Add(one, e) m = Mul(p, f) g = Mul(half, m) "
                "y = Cast<to=" +
                (type[0] == 'f' ? "10" : "16") + ">(g) }",
            both);
    add("silu_two_outputs",
        "(float16[6,128] x, float16[6,128] r) => (float16[6,128] y, float16[6,128] z) "
        "{ s = Sigmoid(x) y = Mul(x, s) z = Add(y, r) }",
        both);
    add("strict_half",
        "(float16[5,48] x, float16[5,48] z) => (float16[5,48] y) "
        "{ a = Mul(x, z) b = Add(a, x) y = Sub(b, z) }",
        both)
        .strict = true;
    add("channels_last",
        "(float16[2,16,5,5] x, float16[16,1,1] b) => (float16[2,16,5,5] y) "
        "{ s = Add(x, b) y = Relu(s) }",
        both)
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    add("transposed_read",
        "(float[24,40] x, float[40,24] r) => (float[40,24] y) "
        "{ t = Transpose<perm = [1, 0]>(x) y = Add(t, r) }",
        both);
    add("pitch_and_offset",
        "(float[10,32] x, float[10,32] r) => (float[10,32] y) "
        "{ y = Mul(x, r) }",
        both)
        .placements = {{"in0", {{}, 4}}, {"in1", {{}, 3}}};
    add("misaligned", "(float16[16,16] x) => (float16[16,16] y) { y = Neg(x) }", both)
        .placements = {{"in0", {{}, 0, 4}}, {"out0", {{}, 0, 8}}};
    add("slice_reversed",
        "(float[12,20] x) => (float[12,10] y) { s = Constant<value_ints=[19]>() "
        "e = Constant<value_ints=[-100]>() a = Constant<value_ints=[1]>() "
        "t = Constant<value_ints=[-2]>() c = Slice(x, s, e, a, t) y = Exp(c) }",
        "pointwise_plain");
    add("integers",
        "(int32[5,33] a, int32[5,33] b) => (int32[5,33] y, int32[5,33] z) "
        "{ y = Div(a, b) m = Mod(a, b) z = Mul(m, y) }",
        both);
    add("int8_wraps",
        "(int8[4,40] a, int8[4,40] b) => (int8[4,40] y) { s = Mul(a, b) "
        "y = Add(s, a) }",
        both);
    add("int64_shift",
        "(uint32[3,12] a, uint32[3,12] b) => (uint32[3,12] y) "
        "{ y = BitShift<direction = \"LEFT\">(a, b) }",
        both);
    add("compare_select",
        "(float[4,36] a, float[4,36] b) => (bool[4,36] c, float[4,36] y) "
        "{ c = Less(a, b) y = Where(c, a, b) }",
        both)
        .special = true;
    add("bool_logic", "(bool[3,32] a, bool[3,32] b) => (bool[3,32] y) { n = Not(a) y = Xor(n, b) }",
        both);
    add("casts",
        "(float[6,20] x) => (int32[6,20] i, float16[6,20] h, double[6,20] d) "
        "{ i = Cast<to = 6>(x) h = Cast<to = 10>(x) d = Cast<to = 11>(x) }",
        both);
    add("double_math",
        "(double[3,14] x) => (double[3,14] y) { a = Abs(x) s = Sqrt(a) l = Log(s) "
        "y = Pow(a, l) }",
        both);
    add("quantised", // beyond both ends, and NaN
        "(float[9,48] x) => (int8[9,48] y, uint8[9,48] u) <float s = {0.01}, int8 z = {3}, "
        "uint8 h = {128}> { y = QuantizeLinear(x, s, z) u = QuantizeLinear(x, s, h) }",
        both)
        .special = true;
    add("min_max_nan",
        "(float[8,32] a, float[8,32] b, float[8,32] c) => (float[8,32] y) "
        "{ m = Min(a, b) y = Max(m, c) }",
        both)
        .special = true;
    add("round_mod",
        "(float[4,32] a, float[4,32] b) => (float[4,32] y) { r = Round(a) f = "
        "Floor(b) m = Mod<fmod = 1>(r, b) y = Add(m, f) }",
        both);
    add("one_element", "(float[1] a, float[1] b) => (float[1] y) { y = Add(a, b) }", "");
    return out;
}

} // namespace fuselage::gpu_suite
