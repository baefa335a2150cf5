// SPDX-License-Identifier: Apache-2.0
// Steps whose shapes show in a run: by kernels where it pays, never other than the reference
// function.
#include "core/cpu/dynamic_step.h"
#include "cpu_library_support.h"

#include <map>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

/// What a step computes of rows by a kernel; none where it leaves them to the reference function.
void expectAsReference(DynamicStep& step, const Graph& body, const std::vector<Tensor>& inputs,
                       bool isByKernel) {
    ThreadPool pool(1);
    Progress progress;
    std::vector<ReferenceValue> wide;
    for (const Tensor& input : inputs)
        wide.push_back(ReferenceValue::from(input));
    auto wanted = interpret(body, wide, pool, progress);
    ASSERT_TRUE(wanted);
    auto got = step.run(inputs, NumericClass::Reassociated);
    ASSERT_EQ(got.has_value(), isByKernel);
    EXPECT_EQ(step.kernel() != nullptr, isByKernel);
    if (!got)
        return;
    ASSERT_TRUE(*got) << got->error().text();
    expectNear(ReferenceValue::from((**got)[0]), (*wanted)[0], 1e-5);
}

} // namespace

TEST(CpuDynamicStep, LargeProductsRunNativelyForTheShapesOfEachRun) {
    Tensor w = weights({64, 1024}, 3);
    LowerRequest request = bodyFrom(
        "(float[n,64] x, float[64,1024] w) => (float[n,1024] y) { y = MatMul(x, w) }", {{"w", w}});
    DynamicStep step(request.body, request.constants, 1);
    for (int64_t rows : {48, 77, 48})
        expectAsReference(step, *request.body,
                          {weights({rows, 64}, static_cast<uint32_t>(rows)), w}, true);
}

TEST(CpuDynamicStep, SmallWorkIsLeftToTheReferenceUntilItsShapesComeAgain) {
    LowerRequest request =
        bodyFrom("(float[n,6] x, float[6,10] w) => (float[n,10] y) { y = MatMul(x, w) }");
    DynamicStep step(request.body, request.constants, 1);
    const Tensor w = weights({6, 10}, 3);
    for (const auto& [rows, isByKernel] :
         {std::pair{2, false}, {3, false}, {2, true}, {3, true}, {4, false}, {2, true}})
        expectAsReference(step, *request.body, {weights({rows, 6}, static_cast<uint32_t>(rows)), w},
                          isByKernel);
}

TEST(CpuDynamicStep, ATargetThatDoesNotFitIsLeftToTheReference) {
    LowerRequest request =
        bodyFrom("(float[n] x, int64[1] s) => (float[m] y) { y = Reshape(x, s) }");
    DynamicStep step(request.body, request.constants, 1);
    const Tensor x = weights({6}, 1);
    for (const int64_t target : {3, 6, 7, -1})
        for (int round = 0; round < 3; ++round) {
            auto got = step.run({x, Tensor::ofInts({target})}, NumericClass::Reassociated);
            const bool isRight = target == 6 || target == -1;
            ASSERT_EQ(got.has_value(), isRight && round > 0) << target;
            if (got) {
                EXPECT_TRUE(identical((**got)[0], x));
            }
        }
}

namespace {

/// One node whose shapes depend on elements, and operands for it that mostly fit.
struct OpenStep {
    std::string text;
    std::vector<Tensor> inputs;
};

class OpenSteps {
public:
    explicit OpenSteps(uint32_t seed) : m_engine(seed) {}

