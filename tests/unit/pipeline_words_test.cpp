// SPDX-License-Identifier: Apache-2.0
// Every word of the language acts: for each row of the table of words there are two texts of rules
// that differ in that word, and whatever comes of them differs too. The manual names every root.
#include "app/pipeline/explain.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/prove/proof.h"
#include "app/pipeline/rule_tests.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/members.h"
#include "core/support/file.h"
#include "dsl/words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

using namespace fuselage;
using dsl::WordPlace;
namespace fs = std::filesystem;

namespace {

const char* const model = R"(g (float[2,4] x, float[2,4] r) =>
    (float[2,4] y, float[2,2] p, float[2,4] o, float[1,1,4,4] m, float[2,1] t, float[2,4] k, float[2,4] n, float[2,4] g, float[2,4] l, float[4,4] z)
    <float[4,2] w = {1,2,3,4,5,6,7,8}, float one = {1}, float four = {4}, int64[1] last = {-1},
     int64[4] image = {1,1,2,4}, float zero = {0}> {
  a = Exp(x)
  b = Neg(a)
  c = Abs(b)
  y = Tanh(c)
  d = Relu(r)
  e = MatMul(d, w)
  p = Add(e, one)
  s = Softmax<axis = -1>(x)
  o = Sub(s, r)
  i = Reshape(r, image)
  m = MaxPool<kernel_shape = [1, 1]>(i)
  t = ReduceMax(r, last)
  u = Mul(x, four)
  v = Mul(u, r)
  f = Div(one, zero)
  k = Add(v, f)
  n = Identity(s)
  g1 = Sin(r)
  g2 = Cos(g1)
  g3 = Atan(g2)
  g4 = Sigmoid(g3)
  g5 = Floor(g4)
  g6 = Ceil(g5)
  g7 = Sqrt(g6)
  g = Sign(g7)
  h = Exp(r)
  j = Add(h, one)
  l = Log(j)
  z = Concat<axis = 0>(x, r)
})";

struct Row {
    WordPlace place;
    const char* word;
    const char* with;
    const char* without;
};

using P = WordPlace;

