// SPDX-License-Identifier: Apache-2.0
// Plans for shapes that depend on data: what they take for granted, that runs with other data are
// found and computed, and random graphs of operators that make such shapes against the interpreter.
#include "app/pipeline/compiled.h"
#include "app/pipeline/settling.h"
#include "app/pipeline/shapes_of_run.h"
#include "core/graph/text.h"
#include "core/passes/passes.h"
#include "core/passes/shape_stage.h"
#include "core/passes/specialise.h"
#include "core/plan/lazy.h"
#include "core/plan/make_plan.h"
#include "core/plan/specialised.h"
#include "tests/support/choices.h"
#include "tests/unit/passes_support.h"

#include <gtest/gtest.h>

using namespace fuselage;
using fuselage::test::GraphMaker;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

Tensor lengthOf(int64_t n) {
    return Tensor::ofInts({n});
}

Tensor numbers(Extents extents, uint32_t seed) {
    std::vector<float> out(static_cast<size_t>(elementCount(extents).value_or(0)));
    std::mt19937 engine(seed);
    for (float& x : out)
        x = static_cast<float>(static_cast<int>(engine() % 9) - 4);
    return Tensor::ofFloats(std::move(extents), out);
}

/// y = the first n rows of x, times w: n is an input's element.
Graph firstRows() {
    GraphMaker m;
    const ValueId x = m.input("x", {6, 4}), n = m.input("n", {1}, DType::Int64);
    const ValueId rows =
        m.node(Op::Slice, {x, m.ints("from", {0}), n, m.ints("axes", {0})}, "rows");
    m.output(m.node(Op::MatMul, {rows, m.floats("w", {4, 2}, {1, 0, 0, 1, 1, 0, 0, 1})}, "y"));
    return m.graph;
}

/// y = Relu of the positions of x that are not zero.
Graph positions() {
    GraphMaker m;
    const ValueId found = m.node(Op::NonZero, {m.input("x", {2, 3})}, "found");
    const ValueId numbers = m.node(Op::Cast, {found}, "numbers", {{"to", int64_t{1}}});
    m.output(m.node(Op::Relu, {numbers}, "y"));
    return m.graph;
}

Graph prepared(Graph graph) {
    Progress progress;
    EXPECT_TRUE(prepareGraph(graph, progress));
    return graph;
}

/// The graph for the shapes that a run with these inputs has.
AssumedShapes specialiseFor(Graph& graph, const std::vector<Tensor>& inputs) {
    Progress progress;
    auto shapes = app::shapesOfRun(std::make_shared<const Graph>(graph.clone()), app::Form::Unfused,
                                   {}, inputs, 1, progress);
    EXPECT_TRUE(shapes) << (shapes ? "" : shapes.error().text());
    auto assumed = specialise(graph, *shapes, progress);
    EXPECT_TRUE(assumed) << (assumed ? "" : assumed.error().text());
    return *assumed;
}

std::unique_ptr<Executable> preparedFor(Graph graph, const AssumedShapes& assumed) {
    Progress progress;
    auto profile = deviceProfile("cpu");
    static const auto backend = makeCpuBackend({.threads = 1});
    PlanOptions options;
    options.profile = &*profile;
    options.backend = backend.get();
    auto plan = makePlan(std::make_shared<const Graph>(std::move(graph)), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return makeSpecialised(std::move(*backend->prepare(*plan, progress)), assumed);
}

std::string errorOf(const Result<std::vector<Tensor>>& outputs) {
    return outputs ? "" : outputs.error().code;
}

} // namespace

TEST(Specialise, AValueThatGivesAShapeBecomesAConstantAndIsChecked) {
    Graph graph = prepared(firstRows());
    EXPECT_TRUE(dependsOnData(graph));
    const AssumedShapes assumed = specialiseFor(graph, {numbers({6, 4}, 1), lengthOf(3)});
    EXPECT_FALSE(dependsOnData(graph));
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "float[3,2]");
    ASSERT_EQ(assumed.contents.size(), 1U);
    EXPECT_EQ(assumed.contents[0].value, "n");
    auto executable = preparedFor(std::move(graph), assumed);
    Progress progress;
    std::vector<Tensor> inputs{numbers({6, 4}, 2), lengthOf(3)};
    auto outputs = executable->outputs(inputs, progress);
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ(outputs->size(), 1U);
    inputs[1] = lengthOf(4);
    EXPECT_EQ(errorOf(executable->outputs(inputs, progress)), "run.assumed");
}

