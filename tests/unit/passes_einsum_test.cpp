// SPDX-License-Identifier: Apache-2.0
// Einsum written out as products and views: random equations against the operator itself, and what
// stays an Einsum.
#include "core/graph/verify.h"
#include "core/passes/einsum.h"
#include "core/passes/passes.h"
#include "tests/unit/passes_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuselage;
using fuselage::test::parsed;
using fuselage::test::resultsOf;

namespace {

Graph inferred(const std::string& text) {
    Graph graph = parsed(text, 17);
    inferShapes(graph);
    return graph;
}

bool writeOut(Graph& graph) {
    bool any = false;
    for (NodeId id : graph.nodes())
        any = writeOutEinsum(graph, id) || any;
    EXPECT_TRUE(verify(graph));
    return any;
}

/// Two terms and a result of up to six letters, each of a size of its own.
struct Equation {
    std::string a, b, y;

    static int64_t extentOf(char letter) { return 2 + (letter - 'a') % 3; }

    static std::string typeOf(const std::string& term) {
        std::string out;
        for (char letter : term)
            out += fmt::format("{}{}", out.empty() ? "" : ",", extentOf(letter));
        return out.empty() ? "float" : "float[" + out + "]";
    }

    std::string model() const {
        return fmt::format(
            "g ({} a, {} b) => ({} y) {{ y = Einsum<equation=\"{},{}->{}\">(a, b) }}", typeOf(a),
            typeOf(b), typeOf(y), a, b, y);
    }
};

/// Each letter belongs to the operands and to the result or not.
Equation drawn(std::mt19937& random) {
    Equation out;
    for (char letter = 'a'; letter < 'g'; ++letter)
        switch (random() % 6) {
        case 0: // not at all
            break;
        case 1:
            out.a += letter;
            out.y += letter;
            break;
        case 2:
            out.b += letter;
            out.y += letter;
            break;
        case 3:
            out.a += letter;
            out.b += letter;
            break;
        case 4:
            (random() % 2 == 0 ? out.a : out.b) += letter;
            break;
        default:
            out.a += letter;
            out.b += letter;
            out.y += letter;
        }
    for (std::string* term : {&out.a, &out.b, &out.y})
        std::shuffle(term->begin(), term->end(), random);
    return out;
}

std::vector<ReferenceValue> inputsFor(const Graph& graph, std::mt19937& random) {
    std::vector<ReferenceValue> out;
    for (ValueId id : graph.inputs()) {
        ReferenceValue value;
        value.dtype = DType::Float32;
        value.extents = *graph.value(id).type.extents();
        value.floats.resize(static_cast<size_t>(*elementCount(value.extents)));
        for (double& number : value.floats)
            number = static_cast<double>(random() % 17) - 8; // sums of these are exact
        out.push_back(std::move(value));
    }
    return out;
}

} // namespace

TEST(Einsum, AnyEquationOfTwoOperandsIsAProduct) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        const Equation equation = drawn(random);
        SCOPED_TRACE(equation.model());
        const Graph whole = inferred(equation.model());
        Graph written = whole.clone();
        ASSERT_TRUE(writeOut(written));
        const auto inputs = inputsFor(whole, random);
        const auto wanted = resultsOf(whole, inputs), got = resultsOf(written, inputs);
        ASSERT_EQ(wanted.size(), got.size());
        EXPECT_EQ(got[0].extents, wanted[0].extents);
        EXPECT_EQ(got[0].floats, wanted[0].floats);
    }
}

TEST(Einsum, AnEllipsisStandsForDimensionsInFront) {
    std::mt19937 random(3);
    const Graph whole = inferred("g (float[2,3,4,5] a, float[3,5,6] b) => (float[2,3,6,4] y) "
                                 "{ y = Einsum<equation=\"...ij,...jk->...ki\">(a, b) }");
    Graph same = inferred("g (float[3,4,5] a, float[3,5,6] b) => (float[3,6,4] y) "
                          "{ y = Einsum<equation=\"...ij, ...jk -> ...ki\">(a, b) }");
    const Graph before = same.clone();
    ASSERT_TRUE(writeOut(same));
    const auto inputs = inputsFor(before, random);
    EXPECT_EQ(resultsOf(same, inputs)[0].floats, resultsOf(before, inputs)[0].floats);
    // Of different ranks the longer one has a row of its own.
    Graph longer = whole.clone();
    ASSERT_TRUE(writeOut(longer));
    const auto more = inputsFor(whole, random);
    EXPECT_EQ(resultsOf(longer, more)[0].floats, resultsOf(whole, more)[0].floats);
}

