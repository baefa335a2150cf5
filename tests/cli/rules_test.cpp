// SPDX-License-Identifier: Apache-2.0
// Rule files on the command line.
#include "tests/cli/cli.h"
#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

using namespace fuselage::cli_test;

namespace {

class CliRules : public Command {};

constexpr const char* broken = R"(fuse 1;
rule Broken {
  match { y = Reluu(x) -> Neg; }
}
rule Other {
  match { y = Relu(x) -> Neg[axis == 1]; }
}
)";

constexpr const char* good = R"(fuse 1;
rule Pair { match { y = Relu(x) -> MaxPool; } }
)";

} // namespace

TEST_F(CliRules, ABrokenFileIsRefusedWithEveryMistakeAndItsPlace) {
    zoo("lstm");
    folder.write("broken.fuse", broken);
    std::vector<std::string> pieces{"broken.fuse:3:", "Reluu", "Relu", "broken.fuse:6:", "axis"};
    expectRefused({"fuse", "lstm.onnx", "-p", "broken.fuse", "-o", "f.onnx"}, ExitInput, pieces);
    expectRefused({"explain", "lstm.onnx", "-p", "broken.fuse"}, ExitInput, pieces);
    expectRefused({"bench", "lstm.onnx", "--no-builtin", "-p", "broken.fuse"}, ExitInput, pieces);
    ProcessResult checked = run({"check", "broken.fuse"});
    EXPECT_EQ(checked.exitCode, ExitInput);
    for (const std::string& piece : pieces)
        EXPECT_NE(checked.output.find(piece), std::string::npos) << piece << "\n" << checked.output;
}

/// A rule that never gets its nodes, and a rewrite that would change a type.
TEST_F(CliRules, AFailedTestSaysWhoHasTheNodes) {
    folder.write("t.fuse", R"(fuse 1;
rule First priority 5 { match { y = Exp(x) -> Relu; } }
rule Second { match { y = Relu(x); } test "s" { graph "g (float[2] x) => (float[2] y) { a = Exp(x) y = Relu(a) }"; expect fires 1; } }
rule Wider in convert { match { y = ReduceMax(x); } rewrite { y = x; } test "w" { graph "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { m = ReduceMax(x, a) y = Neg(m) }"; expect fires 1; } }
)");
    const ProcessResult ran = run({"test", "--no-proof", "t.fuse"});
    EXPECT_EQ(ran.exitCode, ExitGate);
    for (const char* piece : {"refused[shadowed-by]", "First", "refused[M0600]"})
        EXPECT_NE(ran.output.find(piece), std::string::npos) << piece << "\n" << ran.output;
}

TEST_F(CliRules, VerdictsAndTestsAsJson) {
    folder.write("t.fuse", R"(fuse 1;
rule Right { match { y = Neg(Neg(x)); } rewrite { y = x; } numeric exact; test "r" { graph "g (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) y = Exp(b) }"; expect fires 1; } }
rule Wrong { match { y = Sub(a, b); } rewrite { y = Sub(b, a); } }
)");
    const ProcessResult ran = run({"test", "--json", "--quiet", "t.fuse"});
    EXPECT_EQ(ran.exitCode, ExitGate);
    const auto document = nlohmann::json::parse(ran.output, nullptr, false);
    ASSERT_FALSE(document.is_discarded()) << ran.output;
    for (const std::string& error :
         fuselage::testing_support::schemaErrors(document, FUSELAGE_SCHEMAS, "rules.schema.json"))
        ADD_FAILURE() << error;
    EXPECT_EQ(document["rules"][0]["verdict"], "proved");
    EXPECT_EQ(document["rules"][1]["verdict"], "unsound");
    EXPECT_EQ(document["tests"][0]["result"], "passed");
    EXPECT_EQ(document["untested"].size(), 1U);
}