TEST(Specialise, WhereDataDecideTheExtentsAreTaken) {
    Graph graph = prepared(positions());
    const Tensor x = Tensor::ofFloats({2, 3}, {0, 1, 0, 2, 0, 3});
    const AssumedShapes assumed = specialiseFor(graph, {x});
    EXPECT_EQ(assumed.values, std::vector<std::string>{"found"});
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "float[2,3]");
    auto executable = preparedFor(std::move(graph), assumed);
    Progress progress;
    EXPECT_TRUE(executable->outputs(std::vector{x}, progress));
    const std::vector<Tensor> other{Tensor::ofFloats({2, 3}, {0, 1, 0, 2, 5, 3})};
    EXPECT_EQ(errorOf(executable->outputs(other, progress)), "run.assumed");
}

/// A table cut at a length that only a run knows, times weights: constants in this run alone.
TEST(Specialise, WhatFollowsFromAssumedElementsIsComputedInEveryRun) {
    GraphMaker m;
    const ValueId table = m.floats("table", {40, 3}, std::vector<float>(120, 0.1F));
    const ValueId rows = m.node(
        Op::Slice,
        {table, m.ints("from", {0}), m.input("n", {1}, DType::Int64), m.ints("axes", {0})}, "rows");
    m.output(m.node(Op::MatMul, {rows, m.floats("w", {3, 4}, std::vector<float>(12, 0.7F))}, "y"));
    Graph graph = prepared(m.graph);
    (void)specialiseFor(graph, {lengthOf(30)});
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "float[30,4]");
    EXPECT_EQ(graph.nodeCount(), 2U) << "folded in double precision";
    auto profile = deviceProfile("cpu");
    static const auto backend = makeCpuBackend({.threads = 1});
    PlanOptions options;
    options.profile = &*profile;
    options.backend = backend.get();
    Progress progress;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(graph)), options, progress);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_FALSE((*plan)->steps.empty());
    for (const Step& step : (*plan)->steps)
        EXPECT_FALSE((*plan)->isOnce(step));
}

TEST(Specialise, ContentsThatNobodySawStayOpen) {
    Graph graph = prepared(firstRows());
    Progress progress;
    auto assumed = specialise(graph, {}, progress);
    ASSERT_TRUE(assumed);
    EXPECT_TRUE(assumed->empty());
    EXPECT_TRUE(dependsOnData(graph));
}

namespace {

/// Values of two dimensions, most of them of shapes that data give.
class DataGraph {
public:
    explicit DataGraph(Choices& choices) : m_choices(choices) {
        m_values = {m.input("x", {5, 4}), m.input("y", {5, 4})};
        m_lengths = {m.input("n", {1}, DType::Int64)};
    }

    Graph make() && {
        for (int64_t left = 1 + m_choices.below(8); left > 0; --left)
            add();
        m.output(m_values.back());
        m.output(m_lengths.back());
        return std::move(m.graph);
    }

private:
    ValueId node(Op op, const std::vector<ValueId>& inputs,
                 const std::vector<Attributes::Entry>& attributes = {}) {
        return m.node(op, inputs, "v" + std::to_string(m_count++), attributes);
    }

    ValueId ints(const std::vector<int64_t>& values) {
        return m.ints("c" + std::to_string(m_count++), values);
    }

    ValueId any() { return m_values[static_cast<size_t>(pickLast(m_values.size()))]; }

    ValueId length() { return m_lengths[static_cast<size_t>(pickLast(m_lengths.size()))]; }

    /// 0 is the last one: chains are what finds faults.
    int64_t pickLast(size_t size) {
        const auto count = static_cast<int64_t>(size);
        return count - 1 - m_choices.below(count);
    }

    /// How many elements are above zero, as a length between 1 and 6.
    ValueId counted(ValueId x) {
        const ValueId zero = m.floats("z" + std::to_string(m_count++), {1}, {0});
        const ValueId above = node(Op::Cast, {node(Op::Greater, {x, zero})}, {{"to", int64_t{7}}});
        const ValueId sum = node(
            Op::Reshape, {node(Op::ReduceSum, {above}, {{"keepdims", int64_t{0}}}), ints({1})});
        return node(Op::Max, {node(Op::Min, {sum, ints({6})}), ints({1})});
    }

