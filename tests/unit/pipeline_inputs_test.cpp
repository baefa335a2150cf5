// SPDX-License-Identifier: Apache-2.0
// Integer inputs that are generated: of both signs and to the ends of their types where they are
// only computed with, legal where they look up, shape, count or hide.
#include "app/pipeline/inputs.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;

namespace {

/// The elements of the first input over several seeds.
std::vector<int64_t> drawn(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    inferShapes(*graph);
    std::vector<int64_t> out;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        auto inputs = app::generateInputs(*graph, seed);
        EXPECT_TRUE(inputs) << (inputs ? "" : inputs.error().text());
        for (int64_t item : (*inputs)[0].toInts())
            out.push_back(item);
    }
    return out;
}

struct Ends {
    int64_t least = 0, most = 0;

    friend bool operator==(const Ends&, const Ends&) = default;
};

Ends endsOf(const std::vector<int64_t>& items) {
    const auto [least, most] = std::minmax_element(items.begin(), items.end());
    return {*least, *most};
}

} // namespace

/// Places in tables, as graph networks and embeddings of several fields write them.
TEST(GeneratedInputs, PlacesStayInTheirTables) {
    struct Case {
        const char* text;
        int64_t most;
    };
    for (const auto& [text, most] :
         {Case{"g (int64[2,9] x, float[5,4] t) => (float[5,4] y) <int64 zero = {0}, int64[2] s = "
               "{9, 4}, int64[1] a = {1}, int64[9] loops = {0,1,2,3,4,0,1,2,3}> { r = Gather"
               "<axis = 0>(x, zero) c = Concat<axis = 0>(r, loops) u = Unsqueeze(c, a) "
               "i = Expand(u, s) v = GatherElements<axis = 0>(t, i) y = ScatterElements<axis = 0,"
               " reduction = \"add\">(t, i, v) }",
               4},
          Case{"g (int64[6,3] x, float[100,4] t) => (float[6,3,4] y) <int64[3] offsets = {0, 10, "
               "60}> { i = Add(x, offsets) y = Gather(t, i) }",
               39},
          Case{"g (int64[7,2] x, float[6,3,2] t) => (float[7,2] y) { y = GatherND(t, x) }", 2},
          Case{"g (int64[7,1] x, float[9,2] t, float[7,2] u) => (float[9,2] y) { y = "
               "ScatterND(t, x, u) }",
               8}}) {
        const Ends ends = endsOf(drawn(text));
        EXPECT_EQ(ends.least, 0) << text;
        EXPECT_EQ(ends.most, most) << text;
    }
}

/// Tuples of more numbers than a table has dimensions, and tables that nobody knows.
TEST(GeneratedInputs, PlacesThatNoTableHasEndTheSearch) {
    for (const char* text :
         {"g (int64[1] x, float[4,4] t) => (float[M] y) <int64[2] s = {1, 1099511627776}> { i = "
          "Expand(x, s) y = GatherND<batch_dims = 9>(t, i) }",
          "g (int64[1] x, float[4,4] t) => (float[M] y) <int64[2] s = {1, 1099511627776}> { i = "
          "Expand(x, s) y = GatherND(t, i) }",
          "g (int64[3] x, float t) => (y) { u = Unknown.Op(t) y = Gather(u, x) }"}) {
        auto graph = model_io::loadText(text);
        if (!graph)
            continue; // refused before
        inferShapes(*graph);
        EXPECT_TRUE(app::generateInputs(*graph, 1)) << text;
    }
}

TEST(GeneratedInputs, IntegersThatAreComputedWithReachTheEndsOfTheirType) {
    const Ends int32 = endsOf(drawn("g (int32[64] x, int32[64] z) => (int32[64] y) {"
                                    " a = Add(x, z) y = Neg(a) }"));
    EXPECT_LE(int32.least, INT32_MIN + 2);
    EXPECT_GE(int32.most, INT32_MAX - 2);
    const Ends int8 = endsOf(drawn("g (int8[64] x) => (int8[8,8] y) <int64[2] s = {8, 8}> {"
                                   " a = Abs(x) y = Reshape(a, s) }"));
    EXPECT_LE(int8.least, -126);
    EXPECT_GE(int8.most, 125);
}

/// What is made of them has less room: sums, floats.
TEST(GeneratedInputs, IntegersThatAreSummedOrBecomeFloatsAreSmall) {
    for (const char* text : {"g (int32[64] x) => (float[64] y) { y = Cast<to = 1>(x) }",
                             "g (int32[8,8] x, int32[8,8] z) => (int32[8,8] y) {"
                             " a = Neg(x) y = MatMul(z, a) }"})
        EXPECT_EQ(endsOf(drawn(text)), (Ends{-9, 9})) << text;
    EXPECT_EQ(endsOf(drawn("g (int32[64] x, int32[64] z) => (int32[64] y) { y = Div(z, x) }")),
              (Ends{1, 9}));
}