/// `same 0` asks for the bits of the graph as it was, not for the digits of exact arithmetic.
TEST_F(CliRules, NoToleranceAtAllAsksForTheSameBits) {
    folder.write("t.fuse", R"(fuse 1;
rule Kept in canonicalize { match { y = Relu(Exp(x: float)); } rewrite { y = Exp(x); } test "k" { graph "g (float[64] x) => (float[64] y) { e = Exp(x) y = Relu(e) }"; expect fires 1; expect same 0; } }
rule Lost in canonicalize { match { y = Exp(Add(a: float, b)); } rewrite { y = Mul(Exp(a), Exp(b)); } test "l" { graph "g (float[64] a, float[64] b) => (float[64] y) { e = Add(a, b) y = Exp(e) }"; expect fires 1; expect same 0; } }
)");
    const ProcessResult ran = run({"test", "--no-proof", "t.fuse"});
    EXPECT_EQ(ran.exitCode, ExitGate);
    for (const char* piece : {"Lost \"l\" failed", "differ from the unfused run in a bit",
                              "1 rule tests passed, 1 failed"})
        EXPECT_NE(ran.output.find(piece), std::string::npos) << piece << "\n" << ran.output;
}

/// What `test` finds with the proof fails a strict check too, and `--no-proof` leaves it out.
TEST_F(CliRules, AStrictCheckProvesTheRules) {
    folder.write("w.fuse", R"(fuse 1;
rule Wrong in convert once { match { y = Sub(a: float, b); } rewrite { y = Sub(b, a); } test "w" { graph "g (float[2] a, float[2] b) => (float[2] y) { s = Sub(a, b) y = Neg(s) }"; expect fires 1; } test "o" { graph "g (float[2] a) => (float[2] y) { y = Neg(a) }"; expect fires 0; } }
)");
    folder.write("n.fuse", R"(fuse 1;
rule Never in convert once { match { y = Relu(x: float [N]); where N > 100000; } rewrite { y = x; } test "n" { graph "g (float[100001] x) => (float[100001] y) { r = Relu(x) y = Neg(r) }"; expect fires 1; } test "o" { graph "g (float[2] x) => (float[2] y) { r = Relu(x) y = Neg(r) }"; expect fires 0; } }
)");
    for (const auto& [file, code] : {std::pair("w.fuse", "E0501"), {"n.fuse", "W0503"}}) {
        const ProcessResult strict = run({"check", "--strict", "-q", file});
        EXPECT_NE(strict.exitCode, ExitOk);
        EXPECT_NE(strict.output.find(code), std::string::npos) << strict.output;
        EXPECT_NE(strict.output.find(std::string(file) + ":2:6"), std::string::npos)
            << strict.output;
        const ProcessResult lints = run({"check", "--strict", "--no-proof", "-q", file});
        EXPECT_EQ(lints.exitCode, ExitOk) << lints.output;
        EXPECT_EQ(run({"check", file}).exitCode, ExitOk);
    }
}

/// A rule that no graph can match is a mistake, whatever else is asked for.
TEST_F(CliRules, EachCheckTellsWhatCanNeverMatch) {
    folder.write("never.fuse", "fuse 1;\nrule Never { match { y = MatMul(x) -> Relu; } }\n");
    const ProcessResult plain = run({"check", "never.fuse"});
    EXPECT_EQ(plain.exitCode, ExitInput);
    EXPECT_NE(plain.output.find("never.fuse:2:26: error[E0220]"), std::string::npos)
        << plain.output;
    const ProcessResult strict = run({"check", "--strict", "--no-proof", "-q", "never.fuse"});
    EXPECT_EQ(strict.exitCode, ExitInput);
    const size_t once = strict.output.find("E0220");
    EXPECT_NE(once, std::string::npos) << strict.output;
    EXPECT_EQ(strict.output.find("E0220", once + 1), std::string::npos) << strict.output;
}

/// A test that decided nothing passes, but not in a strict run.
TEST_F(CliRules, AStrictTestFailsWhereNothingWasDecided) {
    folder.write("skipped.fuse", R"(fuse 1;
rule S { match { y = Relu(x) -> Exp; } test "s" { model "none.onnx"; expect fires 1; } }
)");
    folder.write("cut.fuse", R"(fuse 1;
rule R { match { y = flat Add(g, h, i, j, k, flat Mul(l, m, n, o, p, q)); where l.shape == [3]; } test "c" { graph "g (float[2] a, float[2] b, float[2] c, float[2] d, float[2] e, float[2] f) => (float[2] y) { m = Mul(a, b) n = Mul(m, c) o = Mul(n, d) p = Mul(o, e) q = Mul(p, f) r = Add(q, a) s = Add(r, b) t = Add(s, c) u = Add(t, d) y = Add(u, e) }"; expect fires 0; } }
)");
    for (const auto& [file, piece] :
         {std::pair("skipped.fuse", "skipped: "), {"cut.fuse", "search of R was cut off"}}) {
        const ProcessResult ran = run({"test", "--no-proof", "-q", file});
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
        EXPECT_NE(ran.output.find(piece), std::string::npos) << ran.output;
        EXPECT_EQ(run({"test", "--no-proof", "--strict", "-q", file}).exitCode, ExitGate);
    }
}