    void add() {
        const ValueId x = any();
        const ValueId one = ints({1}), zero = ints({0});
        const int64_t axis = m_choices.below(2);
        switch (m_choices.below(12)) {
        case 0:
            return keep(node(Op::Relu, {x}));
        case 1:
            return keep(node(Op::Slice, {x, zero, length(), ints({axis})}));
        case 2:
            return m_lengths.push_back(counted(x));
        case 3: {
            const ValueId found = node(Op::Transpose, {node(Op::NonZero, {x})});
            return keep(node(Op::Cast, {found}, {{"to", int64_t{1}}}));
        }
        case 4:
            return keep(
                node(Op::Tile, {x, node(Op::Concat, {length(), one}, {{"axis", axis * 0}})}));
        case 5:
            return keep(node(Op::Concat, {x, node(Op::Neg, {x})}, {{"axis", axis}}));
        case 6: {
            const ValueId row = node(Op::ReduceSum, {x, ints({axis})});
            return keep(node(Op::Add, {x, row}));
        }
        case 7:
            return keep(node(Op::MatMul, {x, node(Op::Transpose, {x})}));
        case 8: {
            const ValueId shape = node(Op::Concat, {length(), ints({3})}, {{"axis", axis * 0}});
            const ValueId all = node(Op::ReduceMax, {x, ints({0, 1})});
            return keep(node(Op::Expand, {all, shape}));
        }
        case 9:
            return keep(node(Op::Softmax, {x}, {{"axis", int64_t{-1}}}));
        case 10: {
            const ValueId step = m.scalarInt("s" + std::to_string(m_count++), 1);
            const ValueId begin = m.scalarInt("s" + std::to_string(m_count++), 0);
            const ValueId end = node(Op::Squeeze, {length(), zero});
            const ValueId range =
                node(Op::Cast, {node(Op::Range, {begin, end, step})}, {{"to", int64_t{1}}});
            return keep(node(Op::Unsqueeze, {range, ints({axis})}));
        }
        default: {
            const ValueId flat = node(Op::Reshape, {x, ints({-1})});
            return keep(node(Op::Unsqueeze, {flat, ints({axis})}));
        }
        }
    }

    void keep(ValueId value) { m_values.push_back(value); }

    Choices& m_choices;
    GraphMaker m;
    std::vector<ValueId> m_values, m_lengths;
    int m_count = 0;
};

std::vector<Tensor> inputsFor(uint32_t seed, int64_t n) {
    return {numbers({5, 4}, seed), numbers({5, 4}, seed + 10), lengthOf(n)};
}

/// What is wrong with the outputs of a run beside the interpreter's; none where that refuses the
/// data, as of sums that grew too large. Empty: nothing.
std::optional<std::string> wrongBesideInterpreter(const Graph& graph,
                                                  const std::vector<Tensor>& inputs,
                                                  const Result<std::vector<Tensor>>& outputs) {
    ThreadPool pool(1);
    Progress progress;
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    const auto expected = interpret(graph, std::move(values), pool, progress);
    if (!expected)
        return std::nullopt;
    if (!outputs)
        return outputs.error().text();
    for (size_t i = 0; i < outputs->size(); ++i) {
        const Tensor& out = (*outputs)[i];
        const ReferenceValue& right = (*expected)[i];
        if (out.extents() != right.extents)
            return text(out.extents()) + " instead of " + text(right.extents);
        for (int64_t e = 0; e < right.count(); ++e)
            if (std::abs(out.at(e) - right.at(e)) > 1e-4 * (1 + std::abs(right.at(e))))
                return "element " + std::to_string(e) + " is " + std::to_string(out.at(e)) +
                       ", not " + std::to_string(right.at(e));
    }
    return "";
}

/// What is wrong with the graph's runs for one kind of data after the other; empty: nothing.
std::string wrongIn(const Graph& graph, bool fused) {
    CompileOptions options;
    options.threads = 1;
    auto compiled = CompiledGraph::compile(
        fused ? fuseWhole(prepared(graph.clone()), "All") : graph.clone(), options);
    if (!compiled)
        return compiled.error().text();
    int run = 0;
    for (const auto& [seed, n] : {std::pair(1U, 3),
                                  {1U, 3},
                                  {1U, 3},
                                  {2U, 3},
                                  {2U, 5},
                                  {2U, 5},
                                  {2U, 5},
                                  {2U, 5},
                                  {3U, 1},
                                  {3U, 1},
                                  {3U, 1}}) {
        const std::vector<Tensor> inputs = inputsFor(seed, n);
        const auto wrong = wrongBesideInterpreter(graph, inputs, compiled->run(inputs));
        if (!wrong)
            return {};
        if (!wrong->empty())
            return "run " + std::to_string(run) + ": " + *wrong;
        ++run;
    }
    return {};
}

std::string wrongIn(const ChoiceList& list, bool fused) {
    Choices choices(list);
    return wrongIn(prepared(DataGraph(choices).make()), fused);
}

void tryRandomGraphs(bool fused) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        Choices choices(seed);
        (void)DataGraph(choices).make();
        const ChoiceList list = choices.drawn();
        if (wrongIn(list, fused).empty())
            continue;
        const ChoiceList smallest = testing_support::shrunk(
            list, [&](const ChoiceList& each) { return !wrongIn(each, fused).empty(); }, 300);
        Choices again(smallest);
        FAIL() << "seed " << seed << ": " << wrongIn(smallest, fused) << "\n"
               << text(DataGraph(again).make());
    }
}

} // namespace

TEST(Settling, RandomGraphsRunAsTheInterpreterDoes) {
    tryRandomGraphs(false);
}