// clang-format off
const Row rows[] = {
    {P::Item, "rule", "rule R { match { y = Exp -> Neg; } }", ""},
    {P::Item, "pattern", "pattern Q(v) -> w { w = Neg(v); } rule R { match { y = Exp -> Q; } }",
                         "pattern Q(v) -> w { w = Abs(v); } rule R { match { y = Exp -> Q; } }"},
    {P::Item, "form", "form Tanh(x) { y = Neg(Exp(x)); } rule R { match { y = spec Tanh(x); } }",
                      "rule R { match { y = spec Tanh(x); } }"},
    {P::Item, "op", "op com.acme.F(x) -> y { y = Neg(Exp(x)); } rule R { match { y = spec com.acme.F(x); } }",
                    "rule R { match { y = spec com.acme.F(x); } }"},
    {P::Item, "class", "class C = Neg; rule R { match { y = Exp -> C; } }",
                       "class C = Abs; rule R { match { y = Exp -> C; } }"},
    {P::Item, "fn", "fn f(v) = v + 2; rule R { match { y = Exp(x: [N, _]) -> Neg; where f(N) == 4; } }",
                    "fn f(v) = v + 3; rule R { match { y = Exp(x: [N, _]) -> Neg; where f(N) == 4; } }"},
    {P::Item, "import", "import \"std/activation\"; rule R { match { y = MatMul -> Act; } }",
                        "rule R { match { y = MatMul -> Act; } }"},
    {P::Item, "opset", "opset >= 13 < 14; rule R { match { y = Exp -> Neg; } }",
                       "rule R { match { y = Exp -> Neg; } }"},
    {P::Item, "pipeline", "rule R { match { y = Exp -> Neg; } } pipeline default = convert;",
                          "rule R { match { y = Exp -> Neg; } } pipeline default = fuse;"},
    {P::Clause, "match", "rule R { match { y = Exp -> Neg; } }", "rule R { }"},
    {P::Clause, "rewrite", "rule R { match { y = Neg(x); } rewrite { y = Sub(0.0, x); } }",
                           "rule R { match { y = Neg(x); } }"},
    {P::Clause, "gate", "rule R { match { y = Exp -> Neg; } gate gain.us < 0; }",
                        "rule R { match { y = Exp -> Neg; } }"},
    {P::Clause, "escape", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: export; }",
                          "rule R { match { y = q@Softmax(x) -> Sub; } }"},
    {P::Clause, "numeric", "rule R { match { y = Exp -> Neg; } numeric exact; }",
                           "rule R { match { y = Exp -> Neg; } }"},
    {P::Clause, "qdq", "rule R { match { y = Exp(x) -> Neg; } qdq { INPUT: x; } }",
                       "rule R { match { y = Exp(x) -> Neg; } }"},
    {P::Clause, "verify", "rule R { match { y = Neg(x) -> Abs; } rewrite { y = Abs(x); } verify 3; }",
                          "rule R { match { y = Neg(x) -> Abs; } rewrite { y = Abs(x); } }"},
    {P::Clause, "hint", "rule R { match { y = Exp -> Neg; } hint \"a word to its users\"; }",
                        "rule R { match { y = Exp -> Neg; } }"},
    {P::Clause, "as", "rule R { match { y = Exp -> Neg; } as com.acme.F; }",
                      "rule R { match { y = Exp -> Neg; } }"},
    {P::Clause, "test", "rule R { match { y = Exp -> Neg; } test \"t\" { graph \"g (float[2] x) => (float[2] y) { y = Exp(x) }\"; expect fires 1; } }",
                        "rule R { match { y = Exp -> Neg; } }"},
    {P::Statement, "where", "rule R { match { y = Exp(x: [N, _]) -> Neg; where N > 2; } }",
                            "rule R { match { y = Exp(x: [N, _]) -> Neg; } }"},
    {P::Statement, "let", "rule R { match { let q = 3; y = Exp(x: [N, _]) -> Neg; where N == q; } }",
                          "rule R { match { let q = 2; y = Exp(x: [N, _]) -> Neg; where N == q; } }"},
    {P::Statement, "many", "rule R { match { many 2..4 { q = Mul; } } }", "rule R { match { q = Mul; } }"},
    {P::Statement, "unless", "rule R { match { q = Exp(x); unless { Softmax(x); } } }",
                             "rule R { match { q = Exp(x); } }"},
    {P::Term, "ordered", "rule R { match { y = ordered Add(1, v); } }", "rule R { match { y = Add(1, v); } }"},
    {P::Term, "flat", "rule R { match { y = flat Mul(x, r, 4); } }", "rule R { match { y = Mul(x, r); } }"},
    {P::Term, "spec", "rule R { match { y = spec Softplus(x); } }", "rule R { match { y = Softplus(x); } }"},
    {P::Term, "region", "class C = Exp | Neg | Abs; rule R { match { y = region C {2..8}; } }",
                        "class C = Exp | Neg | Abs; rule R { match { y = C; } }"},
    {P::Term, "inf", "rule R { match { y = Add(v, inf); } }", "rule R { match { y = Add(v, 2); } }"},
    {P::Flag, "const", "rule R { match { y = Sub(q, v: const); } }", "rule R { match { y = Sub(q, v); } }"},
    {P::Flag, "scalar", "rule R { match { y = MatMul(q, v: const scalar); } }", "rule R { match { y = MatMul(q, v: const); } }"},
    {P::Flag, "input", "rule R { match { y = Tanh(v: input); } }", "rule R { match { y = Tanh(v); } }"},
    {P::Modifier, "in", "rule R in convert { match { y = Exp -> Neg; } } pipeline default = fuse;", "rule R { match { y = Exp -> Neg; } } pipeline default = fuse;"},
    {P::Modifier, "priority", "rule Q { match { y = Exp -> Neg; } } rule R priority 9 { match { y = Exp -> Neg; } }",
                              "rule Q { match { y = Exp -> Neg; } } rule R { match { y = Exp -> Neg; } }"},
    {P::Modifier, "once", "rule R once { match { y = Exp(x); } rewrite { y = Neg(Neg(Exp(x))); } } pipeline default = fuse*;",
                          "rule R { match { y = Exp(x); } rewrite { y = Neg(Neg(Exp(x))); } } pipeline default = fuse*;"},
    {P::Modifier, "replaces", "rule Q { match { y = Exp -> Neg; } } rule R replaces Q { match { y = Mul; } }",
                              "rule Q { match { y = Exp -> Neg; } } rule R { match { y = Mul; } }"},
    {P::Member, "shape", "rule R { match { y = Exp(x); where x.shape == [2, 4]; } }", "rule R { match { y = Exp(x); where x.shape == [2, 5]; } }"},
    {P::Member, "rank", "rule R { match { y = Exp(x); where x.rank == 2; } }", "rule R { match { y = Exp(x); where x.rank == 3; } }"},
    {P::Member, "dtype", "rule R { match { y = Exp(x); where x.dtype == float; } }", "rule R { match { y = Exp(x); where x.dtype == int64; } }"},
    {P::Member, "bytes", "rule R { match { y = Exp(x); where x.bytes == 32; } }", "rule R { match { y = Exp(x); where x.bytes == 33; } }"},
    {P::Member, "value", "rule R { match { y = Mul(v, q: const); where q.value == 4; } }", "rule R { match { y = Mul(v, q: const); where q.value == 5; } }"},
    {P::Member, "users", "rule R { match { y = Exp(x); where y.users == 1; } }", "rule R { match { y = Exp(x); where y.users == 2; } }"},
    {P::Member, "flops", "rule R { match { y = Exp(x); where y.flops == 8; } }", "rule R { match { y = Exp(x); where y.flops == 9; } }"},
    {P::Member, "name", "rule R { match { y = Exp(x); where x.name == \"x\"; } }", "rule R { match { y = Exp(x); where x.name == \"r\"; } }"},
    {P::Root, "gain", "rule R { match { y = Exp -> Neg; } gate gain.us > 0; }", "rule R { match { y = Exp -> Neg; } gate 0 > 1; }"},
    {P::Root, "device", "rule R { match { y = Exp -> Neg; } gate device.units > 0; }", "rule R { match { y = Exp -> Neg; } gate 0 > 1; }"},
    {P::Root, "total", "rule R { match { y = Exp -> Neg; } gate total.nodes > 0; }", "rule R { match { y = Exp -> Neg; } gate 0 > 1; }"},
    {P::Gate, "always", "rule R { match { y = Reshape -> MaxPool; } gate always; }", "rule R { match { y = Reshape -> MaxPool; } }"},
    {P::Gate, "measured", "rule R { match { y = Reshape -> MaxPool; } gate measured; }", "rule R { match { y = Reshape -> MaxPool; } gate always; }"},
    {P::Numeric, "exact", "rule R { match { y = Exp -> Neg; } numeric exact; }", "rule R { match { y = Exp -> Neg; } }"},
    {P::Numeric, "wider", "rule R { match { y = Exp -> Neg; } numeric wider; }", "rule R { match { y = Exp -> Neg; } }"},
    {P::Numeric, "reassociated", "rule R { match { y = Exp -> Neg; } numeric reassociated; }", "rule R { match { y = Exp -> Neg; } numeric exact; }"},
    {P::Numeric, "approximate", "rule R { match { y = Exp -> Neg; } numeric approximate; }", "rule R { match { y = Exp -> Neg; } }"},
    {P::Policy, "forbid", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: forbid; }", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: export; }"},
    {P::Policy, "export", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: export; }", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: duplicate; }"},
    {P::Policy, "duplicate", "rule R { match { y = q@Softmax(x) -> Sub; } escape q: duplicate; }", "rule R { match { y = q@Softmax(x) -> Sub; } }"},
    {P::Test, "graph", "rule R { match { y = Exp; } test \"t\" { graph \"g (float[2] x) => (float[2] y) { y = Exp(x) }\"; expect fires 1; } }",
                       "rule R { match { y = Exp; } test \"t\" { expect fires 1; } }"},
    {P::Test, "zoo", "rule R { match { y = Exp; } test \"t\" { zoo one; expect fires 1; } }", "rule R { match { y = Exp; } test \"t\" { zoo two; expect fires 1; } }"},
    {P::Test, "model", "rule R { match { y = Exp; } test \"t\" { model \"absent.onnx\"; expect fires 1; } }", "rule R { match { y = Exp; } test \"t\" { zoo one; expect fires 1; } }"},
    {P::Test, "expect", "rule R { match { y = Exp; } test \"t\" { zoo one; expect fires 2; } }", "rule R { match { y = Exp; } test \"t\" { zoo one; } }"},
    {P::Expect, "fires", "rule R { match { y = Exp; } test \"t\" { zoo one; expect fires 2; } }", "rule R { match { y = Exp; } test \"t\" { zoo one; expect fires 1; } }"},
    {P::Expect, "miss", "rule R { match { y = Exp; } test \"t\" { zoo one; expect miss M0203; } }", "rule R { match { y = Exp; } test \"t\" { zoo one; } }"},
    {P::Expect, "same", "rule R { match { y = Exp(x); } rewrite { y = Neg(x); } test \"t\" { zoo one; expect same 1e-4; } }",
                        "rule R { match { y = Exp(x); } rewrite { y = Neg(x); } test \"t\" { zoo one; } }"},
    {P::Expect, "nodes", "rule R { match { y = Exp; } test \"t\" { zoo one; expect nodes 2; } }", "rule R { match { y = Exp; } test \"t\" { zoo one; expect nodes 1; } }"},
    {P::Phase, "canonicalize", "rule R in canonicalize { match { y = Exp; } }", "rule R in other { match { y = Exp; } }"},
    {P::Phase, "convert", "rule R in convert { match { y = Exp; } }", "rule R in other { match { y = Exp; } }"},
    {P::Phase, "fuse", "rule R in fuse { match { y = Exp; } }", "rule R in other { match { y = Exp; } }"},
    {P::Phase, "quantize", "rule R in quantize { match { y = Exp; } }", "rule R in other { match { y = Exp; } }"},
    {P::Selection, "order", "rule A { match { y = Exp -> Neg; } } rule B { match { y = Neg -> Abs -> Tanh; } } pipeline default = fuse by order;",
                            "rule A { match { y = Exp -> Neg; } } rule B { match { y = Neg -> Abs -> Tanh; } } pipeline default = fuse by gain;"},
    {P::Selection, "gain", "rule A { match { y = Exp -> Neg; } } rule B { match { y = Neg -> Abs -> Tanh; } } pipeline default = fuse by gain;",
                           "rule A { match { y = Exp -> Neg; } } rule B { match { y = Neg -> Abs -> Tanh; } } pipeline default = fuse by order;"},
    {P::Selection, "exact", "rule A { match { y = Sin -> Cos -> Atan; } } rule B { match { y = Atan -> Sigmoid -> Floor -> Ceil; } } rule C { match { y = Ceil -> Sqrt -> Sign; } } pipeline default = fuse by exact;",
                            "rule A { match { y = Sin -> Cos -> Atan; } } rule B { match { y = Atan -> Sigmoid -> Floor -> Ceil; } } rule C { match { y = Ceil -> Sqrt -> Sign; } } pipeline default = fuse by gain;"},
    {P::Pipeline, "then", "rule R { match { y = Exp; } } pipeline default = convert then fuse;", "rule R { match { y = Exp; } } pipeline default = convert;"},
    {P::Pipeline, "keep", "class C = MoE; rule R { match { y = Exp; } } pipeline default = fuse keep C;", "class C = MoE; rule R { match { y = Exp; } } pipeline default = fuse;"},
    {P::Trait, "elementwise", "class C = @elementwise; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "commutative", "class C = @commutative; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "associative", "class C = @associative; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "reduction", "class C = @reduction; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "view", "class C = @view; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "movement", "class C = @movement; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "contraction", "class C = @contraction; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "window", "class C = @window; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
    {P::Trait, "normalization", "class C = @normalization; rule R { match { y = C; } }", "class C = Tan; rule R { match { y = C; } }"},
};
// clang-format on

