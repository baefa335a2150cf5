// SPDX-License-Identifier: Apache-2.0
// Short cuts of the matcher against the long way: filters reject nothing that matches, and a cache
// over edited rules finds what a fresh search does.
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/rewrite/match_cache.h"
#include "dsl_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace fuselage;
using fuselage::dsl::test::Loaded;

namespace {

/// The library on the graphs of its own tests.
const Loaded& library() {
    static const Loaded loaded("fuse 1; import \"std/all\";");
    return loaded;
}

struct Subject {
    explicit Subject(const std::string& text) : graph(read(text)), facts(graph), convexity(graph) {}

    static Graph read(const std::string& text) {
        auto graph = model_io::loadText(text);
        EXPECT_TRUE(graph) << text;
        Progress progress;
        EXPECT_TRUE(prepareGraph(*graph, progress)) << text;
        return std::move(*graph);
    }

    Graph graph;
    GraphFacts facts;
    Convexity convexity;
};

std::vector<std::vector<NodeId>> matchesOf(const Subject& subject, const PreparedRule& rule,
                                           bool filters) {
    MatcherOptions options;
    options.filters = filters;
    MatchResult found;
    Matcher(subject.graph, subject.facts, subject.convexity, options).find(rule, found);
    std::vector<std::vector<NodeId>> out;
    for (const Match& match : found.matches)
        out.push_back(match.nodes);
    return out;
}

const char* const graphText =
    "g (float[4,8] x) => (float[4,8] z, float[4,8] w) <float half = {0.5}> { "
    "a = Relu(x) b = Abs(a) c = Mul(b, half) d = Add(c, a) z = Sigmoid(d) w = Relu(d) }";

const std::string twoRules = "fuse 1;\n"
                             "rule A { match { y = Abs(Relu(x)); } }\n"
                             "rule B { match { y = Add(Mul(_, k: const), r); } }\n";

std::string keyOf(const std::string& text) {
    Loaded loaded("fuse 1;\n" + text);
    EXPECT_EQ(loaded.rendered(), "") << text;
    return matchKey(loaded.rule());
}

/// Small random patterns and graphs over the same few operators, so that many match.
class Drawn {
public:
    explicit Drawn(uint32_t seed) : m_random(seed) {}

    std::string rule() {
        std::string match;
        if (below(3) == 0)
            match += "s = " + term(2) + "; y = " + chain("s", 1) + ";";
        else
            match = "y = " + chain(term(2), 2) + ";";
        if (below(4) == 0)
            match = "x; many 1..2 { m = " + chain("x", 1) + "; }";
        return "fuse 1;\nrule R { match { " + match + " } }\n";
    }

    std::string graph() {
        std::string text = "g (float[2,3] v0, float[2,3] u) => (float[2,3] out) { ";
        const size_t first = below(ops.size());
        const size_t nodes = 2 + below(4);
        for (size_t i = 0; i < nodes; ++i)
            text +=
                fmt::format("v{} = {} ", i + 1, applied(ops[(first + below(3)) % ops.size()], i));
        return text + fmt::format("out = Neg(v{}) }}", nodes);
    }

private:
    size_t below(size_t bound) { return m_random() % bound; }

    const std::string& op() { return ops[below(ops.size())]; }

    static bool takesTwo(const std::string& op) { return op == "Add" || op == "Mul"; }

    std::string applied(const std::string& op, size_t values) {
        const std::string value = "v" + std::to_string(below(values + 1));
        return op + "(" + (takesTwo(op) ? value + ", " + (below(2) ? "u" : value) : value) + ")";
    }

    std::string term(size_t depth) {
        if (depth == 0)
            return "_";
        if (below(4) == 0)
            return "(" + term(depth - 1) + " | " + node(depth) + ")";
        return node(depth);
    }

    std::string node(size_t depth) {
        const std::string name = op();
        const std::string operand = term(depth - 1);
        return name + "(" + (takesTwo(name) ? operand + ", _" : operand) + ")";
    }

    std::string chain(std::string from, size_t steps) {
        constexpr const char* quantifiers[] = {"", "", "?", "{0..2}", "{1..2}"};
        for (size_t i = 0; i < steps; ++i) {
            const std::string step = below(4) == 0 ? "(" + op() + " | " + op() + ")"
                                     : below(4) == 0
                                         ? "region Few {" + std::to_string(below(2)) + "..3}"
                                         : op();
            from += " -> " + step + (step.starts_with("region") ? "" : quantifiers[below(5)]);
        }
        return from;
    }

    inline static const std::vector<std::string> ops = {"Relu", "Abs", "Add", "Mul", "Exp", "Sin"};
    std::mt19937 m_random;
};

} // namespace

