// SPDX-License-Identifier: Apache-2.0
// Names and numbers for input dimensions.
#include "core/passes/dimensions.h"
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

/// A pool of 2x2 over an image of this shape.
GraphMaker pooled(Shape image) {
    GraphMaker m;
    ValueId x = m.input("x", std::move(image));
    m.output(m.node(Op::MaxPool, {x}, "y", {{"kernel_shape", std::vector<int64_t>{2, 2}}}));
    return m;
}

Dim symbol(const char* name) {
    return Dim::symbol(name);
}

} // namespace

TEST(BindDimensions, NamedSymbolsBecomeNumbersEverywhere) {
    GraphMaker m = addInputs();
    inferShapes(m.graph);
    ASSERT_TRUE(bindDimensions(m.graph, {{"N", 4}}));
    EXPECT_EQ(m.typeOf("a"), "float[4,3,a.2]");
    EXPECT_EQ(m.typeOf("y"), "float[4,3,a.2]");
}

TEST(BindDimensions, UnknownNameIsAnErrorThatListsTheNames) {
    GraphMaker m = addInputs();
    auto done = bindDimensions(m.graph, {{"batch", 4}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "dim.unknown");
    EXPECT_EQ(done.error().fix, "use one of: N, a.2");
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
    auto chosen = bindAllDimensions(m.graph, {{"a.2", 7}});
    EXPECT_EQ(m.typeOf("y"), "float[1,3,7]");
    EXPECT_EQ(chosen, (std::map<std::string, int64_t>{{"N", 1}, {"a.2", 7}}));
}

TEST(BindDimensions, AnAxisIsNamedByItsInput) {
    GraphMaker m = addInputs();
    ASSERT_TRUE(bindDimensions(m.graph, {{"a.0", 4}, {"a.2", 5}}));
    EXPECT_EQ(m.typeOf("y"), "float[4,3,5]");
    GraphMaker fixed = addInputs();
    auto done = bindDimensions(fixed.graph, {{"a.1", 4}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "`a.1` is 3 in the file, not 4");
    EXPECT_TRUE(bindDimensions(fixed.graph, {{"a.1", 3}}));
}

TEST(BindDimensions, AnAxisMayLeaveTheNameThatItShares) {
    GraphMaker m;
    m.output(m.node(Op::Relu, {m.input("x", {symbol("N"), 3, symbol("N")})}, "y"));
    std::vector<std::string> notes;
    ASSERT_TRUE(bindDimensions(m.graph, {{"N", 1}, {"x.2", 320}}, notes));
    EXPECT_EQ(m.typeOf("y"), "float[1,3,320]");
    EXPECT_EQ(notes, std::vector<std::string>{"`x.2` = 320, though other axes called `N` are 1"});
}

TEST(ResolveDimensions, AnAxisOfAnotherSizeStaysOpenUnderANameOfItsOwn) {
    GraphMaker m;
    ValueId a = m.input("a", {symbol("N"), 8}), b = m.input("b", {symbol("N"), 8});
    m.output(m.node(Op::Add, {a, b}, "y"));
    m.graph.setType(m.graph.findValue("y"), tensorType(DType::Float32, {symbol("N"), 8}));
    std::vector<std::string> notes;
    const auto sizes = resolveDimensions(m.graph, {{"a.0", 1}, {"b.0", 4}}, notes);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(*sizes, (DimensionValues{{"N", 1}, {"b.0", 4}}));
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("a"), "float[N,8]");
    EXPECT_EQ(m.typeOf("b"), "float[b.0,8]") << "no size is written into the file";
    EXPECT_EQ(m.typeOf("y").find('4'), std::string::npos) << m.typeOf("y");
}

TEST(BindDimensions, AnInputWithoutRankIsSaid) {
    GraphMaker m;
    ValueId x = m.input("x", {3});
    m.graph.setType(x, Type{TypeKind::Tensor, DType::Float32});
    m.output(m.node(Op::Relu, {x}, "y"));
    auto done = bindDimensions(m.graph, {{"x.0", 3}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fix, "the file does not say how many dimensions `x` has: a tensor given "
                                "for it does, --inputs with x.npy");
}

TEST(BindDimensions, ZeroIsALength) {
    GraphMaker m = addInputs();
    ASSERT_TRUE(bindDimensions(m.graph, {{"N", 0}}));
    EXPECT_EQ(m.typeOf("y"), "float[0,3,a.2]");
}

TEST(SeparatePlaceholders, EachIsAnUnknownOfItsOwn) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("?"), 3, symbol("?"), 0});
    ValueId b = m.input("b", {symbol("N"), symbol("-1"), Dim(), Dim(-1)});
    m.output(m.node(Op::Relu, {x}, "y"));
    m.output(m.node(Op::Relu, {b}, "z"));
    m.graph.setType(m.graph.findValue("y"), tensorType(DType::Float32, {symbol("?"), 3, 0, 0}));
    EXPECT_EQ(separatePlaceholders(m.graph),
              std::vector<std::string>{"the file leaves sizes of its inputs open; they are called "
                                       "x.0, x.2, x.3, b.1, b.2, b.3"});
    EXPECT_EQ(m.typeOf("x"), "float[x.0,3,x.2,x.3]");
    EXPECT_EQ(m.typeOf("b"), "float[N,b.1,b.2,b.3]");
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("y"), "float[x.0,3,x.2,x.3]") << "what is declared so says nothing";
    EXPECT_TRUE(separatePlaceholders(m.graph).empty()) << "now they have names";
}