Graph graphOf(const std::string& text) {
    Progress quiet;
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << graph.error().text();
    EXPECT_TRUE(prepareGraph(*graph, quiet));
    return std::move(*graph);
}

/// What the rules do to the model: the graph and the trace, or the error.
std::string fusing(const app::RuleLibrary& library, Decide decide) {
    Progress quiet;
    app::FuseOptions options;
    options.decide = decide;
    options.profile = "h200";
    options.explain = true;
    auto done = app::fuseGraph(graphOf(model), library, options, quiet);
    if (!done)
        return done.error().text();
    std::string out = text(done->graph);
    for (const TraceEvent& event : done->trace.events) {
        out +=
            fmt::format("{} {} {}\n", event.rule, static_cast<int>(event.kind), event.reason.code);
        for (const TracePoint& point : event.points)
            out += fmt::format("{} {} {}\n", point.name, point.value, point.reads.size());
    }
    auto profile = deviceProfile("h200");
    PlanOptions planning;
    planning.profile = &*profile;
    planning.allowed = app::numericClasses(library);
    auto plan = makePlan(std::make_shared<const Graph>(std::move(done->graph)), planning, quiet);
    if (!plan)
        return out + plan.error().text();
    for (const Step& step : (*plan)->steps)
        out += fmt::format("{} {}\n", nameOf(step.allowed), nameOf(step.numeric));
    return out;
}

