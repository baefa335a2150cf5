// SPDX-License-Identifier: Apache-2.0
// Looks for small graphs that are slower fused than not: blocks that nobody wrote, and of each that
// is found the smallest one that is slower still. Processor time of one thread, in turns.
#include "app/pipeline/fuse.h"
#include "core/passes/passes.h"
#include "tests/bench/timed_form.h"
#include "tests/support/random_blocks.h"
#include "tests/support/small_graph.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace fuselage;

namespace {

struct Comparison {
    double measured = 1, predicted = 1; ///< fused over unfused; 1 where nothing is fused
    std::string rules;
};

std::string rulesIn(const Graph& graph) {
    std::string out;
    for (NodeId id : graph.nodes())
        if (const Node& node = graph.node(id); node.op == Op::Fused)
            out += (out.empty() ? "" : " ") + node.provenance.rule;
    return out;
}

class Hunt {
public:
    Hunt(const app::RuleLibrary& library, double limit) : m_library(library), m_limit(limit) {}

    /// Prints what is slower; whether it is.
    bool look(uint32_t seed) {
        testing_support::Choices choices(seed);
        const std::string drawn = testing_support::randomBlock(choices);
        const Comparison first = compare(drawn);
        if (!isSlower(first))
            return false;
        const auto small = testing_support::shrunk(
            choices.drawn(),
            [&](const testing_support::ChoiceList& list) {
                testing_support::Choices given(list);
                return isSlower(compare(testing_support::randomBlock(given)));
            },
            triesOfShrinking);
        testing_support::Choices again(small);
        const std::string text = testing_support::randomBlock(again);
        const Comparison least = compare(text);
        fmt::print(
            "{:6} {:.2f} ({:.2f} predicted) {}\n       {}\n       {:.2f} ({:.2f}) {}\n       {}\n",
            seed, first.measured, first.predicted, first.rules, drawn, least.measured,
            least.predicted, least.rules, text);
        std::fflush(stdout);
        return true;
    }

private:
    static constexpr size_t triesOfShrinking = 60;

    bool isSlower(const Comparison& comparison) const { return comparison.measured > m_limit; }

    /// The least of three medians where the first ones are above the limit.
    Comparison compare(const std::string& text) const {
        Progress progress;
        Graph graph = testing_support::smallGraph(text);
        (void)*foldConstants(graph, {}, progress);
        graph.removeDead();
        const app::FuseOptions usual;
        Graph fused = std::move(app::fuseGraph(graph, m_library, usual, progress)->graph);
        Comparison out;
        out.rules = rulesIn(fused);
        if (out.rules.empty())
            return out;
        for (int tries = 0; tries < 3 && (tries == 0 || isSlower(out)); ++tries) {
            // Made anew each time: where memory lies decides some per cent.
            bench::TimedForm before(graph, app::Form::Unfused), after(fused, app::Form::Fused);
            out.predicted = after.predicted() / before.predicted();
            const double measured = bench::ratioOf(before, after);
            out.measured = tries == 0 ? measured : std::min(out.measured, measured);
        }
        return out;
    }

    const app::RuleLibrary& m_library;
    double m_limit;
};

} // namespace

int main(int argc, char** argv) {
    uint32_t from = 0, count = 200;
    double limit = 1.05;
    CLI::App app("Looks for random small graphs that are slower fused than unfused");
    app.add_option("--from", from, "first seed");
    app.add_option("--count", count, "seeds");
    app.add_option("--limit", limit, "fused over unfused from which one is slower");
    CLI11_PARSE(app, argc, argv);
    const app::RuleLibrary library = *app::loadRuleLibrary({});
    Hunt hunt(library, limit);
    uint32_t slower = 0;
    for (uint32_t seed = from; seed < from + count; ++seed)
        slower += hunt.look(seed) ? 1 : 0;
    fmt::print("{} of {} are slower\n", slower, count);
}
