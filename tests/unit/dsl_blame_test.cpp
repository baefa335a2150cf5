// SPDX-License-Identifier: Apache-2.0
// Near misses with one cause: a graph in which a rule fires is changed in one place, and the
// nearest miss must name that place and that change. Every edge, operator, value and constant has
// its turn.
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/rewrite/matcher.h"
#include "dsl_support.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fuselage;
using fuselage::dsl::test::Loaded;

namespace {

struct Line {
    std::string out, op, attributes;
    std::vector<std::string> inputs;
};

/// A graph in which the rule takes every node; all values are float[4,4], its input is `x`.
struct Example {
    std::string rule;
    std::vector<std::string> constants; ///< "c = {0.5}": scalars
    std::vector<Line> lines;            ///< the last one makes `y`
};

std::string modelText(const Example& example, const std::string& extraOutput = {}) {
    std::string out = "g (float[4,4] x, float[4,4] w, float[4,4] v) => (float[4,4] y";
    out += extraOutput.empty() ? ")" : ", float[4,4] " + extraOutput + ")";
    for (size_t i = 0; i < example.constants.size(); ++i)
        out += (i == 0 ? " <float " : ", float ") + example.constants[i];
    out += example.constants.empty() ? " {" : "> {";
    for (const Line& line : example.lines) {
        out += " " + line.out + " = " + line.op + line.attributes + "(";
        for (size_t i = 0; i < line.inputs.size(); ++i)
            out += (i == 0 ? "" : ", ") + line.inputs[i];
        out += ")";
    }
    return out + " }";
}

/// The nearest miss or the refusal; no rule's where the rule fires.
NearMiss firstOf(const Example& example, const std::string& text) {
    const Loaded loaded("fuse 1;\nrule R { match { " + example.rule + " } }\n");
    EXPECT_TRUE(loaded.problems().empty()) << loaded.rendered();
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text()) << "\n" << text;
    inferShapes(*graph);
    const GraphFacts facts(*graph);
    const Convexity convexity(*graph);
    MatcherOptions options;
    options.explain = true;
    MatchResult found;
    Matcher(*graph, facts, convexity, options).find(*prepareRule(loaded.rule()), found);
    if (!found.matches.empty())
        return {};
    for (const RefusedMatch& refused : found.refused) {
        NearMiss miss;
        miss.rule = "R";
        miss.node = graph->node(refused.match.nodes.back()).name;
        miss.reason = refused.reason;
        miss.step = static_cast<uint32_t>(refused.match.nodes.size());
        found.nearMisses.push_back(std::move(miss));
    }
    EXPECT_FALSE(found.nearMisses.empty()) << text;
    const auto nearest = std::max_element(found.nearMisses.begin(), found.nearMisses.end(),
                                          [](const NearMiss& one, const NearMiss& other) {
                                              return std::pair(one.isAllButOne, one.step) <
                                                     std::pair(other.isAllButOne, other.step);
                                          });
    return nearest == found.nearMisses.end() ? NearMiss() : *nearest;
}

std::string factOf(const NearMiss& finding, const std::string& name) {
    for (const ReasonFact& fact : finding.reason.facts)
        if (fact.name == name)
            return fact.value;
    return {};
}

const std::vector<Example>& examples() {
    static const std::vector<Example> all = {
        {"y = MatMul(x, w) -> Tanh? -> Exp? -> Relu;",
         {},
         {{"a", "MatMul", "", {"x", "w"}}, {"b", "Tanh", "", {"a"}}, {"y", "Relu", "", {"b"}}}},
        {"y = Mul(Mul(x, 0.5), Add(Erf(Div(x, 1.5)), 1)); x = Exp(z);",
         {"half = {0.5}", "s = {1.5}", "one = {1}"},
         {{"e", "Exp", "", {"x"}},
          {"h", "Mul", "", {"e", "half"}},
          {"d", "Div", "", {"e", "s"}},
          {"f", "Erf", "", {"d"}},
          {"p", "Add", "", {"f", "one"}},
          {"y", "Mul", "", {"h", "p"}}}},
        {"y = Mul(a, Sigmoid(a)); a = MatMul(x, w);",
         {},
         {{"a", "MatMul", "", {"x", "w"}},
          {"s", "Sigmoid", "", {"a"}},
          {"y", "Mul", "", {"a", "s"}}}},
        {"y = MatMul(x, w) -> (Mul(_, c: const scalar) | Div(_, c: const scalar))? "
         "-> Softmax[axis in {-1, 1}] -> Cast? -> MatMul(_, v);",
         {"c = {0.25}"},
         {{"a", "MatMul", "", {"x", "w"}},
          {"b", "Mul", "", {"a", "c"}},
          {"p", "Softmax", "<axis = -1>", {"b"}},
          {"y", "MatMul", "", {"p", "v"}}}},
        {"y = (sink: Neg(Neg(Exp(MatMul(x, w) -> Abs))) -> Relu "
         "| keys: MatMul(x, w) -> Tanh -> Exp -> Softmax[axis == -1] -> Relu);",
         {},
         {{"a", "MatMul", "", {"x", "w"}},
          {"b", "Tanh", "", {"a"}},
          {"d", "Exp", "", {"b"}},
          {"p", "Softmax", "<axis = -1>", {"d"}},
          {"y", "Relu", "", {"p"}}}},
    };
    return all;
}