TEST(BindToInputs, BindsWhatHasNoNameAndLengthsOfZero) {
    GraphMaker m = addInputs();
    std::vector<std::string> notes;
    ASSERT_TRUE(
        bindToInputs(m.graph, std::vector<Tensor>{Tensor(DType::Float32, {0, 3, 5})}, {}, notes));
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("y"), "float[0,3,5]");
    EXPECT_TRUE(notes.empty());
}

TEST(BindToInputs, OneNameForTwoSizesIsSaid) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("N"), 4});
    ValueId b = m.input("b", {symbol("N"), 4});
    ValueId y = m.node(Op::Concat, {x, b}, "y", {{"axis", int64_t(0)}});
    m.output(y);
    m.graph.setType(y, tensorType(DType::Float32, {symbol("N"), 4}));
    std::vector<std::string> notes;
    ASSERT_TRUE(bindToInputs(
        m.graph,
        std::vector<Tensor>{Tensor(DType::Float32, {2, 4}), Tensor(DType::Float32, {3, 4})}, {},
        notes));
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("y"), "float[5,4]");
    EXPECT_EQ(notes, std::vector<std::string>{"dimension `N` has two sizes, x.0 = 2 and b.0 = 3: "
                                              "each axis is its own"});
}

TEST(BindToInputs, WhatAPersonSaysMustAgree) {
    GraphMaker m = addInputs();
    const std::vector<Tensor> inputs{Tensor(DType::Float32, {2, 3, 5})};
    std::vector<std::string> notes;
    auto done = bindToInputs(m.graph, inputs, {{"N", 4}}, notes);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "dim.contradiction");
    EXPECT_EQ(done.error().message, "`N` is given as 4, but axis 0 of the given input `a` is 2");
    EXPECT_EQ(bindToInputs(m.graph, inputs, {{"M", 4}}, notes).error().code, "dim.unknown");
    EXPECT_TRUE(bindToInputs(m.graph, inputs, {{"N", 2}, {"a.2", 5}}, notes));
}

TEST(BindToInputs, OtherTypesAndNumbersAreErrors) {
    GraphMaker m = addInputs();
    std::vector<std::string> notes;
    for (const Tensor& wrong : {Tensor(DType::Float32, {2, 3}), Tensor(DType::Int64, {2, 3, 5}),
                                Tensor(DType::Float32, {2, 4, 5})})
        EXPECT_EQ(bindToInputs(m.graph, std::vector<Tensor>{wrong.clone()}, {}, notes).error().code,
                  "run.input");
    EXPECT_EQ(bindToInputs(m.graph, {}, {}, notes).error().code, "run.input");
}

TEST(ChooseDimensions, OneWhereThatFits) {
    GraphMaker m = addInputs();
    inferShapes(m.graph);
    auto chosen = chooseDimensions(m.graph, {{"N", 4}});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->values, (DimensionValues{{"N", 4}, {"a.2", 1}}));
    EXPECT_EQ(chosen->note, "nothing gives sizes for open dimensions: 1 is taken for a.2; "
                            "--dim a.2=SIZE takes another");
    EXPECT_EQ(m.typeOf("y"), "float[N,3,a.2]") << "the graph stays as it is";
    chosen = chooseDimensions(m.graph, {{"N", 4}, {"a.2", 2}});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->note, "");
}

TEST(ChooseDimensions, APictureHasMoreThanOnePixel) {
    GraphMaker m = pooled({symbol("N"), 3, symbol("H"), symbol("W")});
    auto chosen = chooseDimensions(m.graph, {});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->values, (DimensionValues{{"H", 224}, {"N", 1}, {"W", 224}}));
    EXPECT_EQ(chosen->note, "nothing gives sizes for open dimensions: taken are H=224, N=1, "
                            "W=224; --dim H=SIZE takes another");
}