TEST(Settling, RandomGraphsAsOneFusedNodeRunAsTheInterpreterDoes) {
    tryRandomGraphs(true);
}

TEST(Settling, APlanIsMadeForShapesThatRepeat) {
    int made = 0;
    const auto graph = std::make_shared<const Graph>(prepared(firstRows()));
    auto executable =
        app::makeSettling(preparedFor(graph->clone(), {}), graph, [&](Graph settled, Progress&) {
            ++made;
            return Result<std::unique_ptr<Executable>>(preparedFor(std::move(settled), {}));
        });
    Progress progress;
    const auto runWith = [&](int64_t n) {
        auto outputs = executable->outputs(std::vector{numbers({6, 4}, 1), lengthOf(n)}, progress);
        return outputs ? (*outputs)[0].extents() : Extents{};
    };
    for (int64_t n : {3, 3, 3, 3})
        EXPECT_EQ(runWith(n), (Extents{n, 2}));
    EXPECT_EQ(made, 1);
    for (int64_t n : {4, 3, 4, 3, 4, 3}) // never twice in a row
        EXPECT_EQ(runWith(n), (Extents{n, 2}));
    EXPECT_EQ(made, 1);
}

namespace {

/// Counts what a staged executable has prepared.
struct StagedGraph {
    explicit StagedGraph(const Graph& source)
        : graph(std::make_shared<const Graph>(source.clone())),
          executable(app::makeStaged(makeLazy([this](Progress&) {
                                         ++general;
                                         return Result(preparedFor(graph->clone(), {}));
                                     }),
                                     graph, [this](Graph part, Progress&) {
                                         ++parts;
                                         return Result(preparedFor(std::move(part), {}));
                                     })) {}

    int parts = 0, general = 0;
    std::shared_ptr<const Graph> graph;
    std::unique_ptr<Executable> executable;
};

} // namespace

TEST(Staged, WhatShapesLeadToIsPlannedOnceForThem) {
    StagedGraph staged(prepared(firstRows()));
    Progress progress;
    const auto runWith = [&](int64_t n) {
        auto outputs =
            staged.executable->outputs(std::vector{numbers({6, 4}, 1), lengthOf(n)}, progress);
        return outputs ? (*outputs)[0].extents() : Extents{};
    };
    EXPECT_EQ(runWith(3), (Extents{3, 2}));
    EXPECT_EQ(staged.parts, 1); // the input says the shape: nothing is computed before
    EXPECT_EQ(runWith(3), (Extents{3, 2}));
    EXPECT_EQ(staged.parts, 1);
    EXPECT_EQ(runWith(5), (Extents{5, 2}));
    EXPECT_EQ(staged.parts, 2);
    EXPECT_EQ(staged.general, 0);
}

TEST(Staged, WhereTheDataDecideTheirNodeRunsFirst) {
    const Graph graph = prepared(positions());
    const auto stage = firstStage(graph);
    ASSERT_TRUE(stage);
    EXPECT_TRUE(stage->givers.empty());
    EXPECT_EQ(stage->first.nodeCount(), 1U);
    EXPECT_TRUE(stage->rest.findValue("found").valid());
    EXPECT_FALSE(firstStage(prepared(GraphMaker().graph)));
}

TEST(Staged, StepsAreThoseOfTheGeneralPlan) {
    StagedGraph staged(prepared(firstRows()));
    EXPECT_FALSE(staged.executable->tactic(0).empty());
    EXPECT_EQ(staged.general, 1);
}

TEST(Staged, ShapesOfARunSettleTheGraph) {
    Graph graph = prepared(positions());
    StagedGraph staged(graph);
    Progress progress;
    auto ran = staged.executable->run(std::vector{Tensor::ofFloats({2, 3}, {0, 1, 0, 2, 0, 3})},
                                      {.shapes = true}, progress);
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_EQ(staged.general, 0);
    ASSERT_TRUE(specialise(graph, ran->shapes, progress));
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "float[2,3]");
}

TEST(Staged, RandomGraphsNeverNeedTheGeneralPlan) {
    int dependent = 0;
    for (uint32_t seed = 0; seed < 150; ++seed) {
        Choices choices(seed);
        const Graph graph = prepared(DataGraph(choices).make());
        if (!dependsOnData(graph))
            continue;
        StagedGraph staged(graph);
        Progress progress;
        for (int64_t n : {3, 3, 5}) {
            const std::vector<Tensor> inputs = inputsFor(seed, n);
            const auto wrong =
                wrongBesideInterpreter(graph, inputs, staged.executable->outputs(inputs, progress));
            if (!wrong)
                break;
            ++dependent;
            ASSERT_EQ(*wrong, "") << "seed " << seed << "\n" << text(graph);
            EXPECT_EQ(staged.general, 0) << "seed " << seed << "\n" << text(graph);
        }
    }
    EXPECT_GT(dependent, 150);
}
