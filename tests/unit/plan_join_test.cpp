// SPDX-License-Identifier: Apache-2.0
// Products of one operand that become one: which, at which price, what reads their columns, and
// that each branch computes what it did alone.
#include "app/pipeline/inputs.h"
#include "core/graph/subgraph.h"
#include "core/graph/text.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"
#include "tests/support/choices.h"
#include "tests/unit/passes_support.h"
#include "tests/unit/plan_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace fuselage;
using fuselage::test::GraphMaker;
using fuselage::test::lookAtSeeds;
using fuselage::test::outputsOfPlan;
using fuselage::test::planFor;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

/// How the generator and the tests ask for a plan. Launches of `dear` take so long that whatever
/// may be joined is.
struct JoinAsked {
    std::string device = "h200";
    bool join = true, strict = false, dear = false;
    std::map<std::string, NumericClass> allowed = {};
};

std::shared_ptr<const Plan> joinPlan(const Graph& graph, const JoinAsked& asked,
                                     const Backend* backend = nullptr) {
    PlanOptions options;
    options.backend = backend;
    options.groupSmall = asked.join;
    options.strict = asked.strict;
    options.allowed = asked.allowed;
    return planFor(graph, asked.device, options,
                   asked.dear ? std::optional<double>(1) : std::nullopt);
}

size_t joinedIn(const Plan& plan) {
    size_t out = 0;
    for (const GroupRecord& record : plan.groups)
        out += record.taken ? 1 : 0;
    return out;
}

size_t productsIn(const Plan& plan) {
    size_t out = 0;
    for (const Step& step : plan.steps)
        out += kindOf(step.program) == ProgramKind::Contraction ? 1 : 0;
    return out;
}

/// Constants of the same graph always have the same elements.
class BranchMaker : public GraphMaker {
public:
    ValueId constant(const std::string& name, Extents extents) {
        std::vector<float> values;
        for (int64_t i = 0; i < elementCount(extents).value_or(0); ++i)
            values.push_back(0.0625F * static_cast<float>((i * 7 + m_count * 3) % 17 + 1) - 0.5F);
        ++m_count;
        return floats(name, std::move(extents), values);
    }

    ValueId add(Op op, const std::vector<ValueId>& inputs,
                const std::vector<Attributes::Entry>& attributes = {}) {
        return node(op, inputs, "v" + std::to_string(m_count++), attributes);
    }

    /// A layer of `columns` results.
    ValueId layer(ValueId x, int64_t depth, int64_t columns) {
        return add(Op::MatMul, {x, constant("w" + std::to_string(m_count), {depth, columns})});
    }

    ValueId convolution(ValueId x, int64_t depth, int64_t columns, int64_t kernel = 1) {
        return add(Op::Conv,
                   {x, constant("w" + std::to_string(m_count), {columns, depth, kernel, kernel})});
    }

    void read(ValueId value) { output(add(Op::Neg, {value})); }

private:
    int64_t m_count = 0;
};

/// Nodes around the products as single fused nodes, so that each branch is one kernel.
Graph fusedBranches(BranchMaker&& m) {
    inferShapes(m.graph);
    for (NodeId id : topologicalOrder(m.graph)) {
        const Op op = m.graph.node(id).op;
        if (op != Op::MatMul && op != Op::Conv && op != Op::Gemm)
            continue;
        std::vector<NodeId> nodes{id};
        for (ValueId value = m.graph.node(id).outputs[0];;) {
            const std::vector<Use> uses = m.graph.value(value).uses;
            const bool forks = std::any_of(
                uses.begin(), uses.end(), [&](const Use& use) { return use.node != uses[0].node; });
            if (uses.empty() || forks || m.graph.isGraphOutput(value))
                break;
            const Node& next = m.graph.node(uses[0].node);
            const bool isElementwise =
                hasTrait(next.op, Trait::Elementwise) || next.op == Op::BatchNormalization;
            const bool isLast = m.graph.isGraphOutput(next.outputs[0]);
            const bool alone =
                std::all_of(next.inputs.begin(), next.inputs.end(), [&](ValueId input) {
                    return !input.valid() || input == value || m.graph.isConstant(input);
                });
            if (!isElementwise || isLast || !alone)
                break;
            nodes.push_back(uses[0].node);
            value = next.outputs[0];
        }
        if (nodes.size() > 1)
            replaceByFused(m.graph, nodes, cutOut(m.graph, nodes, escapingValues(m.graph, nodes)),
                           "Branch", {.rule = "Branch"});
    }
    return std::move(m.graph);
}

