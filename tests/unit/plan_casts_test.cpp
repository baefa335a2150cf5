// SPDX-License-Identifier: Apache-2.0
// A Cast is how the step that makes its operand stores it, or how its only reader reads: which
// Casts that holds for, and that the numbers stay what they were.
#include "app/pipeline/inputs.h"
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
using fuselage::test::preparedGraph;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

/// `recompute` is what the fused side of a comparison asks for.
std::shared_ptr<const Plan> castPlan(const Graph& graph, bool recompute = true,
                                     const std::string& device = "h200", bool strict = false,
                                     const Backend* backend = nullptr) {
    PlanOptions options;
    options.backend = backend;
    options.recompute = recompute;
    options.strict = strict;
    return planFor(graph, device, options);
}

const char* const behindAProduct = "(float16[64,128] x, float16[128,32] w) => (float[64,32] y) {"
                                   " m = MatMul(x, w) y = Cast<to=1>(m) }";

} // namespace

TEST(PlanCasts, AProductStoresItsResultInTheCastsType) {
    const auto plan = castPlan(preparedGraph(behindAProduct));
    ASSERT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(kindOf(plan->steps[0].program), ProgramKind::Contraction);
    EXPECT_EQ(plan->steps[0].program.outputs[0].dtype, DType::Float32);
    EXPECT_EQ(plan->steps[0].sources.size(), 2U);
    EXPECT_LT(plan->totalPredicted().seconds,
              castPlan(preparedGraph(behindAProduct), false)->totalPredicted().seconds);
    EXPECT_EQ(castPlan(preparedGraph(behindAProduct), false)->steps.size(), 2U);
}

TEST(PlanCasts, WhatSomebodyElseReadsIsStoredAsItIs) {
    for (const char* text :
         {"(float16[64,128] x, float16[128,32] w) => (float[64,32] y, float16[64,32] z) {"
          " m = MatMul(x, w) y = Cast<to=1>(m) z = Softmax(m) }",
          "(float16[64,128] x, float16[128,32] w) => (float[64,32] y, float16[64,32] m) {"
          " m = MatMul(x, w) y = Cast<to=1>(m) }"})
        EXPECT_EQ(castPlan(preparedGraph(text))->steps.size(),
                  castPlan(preparedGraph(text), false)->steps.size())
            << text;
}

TEST(PlanCasts, ARowStoresItsResultInTheCastsType) {
    const auto plan = castPlan(preparedGraph("(float16[64,128] x) => (float[64,128] y) {"
                                             " a = Abs(x) s = Softmax(a) y = Cast<to=1>(s) }"));
    EXPECT_EQ(plan->steps.back().program.outputs[0].dtype, DType::Float32);
}

TEST(PlanCasts, ARowReadsThroughACastAndAProductOfAGpuDoesNot) {
    const auto row = castPlan(preparedGraph(
        "(float[64,128] x) => (float16[64,128] y) { h = Cast<to=10>(x) y = Softmax(h) }"));
    EXPECT_EQ(row->steps.size(), 1U);
    const auto product =
        castPlan(preparedGraph("(float[64,128] x, float16[128,32] w) => (float16[64,32] y) {"
                               " h = Cast<to=10>(x) y = MatMul(h, w) }"));
    EXPECT_EQ(product->steps.size(), 2U);
}

namespace {

/// Work of all kinds on float16 and float32 values with Casts between, one after the other or side
/// by side.
class CastGraph {
public:
    explicit CastGraph(Choices& choices) : m_choices(choices) {
        m_rows = m_choices.pick(std::vector<int64_t>{4, 1, 33});
        m_columns = m_choices.pick(std::vector<int64_t>{8, 64});
        for (const char* name : {"x", "h"})
            m_values.push_back(
                m.input(name, {m_rows, m_columns}, *name == 'x' ? DType::Float32 : DType::Float16));
    }

    Graph make() && {
        for (int64_t left = 2 + m_choices.below(6); left > 0; --left)
            add();
        for (ValueId value : m_values)
            if (m.graph.producer(value).valid() && m.graph.value(value).uses.empty())
                m.output(value);
        return std::move(m.graph);
    }

private:
    ValueId any() {
        const auto count = static_cast<int64_t>(m_values.size());
        return m_values[static_cast<size_t>(count - 1 - m_choices.below(count))];
    }

    ValueId node(Op op, const std::vector<ValueId>& inputs,
                 const std::vector<Attributes::Entry>& attributes = {}) {
        const ValueId out = m.node(op, inputs, "v" + std::to_string(m_count++), attributes);
        const DType type = m.graph.value(inputs[0]).type.dtype;
        m.graph.setType(out, tensorType(type, m.graph.value(inputs[0]).type.shape.value()));
        return out;
    }

