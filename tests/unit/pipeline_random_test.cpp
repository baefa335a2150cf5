// SPDX-License-Identifier: Apache-2.0
// Random small graphs, planned unfused and fused on the cpu backend, against the interpreter:
// views, concats, in-place results, several readers, outputs that are inputs or constants. Seeded;
// a failure prints the smallest graph that still fails.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/graph/bodies.h"
#include "core/onnx/model_file.h"
#include "core/passes/dimensions.h"
#include "core/passes/passes.h"
#include "tests/unit/random_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace fuselage;
using namespace fuselage::testing_random;

namespace {

const app::RuleLibrary& library() {
    static const app::RuleLibrary loaded = *app::loadRuleLibrary({});
    return loaded;
}

/// What differs from the interpreter; "" when nothing does.
std::string differenceOf(const Graph& graph, const std::vector<Tensor>& inputs,
                         const std::vector<ReferenceValue>& expected, const std::string& side,
                         bool perNode) {
    CompileOptions options;
    options.oneKernelPerNode = perNode;
    options.threads = 1;
    auto compiled = CompiledGraph::compile(graph.clone(), options);
    if (!compiled)
        return side + ": " + compiled.error().text();
    // Twice: the second run meets the memory as the first one left it.
    for (int run = 0; run < 2; ++run) {
        auto outputs = compiled->run(inputs);
        if (!outputs)
            return side + ": " + outputs.error().text();
        if (outputs->size() != expected.size())
            return side + ": number of outputs";
        for (size_t i = 0; i < outputs->size(); ++i) {
            auto agreement = app::compareOutput("", "", expected[i], (*outputs)[i]);
            if (!agreement.ok)
                return fmt::format("{}: output {} run {} differs by {}", side, i, run,
                                   agreement.maxRelative);
        }
    }
    return "";
}

bool hasBodies(const Graph& graph) {
    return !bodiesOf(graph).empty();
}

/// The graph as a file holds it.
Result<Graph> savedAndLoaded(const Graph& graph) {
    auto bytes = model_io::toBytes(graph);
    if (!bytes)
        return failure(bytes.error());
    return model_io::loadBytes(*bytes, "", {});
}

/// The sizes of what its inputs leave open, and with them the shapes of all values.
Result<void> giveSizes(Graph& graph, const Sketch& sketch) {
    DimensionValues asked;
    for (const auto& [name, size] : sketch.sizes)
        asked[name + "?"] = size;
    std::vector<std::string> absent;
    return bindDimensions(graph, whereThere(graph, asked, absent));
}

/// What the file of a graph with open sizes does once it has them; "" as expected.
std::string problemOfOpen(Graph graph, const Sketch& sketch, const std::vector<Tensor>& inputs,
                          const std::vector<ReferenceValue>& expected) {
    Progress progress;
    Graph larger = graph.clone();
    if (auto prepared = prepareGraph(graph, progress); !prepared) {
        // One that fits where sizes are 0 or 1 only may be refused.
        Sketch other = sketch;
        other.sizes = {{"N", 5}, {"M", 7}};
        return giveSizes(larger, other) ? "prepare open: " + prepared.error().text() : "";
    }
    auto loaded = savedAndLoaded(graph);
    if (!loaded)
        return "save open: " + loaded.error().text();
    if (auto bound = giveSizes(*loaded, sketch); !bound)
        return "bind what was saved open: " + bound.error().text();
    return differenceOf(*loaded, inputs, expected, "saved open", false);
}

/// Extents that the writer knows and a result does not have.
std::string otherExtents(const Graph& graph, const Sketch& sketch,
                         const std::vector<ReferenceValue>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
        const auto known = sketch.extents.find(graph.value(graph.outputs()[i]).name);
        if (known != sketch.extents.end() && known->second != results[i].extents)
            return fmt::format("extents: {} of {}, not {}", known->first, text(known->second),
                               text(results[i].extents));
    }
    return "";
}