Graph threeLayers(Op first, Op second, Op third) {
    BranchMaker m;
    const ValueId x = m.input("x", {64, 128});
    for (Op op : {first, second, third})
        m.read(m.add(op, {m.layer(x, 128, 32)}));
    return fusedBranches(std::move(m));
}

} // namespace

TEST(PlanJoin, LayersOfOneInputBecomeOneProductReadThroughViews) {
    const Graph graph = threeLayers(Op::Relu, Op::Relu, Op::Relu);
    const auto plan = joinPlan(graph, {});
    ASSERT_EQ(plan->groups.size(), 2U); // the readers share a launch too
    EXPECT_TRUE(plan->groups[0].taken);
    EXPECT_EQ(plan->groups[0].members.size(), 3U);
    EXPECT_EQ(plan->groups[0].reason.code, "cost");
    EXPECT_EQ(productsIn(*plan), 1U);
    EXPECT_EQ(plan->steps[0].sources.size(), 3U);
    EXPECT_EQ(plan->steps[0].program.outputs[0].extents, (Extents{64, 96}));
    EXPECT_LT(plan->totalPredicted().seconds,
              joinPlan(graph, {.join = false})->totalPredicted().seconds);
}

TEST(PlanJoin, BranchesKeepTheirActivations) {
    const auto plan = joinPlan(threeLayers(Op::Relu, Op::Sigmoid, Op::Abs), {});
    EXPECT_EQ(productsIn(*plan), 1U);
    const auto& product = std::get<Contraction>(plan->steps[0].program.code);
    const auto choices =
        std::count_if(product.epilogue.tape.code.begin(), product.epilogue.tape.code.end(),
                      [](const TapeInstruction& at) { return at.op == TapeOp::Select; });
    EXPECT_EQ(choices, 2);
}

TEST(PlanJoin, LargeProductsThatALibraryTakesKeepTheirOwnEpilogues) {
    BranchMaker m;
    const ValueId x = m.input("x", {8192, 512});
    for (Op op : {Op::Relu, Op::Relu, Op::Sigmoid})
        m.read(m.add(op, {m.layer(x, 512, 192)}));
    const auto plan = joinPlan(fusedBranches(std::move(m)), {});
    EXPECT_GE(productsIn(*plan), 2U);
}

TEST(PlanJoin, WhatIsPredictedToBeSlowerIsRecordedAndNotDone) {
    // The weights alone decide how long these take.
    BranchMaker m;
    const ValueId x = m.input("x", {1, 2048});
    for (int i = 0; i < 2; ++i)
        m.read(m.layer(x, 2048, 2048));
    const auto plan = joinPlan(fusedBranches(std::move(m)), {.device = "cpu_avx512"});
    ASSERT_EQ(plan->groups.size(), 1U);
    EXPECT_FALSE(plan->groups[0].taken);
    EXPECT_EQ(plan->groups[0].reason.code, "cost");
    EXPECT_EQ(productsIn(*plan), 2U);
}

TEST(PlanJoin, IsOffForTheBaselineStrictPlansAndExactRules) {
    const Graph graph = threeLayers(Op::Relu, Op::Relu, Op::Relu);
    EXPECT_EQ(productsIn(*joinPlan(graph, {.join = false})), 3U);
    EXPECT_EQ(productsIn(*joinPlan(graph, {.strict = true, .dear = true})), 3U);
    const auto exact =
        joinPlan(graph, {.dear = true, .allowed = {{"Branch", NumericClass::Exact}}});
    EXPECT_EQ(productsIn(*exact), 3U);
}