TEST(DslMatching, RulesThatAreNotSearchedWouldNotMatch) {
    size_t matches = 0, spared = 0;
    auto check = [&](const RuleIndex& index, const std::string& text, const std::string& rules) {
        Subject subject(text);
        for (const auto& rule : index.rules()) {
            auto found = matchesOf(subject, rule->prepared(), false);
            const bool mayMatch = rule->mayMatch(subject.facts.present);
            ASSERT_TRUE(mayMatch || found.empty()) << rule->rule().name << "\n"
                                                   << rules << "\n"
                                                   << text;
            matches += found.size();
            spared += mayMatch ? 0 : 1;
        }
    };
    RuleIndex index(library().result.rules);
    std::set<std::string> graphs;
    for (const dsl::RuleTest& test : library().result.tests)
        if (test.given == dsl::RuleTest::Given::Graph)
            graphs.insert(test.subject);
    for (const std::string& text : graphs)
        check(index, text, "the library");
    EXPECT_GT(spared, graphs.size() * index.rules().size() / 2);
    for (uint32_t seed = 0; seed < 1500; ++seed) {
        Drawn drawn(seed);
        const std::string rules = "class Few = Relu | Abs | Add;\n";
        std::string text = drawn.rule();
        text.insert(text.find("rule R"), rules);
        Loaded loaded(text);
        if (loaded.result.rules.rules.empty())
            continue; // such as a step that cannot repeat
        check(RuleIndex(loaded.result.rules), drawn.graph(), text);
    }
    EXPECT_GT(matches, 500U);
}

TEST(DslMatching, FiltersRejectNothingThatMatches) {
    RuleIndex index(library().result.rules);
    std::set<std::string> graphs;
    for (const dsl::RuleTest& test : library().result.tests)
        if (test.given == dsl::RuleTest::Given::Graph)
            graphs.insert(test.subject);
    ASSERT_GT(graphs.size(), 50U);
    size_t matches = 0;
    for (const std::string& text : graphs) {
        Subject subject(text);
        for (const auto& rule : index.rules()) {
            auto quick = matchesOf(subject, rule->prepared(), true);
            ASSERT_EQ(quick, matchesOf(subject, rule->prepared(), false))
                << rule->rule().name << "\n"
                << text;
            matches += quick.size();
        }
    }
    EXPECT_GT(matches, graphs.size());
}

/// Matches and searches that were cut off, as text.
std::string foundBy(const Subject& subject, const PreparedRule& rule,
                    const MatcherOptions& options) {
    MatchResult found;
    Matcher(subject.graph, subject.facts, subject.convexity, options).find(rule, found);
    std::string out;
    for (const Match& match : found.matches)
        for (NodeId node : match.nodes)
            out += subject.graph.node(node).name + (node == match.nodes.back() ? "\n" : " ");
    for (const RefusedMatch& refused : found.refused)
        if (refused.reason.code == code::budget)
            out += refused.reason.message + "\n";
    return out;
}

/// Near misses are looked for without filters; that must not cost what fusing finds with them.
TEST(DslMatching, ExplainingFindsWhatFusingFindsHoweverFewStepsThereAre) {
    size_t matches = 0, cut = 0;
    for (uint32_t seed = 0; seed < 600; ++seed) {
        Drawn drawn(seed);
        std::string text = drawn.rule();
        text.insert(text.find("rule R"), "class Few = Relu | Abs | Add;\n");
        Loaded loaded(text);
        if (loaded.result.rules.rules.empty())
            continue;
        const std::string graph = drawn.graph();
        Subject subject(graph);
        RuleIndex index(loaded.result.rules);
        for (const auto& [ofNode, ofRule] : {std::pair(5U, 1000U), {30U, 1000U}, {30U, 40U}}) {
            MatcherOptions options;
            options.budget = ofNode;
            options.ruleBudget = ofRule;
            const std::string fused = foundBy(subject, index.rules()[0]->prepared(), options);
            options.explain = true;
            EXPECT_EQ(foundBy(subject, index.rules()[0]->prepared(), options), fused)
                << text << "\n"
                << graph;
            cut += fused.find("cut off") == std::string::npos ? 0 : 1;
            matches += fused.empty() || fused.starts_with("the search") ? 0 : 1;
        }
    }
    EXPECT_GT(matches, 100U);
    EXPECT_GT(cut, 20U);
}

TEST(DslMatching, ManyRulesAtOnceFindWhatEachFindsAlone) {
    RuleIndex index(library().result.rules);
    Subject subject(graphText);
    std::vector<const IndexedRule*> rules;
    for (const auto& rule : index.rules())
        rules.push_back(rule.get());
    Matcher matcher(subject.graph, subject.facts, subject.convexity, {});
    size_t at = 0, matches = 0;
    matcher.findEach(rules, [&](const IndexedRule& rule, MatchResult& found) {
        EXPECT_EQ(&rule, rules[at++]);
        MatchResult alone;
        Matcher(subject.graph, subject.facts, subject.convexity, {}).find(rule.prepared(), alone);
        EXPECT_EQ(found.matches.size(), alone.matches.size()) << rule.rule().name;
        matches += found.matches.size();
        return true;
    });
    EXPECT_EQ(at, rules.size());
    EXPECT_GT(matches, 0U);
}

