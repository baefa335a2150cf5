// SPDX-License-Identifier: Apache-2.0
// Selection among overlapping matches: order, gain, exact, priorities, and the reasons of losers.
#include "core/rewrite/left_out.h"
#include "core/rewrite/select.h"
#include "tests/unit/rewrite_builder.h"

#include <random>

using namespace fuselage;
using namespace fuselage::test;

namespace {

/// A chain of nodes and candidates that cover ranges of it.
struct Fixture {
    Graph graph;
    std::vector<NodeId> nodes;
    std::vector<std::unique_ptr<Rule>> rules;
    std::vector<Candidate> candidates;

    explicit Fixture(int length) {
        ValueId last = graph.addInput("x", tensorType(DType::Float32, {4}));
        for (int i = 0; i < length; ++i) {
            NodeId node = graph.addNode(
                {Op::Relu, "n" + std::to_string(i), {last}, {"v" + std::to_string(i)}});
            nodes.push_back(node);
            last = graph.node(node).outputs[0];
        }
        graph.addOutput(last);
    }

    void add(std::vector<int> covered, double gain, int64_t priority = 0) {
        auto rule = std::make_unique<Rule>();
        rule->name = "r" + std::to_string(candidates.size());
        rule->priority = priority;
        Candidate candidate;
        candidate.match.rule = rule.get();
        for (int i : covered)
            candidate.match.nodes.push_back(nodes[static_cast<size_t>(i)]);
        candidate.gain = gain;
        candidate.ruleOrder = static_cast<uint32_t>(candidates.size());
        candidates.push_back(candidate);
        rules.push_back(std::move(rule));
    }

    Selection choose(PhaseStep::Selection by, uint64_t steps = 200'000) const {
        return select(GraphFacts(graph), candidates, {by, steps});
    }

    double total(const Selection& selection) const {
        double sum = 0;
        for (size_t i : selection.chosen)
            sum += candidates[i].gain;
        return sum;
    }
};

} // namespace

TEST(Select, ExactBeatsGreedyWhereTwoSmallGainMore) {
    Fixture f(4);
    f.add({1, 2}, 5);
    f.add({0, 1}, 4);
    f.add({2, 3}, 4);
    EXPECT_EQ(f.choose(PhaseStep::Selection::Gain).chosen, std::vector<size_t>{0});
    EXPECT_EQ(f.choose(PhaseStep::Selection::Exact).chosen, (std::vector<size_t>{1, 2}));
}

TEST(Select, OrderTakesRulesAsTheyStand) {
    Fixture f(4);
    f.add({0, 1}, 1);
    f.add({1, 2}, 9);
    EXPECT_EQ(f.choose(PhaseStep::Selection::Order).chosen, std::vector<size_t>{0});
    EXPECT_EQ(f.choose(PhaseStep::Selection::Gain).chosen, std::vector<size_t>{1});
}

TEST(Select, PriorityComesBeforeGain) {
    Fixture f(3);
    f.add({0, 1}, 100, 0);
    f.add({1, 2}, 1, 5);
    for (auto by :
         {PhaseStep::Selection::Order, PhaseStep::Selection::Gain, PhaseStep::Selection::Exact}) {
        Selection selection = f.choose(by);
        EXPECT_EQ(selection.chosen, std::vector<size_t>{1});
        ASSERT_EQ(selection.losers.size(), 1U);
        EXPECT_EQ(selection.losers[0].reason.code, code::shadowed);
    }
}

TEST(Select, TiesGoToTheLargerThenToTheLater) {
    Fixture larger(4);
    larger.add({0, 1}, 2);
    larger.add({1, 2, 3}, 2);
    EXPECT_EQ(larger.choose(PhaseStep::Selection::Gain).chosen, std::vector<size_t>{1});
    Fixture later(3);
    later.add({0, 1}, 2);
    later.add({1, 2}, 2);
    EXPECT_EQ(later.choose(PhaseStep::Selection::Gain).chosen, std::vector<size_t>{1});
    EXPECT_EQ(later.choose(PhaseStep::Selection::Exact).chosen, std::vector<size_t>{1});
}