std::string testing(const app::RuleLibrary& library) {
    Progress quiet;
    app::RuleTestOptions options;
    options.zoo = [](const std::string& name) -> Result<Graph> {
        if (name != "one")
            return failure("zoo.name", "no network `" + name + "`");
        return model_io::loadText("g (float[2] x) => (float[2] y) { y = Exp(x) }");
    };
    auto results = app::runRuleTests(library, options, quiet);
    if (!results)
        return results.error().text();
    std::string out;
    for (const app::RuleTestResult& result : *results) {
        out += "test " + result.skipped.value_or("");
        for (const app::RuleTestFailure& each : result.failures)
            out += ", " + each.expected + ": " + each.found;
        out += "\n";
    }
    return out;
}

std::string proving(const app::RuleLibrary& library) {
    Progress quiet;
    auto proofs = app::proveRules(library, {}, quiet);
    std::string out;
    for (const app::RuleProof& proof : *proofs)
        out += fmt::format("{} samples\n", proof.samples);
    return out;
}

std::string explaining(const app::RuleLibrary& library) {
    Progress quiet;
    app::LoadedModel loaded;
    loaded.graph = graphOf(model);
    app::ExplainOptions options;
    options.fuse.profile = "h200";
    auto explained = app::explainModel(loaded, library, options, quiet);
    if (!explained)
        return explained.error().text();
    std::string out;
    for (const app::RuleStanding& rule : explained->rules)
        for (const std::string& hint : rule.hints)
            out += rule.rule + ": " + hint + "\n";
    return out;
}