TEST(Einsum, AnyNumberOfOperands) {
    std::mt19937 random(5);
    for (const char* model :
         {"g (float[3,4,2] a) => (float[2,3] y) { y = Einsum<equation=\"ijk->ki\">(a) }",
          "g (float[3,4] a, float[4] b) => (float[4] y) { y = Einsum<equation=\"ij,j->j\">(a, b) }",
          "g (float[3,4] a, float[5,2] b) => (float[2] y) { y = Einsum<equation=\"ij,kl->l\">(a, "
          "b) }",
          "g (float[3,4] a, float[4,5] b, float[5,2] c) => (float[2,3] y) "
          "{ y = Einsum<equation=\"ij,jk,kl->li\">(a, b, c) }",
          "g (float[3,4] a, float[5,2] b, float[4,2] c) => (float[3,5] y) "
          "{ y = Einsum<equation=\"ab,cd,bd->ac\">(a, b, c) }",
          "g (float[2,3] a, float[2,3] b, float[2] c, float[3] d) => (float[3,2] y) "
          "{ y = Einsum<equation=\"ij,ij,i,j->ji\">(a, b, c, d) }"}) {
        SCOPED_TRACE(model);
        const Graph whole = inferred(model);
        Graph written = whole.clone();
        ASSERT_TRUE(writeOut(written));
        const auto inputs = inputsFor(whole, random);
        EXPECT_EQ(resultsOf(written, inputs)[0].floats, resultsOf(whole, inputs)[0].floats);
    }
    Graph nothing = inferred("g (float[3,4] x) => (float[3,4] y) { a = Relu(x) "
                             "b = Einsum<equation=\"ij->ij\">(a)  y = Neg(b) }");
    EXPECT_TRUE(writeOut(nothing));
}

TEST(Einsum, ThatChangesNothingKeepsTheNameOfItsResult) {
    for (const char* model :
         {"g (float[3,4] x) => (float[3,4] y) { y = Einsum<equation=\"ij->ij\">(x) }",
          "g (float[3,4] x) => (float[3,4] y) "
          "{ a = Relu(x)  y = Einsum<equation=\"ij->ij\">(a) }"}) {
        SCOPED_TRACE(model);
        Graph graph = inferred(model);
        EXPECT_TRUE(writeOut(graph));
        Progress progress;
        ASSERT_TRUE(prepareGraph(graph, progress));
        EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
        EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
        for (NodeId id : graph.nodes())
            EXPECT_NE(graph.node(id).op, Op::Einsum);
    }
}

TEST(Einsum, WhatIsNoProductStays) {
    for (const char* model :
         {"g (float[3,3] a, float[3] b) => (float[3] y) { y = Einsum<equation=\"ii,i->i\">(a, b) }",
          "g (float[3,1] a, float[4,5] b) => (float[3,5] y) "
          "{ y = Einsum<equation=\"ij,jk->ik\">(a, b) }",
          "g (float[N,4] a, float[4,5] b) => (float[N,5] y) "
          "{ y = Einsum<equation=\"ij,jk->ik\">(a, b) }",
          "g (int64[3,4] a, int64[4,5] b) => (int64[3,5] y) "
          "{ y = Einsum<equation=\"ij,jk->ik\">(a, b) }",
          "g (float[3,0] a, float[0,5] b) => (float[3,5] y) "
          "{ y = Einsum<equation=\"ij,jk->ik\">(a, b) }"}) {
        SCOPED_TRACE(model);
        Graph graph = inferred(model);
        EXPECT_FALSE(writeOut(graph));
    }
}