TEST(GeneratedInputs, WhatLooksUpShapesCountsOrHidesStaysLegal) {
    EXPECT_EQ(endsOf(drawn("g (int64[64] x, float[5,2] t) => (float[64,2] y) {"
                           " c = Identity(x) y = Gather(t, c) }")),
              (Ends{0, 4}));
    for (const char* text :
         {"g (int64[2] x, float[1,1] t) => (float[n,m] y) { y = Expand(t, x) }",
          "g (int64[64] o, int64[64] x, float[5] t) => (float[64] y) {"
          " s = Mul(x, o) y = GatherElements(t, s) }",
          "g (int64[1] x, float[5] t) => (float[k] y, int64[k] i) { y, i = TopK(t, x) }"}) {
        const Ends ends = endsOf(drawn(text));
        EXPECT_GE(ends.least, 0) << text;
        EXPECT_LE(ends.most, 1) << text;
    }
    EXPECT_EQ(endsOf(drawn("g (int64[64] pad_mask) => (int64[64] y) { y = Neg(pad_mask) }")),
              (Ends{1, 1}));
}

namespace {

/// What element type `type` does with a number: "ok" where all elements hold it.
std::string heldBy(const std::string& type, double number) {
    auto graph = model_io::loadText("g (" + type + "[2,3] x, float[1] z) => (" + type +
                                    "[2,3] y) { y = Identity(x) }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    auto inputs = app::generateInputs(*graph, 1);
    EXPECT_TRUE(inputs);
    const double other = (*inputs)[1].at(0);
    auto set = app::setInputs(*graph, {{"x", {number}}}, *inputs);
    if (!set)
        return set.error().text();
    EXPECT_EQ((*inputs)[1].at(0), other);
    for (int64_t i = 0; i < 6; ++i)
        EXPECT_EQ((*inputs)[0].at(i), number) << type;
    return "ok";
}

} // namespace

TEST(GeneratedInputs, LengthsOfCachesAreThoseOfTheCache) {
    const std::string rest = ", float[1,2,7,4] past_key) => (int32[2] y, float[1,2,7,4] z) {";
    EXPECT_EQ(
        endsOf(drawn("g (int32[2] seqlens_k" + rest + " y = Neg(seqlens_k) z = Neg(past_key) }")),
        (Ends{6, 6}));
    EXPECT_EQ(endsOf(drawn("g (int32[2] total_sequence_length" + rest +
                           " y = Neg(total_sequence_length) z = Neg(past_key) }")),
              (Ends{7, 7}));
    EXPECT_EQ(endsOf(drawn("g (int32[64] seqlens_k) => (int32[64] y) { y = Neg(seqlens_k) }")),
              (Ends{0, 1}));
}

TEST(GeneratedInputs, OnlyTensorsAreMade) {
    auto graph = model_io::loadText("g (seq(float[N]) s) => (int64 n) { n = SequenceLength(s) }");
    ASSERT_TRUE(graph) << graph.error().text();
    for (const auto& inputs : {app::generateInputs(*graph, 1), app::readTensors(".", *graph)}) {
        ASSERT_FALSE(inputs);
        EXPECT_NE(inputs.error().text().find("a run can be given tensors only"), std::string::npos)
            << inputs.error().text();
    }
}

TEST(SetInputs, HoldWhatTheirTypeHolds) {
    for (const auto& [type, number] : {std::pair("float", 0.25),
                                       {"int64", 16000.0},
                                       {"int8", -128.0},
                                       {"uint64", 0.0},
                                       {"bool", 1.0},
                                       {"float16", 2.0}})
        EXPECT_EQ(heldBy(type, number), "ok") << type;
    for (const auto& [type, number] : {std::pair("int64", 1.5),
                                       {"int64", 1e300},
                                       {"int8", 128.0},
                                       {"uint64", -1.0},
                                       {"bool", 2.0},
                                       {"int32", std::nan("")},
                                       {"float", 1e50},
                                       {"float16", 1e5}})
        EXPECT_NE(heldBy(type, number).find("input `x` is "), std::string::npos) << type;
}

TEST(SetInputs, IntegersKeepEveryDigit) {
    const auto heldAs = [](const std::string& type, const std::string& text) {
        auto graph = model_io::loadText("g (" + type + " x) => (" + type + " y) { y = Neg(x) }");
        auto inputs = app::generateInputs(*graph, 1);
        const auto number = app::inputNumber(text);
        auto set = app::setInputs(*graph, {{"x", *number}}, *inputs);
        return set ? std::to_string((*inputs)[0].intAt(0)) : set.error().message;
    };
    for (const char* number : {"9007199254740993", "9223372036854775807", "-9223372036854775808",
                               "-9007199254740993", "7"})
        EXPECT_EQ(heldAs("int64", number), number);
    EXPECT_EQ(heldAs("uint64", "9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(heldAs("int64", "1e3"), "1000");
    EXPECT_EQ(heldAs("int32", "9007199254740993"),
              "input `x` is int32, which has no 9007199254740993");
    EXPECT_EQ(heldAs("int64", "9223372036854775808"),
              "input `x` is int64, which has no 9.223372036854776e+18");
    EXPECT_FALSE(app::inputNumber("12x"));
    EXPECT_FALSE(app::inputNumber(""));
}

TEST(SetInputs, NamesTheInputsThatThereAre) {
    auto graph = model_io::loadText("g (float[1] x, int64 rate) => (float[1] y) { y = Abs(x) }");
    ASSERT_TRUE(graph);
    auto inputs = app::generateInputs(*graph, 1);
    ASSERT_TRUE(inputs);
    auto set = app::setInputs(*graph, {{"Rate", {1}}}, *inputs);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, "run.set");
    EXPECT_EQ(set.error().fix, "one of: x, rate");
}