TEST(PlanJoin, OnlyWhatNobodyWouldHaveToCopyIsJoined) {
    BranchMaker given; // a caller wants each result by itself
    const ValueId y = given.input("x", {64, 128});
    for (int i = 0; i < 2; ++i)
        given.output(given.layer(y, 128, 32));
    EXPECT_EQ(productsIn(*joinPlan(fusedBranches(std::move(given)), {.dear = true})), 2U);
    BranchMaker m; // a Concat writes its operands in place
    const ValueId x = m.input("x", {64, 128});
    m.output(m.add(Op::Concat, {m.layer(x, 128, 32), m.layer(x, 128, 16)}, {{"axis", int64_t{1}}}));
    const auto concat = joinPlan(fusedBranches(std::move(m)), {.dear = true});
    EXPECT_EQ(joinedIn(*concat), 0U);
    BranchMaker flat; // rows of columns that lie apart are no view
    const ValueId z = flat.input("x", {64, 128});
    for (int i = 0; i < 2; ++i)
        flat.read(flat.add(Op::Reshape,
                           {flat.layer(z, 128, 32), flat.ints("s" + std::to_string(i), {2048})}));
    EXPECT_EQ(productsIn(*joinPlan(fusedBranches(std::move(flat)), {.dear = true})), 2U);
}

TEST(PlanJoin, ABranchThatGoesIntoAConcatDoesNotKeepTheOthersApart) {
    // An inception block: the first writes its part of the result, two lead to larger windows.
    BranchMaker m;
    const ValueId x = m.input("x", {1, 64, 14, 14});
    const ValueId first = m.convolution(x, 64, 32);
    const std::vector<Attributes::Entry> padded{{"pads", std::vector<int64_t>(4, 1)}};
    std::vector<ValueId> parts{first};
    for (int i = 0; i < 2; ++i)
        parts.push_back(m.add(Op::Conv,
                              {m.add(Op::Relu, {m.convolution(x, 64, 16)}),
                               m.constant("large" + std::to_string(i), {8, 16, 3, 3})},
                              padded));
    m.read(m.add(Op::Concat, parts, {{"axis", int64_t{1}}}));
    const auto plan = joinPlan(fusedBranches(std::move(m)), {});
    EXPECT_EQ(joinedIn(*plan), 1U);
    EXPECT_EQ(productsIn(*plan), 4U);
    EXPECT_EQ(plan->steps.size(), 5U); // no copy
}

TEST(PlanJoin, OtherOperandsWindowsAndGroupsStayApart) {
    BranchMaker m;
    const ValueId x = m.input("x", {2, 8, 6, 6}), y = m.input("y", {2, 8, 6, 6});
    m.read(m.convolution(x, 8, 16));
    m.read(m.convolution(y, 8, 16));
    m.read(m.convolution(x, 8, 16, 3));
    m.read(m.add(Op::Conv, {x, m.constant("grouped", {16, 4, 1, 1})}, {{"group", int64_t{2}}}));
    const auto plan = joinPlan(fusedBranches(std::move(m)), {.dear = true});
    EXPECT_EQ(joinedIn(*plan), 1U); // the readers
    EXPECT_EQ(productsIn(*plan), 4U);
}

TEST(PlanJoin, TheOriginalWeightsAreNotKeptBesideTheJoinedOnes) {
    const Graph graph = threeLayers(Op::Relu, Op::Relu, Op::Relu);
    const auto apart = joinPlan(graph, {.join = false}), joined = joinPlan(graph, {});
    EXPECT_LT(joined->constantBytes, apart->constantBytes + 64);
}

namespace {

/// Branches of one or two operands: products of all forms with work of all kinds behind them, read
/// by elementwise work, products, reductions, transposes and each other.
class BranchGraph {
public:
    explicit BranchGraph(Choices& choices) : m_choices(choices) {
        m_isImage = m_choices.oneIn(3);
        m_depth = m_choices.pick(std::vector<int64_t>{8, 16, 3});
        m_rows = m_choices.pick(std::vector<int64_t>{4, 1, 33});
    }

