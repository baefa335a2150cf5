// SPDX-License-Identifier: Apache-2.0
// Names and numbers for input dimensions.
#include "core/passes/passes.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;

namespace {

GraphMaker addInputs() {
    GraphMaker m;
    ValueId a = m.input("a", {Dim::symbol("N"), 3, Dim()});
    m.output(m.node(Op::Relu, {a}, "y"));
    return m;
}

} // namespace

TEST(BindDimensions, NamedSymbolsBecomeNumbersEverywhere) {
    GraphMaker m = addInputs();
    inferShapes(m.graph);
    ASSERT_TRUE(bindDimensions(m.graph, {{"N", 4}}));
    EXPECT_EQ(m.typeOf("a"), "float[4,3,a_dim2]");
    EXPECT_EQ(m.typeOf("y"), "float[4,3,a_dim2]");
}

TEST(BindDimensions, UnknownNameIsAnErrorThatListsTheNames) {
    GraphMaker m = addInputs();
    auto done = bindDimensions(m.graph, {{"batch", 4}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "dim.unknown");
    EXPECT_EQ(done.error().fix, "use one of: N, a_dim2");
}

TEST(BindDimensions, NumbersThatContradictTheGraphAreAnError) {
    GraphMaker m;
    ValueId a = m.input("a", {Dim::symbol("N")});
    m.output(m.node(Op::Add, {a, m.input("b", {3})}, "y"));
    auto done = bindDimensions(m.graph, {{"N", 4}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "dim.contradiction");
}

TEST(BindAllDimensions, EveryDimensionGetsANumber) {
    GraphMaker m = addInputs();
    auto chosen = bindAllDimensions(m.graph, {{"a_dim2", 7}});
    EXPECT_EQ(m.typeOf("y"), "float[1,3,7]");
    EXPECT_EQ(chosen, (std::map<std::string, int64_t>{{"N", 1}, {"a_dim2", 7}}));
}
