// SPDX-License-Identifier: Apache-2.0
// Attention: masks of every kind and broadcast, strided operands, odd sizes, rows without a key.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

namespace fuselage::gpu_suite {

namespace {

/// q k^T of [2,3,37,16] and [2,3,29,16], `masks` from `s` to `x`, softmax and the product with v.
std::string masked(const std::string& type, const std::string& inputs, const std::string& masks) {
    return fmt::format("({0}[2,3,37,16] q, {0}[2,3,29,16] k, {0}[2,3,29,8] v, {1}) => "
                       "({0}[2,3,37,8] y) {{ t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t) "
                       "{2} p = Softmax<axis=-1>(x)  y = MatMul(p, v) }}",
                       type, inputs, masks);
}

/// Attention of sm_90's warpgroups: `l` queries to `s` keys of `d` elements, `e` values a key.
struct GroupRow {
    const char *name, *type;
    int l, s, d, e;
    const char *inputs = "", *steps = "x = Identity(t)"; ///< from `t`, the products, to `x`
};

/// `low`, minus infinity of 16 bits, and what hides keys behind it.
#define HIDDEN(scores)                                                                             \
    "z = Constant<value_float=0.0>() o = Constant<value_float=-1.0>() g = Div(o, z) "              \
    "low = Cast<to=10>(g) x = Where(c, " scores ", low)"
#define SCALED "f = Constant<value_float=0.125>() h = Cast<to=10>(f) u = Mul(t, h) "

constexpr GroupRow groupRows[] = {
    {"vit", "float16", 197, 197, 64, 64},
    {"bert", "float16", 128, 128, 64, 64, ", float16[1,1,1,128] m", SCALED "x = Add(u, m)"},
    {"causal", "float16", 140, 140, 64, 64, ", bool[140,140] c", SCALED HIDDEN("u")},
    {"rows_without_keys", "float16", 70, 140, 32, 32, ", bool[70,140] c", HIDDEN("t")},
    {"special", "float16", 40, 140, 64, 64, ", float16[40,140] m", "x = Add(t, m)"},
    {"cap", "float16", 70, 137, 64, 64, ", float16[1,1,137] m",
     SCALED "e = Tanh(u) k = Mul(e, h) x = Add(k, m)"},
    {"sharp", "float16", 40, 140, 64, 64, "",
     "f = Constant<value_float=3000.0>() h = Cast<to=10>(f) x = Mul(t, h)"},
    {"one_key", "float16", 64, 1, 64, 64},
    {"63_keys", "float16", 17, 63, 64, 64},
    {"64_keys", "float16", 33, 64, 64, 64},
    {"65_keys", "bfloat16", 66, 65, 64, 64},
    {"129_keys", "bfloat16", 70, 129, 64, 64},
    {"255_keys", "float16", 20, 255, 64, 64},
    {"257_keys", "float16", 20, 257, 64, 64},
    {"513_keys", "float16", 20, 513, 64, 64, ", float16[20,513] m", "x = Add(t, m)"},
    {"wide", "float16", 130, 70, 128, 128},
    {"wide_mask", "bfloat16", 20, 200, 128, 128, ", bfloat16[200] m", "x = Add(t, m)"},
    {"wide_keys", "float16", 40, 100, 128, 24},
    {"wide_values", "float16", 40, 100, 40, 80},
    {"of_96", "bfloat16", 70, 130, 96, 96},
    {"of_32", "float16", 20, 270, 32, 32},
    {"of_8", "float16", 40, 70, 8, 8},
};

Case groupCase(const GroupRow& row) {
    const std::string batch = std::string_view(row.name) == "bert" ? "1,2," : "1,";
    Case out;
    out.name = fmt::format("attention_group_{}", row.name);
    out.bodies = {fmt::format(
        "({0}[{1}{2},{4}] q, {0}[{1}{3},{4}] k0, {0}[{1}{3},{5}] v{6}) => ({0}[{1}{2},{5}] y) "
        "{{ j = Transpose<perm=[{7}]>(k0)  t = MatMul(q, j) {8} p = Softmax<axis=-1>(x) "
        "y = MatMul(p, v) }}",
        row.type, batch, row.l, row.s, row.d, row.e, row.inputs,
        batch == "1," ? "0,2,1" : "0,1,3,2", row.steps)};
    out.variants = "attention_wgmma attention_tensor attention_tiled attention_plain";
    out.special = std::string_view(row.name) == "special";
    out.capability = 90;
    return out;
}

} // namespace

std::vector<Case> attentionCases() {
    std::vector<Case> out;
    for (const GroupRow& row : groupRows)
        out.push_back(groupCase(row));
    const char* const onUnits = "attention_tensor attention_tiled attention_plain";
    auto add = [&](const std::string& name, const std::string& body) -> Case& {
        Case made;
        made.name = "attention_" + name;
        made.bodies = {body};
        made.variants = "attention_tiled attention_plain";
        out.push_back(std::move(made));
        return out.back();
    };
    add("heads_half", "(float16[2,3,70,16] q, float16[2,3,33,16] k, float16[2,3,33,24] v) => "
                      "(float16[2,3,70,24] y) { t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t) "
                      "c = Constant<value_float=0.25>()  h = Cast<to=10>(c)  m = Mul(s, h) "
                      "p = Softmax<axis=-1>(m) y = MatMul(p, v) }")
        .variants = onUnits;
    add("strided_mask",
        "(float[2,19,3,16] q, float[2,19,3,16] k, float[2,19,3,16] v, float[2,1,1,19] m) => "
        "(float[2,19,48] y) { a = Transpose<perm=[0,2,1,3]>(q) "
        "b = Transpose<perm=[0,2,3,1]>(k)  c = Transpose<perm=[0,2,1,3]>(v) "
        "s = MatMul(a, b)  e = Constant<value_float=4.0>()  d = Div(s, e)  x = Add(d, m) "
        "p = Softmax<axis=-1>(x)  o = MatMul(p, c)  t = Transpose<perm=[0,2,1,3]>(o) "
        "h = Constant<value_ints=[2,19,48]>()  y = Reshape(t, h) }");
    add("odd_dims_bfloat",
        "(bfloat16[5,13,11] q, bfloat16[5,11,13] k, bfloat16[5,13,7] v) => (bfloat16[5,13,7] y) "
        "{ s = MatMul(q, k)  p = Softmax<axis=-1>(s)  y = MatMul(p, v) }")
        .variants = onUnits;
    add("added_column", masked("float", "float[37,1] m", "x = Add(s, m)"));
    add("condition", masked("float", "bool[2,1,1,29] c",
                            "low = Constant<value_float=-9.0>()  x = Where(c, s, low)"));
    add("causal_hidden", masked("float", "bool[37,29] c",
                                "low = Constant<value_float=-50.0>()  x = Where(c, low, s)"));
    add("two_masks_half",
        masked("float16", "bool[37,29] c, float16[3,1,29] m",
               "f = Constant<value_float=-9.0>()  low = Cast<to=10>(f)  w = Where(c, s, low) "
               "x = Add(w, m)"))
        .variants = onUnits;
    // Every eighth row has no key at all, and gives what a softmax over minus infinities gives.
    add("rows_without_keys",
        "(float[4,40,6] q, float[4,6,3] k, float[4,3,5] v, bool[4,40,3] c) => (float[4,40,5] y) "
        "{ z = Constant<value_float=0.0>()  o = Constant<value_float=-1.0>()  low = Div(o, z) "
        "s = MatMul(q, k)  x = Where(c, s, low)  p = Softmax<axis=-1>(x)  y = MatMul(p, v) }");
    add("special_mask", masked("float", "float[37,29] m", "x = Add(s, m)")).special = true;
    add("rows_without_keys_half",
        "(float16[3,70,24] q, float16[3,24,3] k, float16[3,3,8] v, bool[3,70,3] c) => "
        "(float16[3,70,8] y) { z = Constant<value_float=0.0>()  o = Constant<value_float=-1.0>() "
        "d = Div(o, z)  low = Cast<to=10>(d)  s = MatMul(q, k)  x = Where(c, s, low) "
        "p = Softmax<axis=-1>(x)  y = MatMul(p, v) }")
        .variants = onUnits;
    add("wide_heads_bfloat",
        "(bfloat16[2,9,128] q, bfloat16[2,80,128] k, bfloat16[2,80,128] v) => (bfloat16[2,9,128] "
        "y) "
        "{ t = Transpose<perm=[0,2,1]>(k)  s = MatMul(q, t)  p = Softmax<axis=-1>(s) "
        "y = MatMul(p, v) }")
        .variants = onUnits;
    const std::string cap = "c = Constant<value_float=3.0>()  d = Div(s, c)  e = Tanh(d) "
                            "f = Mul(e, c)  ";
    add("cap_and_mask", masked("float", "float[37,29] m", cap + "x = Add(f, m)"));
    add("scale_of_each_head", masked("float", "float[3,1,1] h, bool[1,1,37,29] c",
                                     "low = Constant<value_float=-9.0>()  w = Where(c, s, low) "
                                     "x = Mul(h, w)"));
    const std::string sunk =
        "({0}[{1}] q, {0}[{2}] k, {0}[{2}] v, {0}[{3}] h) => ({0}[{1}] y) "
        "{{ t = Transpose<perm=[0,2,1]>(k)  w = Constant<value_ints=[{4}]>() "
        "z = Constant<value_ints=[0]>()  n = Constant<value_ints=[{5}]>() "
        "l = Constant<value_ints=[-1]>()  s = MatMul(q, t)  b = Expand(h, w) "
        "j = Concat<axis=-1>(s, b)  p = Softmax<axis=-1>(j)  g = Slice(p, z, n, l) "
        "y = MatMul(g, v) }}";
    add("sink",
        fmt::format(fmt::runtime(sunk), "float", "3,37,16", "3,29,16", "3,1,1", "3,37,1", 29));
    add("sink_of_each_row_half",
        fmt::format(fmt::runtime(sunk), "float16", "3,70,24", "3,33,24", "3,70,1", "3,70,1", 33))
        .variants = onUnits;
    add("decode_sink",
        fmt::format(fmt::runtime(sunk), "float16", "6,2,64", "6,333,64", "6,1,1", "6,2,1", 333))
        .variants = "attention_split attention_tiled attention_plain";
    const std::string guarded =
        "({0}[3,{1},{2}] q, {0}[3,{2},{3}] k, {0}[3,{3},{2}] v, bool[3,{1},{3}] c) => "
        "({0}[3,{1},{2}] y) {{ z = Constant<value_float=0.0>()  o = Constant<value_float=-1.0>() "
        "d = Div(o, z)  low = Cast<to={4}>(d)  none = Cast<to={4}>(z)  s = MatMul(q, k) "
        "x = Where(c, s, low)  p = Softmax<axis=-1>(x)  n = IsNaN(p)  w = Where(n, none, p) "
        "y = MatMul(w, v) }}";
    add("nan_is_zero", fmt::format(fmt::runtime(guarded), "float", 40, 6, 3, 1));
    add("nan_is_zero_half", fmt::format(fmt::runtime(guarded), "float16", 70, 32, 3, 10)).variants =
        onUnits;
    // A decoder's step: one query to a cache, in parts that do not end with its keys.
    add("decode_half", "(float16[2,3,1,64] q, float16[2,3,333,64] k, float16[2,3,333,64] v, "
                       "float16[2,1,1,333] m) => (float16[2,3,1,64] y) "
                       "{ t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t)  x = Add(s, m) "
                       "p = Softmax<axis=-1>(x)  y = MatMul(p, v) }")
        .variants = "attention_split attention_tiled attention_plain";
    add("decode_dropped_keys",
        "(float[3,2,16] q, float[3,130,16] k, float[3,130,16] v, bool[3,2,130] c) => "
        "(float[3,2,16] y) { t = Transpose<perm=[0,2,1]>(k)  z = Constant<value_float=0.0>() "
        "o = Constant<value_float=-1.0>()  low = Div(o, z)  s = MatMul(q, t) "
        "x = Where(c, s, low)  p = Softmax<axis=-1>(x)  y = MatMul(p, v) }")
        .variants = "attention_split attention_tiled attention_plain";
    add("decode_one_part",
        "(bfloat16[140,1,32] q, bfloat16[140,70,32] k, bfloat16[140,70,32] v) => "
        "(bfloat16[140,1,32] y) { t = Transpose<perm=[0,2,1]>(k)  s = MatMul(q, t) "
        "p = Softmax<axis=-1>(s)  y = MatMul(p, v) }")
        .variants = "attention_split attention_plain";
    const char* const onGroups = "attention_wgmma attention_tensor attention_tiled attention_plain";
    auto addGroups = [&](const std::string& name, const std::string& body) -> Case& {
        Case& made = add(name, body);
        made.variants = onGroups;
        made.capability = 90;
        return made;
    };
    // Heads of one packed projection, in place, for queries and results as well.
    Case& packed = addGroups(
        "group_packed",
        "(float16[1,131,2,64] q, float16[1,131,2,64] k, float16[1,131,2,64] v) => "
        "(float16[1,131,2,64] y) { a = Transpose<perm=[0,2,1,3]>(q) "
        "b = Transpose<perm=[0,2,3,1]>(k)  c = Transpose<perm=[0,2,1,3]>(v) s = MatMul(a, b) "
        "p = Softmax<axis=-1>(s)  o = MatMul(p, c)  y = Transpose<perm=[0,2,1,3]>(o) }");
    for (const char* operand : {"in0", "in1", "in2"})
        packed.placements[operand] = {{}, 384};
    Case& few = addGroups("group_few_blocks",
                          "(float16[1,70,64] q, float16[1,140,64] k, float16[1,140,64] v) => "
                          "(float16[1,70,64] y) { t = Transpose<perm=[0,2,1]>(k)  s = MatMul(q, t) "
                          "p = Softmax<axis=-1>(s)  y = MatMul(p, v) }");
    few.units = 132;
    // Two heads of queries to each head of keys.
    addGroups("group_shared_keys",
              "(float16[2,2,20,64] q, float16[2,1,70,64] k, float16[2,1,70,64] v) => "
              "(float16[2,2,20,64] y) { t = Transpose<perm=[0,1,3,2]>(k)  s = MatMul(q, t) "
              "p = Softmax<axis=-1>(s)  y = MatMul(p, v) }");
    addGroups("group_sink", fmt::format(fmt::runtime(sunk), "float16", "3,40,64", "3,140,64",
                                        "3,1,1", "3,40,1", 140));
    addGroups("group_sink_of_each_row", fmt::format(fmt::runtime(sunk), "bfloat16", "3,70,32",
                                                    "3,33,32", "3,70,1", "3,70,1", 33));
    addGroups("group_nan_is_zero", fmt::format(fmt::runtime(guarded), "float16", 70, 32, 24, 10))
        .placements["in1"] = {{0, 2, 1}};
    const std::string vit = "(float16[384,197,64] q, float16[384,197,64] k, float16[384,197,64] v) "
                            "=> (float16[384,197,64] y) { t = Transpose<perm=[0,2,1]>(k) "
                            "s = MatMul(q, t)  p = Softmax<axis=-1>(s)  y = MatMul(p, v) }";
    Case& whole = add("vit", vit);
    whole.variants = onUnits;
    whole.compileOnly = true;
    addGroups("group_vit_whole", vit).compileOnly = true;
    add("wide_heads",
        "(float[1,2,9,128] q, float[1,2,128,20] k, float[1,2,20,128] v) => (float[1,2,9,128] y) "
        "{ s = MatMul(q, k)  p = Softmax<axis=-1>(s)  y = MatMul(p, v) }");
    add("double_precision",
        "(double[2,5,6] q, double[2,6,9] k, double[2,9,3] v) => (double[2,5,3] y) "
        "{ s = MatMul(q, k)  p = Softmax<axis=-1>(s)  y = MatMul(p, v) }")
        .variants = "attention_plain";
    return out;
}

} // namespace fuselage::gpu_suite