/// With 0 and 1 alone the magnitude would be the number itself.
TEST_F(CliRules, IntegersOfATestHaveBothSignsAndSeveralSizes) {
    folder.write("t.fuse", R"(fuse 1;
rule Lost in convert once { match { y = Abs(x: int32); } rewrite { y = x; } test "l" { graph "g (int32[64] x) => (int32[64] y) { a = Abs(x) y = Neg(a) }"; expect fires 1; expect same 0; } }
rule Square in convert once { match { y = Mul(x: int32, x); } rewrite { y = Abs(x); } test "s" { graph "g (int32[64] x) => (int32[64] y) { a = Mul(x, x) y = Neg(a) }"; expect fires 1; expect same 0; } }
)");
    const ProcessResult ran = run({"test", "--no-proof", "-q", "t.fuse"});
    EXPECT_EQ(ran.exitCode, ExitGate);
    for (const char* piece : {"Lost \"l\" failed", "Square \"s\" failed", "0 rule tests passed"})
        EXPECT_NE(ran.output.find(piece), std::string::npos) << piece << "\n" << ran.output;
}

/// "Proved" is said of bits alone.
TEST_F(CliRules, TheSummaryOfTheProofsSaysHowManyAreProved) {
    folder.write("t.fuse", R"(fuse 1;
rule Bits { match { y = Neg(Neg(x)); } rewrite { y = x; } numeric exact; }
rule Reals { match { y = Mul(Relu(x: float), 0.5); } rewrite { y = Relu(Mul(x, 0.5)); } }
rule Samples { match { y = Transpose(MatMul(a: [_, _], b: [_, _]))[perm == [1, 0]]; } rewrite { y = MatMul(Transpose(b)[perm = [1, 0]], Transpose(a)[perm = [1, 0]]); } verify 4; }
rule Fused { match { y = Exp(x) -> Neg; } verify 2; }
)");
    const ProcessResult ran = run({"test", "--only-proof", "-q", "t.fuse"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    EXPECT_NE(ran.output.find("1 rules proved, 1 equal over the reals, 2 tested"),
              std::string::npos)
        << ran.output;
    EXPECT_NE(ran.output.find("of 3 rewrites and forms 1 are proved (33 %), 1 more is equal over "
                              "the reals (67 % together)\n"),
              std::string::npos)
        << ran.output;
    EXPECT_EQ(ran.output.find("proved over"), std::string::npos) << ran.output;
}

TEST_F(CliRules, AMissingRuleFileIsNamed) {
    zoo("lstm");
    expectRefused({"fuse", "lstm.onnx", "-p", "none.fuse"}, ExitInput, {"none.fuse", "fix:"});
    expectRefused({"check", "none.fuse"}, ExitInput, {"none.fuse", "fix:"});
}

TEST_F(CliRules, TheBuiltInLibraryChecks) {
    ProcessResult ran = run({"check"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
}

TEST_F(CliRules, AnOptionThatRepeatsLeavesTheModelAlone) {
    zoo("lstm");
    folder.write("good.fuse", good);
    ProcessResult ran = run({"fuse", "--no-builtin", "-p", "good.fuse", "lstm.onnx"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.output.find("no rule fired"), std::string::npos) << ran.output;
}

TEST_F(CliRules, TwoFilesOfOneNameInDifferentFoldersBothCount) {
    for (const char* name : {"One", "Two"}) {
        std::filesystem::create_directory(folder.file(name));
        folder.write(std::string(name) + "/a.fuse", "fuse 1;\nrule " + std::string(name) +
                                                        " { match { y = Relu -> MaxPool; } }\n");
    }
    const ProcessResult both = run({"check", "One/a.fuse", "Two/a.fuse"});
    EXPECT_NE(both.output.find("2 rules"), std::string::npos) << both.output;
    const ProcessResult same = run({"check", "One/a.fuse", "./One/a.fuse"});
    EXPECT_NE(same.output.find("1 rule,"), std::string::npos) << same.output;
}

TEST_F(CliRules, AFolderOfRulesIsTakenWhole) {
    zoo("unet");
    ASSERT_EQ(::mkdir(folder.file("rules").c_str(), 0777), 0);
    folder.write("rules/a.fuse", good);
    folder.write("rules/b.fuse",
                 "fuse 1;\nrule Norm { match { y = BatchNormalization(x, a, b, c, d) "
                 "-> Relu; } }\n");
    ProcessResult ran = run({"fuse", "unet.onnx", "--no-builtin", "-p", "rules"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.output.find("Norm       14  rules/b.fuse:2"), std::string::npos) << ran.output;
}

TEST_F(CliRules, ImportsAreFoundBesideTheFileAndOnTheSearchPath) {
    zoo("unet");
    for (const char* name : {"rules", "rules/lib", "shared"})
        ASSERT_EQ(::mkdir(folder.file(name).c_str(), 0777), 0);
    folder.write("rules/lib/acts.fuse", "fuse 1;\npattern Mine(x) -> y { y = Relu(x); }\n");
    folder.write("shared/pools.fuse", "fuse 1;\npattern Pool(x) -> y { y = MaxPool(x); }\n");
    folder.write("rules/a.fuse", "fuse 1;\nimport \"lib/acts\";\nimport \"pools\";\n"
                                 "rule R { match { y = r@Mine(x) -> Pool; } escape r: export; }\n");
    std::vector<std::string> command{"fuse",         "unet.onnx", "--no-builtin", "-p",
                                     "rules/a.fuse", "--decide",  "rules"};
    expectRefused(command, ExitInput, {"E0202", "pools"});
    command.insert(command.end(), {"-I", "shared"});
    ProcessResult ran = run(command);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.output.find("R           3"), std::string::npos) << ran.output;
    ran = run({"check", "rules/a.fuse"});
    EXPECT_EQ(ran.exitCode, ExitInput);
    EXPECT_NE(ran.output.find("E0202"), std::string::npos) << ran.output;
    ran = run({"check", "rules/a.fuse", "-I", "shared"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output;
    ran = run({"test", "rules/a.fuse", "-I", "shared", "--no-proof"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    folder.write("rules/b.fuse", "fuse 1;\nimport \"../shared/pools\";\n");
    expectRefused({"fuse", "unet.onnx", "-p", "rules/b.fuse"}, ExitInput, {"not below"});
}

TEST_F(CliRules, ARuleOfAnotherPipelineIsTriedOnModelsWhenItIsNamed) {
    zoo("unet");
    folder.write("own.fuse", "fuse 1;\nrule R in mine { match { y = Erf(x) -> Tanh; } }\n"
                             "pipeline own = mine;\npipeline default = fuse;\n");
    ProcessResult ran = run({"check", "own.fuse", "-m", "unet.onnx", "-q"});
    EXPECT_EQ(ran.output.find("W0313"), std::string::npos) << ran.output;
    ran = run({"check", "own.fuse", "-m", "unet.onnx", "-q", "--pipeline", "own"});
    EXPECT_NE(ran.output.find("W0313"), std::string::npos) << ran.output;
}

/// An operator that is read as what it stands for, unless a rule names it.
TEST_F(CliRules, ATestReadsItsGraphAsCommandsReadAModel) {
    folder.write("r.fuse",
                 "fuse 1;\nrule R { match { y = MultiHeadAttention(q, k, v); } gate always;\n"
                 "test \"one\" { graph \"g (float[1,2,4] q, float[1,3,4] k, float[1,3,4] v) => "
                 "(float[1,2,4] z) { y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v) "
                 "z = Neg(y) }\"; expect fires 1; expect same 1e-4; } }\n");
    expectHas(outputOf({"test", "r.fuse", "--no-proof", "-q"}), "1 rule tests passed, 0 failed");
    const std::string proved = outputOf({"test", "r.fuse", "--only-proof", "-q"});
    EXPECT_EQ(proved.find("W0503"), std::string::npos) << proved;
}

// No rule fires on it, so `expect fires 0` would hold for no reason.
TEST_F(CliRules, AMisspeltOperatorInATestIsNoGraph) {
    folder.write("r.fuse",
                 "fuse 1;\nrule R { match { y = Log(x); } gate always;\n"
                 "test \"misses\" { graph \"g (float[3] x) => (float[3] y) { y = Lgo(x) }\"; "
                 "expect fires 0; }\n"
                 "test \"own\" { graph \"g (float[3] x) => (float[3] y) { y = com.acme.Lgo(x) }\"; "
                 "expect fires 0; } }\n");
    const std::string said = run({"test", "r.fuse", "--no-proof", "-q"}).output;
    expectHas(said, "`Lgo` is no operator of ONNX (did you mean `Log`?)");
    expectHas(said, "1 rule tests passed, 1 failed");
}

TEST_F(CliRules, ASearchThatIsCutOffIsSaidAndCanGoOn) {
    writeText("g (float[2] a, float[2] b, float[2] c, float[2] d, float[2] e, float[2] f) => "
              "(float[2] y) { m = Mul(a, b) n = Mul(m, c) o = Mul(n, d) p = Mul(o, e) q = Mul(p, f)"
              " r = Add(q, a) s = Add(r, b) t = Add(s, c) u = Add(t, d) y = Add(u, e) }");
    folder.write("r.fuse",
                 "fuse 1;\nrule R { match { y = flat Add(g, h, i, j, k, flat Mul(l, m, n, "
                 "o, p, q)); where l.shape == [3]; } }\n");
    const std::vector<std::string> fuse = {"fuse", "m.onnx", "-p", "r.fuse", "--no-builtin"};
    expectHas(outputOf(fuse), "cut off, so that a match may be missing: R 1; --search-steps");
    std::vector<std::string> longer = fuse;
    longer.insert(longer.end(), {"--search-steps", "3000000"});
    const std::string all = outputOf(longer);
    EXPECT_EQ(all.find("cut off"), std::string::npos) << all;
    expectRefused({"fuse", "m.onnx", "--search-steps", "0"}, ExitUsage, {"--search-steps"});
    // All searches of a rule together have a limit of their own, and explain says the same.
    const std::vector<std::string> few = {"--rule-steps", "50"};
    std::vector<std::string> bounded = fuse;
    bounded.insert(bounded.end(), few.begin(), few.end());
    expectHas(outputOf(bounded), "cut off, so that a match may be missing: R 1; --rule-steps");
    std::vector<std::string> explain = {"explain", "m.onnx", "-p", "r.fuse", "--no-builtin"};
    explain.insert(explain.end(), few.begin(), few.end());
    expectHas(outputOf(explain), "all searches of the rule were cut off after 50 steps");
    expectRefused({"fuse", "m.onnx", "--rule-steps", "0"}, ExitUsage, {"--rule-steps"});
}

TEST_F(CliRules, APhaseThatWasStoppedIsSaid) {
    writeText("g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }");
    folder.write("r.fuse",
                 "fuse 1;\nrule A in convert { match { y = Exp(x); } rewrite { y = Tanh(x); "
                 "} }\nrule B in convert { match { y = Tanh(x); } rewrite { y = Exp(x); } "
                 "}\npipeline default = convert*;\n");
    expectHas(outputOf({"fuse", "m.onnx", "-p", "r.fuse", "--no-builtin"}),
              "phase `convert*` undoes its own work: `A`, `B`");
    folder.write("t.fuse",
                 "fuse 1;\nrule A in convert { match { y = Exp(x); } rewrite { y = Tanh(x); } test "
                 "\"t\" { graph \"g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }\"; "
                 "expect nodes 2; } }\nrule B in convert { match { y = Tanh(x); } rewrite { y = "
                 "Exp(x); } }\npipeline default = convert*;\n");
    expectHas(outputOf({"test", "t.fuse", "--no-proof", "-q"}),
              "A \"t\": M0510: phase `convert*` undoes its own work");
}