/// What goes wrong with a graph; "" when nothing does.
std::string problemOf(const Sketch& sketch) {
    auto graph = model_io::loadText(sketch.text());
    if (!graph)
        return "load: " + graph.error().text();
    const Graph open = graph->clone();
    if (auto bound = giveSizes(*graph, sketch); !bound)
        return "bind: " + bound.error().text();
    auto inputs = app::generateInputs(*graph, 5);
    if (!inputs)
        return "inputs: " + inputs.error().text();
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    Progress progress;
    auto expected = interpret(*graph, values, threads, progress);
    if (!expected)
        return "reference: " + expected.error().text();
    if (auto problem = otherExtents(*graph, sketch, *expected); !problem.empty())
        return problem;
    if (!sketch.sizes.empty())
        if (auto problem = problemOfOpen(open.clone(), sketch, *inputs, *expected);
            !problem.empty())
            return problem;
    for (bool perNode : {true, false})
        if (auto problem = differenceOf(*graph, *inputs, *expected,
                                        perNode ? "unfused" : "unfused with views", perNode);
            !problem.empty())
            return problem;
    if (auto prepared = prepareGraph(*graph, progress); !prepared)
        return "prepare: " + prepared.error().text();
    for (Decide decide : {app::FuseOptions().decide, Decide::Rules}) {
        app::FuseOptions options;
        options.decide = decide;
        auto fused = app::fuseGraph(*graph, library(), options, progress);
        if (!fused)
            return "fuse: " + fused.error().text();
        if (auto problem = differenceOf(fused->graph, *inputs, *expected,
                                        std::string("fused by ") + nameOf(decide), false);
            !problem.empty())
            return problem;
        if (!hasBodies(*graph))
            break;
        auto loaded = savedAndLoaded(fused->graph);
        if (!loaded)
            return "save: " + loaded.error().text();
        if (auto problem = differenceOf(*loaded, *inputs, *expected, "saved", false);
            !problem.empty())
            return problem;
    }
    return "";
}

/// Leaves out lines and outputs while the same phase still goes wrong.
std::string shrunk(Sketch sketch, const std::string& problem) {
    const std::string phase = problem.substr(0, problem.find(':'));
    auto fails = [&](const Sketch& smaller) {
        const std::string found = problemOf(smaller);
        return found.substr(0, found.find(':')) == phase;
    };
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (auto* list : {&sketch.outputs, &sketch.lines})
            for (size_t i = list->size(); i-- > 0;) {
                std::vector<std::string> kept = *list;
                list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
                if (!sketch.outputs.empty() && fails(sketch))
                    smaller = true;
                else
                    *list = std::move(kept);
            }
    }
    return sketch.text() + "\n" + problemOf(sketch);
}

template <typename Write> void expectAgreement(uint32_t first, uint32_t count, const Write& write) {
    for (uint32_t seed = first; seed < first + count; ++seed) {
        const Sketch sketch = write(seed);
        const std::string problem = problemOf(sketch);
        ASSERT_EQ(problem, "") << "seed " << seed << "\n" << shrunk(sketch, problem);
    }
}

class RandomGraphs : public ::testing::TestWithParam<uint32_t> {};

} // namespace

TEST_P(RandomGraphs, PlannedRunsAgreeWithTheInterpreter) {
    constexpr uint32_t graphs = 25;
    expectAgreement(GetParam() * graphs, graphs,
                    [](uint32_t seed) { return Writer(seed).sketch(); });
}

TEST_P(RandomGraphs, WithBodiesOfIfLoopAndScan) {
    constexpr uint32_t graphs = 20;
    expectAgreement(GetParam() * graphs, graphs,
                    [](uint32_t seed) { return Writer(seed, true).sketch(); });
}

TEST_P(RandomGraphs, ViewsWhoseSizesAreZeroOrOne) {
    constexpr uint32_t graphs = 60;
    expectAgreement(GetParam() * graphs, graphs,
                    [](uint32_t seed) { return Writer(seed).viewsSketch(); });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(0U, 24U));
