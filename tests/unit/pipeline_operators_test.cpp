// SPDX-License-Identifier: Apache-2.0
// Models with operators that rules declare: they run by the declared bodies, and a node that a body
// does not fit says why.
#include "app/pipeline/fuse.h"
#include "app/pipeline/rules.h"
#include "core/onnx/model_file.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

app::RuleLibrary rulesOf(const char* text) {
    app::RuleOptions options;
    options.builtin = false;
    options.texts.push_back({"rules.fuse", std::string("fuse 1;\n") + text});
    return std::move(*app::loadRuleLibrary(options));
}

app::LoadedModel modelOf(const char* text) {
    app::LoadedModel out;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    out.graph = std::move(*graph);
    return out;
}

constexpr const char* gated = R"(
op com.acme.Gated(x, w) -> y [alpha: float = 1] { s = Mul(x, alpha); y = Mul(Sigmoid(s), w); }
)";

} // namespace

TEST(Operators, ADeclaredBodyMakesAModelRun) {
    const app::RuleLibrary library = rulesOf(gated);
    app::LoadedModel model = modelOf(
        "g (float[2,3] x, float[3] w) => (float[2,3] y) { a = com.acme.Gated(x, w)  y = Relu(a) }");
    ASSERT_EQ(app::missingOperators(model.graph).size(), 1U);
    app::enterDeclared(model, library);
    EXPECT_TRUE(app::missingOperators(model.graph).empty());
    const Value& made = model.graph.value(model.graph.findValue("a"));
    EXPECT_EQ(made.type.text(), "float[2,3]");
}

TEST(Operators, WhatABodyDoesNotFitSaysWhy) {
    const app::RuleLibrary library = rulesOf(gated);
    app::LoadedModel model = modelOf("g (float[3] x, float[3] w) => (float[3] y, float[3] z) {"
                                     "  y = com.acme.Gated<beta = 2>(x, w)"
                                     "  z = com.acme.Gated(x) }");
    app::enterDeclared(model, library);
    EXPECT_EQ(model.notes.size(), 2U);
    std::string why;
    for (const app::MissingOperator& missing : app::missingOperators(model.graph))
        why += missing.why + "\n";
    EXPECT_NE(why.find("attribute `beta` is not declared"), std::string::npos) << why;
    EXPECT_NE(why.find("operands: 1, declared are 2"), std::string::npos) << why;
}

TEST(Operators, AnAttributeWithoutADefaultMustBeGiven) {
    const app::RuleLibrary library =
        rulesOf("op com.acme.Cut(x) -> y [lo: float, hi: float = 6] { y = Clip(x, lo, hi); }");
    app::LoadedModel model = modelOf("g (float[3] x) => (float[3] y, float[3] z) {"
                                     "  y = com.acme.Cut<lo = 1.0>(x)"
                                     "  z = com.acme.Cut<hi = 1.0>(x) }");
    app::enterDeclared(model, library);
    const auto missing = app::missingOperators(model.graph);
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_NE(missing[0].why.find("attribute `lo` is left out and has no default"),
              std::string::npos)
        << missing[0].why;
}
