// SPDX-License-Identifier: Apache-2.0
// The budgets of the language: many rules on many nodes cold, the same after one rule was edited,
// growth from 10^3 to 10^6 nodes, memory per node. Prints tables of processor time of one thread;
// tests/bench/run BUILD language --publish keeps them.
#include "core/rewrite/match_cache.h"
#include "tests/bench/language_subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <optional>
#include <time.h>

using namespace fuselage;

namespace {

size_t allocations = 0; // this program has one thread
size_t liveBytes = 0;
bool isWeighing = false; // asking for an allocation's size takes time

/// Bytes that are allocated while it lives, less those that are given back.
class Weighing {
public:
    Weighing() : m_before(liveBytes) { isWeighing = true; }

    ~Weighing() { isWeighing = false; }

    Weighing(const Weighing&) = delete;
    Weighing& operator=(const Weighing&) = delete;

    size_t bytes() const { return liveBytes - m_before; }

private:
    size_t m_before;
};

} // namespace

// Every allocation of the program is counted.
void* operator new(size_t size) {
    void* memory = std::malloc(size);
    if (!memory)
        throw std::bad_alloc();
    ++allocations;
    if (isWeighing)
        liveBytes += malloc_usable_size(memory);
    return memory;
}

void operator delete(void* memory) noexcept {
    if (isWeighing && memory)
        liveBytes -= malloc_usable_size(memory);
    std::free(memory);
}

void operator delete(void* memory, size_t) noexcept {
    operator delete(memory);
}

namespace {

/// Processor seconds of this thread: benchmarks share their machine.
double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> seconds) {
    std::nth_element(seconds.begin(),
                     seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                     seconds.end());
    return seconds[seconds.size() / 2];
}

struct Cold {
    double facts = 0, match = 0; ///< seconds
    size_t matches = 0, searched = 0, allocations = 0;
    size_t bytes = 0; ///< of what is known of the graph
};

/// Every rule on the graph, from nothing known of the graph.
Cold matchCold(const Graph& graph, const RuleIndex& index, int rounds) {
    std::vector<const IndexedRule*> rules;
    for (const auto& rule : index.rules())
        rules.push_back(rule.get());
    Cold out;
    {
        const Weighing weighing;
        const GraphFacts known(graph);
        const Convexity convexity(graph, known.order);
        out.bytes = weighing.bytes();
    }
    std::vector<double> facts, match;
    for (int round = 0; round < rounds; ++round) {
        double start = now();
        GraphFacts known(graph);
        Convexity convexity(graph, known.order);
        Matcher matcher(graph, known, convexity, {});
        facts.push_back(now() - start);
        size_t allocated = allocations;
        out.matches = 0;
        start = now();
        matcher.findEach(rules, [&](const IndexedRule&, MatchResult& found) {
            out.matches += found.matches.size();
            return true;
        });
        match.push_back(now() - start);
        out.allocations = allocations - allocated;
        out.searched = matcher.searched();
    }
    out.facts = median(facts);
    out.match = median(match);
    return out;
}

void printRules(const Graph& graph) {
    const OpSet present = GraphFacts(graph).present;
    fmt::print("Rules against {} nodes, cold; milliseconds\n\n"
               "rules  prepare rules  facts  match  together  matches  searches  allocations\n",
               graph.nodeCount());
    for (size_t count : {50, 100, 200}) {
        SourceSet sources;
        dsl::LoadedRules loaded = bench::loadTexts(sources, bench::ruleTexts(count));
        double start = now();
        RuleIndex index(loaded.rules);
        for (const auto& rule : index.rules())
            if (rule->mayMatch(present))
                rule->prepared();
        double prepare = now() - start;
        Cold cold = matchCold(graph, index, 7);
        fmt::print("{:5}  {:13.1f}  {:5.1f}  {:5.1f}  {:8.1f}  {:7}  {:8}  {:11}\n",
                   index.rules().size(), prepare * 1e3, cold.facts * 1e3, cold.match * 1e3,
                   (cold.facts + cold.match) * 1e3, cold.matches, cold.searched, cold.allocations);
    }
}

void printEdit(const Graph& graph) {
    GraphFacts facts(graph);
    Convexity convexity(graph, facts.order);
    MatchCache cache(graph, facts, convexity, {});
    std::vector<double> load, match;
    size_t searched = 0;
    for (size_t version = 0; version < 12; ++version) {
        SourceSet sources;
        double start = now();
        dsl::LoadedRules loaded = bench::loadTexts(sources, bench::ruleTexts(200, version));
        double between = now();
        cache.update(loaded.rules, [] { return false; });
        if (version == 0)
            continue; // everything is new
        load.push_back(between - start);
        match.push_back(now() - between);
        searched = std::max(searched, cache.searched());
    }
    fmt::print("\nOne of 200 rules edited, {} nodes: {:.2f} ms to match again ({} rule searched "
               "for), {:.2f} ms to read all texts\n",
               graph.nodeCount(), median(match) * 1e3, searched, median(load) * 1e3);
}

void printGrowth() {
    SourceSet sources;
    dsl::LoadedRules loaded = bench::loadTexts(sources, bench::ruleTexts(200));
    RuleIndex index(loaded.rules);
    fmt::print("\nGrowth with 200 rules\n\n    nodes  facts s  match s  ns per node  matches  "
               "searches per node  allocations per match  graph B/node  facts B/node\n");
    for (size_t nodes : {1'000, 10'000, 100'000, 1'000'000}) {
        std::optional<Weighing> weighing(std::in_place);
        Graph graph = bench::layeredGraph(nodes);
        auto count = static_cast<double>(graph.nodeCount());
        const double graphBytes = static_cast<double>(weighing->bytes()) / count;
        weighing.reset();
        Cold cold = matchCold(graph, index, nodes > 100'000 ? 1 : 5);
        fmt::print(
            "{:9}  {:7.4f}  {:7.4f}  {:11.0f}  {:7}  {:17.2f}  {:21.1f}  {:12.0f}  {:12.0f}\n",
            graph.nodeCount(), cold.facts, cold.match, (cold.facts + cold.match) / count * 1e9,
            cold.matches, static_cast<double>(cold.searched) / count,
            static_cast<double>(cold.allocations) / static_cast<double>(cold.matches), graphBytes,
            static_cast<double>(cold.bytes) / count);
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool isRulesOnly = argc == 2 && std::string_view(argv[1]) == "--rules";
    // Matches come and go: their memory stays with the process.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    {
        Graph graph = bench::layeredGraph(10'000);
        printRules(graph);
        if (isRulesOnly) // to count instructions of
            return 0;
        printEdit(graph);
    }
    printGrowth();
    return 0;
}