/// All that can be seen of a text of rules.
std::string outcomeOf(const std::string& rules) {
    app::RuleOptions options;
    options.builtin = false;
    bool ordered = rules.find("pipeline") != std::string::npos;
    options.texts.push_back({"rules.fuse", "fuse 1;\n" + rules + "\n" +
                                               (ordered ? ""
                                                        : "pipeline default = canonicalize then "
                                                          "convert then fuse then quantize;\n")});
    auto library = app::loadRuleLibrary(options);
    if (!library)
        return library.error().text();
    std::string out;
    for (const Diagnostic& d : library->loaded.diagnostics.all())
        out += d.code + " " + d.message + "\n";
    for (const std::string& kept : app::namedOperators(*library))
        out += "read as one node: " + kept + "\n";
    out += fusing(*library, Decide::Rules) + fusing(*library, Decide::Cost) + testing(*library);
    if (rules.find("verify") != std::string::npos ||
        rules.find("rewrite { y = Abs") != std::string::npos)
        out += proving(*library);
    return out + explaining(*library);
}

TEST(Words, EachActs) {
    std::map<std::pair<WordPlace, std::string>, const Row*> table;
    for (const Row& row : rows)
        table[{row.place, row.word}] = &row;
    for (const dsl::WordRow& word : dsl::wordRows()) {
        if (word.place == WordPlace::RootMember)
            continue;
        const Row* row = table[{word.place, word.word}];
        ASSERT_NE(row, nullptr) << "no two texts show what `" << word.word << "` does";
        EXPECT_NE(std::string(row->with).find(row->word), std::string::npos) << row->with;
        EXPECT_NE(outcomeOf(row->with), outcomeOf(row->without))
            << "`" << row->word << "` does nothing";
    }
}

TEST(Words, EachMemberOfARootIsKnownToGates) {
    const std::string rule = "rule R { match { y = Exp -> Neg; } gate ";
    for (const RootRow& row : rootRows()) {
        std::string name = fmt::format("{}.{}", row.root, row.name);
        bool isText = std::string_view(row.unit) == "text";
        const std::string choices = row.choices;
        const std::string text = choices.empty() ? "none" : choices.substr(0, choices.find(' '));
        std::string holds = rule + name + (isText ? " != \"" + text + "\"; }" : " > -1e30; }");
        std::string fails = rule + name + (isText ? " == \"" + text + "\"; }" : " < -1e30; }");
        EXPECT_NE(outcomeOf(holds), outcomeOf(fails)) << name;
    }
}

TEST(Words, TheManualListsTheRootsAndTheirCasesAreThere) {
    const fs::path root = FUSELAGE_SOURCE_DIR;
    std::string manual = *readFile((root / "dsl/README.md").string());
    EXPECT_NE(manual.find(rootsAsMarkdown()), std::string::npos)
        << "put this under `## Gates` of dsl/README.md:\n"
        << rootsAsMarkdown();
    for (const RootRow& row : rootRows()) {
        fs::path path = root / fmt::format("tests/cases/rewrite/gate_{}.case", row.root);
        auto text = readFile(path.string());
        ASSERT_TRUE(text) << path;
        EXPECT_NE(text->find(fmt::format("gate {}.{} ", row.root, row.name)), std::string::npos)
            << path << " has no gate of `" << row.name << "`";
    }
}

TEST(Words, TheManualHasMembersFunctionsAndTraitsAsTables) {
    const fs::path root = FUSELAGE_SOURCE_DIR;
    const std::string manual = *readFile((root / "dsl/README.md").string());
    for (const std::string& table :
         {dsl::membersAsMarkdown(), functionsAsMarkdown(), dsl::traitsAsMarkdown()})
        EXPECT_NE(manual.find(table), std::string::npos)
            << "put this under `## Members, functions, traits` of dsl/README.md:\n"
            << table;
}

} // namespace
