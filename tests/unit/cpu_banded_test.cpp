// SPDX-License-Identifier: Apache-2.0
// Convolutions in bands against the plain evaluation.
#include "core/cpu/banded_convolution.h"
#include "cpu_support.h"

using namespace fuselage;
using namespace fuselage::testing_cpu;

namespace {

KernelResult inBands(const KernelProgram& program, const PrepareContext& context) {
    return prepareBanded(std::get<Contraction>(program.code), context);
}

void expectBands(const std::string& body, const Extents& weightExtents, const std::string& bands) {
    int64_t channels = weightExtents[0];
    LowerRequest request = bodyFrom(
        body, {{"w", weights(weightExtents)},
               {"s", weights({channels}, 3)},
               {"o", weights({channels}, 4)},
               {"m", weights({channels}, 5)},
               {"v", Tensor::ofFloats({channels},
                                      std::vector<float>(static_cast<size_t>(channels), 0.7F))}});
    KernelProgram program = programOf(request);
    ASSERT_TRUE(std::holds_alternative<Contraction>(program.code));
    std::vector<ReferenceValue> inputs = inputsFor(request);
    auto wanted = evaluate(program, inputs);
    ASSERT_TRUE(wanted);
    for (int threads : {1, 2}) {
        CpuRun run =
            runOnCpu(program, inputs, request.constants, Order::ChannelsLast, threads, inBands);
        EXPECT_NE(run.tactic.find(bands), std::string::npos) << run.tactic;
        ASSERT_EQ(run.outputs.size(), 1U);
        expectNear(run.outputs[0], wanted->outputs[0], 5e-5);
    }
}

} // namespace

TEST(BandedConvolution, SeveralImages) {
    expectBands("(float[3,10,6,5] x, float[24,10,1,1] w, float[24] s, float[24] o, float[24] m, "
                "float[24] v, float[3,24,6,5] r) => (float[3,24,6,5] y) { "
                "c = Conv<kernel_shape=[1,1]>(x, w)  n = BatchNormalization(c, s, o, m, v) "
                "a = Add(n, r)  y = Relu(a) }",
                {24, 10, 1, 1}, "in bands of 6 rows");
}

TEST(BandedConvolution, SeveralBandsOfStridedRows) {
    expectBands("(float[1,3,12,512] x, float[128,3,1,1] w, float[128] s, float[128] o, "
                "float[128] m, float[128] v, float[1,128,6,256] r) => (float[1,128,6,256] y) { "
                "c = Conv<kernel_shape=[1,1],strides=[2,2]>(x, w) "
                "n = BatchNormalization(c, s, o, m, v)  a = Add(r, n)  y = Relu(a) }",
                {128, 3, 1, 1}, "in bands of 3 rows");
}
