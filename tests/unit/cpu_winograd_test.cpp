// SPDX-License-Identifier: Apache-2.0
// Minimal filtering against the plain evaluation: every instruction set, tiles that stick out of
// the image, what its output transform does and what it leaves to the tile interpreter.
#include "core/cpu/contraction.h"
#include "core/cpu/winograd.h"
#include "cpu_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

size_t tableIndex = 0;

KernelResult filtered(const KernelProgram& program, const PrepareContext& context) {
    const auto& code = std::get<Contraction>(program.code);
    PrepareContext inner{context.inputs, context.outputs, vectorTable(tableIndex), context.threads};
    if (!canBeWinograd(code, inner))
        return failure("test.form", "no minimal filtering of " + text(program));
    KernelResult kernel = prepareWinograd(code, inner);
    EXPECT_TRUE(!kernel || (*kernel)->numeric == NumericClass::Reassociated);
    return kernel;
}

struct Case {
    Extents x, w, y;
    std::string pads;
    std::string epilogue = "y = Relu(c)";
    std::string tactic;
};

std::string list(const Extents& extents) {
    std::string out = text(extents);
    return out.front() == '[' ? out : "[" + out + "]";
}

void expectFiltered(const Case& test) {
    const int64_t filters = test.w[0];
    LowerRequest request =
        bodyFrom("(float" + list(test.x) + " x, float" + list(test.w) + " w, float[" +
                     std::to_string(filters) + "] b, float" + list(test.y) + " r) => (float" +
                     list(test.y) + " y) { c = Conv<kernel_shape=[3,3],pads=" + test.pads +
                     ">(x, w, b)  " + test.epilogue + " }",
                 {{"w", weights(test.w)}, {"b", weights({filters}, 2)}});
    KernelProgram program = programOf(request);
    ASSERT_TRUE(std::holds_alternative<Contraction>(program.code));
    std::vector<ReferenceValue> inputs = inputsFor(request);
    auto wanted = evaluate(program, inputs);
    ASSERT_TRUE(wanted);
    for (tableIndex = 0; tableIndex < vectorTableCount(); ++tableIndex) {
        SCOPED_TRACE(vectorTable(tableIndex).name);
        std::vector<std::vector<std::byte>> bytes;
        for (int threads : {1, 2, 5}) {
            CpuRun run = runOnCpu(program, inputs, request.constants, Order::ChannelsLast, threads,
                                  filtered);
            EXPECT_EQ(run.tactic, test.tactic);
            ASSERT_EQ(run.outputs.size(), 1U);
            expectNear(run.outputs[0], wanted->outputs[0], 1e-4);
            EXPECT_TRUE(bytes.empty() || bytes == run.bytes) << threads << " threads differ";
            bytes = run.bytes;
        }
    }
}

} // namespace

TEST(Winograd, TilesOfFourByFour) {
    expectFiltered({{1, 32, 24, 20},
                    {64, 32, 3, 3},
                    {1, 64, 24, 20},
                    "[1,1,1,1]",
                    "y = Relu(c)",
                    "winograd 4x4"});
}

TEST(Winograd, TilesThatStickOut) {
    expectFiltered({{2, 16, 21, 18},
                    {32, 16, 3, 3},
                    {2, 32, 21, 18},
                    "[1,1,1,1]",
                    "y = LeakyRelu<alpha=0.1>(c)",
                    "winograd 4x4"});
}

TEST(Winograd, TilesOfTwoByTwoForFewPixels) {
    expectFiltered(
        {{1, 64, 7, 7}, {64, 64, 3, 3}, {1, 64, 7, 7}, "[1,1,1,1]", "y = Relu(c)", "winograd 2x2"});
}

TEST(Winograd, PadsOfOneSide) {
    expectFiltered({{1, 16, 17, 30},
                    {32, 16, 3, 3},
                    {1, 32, 17, 28},
                    "[0,0,2,0]",
                    "lo = Constant<value_float=-0.5>()  hi = Constant<value_float=0.5>() "
                    "y = Clip(c, lo, hi)",
                    "winograd 4x4"});
}

TEST(Winograd, ResidualSumBeforeTheActivation) {
    expectFiltered({{1, 16, 20, 19},
                    {32, 16, 3, 3},
                    {1, 32, 20, 19},
                    "[1,1,1,1]",
                    "a = Add(c, r)  y = Relu(a)",
                    "winograd 4x4"});
}

TEST(Winograd, OtherActivationsAreATilePass) {
    expectFiltered({{1, 16, 20, 16},
                    {32, 16, 3, 3},
                    {1, 32, 20, 16},
                    "[1,1,1,1]",
                    "s = Sigmoid(c)  y = Mul(c, s)",
                    "winograd 4x4 + tile interpreter"});
}

TEST(Winograd, OtherFormsAreLeftAlone) {
    Threads threads(1);
    auto takes = [&](const std::string& attributes, const Extents& x, const Extents& w,
                     const Extents& y, bool strict = false) {
        LowerRequest request =
            bodyFrom("(float" + list(x) + " x, float" + list(w) + " w) => (float" + list(y) +
                         " y) { y = Conv<kernel_shape=[3,3]," + attributes + ">(x, w) }",
                     {{"w", weights(w)}});
        KernelProgram program = programOf(request);
        PrepareContext context{{},
                               {},
                               vectorTable(),
                               threads,
                               strict ? NumericClass::Exact : NumericClass::Reassociated};
        for (size_t i = 0; i < program.inputs.size(); ++i) {
            context.inputs.push_back(
                layoutFor(DType::Float32, program.inputs[i].extents, Order::ChannelsLast));
            context.inputs.back().constant = request.constants[i];
        }
        return canBeWinograd(std::get<Contraction>(program.code), context);
    };
    const Extents x = {1, 32, 20, 20}, w = {32, 32, 3, 3}, y = {1, 32, 20, 20};
    EXPECT_TRUE(takes("pads=[1,1,1,1]", x, w, y));
    EXPECT_FALSE(takes("pads=[1,1,1,1]", x, w, y, true)) << "strict";
    EXPECT_FALSE(takes("pads=[2,2,2,2],dilations=[2,2]", x, w, y));
    EXPECT_FALSE(takes("pads=[1,1,1,1],strides=[2,2]", x, w, {1, 32, 10, 10}));
    EXPECT_FALSE(takes("pads=[1,1,1,1],group=2", x, {32, 16, 3, 3}, y));
    EXPECT_FALSE(takes("pads=[1,1,1,1]", {1, 24, 20, 20}, {32, 24, 3, 3}, y)) << "24 channels";
    EXPECT_FALSE(takes("pads=[0,0,0,0]", {1, 32, 3, 3}, w, {1, 32, 1, 1})) << "one result";
}