    OpenStep next() {
        const Tensor x = weights({1 + below(4), 1 + below(3)}, m_engine() % 100);
        const int64_t rows = x.extents()[0], columns = x.extents()[1];
        switch (below(9)) {
        case 0:
            return {"(float[a,b] x, int64[2] s) => (float[c,d] y) { y = Expand(x, s) }",
                    {x, ints({below(4) == 0 ? 5 : rows, below(2) == 0 ? 1 : columns})}};
        case 1:
            return {"(float[a,b] x, int64[2] s) => (float[c,d] y) { y = Reshape(x, s) }",
                    {x, ints({below(2) == 0 ? columns : -1, below(5) == 0 ? 7 : rows})}};
        case 2:
            return {"(float[a,b] x, int64[1] f, int64[1] t, int64[1] n) => (float[c,d] y) { y = "
                    "Slice(x, f, t, n) }",
                    {x, ints({below(7) - 3}), ints({below(7) - 3}), ints({below(5) - 2})}};
        case 3:
            return {"(float[a,b] x, int64[2] s) => (float[c,d] y) { y = Tile(x, s) }",
                    {x, ints({below(4), below(3) - (below(8) == 0 ? 1 : 0)})}};
        case 4:
            return {"(int64 f, int64 t, int64 s) => (int64[c] y) { y = Range(f, t, s) }",
                    {scalar(below(4)), scalar(below(9)), scalar(below(4) - 1)}};
        case 5:
            return {"(int64[2] s) => (float[c,d] y) { y = ConstantOfShape(s) }",
                    {ints({below(4), below(4) - (below(6) == 0 ? 1 : 0)})}};
        case 6:
            return {"(float[a,b] x, int64[n] i) => (float[c,d] y) { y = Gather(x, i) }",
                    {x, ints({below(2) - 1, below(rows + (below(6) == 0 ? 1 : 0))})}};
        case 7:
            return {"(float[a,b] x, int64[4] p) => (float[c,d] y) { y = Pad(x, p) }",
                    {x, ints({below(3) - 1, below(3), below(2), below(3) - 1})}};
        default:
            return {"(float[a,b] x, float[e,f] z) => (float[c,d] y) { y = Mul(x, z) }",
                    {x, weights({below(2) == 0 ? 1 : rows, below(5) == 0 ? 3 : columns}, 7)}};
        }
    }

private:
    static Tensor ints(const std::vector<int64_t>& values) { return Tensor::ofInts(values); }

    static Tensor scalar(int64_t value) {
        Tensor out(DType::Int64, {});
        out.setInt(0, value);
        return out;
    }

    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint32_t>(bound));
    }

    std::mt19937 m_engine;
};

} // namespace

/// Where the reference function refuses operands, no kernel computes anything of them.
TEST(CpuDynamicStep, RandomStepsOfOpenShapesAreTheReference) {
    std::map<std::string, DynamicStep> steps;
    ThreadPool pool(1);
    Progress progress;
    int made = 0;
    OpenSteps random(5);
    for (int round = 0; round < 4000 && !HasFailure(); ++round) {
        const OpenStep open = random.next();
        const LowerRequest request = bodyFrom(open.text);
        DynamicStep& step =
            steps.try_emplace(open.text, request.body, request.constants, 1).first->second;
        std::vector<ReferenceValue> wide;
        for (const Tensor& input : open.inputs)
            wide.push_back(ReferenceValue::from(input));
        const auto wanted = interpret(*request.body, wide, pool, progress);
        const auto got = step.run(open.inputs, NumericClass::Exact);
        if (!got)
            continue;
        SCOPED_TRACE(open.text);
        ASSERT_EQ(got->operator bool(), static_cast<bool>(wanted));
        if (!wanted)
            continue;
        ++made;
        ASSERT_EQ((**got)[0].extents(), (*wanted)[0].extents);
        EXPECT_TRUE(identical((**got)[0], (*wanted)[0].toTensor()));
    }
    EXPECT_GT(made, 1000);
}

TEST(CpuDynamicStep, ATableIsReadWhereItLies) {
    const Tensor table = weights({100000, 4}, 7);
    LowerRequest request = bodyFrom(
        "(float[100000,4] t, int64[n] i) => (float[n,4] y) { y = Gather(t, i) }", {{"t", table}});
    DynamicStep step(request.body, request.constants, 1);
    for (int64_t count : {3, 5, 0})
        expectAsReference(step, *request.body,
                          {table, Tensor::ofInts(std::vector<int64_t>(static_cast<size_t>(count),
                                                                      99999 - count))},
                          true);
    auto beyond = step.run({table, Tensor::ofInts({100000})}, NumericClass::Reassociated);
    ASSERT_TRUE(beyond.has_value());
    EXPECT_FALSE(*beyond); // and says so
}