TEST(Select, MatchesWithoutGainAreStillTaken) {
    Fixture f(2);
    f.add({0}, 0);
    f.add({1}, -1);
    EXPECT_EQ(f.choose(PhaseStep::Selection::Exact).chosen.size(), 2U);
}

TEST(Select, LosersSayWhoWonWithNumbers) {
    Fixture f(3);
    f.add({0, 1}, 7);
    f.add({1, 2}, 3);
    Selection selection = f.choose(PhaseStep::Selection::Gain);
    ASSERT_EQ(selection.losers.size(), 1U);
    EXPECT_EQ(selection.losers[0].reason.code, code::notSelected);
    EXPECT_EQ(selection.losers[0].reason.facts,
              (std::vector<ReasonFact>{{"gain", "3"}, {"winner", "r0"}, {"winner gain", "7"}}));
}

TEST(Select, ExactIsOptimalOnRandomConflicts) {
    std::mt19937 random(4);
    for (int round = 0; round < 60; ++round) {
        Fixture f(9);
        for (int i = 0; i < 9; ++i) {
            int begin = static_cast<int>(random() % 7);
            std::vector<int> covered;
            for (int at = begin; at < begin + 1 + static_cast<int>(random() % 3) && at < 9; ++at)
                covered.push_back(at);
            f.add(covered, static_cast<double>(1 + random() % 9));
        }
        double best = 0;
        for (uint32_t mask = 0; mask < (1U << f.candidates.size()); ++mask) {
            std::vector<int> owners(f.graph.nodeBound(), 0);
            double sum = 0;
            bool legal = true;
            for (size_t i = 0; i < f.candidates.size(); ++i) {
                if ((mask & (1U << i)) == 0)
                    continue;
                sum += f.candidates[i].gain;
                for (NodeId node : f.candidates[i].match.nodes)
                    legal = legal && owners[node.index()]++ == 0;
            }
            if (legal)
                best = std::max(best, sum);
        }
        Selection exact = f.choose(PhaseStep::Selection::Exact);
        EXPECT_DOUBLE_EQ(f.total(exact), best);
        EXPECT_GE(f.total(exact), f.total(f.choose(PhaseStep::Selection::Gain)));
        EXPECT_EQ(exact.chosen.size() + exact.losers.size(), f.candidates.size());
    }
}

TEST(Select, BoundThatIsHitIsReportedAndKeepsALegalAnswer) {
    Fixture f(30);
    for (int i = 0; i + 2 < 30; ++i)
        f.add({i, i + 1, i + 2}, 1 + i % 4);
    Selection selection = f.choose(PhaseStep::Selection::Exact, 5);
    EXPECT_EQ(selection.cutComponents, 1U);
    std::vector<int> owners(f.graph.nodeBound(), 0);
    for (size_t i : selection.chosen)
        for (NodeId node : f.candidates[i].match.nodes)
            EXPECT_EQ(owners[node.index()]++, 0);
}

TEST(LeftOut, WaysToTakeOnePlaceCountOnce) {
    Trace trace;
    auto refuse = [&](const std::string& rule, std::vector<std::string> nodes,
                      const char* code = code::gate) {
        TraceEvent& event = trace.events.emplace_back();
        event.kind = TraceEvent::Kind::Refused;
        event.rule = rule;
        event.nodes = std::move(nodes);
        event.reason.code = code;
    };
    auto apply = [&](const std::string& rule, std::vector<std::string> nodes) {
        refuse(rule, std::move(nodes));
        trace.events.back().kind = TraceEvent::Kind::Fused;
    };
    refuse("A", {"a", "b"});
    refuse("A", {"a", "b", "c"}); // the same place, more of it
    refuse("A", {"d"});
    refuse("B", {"a"});              // another rule
    refuse("A", {"e"}, code::cycle); // not by its price
    refuse("A", {"f", "g"});         // taken in another way
    apply("A", {"g"});
    const auto places = leftOutPlaces(trace);
    ASSERT_EQ(places.size(), 3U);
    EXPECT_EQ(places[0]->nodes, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(places[1]->nodes, std::vector<std::string>{"d"});
    EXPECT_EQ(places[2]->rule, "B");
}