TEST(DslMatching, OnlyTheEditedRuleIsSearchedForAgain) {
    Subject subject(graphText);
    MatchCache cache(subject.graph, subject.facts, subject.convexity, {});
    auto never = [] { return false; };
    Loaded first(twoRules);
    auto found = cache.update(first.result.rules, never);
    ASSERT_TRUE(found && found->size() == 2);
    EXPECT_EQ(cache.searched(), 2U);
    EXPECT_EQ(found->at(0)->found.matches.size(), 0U); // the Relu is also read by the Add
    EXPECT_EQ(found->at(1)->found.matches.size(), 1U);

    // A comment moves both rules; the second one now asks for something else.
    std::string edited = twoRules;
    edited.insert(edited.find("rule A"), "// moved\n");
    edited.replace(edited.find("Add(Mul"), 3, "Div");
    Loaded second(edited);
    found = cache.update(second.result.rules, never);
    ASSERT_TRUE(found && found->size() == 2);
    EXPECT_EQ(cache.searched(), 1U);
    EXPECT_EQ(found->at(1)->found.matches.size(), 0U);

    found = cache.update(second.result.rules, never);
    EXPECT_EQ(cache.searched(), 0U);
}

TEST(DslMatching, AStoppedUpdateIsMadeUpForByTheNext) {
    Subject subject(graphText);
    MatchCache cache(subject.graph, subject.facts, subject.convexity, {});
    Loaded loaded(twoRules);
    EXPECT_FALSE(cache.update(loaded.result.rules, [] { return true; }));
    EXPECT_EQ(cache.searched(), 0U);
    auto found = cache.update(loaded.result.rules, [] { return false; });
    ASSERT_TRUE(found);
    EXPECT_EQ(cache.searched(), 2U);
    EXPECT_EQ(found->at(1)->found.matches.size(), 1U);
}

TEST(DslMatching, AKeyTellsApartWhatMatchesDifferently) {
    const std::string rule = "rule R { match { s = Conv(x: float [N, 3], w: const)[group == 1]; "
                             "y = (s -> Add(_, b?)? | s) -> Relu{1..2}; where N > 1; } "
                             "escape s: export; }";
    const std::pair<std::string, std::string> edits[] = {
        {"rule R", "rule Q"},      {"Conv(", "ConvTranspose("},
        {"float [", "float16 ["},  {"3]", "4]"},
        {": const", ": scalar"},   {"group == 1", "group == 2"},
        {"group ==", "group !="},  {"b?", "b"},
        {")? |", ") |"},           {"{1..2}", "{1..3}"},
        {"N > 1", "N > 2"},        {"export", "forbid"},
        {"escape s: export;", ""}, {"Relu{", "Abs{"},
        {"where N > 1;", ""},      {"match {", "match { unless { Abs(s); } "}};
    for (const auto& [from, to] : edits) {
        std::string edited = rule;
        ASSERT_NE(edited.find(from), std::string::npos) << from;
        edited.replace(edited.find(from), from.size(), to);
        EXPECT_NE(keyOf(edited), keyOf(rule)) << edited;
    }
    for (const char* same : {"\n\n// moved\n", "/// documented\n"})
        EXPECT_EQ(keyOf(same + rule), keyOf(rule));
    std::string gated = rule;
    gated.replace(gated.find("escape"), 0, "gate always; ");
    EXPECT_EQ(keyOf(gated), keyOf(rule));
}

TEST(DslMatching, DeclaredOperatorsGoWithTheirRules) {
    std::weak_ptr<const Rule> body;
    {
        Loaded loaded("fuse 1;\nop com.acme.Half(a) -> y { y = Abs(a); }\n"
                      "op com.acme.Twice(a) -> y { y = com.acme.Half(com.acme.Half(a)); }\n"
                      "rule R { match { y = com.acme.Twice(x); } }\n");
        EXPECT_EQ(loaded.rendered(), "");
        ASSERT_EQ(loaded.result.rules.operators.size(), 2U);
        body = loaded.result.rules.operators[1]->body;
        EXPECT_FALSE(body.expired());
    }
    EXPECT_TRUE(body.expired());
}

/// The body of a declared operator names the operator itself.
TEST(DslMatching, WholeKeysHoldTheBodiesOfOperators) {
    auto keysOf = [](const std::string& body) {
        Loaded loaded("fuse 1;\nop com.acme.Half(a) -> y { y = " + body +
                      "; }\nrule R { match { y = Neg(x); } rewrite { y = com.acme.Half(x); } }\n");
        EXPECT_EQ(loaded.rendered(), "") << body;
        return std::pair(wholeKey(loaded.rule()), meaningKey(loaded.rule()));
    };
    EXPECT_NE(keysOf("Abs(a)").first, keysOf("Exp(a)").first);
    EXPECT_NE(keysOf("Abs(a)").second, keysOf("Exp(a)").second);
    EXPECT_EQ(keysOf("Abs(a)"), keysOf("Abs(a)"));
    Loaded named("fuse 1;\nrule R { match { y = Neg(x); } }\n");
    Loaded other("fuse 1;\n// moved\nrule Q { match { y = Neg(x); } }\n");
    EXPECT_EQ(meaningKey(named.rule()), meaningKey(other.rule()));
    EXPECT_NE(matchKey(named.rule()), matchKey(other.rule()));
}
