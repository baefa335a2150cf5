// SPDX-License-Identifier: Apache-2.0
// Files of gates that could fail nothing, and names in them that nothing of a run has.
#include "app/batch/gates/evaluate.h"
#include "app/batch/gates/unmatched.h"
#include "tests/unit/report_sample.h"

#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::batch;
using Verdict = app::GateRow::Verdict;

namespace {

std::string mistakeIn(const std::string& text) {
    auto gates = parseGates(text, "gates.toml");
    return gates ? "read" : gates.error().where + " " + gates.error().message;
}

Gate onlyGateOf(const std::string& line) {
    auto gates = parseGates("[gate]\n" + line, "gates.toml");
    EXPECT_TRUE(gates) << gates.error().text();
    return gates->at(0);
}

} // namespace

/// A file that could fail nothing, or the opposite of what is meant, is no file of gates.
TEST(GateFiles, WhatCouldNotHoldOrFailIsAMistake) {
    const auto mistakeInGate = [](const std::string& keys) {
        return mistakeIn("[gate]\na = { " + keys + " }");
    };
    EXPECT_EQ(mistakeIn(""), "gates.toml there is no table [gate]");
    EXPECT_EQ(mistakeIn("\n[gate]\n"),
              "gates.toml:2 [gate] holds no gate, so that nothing could fail");
    EXPECT_EQ(mistakeIn("[[gate]]\n"),
              "gates.toml:1 [gate] holds no gate, so that nothing could fail");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", min = 5, max = 3)"),
              "gates.toml:2 `min` of gate `a` is above its `max`: no number lies between 5 and 3");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", max = inf)"),
              "gates.toml:2 `max` is infinite, and a limit is a number from 0 on");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", max_increase = nan)"),
              "gates.toml:2 `max_increase` is no number, and a limit is a number from 0 on");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", min = -1)"),
              "gates.toml:2 `min` is below 0, and a limit is a number from 0 on");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", max = 1, models = [])"),
              "gates.toml:2 `models` is a list of ids");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", max = 1, models = [3])"),
              "gates.toml:2 `models` holds what is no id");
    EXPECT_EQ(mistakeInGate(R"(metric = "e2e_us", max_decrease = "5%")"),
              "gates.toml:2 gate `a` limits by how much `e2e_us` may get better");
    EXPECT_EQ(mistakeInGate(R"(metric = "speed_up", max_increase = "5%")"),
              "gates.toml:2 gate `a` limits by how much `speed_up` may get better");
    EXPECT_EQ(mistakeInGate(R"(metric = "launches", min = 3, max = 3)"), "read");
    for (const char* keys :
         {R"(metric = "launches", min = 0)", R"(metric = "launches", max_decrease = "100%")",
          R"(metric = "speed_up", max_decrease = "120%", min = 0)"})
        EXPECT_TRUE(mistakeInGate(keys).starts_with("gates.toml:2 gate `a` holds always: `"))
            << keys;
    for (const char* keys : {R"(metric = "launches", min = 0, max = 0)",
                             R"(metric = "launches", max_decrease = "99%")",
                             R"(metric = "launches", max_decrease = 1)"})
        EXPECT_EQ(mistakeInGate(keys), "read") << keys;
    EXPECT_EQ(parseGates("[gate]\na = { metric = \"lanches\", max = 1 }", "f").error().fix,
              "did you mean `launches`?");
    EXPECT_EQ(parseGates("[gate]\na = { metric = \"launches\", maxx = 1 }", "f").error().fix,
              "did you mean `max`?");
    EXPECT_FALSE(parseExpectations("", "expect.toml"));
    EXPECT_EQ(parseExpectations("[net]\n", "expect.toml").error().where, "expect.toml:1");
    EXPECT_FALSE(parseExpectations("[net]\nRule = 1.5\n", "expect.toml"));
}

TEST(GateFiles, ModelsMayBePatterns) {
    const app::RunReport run = app::runOf(report_test::sampleReport());
    const std::string& id = run.models[0].id;
    const auto rowsFor = [&](const std::string& pattern) {
        app::RunReport judgedRun = run;
        auto none = [](const app::ModelRun&) -> std::optional<Baseline> { return {}; };
        auto again = [](const app::ModelRun&) -> std::optional<app::Report> { return {}; };
        const Gate gate =
            onlyGateOf(R"(l = { metric = "launches", max = 0, models = [")" + pattern + "\"] }");
        judge({{gate}, Policy::Lenient, none, again}, judgedRun);
        return std::pair(judgedRun.gates.size(), unmatched({gate}, {{id}, {}}).size());
    };
    EXPECT_EQ(rowsFor(id.substr(0, 1) + "*"), std::pair(size_t{1}, size_t{0}));
    std::string oneUnknown = id; // as `?` and `[ab]` in options of single models
    oneUnknown[0] = '?';
    EXPECT_EQ(rowsFor(oneUnknown), std::pair(size_t{1}, size_t{0}));
    EXPECT_EQ(rowsFor("[" + id.substr(0, 1) + "]" + id.substr(1)), std::pair(size_t{1}, size_t{0}));
    EXPECT_EQ(rowsFor("other*"), std::pair(size_t{0}, size_t{1}));
}

/// A metric counts the rule of exactly this name, so a pattern would count 0 for ever.
TEST(GateFiles, ARuleIsNoPattern) {
    const Gate gate = onlyGateOf(R"(m = { metric = "matches.Conv*", max = 0 })");
    const auto rows = unmatched({gate}, {{}, {"ConvBN", "ConvBNReLU"}});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_TRUE(rows[0].note.starts_with("no rule is called `Conv*`")) << rows[0].note;
    EXPECT_TRUE(
        unmatched({onlyGateOf(R"(m = { metric = "matches.ConvBN", max = 0 })")}, {{}, {"ConvBN"}})
            .empty());
}

TEST(GateFiles, NamesThatNothingHasAreRowsOfTheirOwn) {
    auto gates = parseExpectations("[resnet5O]\nConvBNRelu = 2\nConvBN = 1\n[net]\nConvBN = 1\n",
                                   "expect.toml");
    ASSERT_TRUE(gates) << gates.error().text();
    const auto rows = unmatched(*gates, {{"net", "resnet50"}, {"ConvBN", "ConvBNReLU"}});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].model, "resnet5O");
    EXPECT_EQ(rows[0].note,
              "no model here is called so; did you mean `resnet50`?; 2 gates ask about it");
    EXPECT_EQ(rows[1].model, "");
    EXPECT_EQ(rows[1].note, "no rule is called `ConvBNRelu`; did you mean `ConvBNReLU`?");
    EXPECT_TRUE(unmatched(*gates, {{}, {"ConvBN", "ConvBNRelu"}, false}).empty());
    for (const bool fail : {false, true}) {
        app::RunReport run = app::runOf(report_test::sampleReport());
        addUnmatched(rows, fail, run);
        EXPECT_EQ(run.exitCode, fail ? 1 : 0);
        EXPECT_EQ(run.gates[0].verdict, fail ? Verdict::Fail : Verdict::Warn);
    }
}