const Line* makerOf(const Example& example, const std::string& value) {
    for (const Line& line : example.lines)
        if (line.out == value)
            return &line;
    return nullptr;
}

} // namespace

TEST(Blame, TheExamplesFire) {
    for (const Example& example : examples()) {
        const std::string text = modelText(example);
        EXPECT_TRUE(firstOf(example, text).rule.empty()) << text;
    }
}

/// On one edge, or in front of all readers of a value.
TEST(Blame, ANodeThatWasInsertedIsNamed) {
    size_t tried = 0;
    for (const Example& example : examples())
        for (size_t i = 0; i < example.lines.size(); ++i)
            for (size_t k = 0; k < example.lines[i].inputs.size(); ++k)
                for (const bool everywhere : {false, true}) {
                    const std::string value = example.lines[i].inputs[k];
                    if (!makerOf(example, value))
                        continue;
                    Example changed = example;
                    for (Line& line : changed.lines)
                        for (std::string& input : line.inputs)
                            if (everywhere && input == value)
                                input = "extra";
                    changed.lines[i].inputs[k] = "extra";
                    const Line* maker = makerOf(example, value);
                    changed.lines.insert(changed.lines.begin() + (maker - example.lines.data()) + 1,
                                         {"extra", "Ceil", "", {value}});
                    const std::string text = modelText(changed);
                    const NearMiss finding = firstOf(example, text);
                    if (finding.rule.empty())
                        continue;
                    ++tried;
                    EXPECT_EQ(finding.reason.code, code::between) << text << "\n"
                                                                  << finding.reason.message;
                    EXPECT_EQ(finding.node, "Ceil") << text << "\n" << finding.reason.message;
                    EXPECT_EQ(factOf(finding, "found"), "Ceil");
                }
    EXPECT_GT(tried, 25U);
}

/// All but the node where the search starts. One that may be left out stands between others then.
TEST(Blame, ANodeThatIsAnotherOneIsNamed) {
    size_t tried = 0;
    for (const Example& example : examples())
        for (size_t i = 0; i + 1 < example.lines.size(); ++i) {
            Example changed = example;
            Line& line = changed.lines[i];
            line.op = line.op == "MatMul" || line.inputs.size() == 2 ? "Sub" : "Ceil";
            line.attributes.clear();
            const std::string text = modelText(changed), op = line.op;
            const NearMiss finding = firstOf(example, text);
            if (finding.rule.empty())
                continue;
            ++tried;
            EXPECT_EQ(factOf(finding, "found"), op) << text << "\n" << finding.reason.message;
            EXPECT_EQ(finding.node, op) << text << "\n" << finding.reason.message;
        }
    EXPECT_GT(tried, 12U);
}

TEST(Blame, AReaderOutsideIsNamed) {
    for (const Example& example : examples())
        for (size_t i = 0; i + 1 < example.lines.size(); ++i) {
            Example changed = example;
            changed.lines.push_back({"z", "Floor", "", {example.lines[i].out}});
            const std::string text = modelText(changed, "z");
            const NearMiss finding = firstOf(example, text);
            EXPECT_EQ(finding.reason.code, code::escape) << text << finding.reason.message;
            EXPECT_NE(finding.reason.message.find("`Floor`"), std::string::npos)
                << text << "\n"
                << finding.reason.message;
        }
}

TEST(Blame, AConstantThatIsAnotherOneIsNamed) {
    const Example& example = examples()[1];
    for (size_t i = 0; i < example.constants.size(); ++i) {
        Example changed = example;
        std::string& constant = changed.constants[i];
        constant = constant.substr(0, constant.find('{')) + "{7.5}";
        const NearMiss finding = firstOf(example, modelText(changed));
        EXPECT_EQ(finding.reason.code, code::number) << finding.reason.message;
        EXPECT_EQ(factOf(finding, "found"), "7.5") << finding.reason.message;
    }
}

TEST(Blame, AnAxisThatIsAnotherOneIsNamed) {
    for (const Example& example : examples())
        for (size_t i = 0; i < example.lines.size(); ++i) {
            if (example.lines[i].attributes.empty())
                continue;
            Example changed = example;
            changed.lines[i].attributes = "<axis = 0>";
            const NearMiss finding = firstOf(example, modelText(changed));
            EXPECT_EQ(finding.reason.code, code::attribute) << finding.reason.message;
            EXPECT_EQ(finding.node, "Softmax");
        }
}