    void add() {
        const ValueId value = any();
        switch (m_choices.below(5)) {
        case 0: { // mostly the other type
            const bool wide = m.graph.value(value).type.dtype == DType::Float16;
            const DType to = m_choices.oneIn(6) ? DType::Float32
                             : wide             ? DType::Float32
                                                : DType::Float16;
            const ValueId out =
                node(Op::Cast, {value}, {{"to", int64_t{to == DType::Float32 ? 1 : 10}}});
            m.graph.setType(out, tensorType(to, {m_rows, m_columns}));
            return m_values.push_back(out);
        }
        case 1:
            return m_values.push_back(node(
                m_choices.pick(std::vector<Op>{Op::Relu, Op::Tanh, Op::Abs, Op::Floor}), {value}));
        case 2:
            return m_values.push_back(node(Op::Softmax, {value}, {{"axis", int64_t{1}}}));
        case 3:
            return m_values.push_back(node(Op::MatMul, {value, weights(value)}));
        default:
            return m_values.push_back(node(Op::Mul, {value, value}));
        }
    }

    ValueId weights(ValueId like) {
        Tensor data(m.graph.value(like).type.dtype, {m_columns, m_columns});
        for (int64_t i = 0; i < data.elementCount(); ++i)
            data.set(i, static_cast<double>(i % 7) * 0.03125 - 0.09375);
        return m.graph.addConstant("w" + std::to_string(m_count++),
                                   std::make_shared<Tensor>(std::move(data)));
    }

    Choices& m_choices;
    GraphMaker m;
    int64_t m_rows = 0, m_columns = 0;
    int m_count = 0;
    std::vector<ValueId> m_values;
};

Graph castsFrom(const ChoiceList& list) {
    Choices choices(list);
    Graph graph = CastGraph(choices).make();
    inferShapes(graph);
    return graph;
}

std::vector<Tensor> outputsOfCasts(const Graph& graph, bool recompute, bool strict,
                                   const std::vector<Tensor>& inputs) {
    auto backend = makeCpuBackend({1, strict});
    return outputsOfPlan(castPlan(graph, recompute, "h200", strict, backend.get()), *backend,
                         inputs);
}

bool holdsFloor(const Graph& graph) {
    const std::vector<NodeId> nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return graph.node(node).op == Op::Floor; });
}

/// A few roundings to float16; what jumps (Floor) may jump, and is compared in strict plans only.
bool isNearInHalf(const Tensor& a, const Tensor& b) {
    double largest = 1e-3, apart = 0;
    for (int64_t i = 0; i < a.elementCount(); ++i) {
        largest = std::max(largest, std::abs(b.at(i)));
        const double by = std::abs(a.at(i) - b.at(i));
        apart = by <= apart ? apart : by;
    }
    return apart <= 0.02 * largest;
}

struct CastsSeen {
    size_t gone = 0;
    std::string wrong; ///< empty: nothing
};

CastsSeen castsSeen(const ChoiceList& list) {
    CastsSeen out;
    const Graph graph = castsFrom(list);
    auto inputs = app::generateInputs(graph, 3);
    if (!inputs)
        return {0, inputs.error().text()};
    const auto apart = castPlan(graph, false), together = castPlan(graph);
    out.gone = apart->steps.size() - together->steps.size();
    if (together->totalPredicted().seconds > 1.02 * apart->totalPredicted().seconds)
        out.wrong = "predicted to be slower";
    for (bool strict : {false, true}) {
        const std::vector<Tensor> wanted = outputsOfCasts(graph, false, strict, *inputs);
        const std::vector<Tensor> got = outputsOfCasts(graph, true, strict, *inputs);
        if (got.size() != wanted.size())
            out.wrong = "no outputs";
        for (size_t i = 0; i < wanted.size() && i < got.size(); ++i)
            if (strict ? !identical(got[i], wanted[i])
                       : !holdsFloor(graph) && !isNearInHalf(got[i], wanted[i]))
                out.wrong = (strict ? "strict: other bits of output " : "another output ") +
                            std::to_string(i);
    }
    return out;
}

} // namespace

TEST(PlanCasts, NumbersStayWhatTheyWere) {
    size_t gone = 0;
    lookAtSeeds(
        200, [](Choices& choices) { return CastGraph(choices).make(); }, castsSeen,
        [&](const CastsSeen& seen) { gone += seen.gone; });
    EXPECT_GT(gone, 100U) << "the generator does not reach what it is for";
}
