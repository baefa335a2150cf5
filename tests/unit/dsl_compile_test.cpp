// SPDX-License-Identifier: Apache-2.0
// AST -> compiled rules: where values, holes, types, lists and patterns end up.
#include "dsl_support.h"

#include <gtest/gtest.h>

#include <ctime>

using namespace fuselage;
using fuselage::dsl::test::Loaded;

namespace {

const Term& termOf(const Rule& rule, TermId id) {
    return rule.term(id);
}

/// The root term of the only rule.
const Term& rootOf(const Rule& rule) {
    return rule.term(rule.match.definitions.back().term);
}

const std::string& nameOfSlot(const Rule& rule, const Term& term) {
    return rule.slots.at(*term.slot).name;
}

} // namespace

TEST(DslCompile, TheExamplesOfTheManualCompile) {
    Loaded loaded(dsl::test::exampleText());
    EXPECT_EQ(loaded.rendered(), "");
    EXPECT_EQ(loaded.result.rules.rules.size(), 10U);
    EXPECT_EQ(loaded.result.rules.pipelines.size(), 1U);
    EXPECT_EQ(loaded.result.tests.size(), 2U);
}

/// Forty thousand rules take about four times as long as ten thousand.
TEST(DslCompile, TimeGrowsWithTheNumberOfRules) {
    auto seconds = [](int rules) {
        std::string text = "fuse 1;";
        for (int i = 0; i < rules; ++i)
            text += "rule R" + std::to_string(i) + " { match { y = Exp(x) -> Neg; } }\n";
        const std::clock_t begin = std::clock();
        const Loaded loaded(text);
        EXPECT_EQ(loaded.result.rules.rules.size(), static_cast<size_t>(rules));
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    EXPECT_LT(seconds(40000), 10 * seconds(10000));
}

TEST(DslCompile, EveryStandardFileCompilesAlone) {
    for (std::string_view path : embeddedPatternPaths()) {
        Loaded loaded("fuse 1; import \"" + std::string(path) + "\";");
        EXPECT_EQ(loaded.rendered(), "") << path;
    }
    EXPECT_GE(embeddedPatternPaths().size(), 1U);
}

TEST(DslCompile, AChainIsNestedPipesAroundItsSource) {
    Loaded loaded("fuse 1; rule R { match { y = Conv(x, w: const) -> Add(_, b)? -> Relu; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    const Term& relu = rootOf(rule);
    ASSERT_EQ(relu.kind, Term::Kind::Pipe);
    EXPECT_EQ(termOf(rule, relu.step).ops, std::vector<Op>{Op::Relu});
    const Term& add = termOf(rule, relu.source);
    ASSERT_EQ(add.kind, Term::Kind::Optional);
    EXPECT_EQ(termOf(rule, add.source).ops, std::vector<Op>{Op::Conv});
}

TEST(DslCompile, TheImpliedHoleIsTheFirstOperand) {
    Loaded loaded("fuse 1; rule R { match { y = x -> Mul(g: const) -> Relu; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    const Term& relu = termOf(rule, rootOf(rule).step);
    EXPECT_FALSE(relu.hasArguments);
    ASSERT_EQ(relu.arguments.size(), 1U);
    EXPECT_EQ(termOf(rule, relu.arguments[0].term).kind, Term::Kind::Hole);
    const Term& mul = termOf(rule, termOf(rule, rootOf(rule).source).step);
    EXPECT_TRUE(mul.hasArguments);
    ASSERT_EQ(mul.arguments.size(), 2U);
    EXPECT_EQ(termOf(rule, mul.arguments[0].term).kind, Term::Kind::Hole);
    EXPECT_EQ(mul.order, OperandOrder::Schema);
}

TEST(DslCompile, TypesBecomeConstraints) {
    Loaded loaded("fuse 1; rule R { match { y = Conv(x: float16|float [N, 3, ..., _, 2*N], w: "
                  "const scalar); } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    const Term& x = termOf(rule, rootOf(rule).arguments[0].term);
    EXPECT_EQ(x.type->dtypes, (std::vector<DType>{DType::Float16, DType::Float32}));
    ASSERT_EQ(x.type->dims->size(), 5U);
    EXPECT_EQ(x.type->dims->at(0).kind, DimPattern::Kind::Variable);
    EXPECT_EQ(x.type->dims->at(1).value.number, 3);
    EXPECT_EQ(x.type->dims->at(2).kind, DimPattern::Kind::Rest);
    EXPECT_EQ(x.type->dims->at(3).kind, DimPattern::Kind::Any);
    EXPECT_EQ(x.type->dims->at(4).value.kind, Expression::Kind::Binary);
    const Term& w = termOf(rule, rootOf(rule).arguments[1].term);
    EXPECT_TRUE(w.type->isConst && w.type->isScalar);
}

TEST(DslCompile, NamesInManyBecomeLists) {
    Loaded loaded("fuse 1; rule R in convert { match { x: [..., K]; many 2..16 { m = MatMul(x, w: "
                  "const [K, N]); } } rewrite { m[] = split(MatMul(x, concat(w[], axis = 1)), N[], "
                  "axis = -1); } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    ASSERT_EQ(rule.match.manys.size(), 1U);
    EXPECT_EQ(rule.match.manys[0].slots.size(), 2U);
    EXPECT_EQ(rule.match.manys[0].dims.size(), 1U);
    EXPECT_FALSE(rule.slots[0].isList);
    EXPECT_TRUE(rule.isRewrite);
    EXPECT_TRUE(rule.rewrite[0].isList);
    EXPECT_EQ(rule.rewrite[0].value.args[1].kind, Expression::Kind::DimList);
    EXPECT_EQ(rule.rewrite[0].value.args[0].args[1].args[0].kind, Expression::Kind::SlotList);
}

TEST(DslCompile, AStepPatternReadsTheHole) {
    Loaded loaded("fuse 1; pattern Silu2(x) -> y { y = Mul(x, Sigmoid(x)); } "
                  "rule R { match { y = Conv(a, w) -> Silu2; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    const Term& mul = termOf(rule, rootOf(rule).step);
    ASSERT_EQ(mul.kind, Term::Kind::Node);
    const Term& first = termOf(rule, mul.arguments[0].term);
    const Term& second = termOf(rule, termOf(rule, mul.arguments[1].term).arguments[0].term);
    ASSERT_EQ(first.kind, Term::Kind::Value);
    EXPECT_EQ(first.slot, second.slot);
    EXPECT_EQ(nameOfSlot(rule, first), "Silu2.x");
    EXPECT_EQ(termOf(rule, first.step).kind, Term::Kind::Hole);
}

TEST(DslCompile, APatternThatReadsBehindAnArrowNamesItsSource) {
    Loaded loaded("fuse 1; pattern Norm(x) -> y { m = ReduceMean(x); "
                  "y = Abs(x) -> Sub(_, m); } rule R { match { y = Conv(a, w) -> Norm?; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    const Term& root = rootOf(rule);
    ASSERT_EQ(root.kind, Term::Kind::Optional);
    const Term& source = termOf(rule, root.source);
    ASSERT_EQ(source.kind, Term::Kind::Value);
    EXPECT_EQ(termOf(rule, source.step).ops, std::vector<Op>{Op::Conv});
    for (const Term& term : rule.terms)
        if (term.kind == Term::Kind::Value && term.slot == source.slot) {
            EXPECT_EQ(term.step, source.step);
        }
}

TEST(DslCompile, EachUseOfAPatternHasItsOwnSlots) {
    Loaded loaded("fuse 1; pattern Sq(x) -> y { y = Mul(x, k: const [D]); } "
                  "rule R { match { y = Add(Sq(a), Sq(b)); } }");
    ASSERT_EQ(loaded.rendered(), "");
    EXPECT_EQ(loaded.rule().dims.size(), 2U);
    EXPECT_EQ(loaded.rule().slots.size(), 5U);
}

TEST(DslCompile, ConditionsOfAPatternHoldOnlyWhereItIsUsed) {
    Loaded loaded("fuse 1; pattern Wide(x) -> y { y = Relu(x); where x.shape[0] > 4; } "
                  "rule R { match { y = Abs(a) -> Wide?; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    ASSERT_EQ(rule.match.conditions.size(), 1U);
    ASSERT_TRUE(rule.match.conditions[0].when);
    EXPECT_EQ(rule.slots[*rule.match.conditions[0].when].name, "Wide.y");
}

TEST(DslCompile, ClassesBecomeSortedOperators) {
    Loaded loaded(
        "fuse 1; class A = Relu | Abs; class B = A | Tanh; rule R { match { y = B(x); } }");
    ASSERT_EQ(loaded.rendered(), "");
    EXPECT_EQ(rootOf(loaded.rule()).ops, (std::vector<Op>{Op::Abs, Op::Relu, Op::Tanh}));
}

TEST(DslCompile, FunctionsAreWrittenOut) {
    Loaded loaded("fuse 1; fn half(a) = a / 2; fn quarter(b) = half(half(b)); "
                  "rule R { match { y = Relu(x); where quarter(len(x.shape)) == 1; } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Expression& test = loaded.rule().match.conditions[0].expression;
    EXPECT_EQ(test.args[0].text, "/");
    EXPECT_EQ(test.args[0].args[0].text, "/");
    EXPECT_EQ(test.args[0].args[0].args[0].text, "len");
}

TEST(DslCompile, RewriteChainsPutTheSourceFirst) {
    Loaded loaded("fuse 1; rule R { match { y = Neg(x); } "
                  "rewrite { y = Abs(x) -> Transpose[perm = [1, 0]] -> Sub(2, _); } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Expression& sub = loaded.rule().rewrite[0].value;
    EXPECT_EQ(sub.op, Op::Sub);
    EXPECT_EQ(sub.args[1].op, Op::Transpose);
    EXPECT_EQ(sub.args[1].args[0].op, Op::Abs);
}

TEST(DslCompile, HeaderAndClausesAreKept) {
    Loaded loaded("fuse 1; opset >= 13 < 18;\n/// Says something.\n"
                  "rule R in convert priority -3 once replaces Old { match { s = Relu(x); y = "
                  "Abs(s); } gate gain.us > 1; escape s: duplicate if s.bytes < 10; numeric exact; "
                  "qdq { INPUT: x axis -1; } verify 8 tolerance 1e-3; hint \"a \\\"b\\\"\"; }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    EXPECT_EQ(rule.documentation, "Says something.");
    EXPECT_EQ(rule.phase, "convert");
    EXPECT_EQ(rule.priority, -3);
    EXPECT_TRUE(rule.once);
    EXPECT_EQ(rule.replaces, "Old");
    EXPECT_EQ(rule.minOpset, 13);
    EXPECT_EQ(rule.maxOpset, 18);
    EXPECT_EQ(rule.line, 3U);
    EXPECT_EQ(rule.gate.kind, Gate::Kind::Condition);
    EXPECT_EQ(rule.escapes[0].policy, EscapePolicy::Duplicate);
    EXPECT_EQ(rule.numeric, NumericClass::Exact);
    EXPECT_EQ(rule.qdq[0].axis, -1);
    EXPECT_EQ(rule.verify->samples, 8U);
    EXPECT_EQ(rule.hints[0], "a \"b\"");
}

TEST(DslCompile, NumbersKeepSignAndTolerance) {
    Loaded loaded("fuse 1; rule R { match { y = Clip(x, -1, 0.7978~1e-3); } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    EXPECT_EQ(termOf(rule, rootOf(rule).arguments[1].term).number, -1);
    EXPECT_EQ(termOf(rule, rootOf(rule).arguments[2].term).tolerance, 1e-3);
}

TEST(DslCompile, APatternMayHaveSeveralResults) {
    Loaded loaded("fuse 1; pattern Halves(x) -> a, b { a, b = Split(x); } "
                  "rule R { match { l, r = Halves(v); y = Mul(l, Sigmoid(r)); } }");
    ASSERT_EQ(loaded.rendered(), "");
    const Rule& rule = loaded.rule();
    ASSERT_EQ(rule.match.definitions.size(), 4U);
    EXPECT_EQ(rule.match.definitions[0].slots.size(), 2U);
    EXPECT_EQ(rule.term(rule.match.definitions[0].term).ops, std::vector<Op>{Op::Split});
    for (int i : {1, 2})
        EXPECT_EQ(rule.term(rule.match.definitions[i].term).kind, Term::Kind::Value);
}