    Graph make() && {
        ValueId x = operand("x");
        const int64_t groups = 1 + m_choices.below(2);
        for (int64_t group = 0; group < groups; ++group) {
            std::vector<ValueId> made;
            for (int64_t left = 2 + m_choices.below(3); left > 0; --left)
                made.push_back(branch(x));
            for (ValueId value : made)
                read(value);
            x = m_choices.oneIn(2) ? made[0] : operand("z");
            m_depth = x == made[0] ? m_columns[0] : m_depth;
            m_columns.clear();
        }
        return fusedBranches(std::move(m));
    }

private:
    ValueId operand(const std::string& name) {
        return m_isImage ? m.input(name, {2, m_depth, 5, 4}) : m.input(name, {m_rows, m_depth});
    }

    ValueId branch(ValueId x) {
        const int64_t columns = m_choices.pick(std::vector<int64_t>{16, 8, 5, 2, 1});
        m_columns.push_back(columns);
        ValueId out = product(x, columns);
        for (int64_t left = m_choices.below(4); left > 0; --left)
            out = behind(out, columns);
        return out;
    }

    ValueId product(ValueId x, int64_t columns) {
        if (m_isImage) {
            const int64_t kernel = m_choices.oneIn(4) ? 3 : 1;
            const std::vector<Attributes::Entry> same{
                {"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                {"pads", std::vector<int64_t>(4, kernel / 2)}};
            std::vector<ValueId> inputs{x,
                                        m.constant(name("k"), {columns, m_depth, kernel, kernel})};
            if (m_choices.oneIn(2))
                inputs.push_back(m.constant(name("b"), {columns}));
            return m.add(Op::Conv, inputs, same);
        }
        if (m_choices.oneIn(3)) {
            const bool turned = m_choices.oneIn(2);
            const Extents weights = turned ? Extents{columns, m_depth} : Extents{m_depth, columns};
            std::vector<ValueId> inputs{x, m.constant(name("g"), weights)};
            if (m_choices.oneIn(2))
                inputs.push_back(m.constant(name("b"), m_choices.oneIn(2) ? Extents{1, columns}
                                                                          : Extents{columns}));
            return m.add(Op::Gemm, inputs, {{"transB", int64_t{turned}}});
        }
        return m.layer(x, m_depth, columns);
    }

    /// By column, by row, or the same for all.
    Extents beside(int64_t columns) {
        switch (m_choices.below(4)) {
        case 0:
            return m_isImage ? Extents{columns, 1, 1} : Extents{columns};
        case 1:
            return {};
        case 2:
            return m_isImage ? Extents{5, 4} : Extents{m_rows, 1};
        default:
            return m_isImage ? Extents{1, columns, 5, 4} : Extents{m_rows, columns};
        }
    }

    ValueId behind(ValueId value, int64_t columns) {
        switch (m_choices.below(6)) {
        case 0:
            return m.add(Op::Relu, {value});
        case 1:
            return m.add(m_choices.pick(std::vector<Op>{Op::Sigmoid, Op::Tanh, Op::Abs}), {value});
        case 2:
            return m.add(Op::Add, {value, m.constant(name("a"), beside(columns))});
        case 3:
            return m.add(Op::Mul, {m.constant(name("m"), beside(columns)), value});
        case 4:
            return m.add(Op::Mul, {value, m.add(Op::Sigmoid, {value})});
        default: {
            if (!m_isImage)
                return m.add(Op::Neg, {value});
            std::vector<ValueId> inputs{value};
            for (const char* slot : {"s", "t", "u"})
                inputs.push_back(m.constant(name(slot), {columns}));
            inputs.push_back(m.floats(name("v"), {columns}, std::vector<float>(columns, 0.75F)));
            return m.add(Op::BatchNormalization, inputs, {{"epsilon", 1e-3}});
        }
        }
    }

    void read(ValueId value) {
        switch (m_choices.below(6)) {
        case 0:
            return m.read(value);
        case 1:
            return m.output(m.add(Op::Add, {value, value}));
        case 2:
            return m.read(m.add(Op::ReduceSum, {value, m.ints(name("x"), {1})}));
        case 3:
            return m.read(m.add(Op::Transpose, {value},
                                {{"perm", m_isImage ? std::vector<int64_t>{0, 2, 3, 1}
                                                    : std::vector<int64_t>{1, 0}}}));
        case 4:
            if (m_isImage)
                return m.read(
                    m.add(Op::MaxPool, {value}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}));
            return m.read(m.add(Op::Softmax, {value}, {{"axis", int64_t{1}}}));
        default:
            return m_choices.oneIn(2) ? m.output(value) : m.read(value);
        }
    }

    std::string name(const std::string& base) { return base + std::to_string(m_names++); }

    Choices& m_choices;
    BranchMaker m;
    bool m_isImage = false;
    int64_t m_depth = 0, m_rows = 0;
    int m_names = 0;
    std::vector<int64_t> m_columns;
};

Graph branchesFrom(const ChoiceList& list) {
    Choices choices(list);
    Graph graph = BranchGraph(choices).make();
    inferShapes(graph);
    return graph;
}

double apartBy(const Tensor& a, const Tensor& b) {
    double largest = 1e-6, apart = 0;
    for (int64_t i = 0; i < a.elementCount(); ++i) {
        largest = std::max(largest, std::abs(b.at(i)));
        const double by = std::abs(a.at(i) - b.at(i));
        apart = by <= apart ? apart : by; // not a number is far apart
    }
    return apart / largest;
}

std::vector<Tensor> outputsJoined(const Graph& graph, const JoinAsked& asked,
                                  const std::vector<Tensor>& inputs) {
    auto backend = makeCpuBackend({1, asked.strict});
    return outputsOfPlan(joinPlan(graph, asked, backend.get()), *backend, inputs);
}

struct JoinSeen {
    size_t joined = 0, chosen = 0; ///< chosen: with several epilogues
    std::string wrong;             ///< empty: nothing
};

JoinSeen joinsSeen(const ChoiceList& list) {
    JoinSeen out;
    const Graph graph = branchesFrom(list);
    auto inputs = app::generateInputs(graph, 3);
    if (!inputs)
        return {0, 0, inputs.error().text()};
    const std::vector<Tensor> wanted = outputsJoined(graph, {.join = false}, *inputs);
    for (const char* device : {"h200", "cpu_avx512"})
        for (bool dear : {false, true}) {
            const JoinAsked asked{.device = device, .dear = dear};
            const auto plan = joinPlan(graph, asked);
            JoinAsked apart = asked;
            apart.join = false;
            if (plan->totalPredicted().seconds >
                1.02 * joinPlan(graph, apart)->totalPredicted().seconds)
                out.wrong = std::string(device) + ": predicted to be slower";
            for (const Step& step : plan->steps)
                if (const auto* code = std::get_if<Contraction>(&step.program.code);
                    code && step.sources.size() > 1)
                    out.chosen += std::any_of(
                        code->epilogue.tape.code.begin(), code->epilogue.tape.code.end(),
                        [](const auto& at) { return at.op == TapeOp::Select; });
            out.joined += productsIn(*joinPlan(graph, apart)) - productsIn(*plan);
            const std::vector<Tensor> got = outputsJoined(graph, asked, *inputs);
            for (size_t i = 0; i < wanted.size(); ++i)
                if (i >= got.size() || !(apartBy(got[i], wanted[i]) < 1e-5))
                    out.wrong = std::string(device) + ": another output " + std::to_string(i);
        }
    return out;
}

} // namespace

TEST(PlanJoin, EachBranchComputesWhatItDidAloneAndNothingIsPredictedSlower) {
    size_t joined = 0, chosen = 0;
    lookAtSeeds(
        150, [](Choices& choices) { return BranchGraph(choices).make(); }, joinsSeen,
        [&](const JoinSeen& seen) {
            joined += seen.joined;
            chosen += seen.chosen;
        });
    EXPECT_GT(joined, 100U) << "the generator does not reach what it is for";
    EXPECT_GT(chosen, 50U);
}
