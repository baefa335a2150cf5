// SPDX-License-Identifier: Apache-2.0
// If as a step of the cpu backend: each branch by a plan of its own, also where the branches give
// other shapes, and the reference functions where there can be no plan.
#include "app/pipeline/compiled.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;

namespace {

/// If c, Neg(x), else Concat(x, x): of other extents.
Graph negatedOrDoubled() {
    GraphMaker negated, doubled;
    negated.output(negated.node(Op::Neg, {negated.graph.addCapture("x", {})}, "r"));
    const ValueId x = doubled.graph.addCapture("x", {});
    doubled.output(doubled.node(Op::Concat, {x, x}, "r", {{"axis", int64_t{0}}}));
    GraphMaker m;
    const ValueId condition = m.input("c", {}, DType::Bool);
    const ValueId given = m.input("x", {2, 3});
    const ValueId y = m.node(Op::If, {condition}, "y",
                             {{"then_branch", std::make_shared<Graph>(negated.graph)},
                              {"else_branch", std::make_shared<Graph>(doubled.graph)}});
    for (int branch = 0; branch < 2; ++branch)
        m.graph.appendCapturedInput(m.graph.producer(y), given);
    m.output(y);
    return m.graph;
}

Tensor truth(bool value) {
    Tensor out(DType::Bool, {});
    *out.bytes() = static_cast<std::byte>(value ? 1 : 0);
    return out;
}

std::vector<float> floatsOf(const Tensor& tensor) {
    const auto values = tensor.as<float>();
    return {values.begin(), values.end()};
}

} // namespace

TEST(BranchStep, EachBranchRunsByAPlanOfItsOwn) {
    auto compiled = CompiledGraph::compile(negatedOrDoubled(), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    const Tensor x = Tensor::ofFloats({2, 3}, {1, 2, 3, 4, 5, 6});
    for (int round = 0; round < 2; ++round)
        for (bool taken : {true, false}) {
            auto out = compiled->run({truth(taken), x});
            ASSERT_TRUE(out) << out.error().text();
            EXPECT_EQ((*out)[0].extents(), (taken ? Extents{2, 3} : Extents{4, 3}));
            EXPECT_EQ(floatsOf((*out)[0]),
                      (taken ? std::vector<float>{-1, -2, -3, -4, -5, -6}
                             : std::vector<float>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
            EXPECT_EQ(compiled->executable().tactic(0),
                      std::string(taken ? "then" : "else") + " branch by a plan of its own");
        }
}

TEST(BranchStep, StrictPlansAndOtherConditionsRunByTheReferenceFunctions) {
    CompileOptions strict;
    strict.strict = true;
    auto compiled = CompiledGraph::compile(negatedOrDoubled(), strict);
    ASSERT_TRUE(compiled) << compiled.error().text();
    auto out = compiled->run({truth(true), Tensor::ofFloats({2, 3}, {1, 2, 3, 4, 5, 6})});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(floatsOf((*out)[0]), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
    EXPECT_EQ(compiled->executable().tactic(0), "reference Library");
}