TEST(ChooseDimensions, APictureThatDoesNotFitIsTheSmallestThatDoes) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("N"), 3, symbol("H"), symbol("W")});
    m.output(m.node(Op::Add, {x, m.input("y", {1, 3, 64, 64})}, "sum"));
    auto chosen = chooseDimensions(m.graph, {});
    ASSERT_TRUE(chosen);
    EXPECT_NE(chosen->values.at("H"), 224);
}

TEST(ChooseDimensions, AnImageGetsAMultipleOf32) {
    GraphMaker m = pooled({symbol("N"), 8, symbol("H"), symbol("W")}); // no picture
    auto chosen = chooseDimensions(m.graph, {});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->values, (DimensionValues{{"H", 32}, {"N", 1}, {"W", 32}}));
    EXPECT_EQ(chosen->note, "nothing gives sizes for open dimensions: the smallest that were found "
                            "to fit are H=32, N=1, W=32; --dim H=SIZE takes another");
}

TEST(ChooseDimensions, WhatIsGivenStays) {
    GraphMaker m = pooled({1, 3, symbol("H"), symbol("W")});
    auto chosen = chooseDimensions(m.graph, {{"H", 7}});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->values, (DimensionValues{{"H", 7}, {"W", 2}}));
}

TEST(ChooseDimensions, OperandsSuggestSizes) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("N"), symbol("K")});
    ValueId h = m.node(Op::MatMul, {x, m.input("w", {37, 5})}, "h");
    ValueId tail = m.node(Op::Reshape, {m.input("t", {symbol("T")}), m.ints("to", {7, 11})}, "r");
    m.output(h);
    m.output(tail);
    auto chosen = chooseDimensions(m.graph, {});
    ASSERT_TRUE(chosen) << chosen.error().message;
    EXPECT_EQ(chosen->values, (DimensionValues{{"K", 37}, {"N", 1}, {"T", 77}}));
}

TEST(ChooseDimensions, WhereNothingFitsTheDimensionsAreNamed) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("N"), 3});
    m.output(m.node(Op::MatMul, {x, m.input("w", {4, 5})}, "y"));
    auto chosen = chooseDimensions(m.graph, {});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code, "dim.open");
    EXPECT_NE(chosen.error().message.find("no sizes were found that fit for N; at N=1 MatMul"),
              std::string::npos)
        << chosen.error().message;
    EXPECT_EQ(chosen.error().fix, "give them with --dim N=SIZE, or give inputs");
}

TEST(SeparateSharedNames, EachAxisIsItsOwn) {
    GraphMaker m;
    ValueId x = m.input("x", {symbol("N"), symbol("M"), symbol("N")});
    m.output(m.node(Op::Relu, {x}, "y"));
    EXPECT_TRUE(separateSharedNames(m.graph, {{"N", 2}}).empty());
    EXPECT_EQ(separateSharedNames(m.graph, {}),
              std::vector<std::string>{"the graph does not fit one size for `N`: each axis that is "
                                       "called so is its own, x.0, x.2"});
    EXPECT_EQ(m.typeOf("x"), "float[x.0,M,x.2]");
}

TEST(PrepareGraph, DeclarationsThatAreWrongAreNotes) {
    GraphMaker m;
    ValueId x = m.input("x", {2, 3});
    ValueId a = m.node(Op::Relu, {x}, "a");
    ValueId y = m.node(Op::Exp, {a}, "y");
    m.output(y);
    m.graph.setType(a, tensorType(DType::Float32, {7, 3}));
    m.graph.setType(y, tensorType(DType::Float32, {1, 3}));
    Progress progress;
    std::vector<std::string> notes;
    ASSERT_TRUE(prepareGraph(m.graph, progress, &notes));
    EXPECT_EQ(notes,
              (std::vector<std::string>{
                  "`a` is declared as float[7,3], but is float[2,3]: the declaration is ignored",
                  "output `y` is declared as float[1,3], but is float[2,3]: the declaration is "
                  "ignored"}));
    EXPECT_EQ(m.typeOf("y"), "float[2,3]");
}

TEST(ForgetShape, WhatFollowsIsForgottenToo) {
    GraphMaker m;
    ValueId c = m.input("c", {4}, DType::Bool);
    ValueId n = m.node(Op::NonZero, {c}, "n");
    m.output(m.node(Op::Neg, {n}, "y"));
    m.graph.setType(n, tensorType(DType::Int64, {1, 2}));
    inferShapes(m.graph);
    EXPECT_EQ(m.typeOf("y"), "int64[1,2]");
    EXPECT_TRUE(forgetShape(m.graph, "n"));
    EXPECT_EQ(m.typeOf("y"), "int64[1,n_dim1]");
    EXPECT_FALSE(forgetShape(m.graph, "c")) << "an input is not computed";
    EXPECT_FALSE(forgetShape(m.graph, "nobody"));
}
