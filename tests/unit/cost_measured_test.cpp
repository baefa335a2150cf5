// SPDX-License-Identifier: Apache-2.0
// Predictions beside what one H200 takes: kernels of ResNet-50 and ViT-B/16 at batch 32 in float16,
// as the best library ran them. Close enough to choose by, and in their order.
#include "core/cost/time_model.h"
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

namespace {

struct MeasuredKernel {
    const char* name;
    double us;
    const char* body;
};

constexpr MeasuredKernel kernels[] = {
    {"projection and residual", 16.5,
     "(float16[6304,768] x, float16[768,768] w, float16[768] b, float16[6304,768] r) => "
     "(float16[6304,768] y) { m = MatMul(x, w) s = Add(m, b) y = Add(s, r) }"},
    {"convolution of 3x3", 23.6,
     "(float16[32,64,56,56] x, float16[64,64,3,3] w, float16[64] b) => (float16[32,64,56,56] y) "
     "{ c = Conv<pads = [1,1,1,1]>(x, w, b) y = Relu(c) }"},
    {"attention", 25.2,
     "(float16[32,12,197,64] q, float16[32,12,64,197] k, float16[32,12,197,64] v) => "
     "(float16[32,12,197,64] y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }"},
    {"convolution of 1x1 and residual", 46.2,
     "(float16[32,64,56,56] x, float16[256,64,1,1] w, float16[256] b, float16[32,256,56,56] r) => "
     "(float16[32,256,56,56] y) { c = Conv(x, w, b) s = Add(c, r) y = Relu(s) }"},
    {"second layer and residual", 48.2,
     "(float16[6304,3072] x, float16[3072,768] w, float16[768] b, float16[6304,768] r) => "
     "(float16[6304,768] y) { m = MatMul(x, w) s = Add(m, b) y = Add(s, r) }"},
};

double predictedUs(const MeasuredKernel& kernel, const DeviceProfile& profile) {
    const KernelProgram program = programOf(bodyFrom(kernel.body));
    return predictTime(program, predictTraffic(program, profile, {}), profile).seconds * 1e6;
}

} // namespace

TEST(MeasuredKernels, AreMetWithinAFactor) {
    constexpr double factor = 1.8;
    const auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    for (const MeasuredKernel& kernel : kernels) {
        const double us = predictedUs(kernel, *profile);
        EXPECT_LT(us, kernel.us * factor) << kernel.name;
        EXPECT_GT(us, kernel.us / factor) << kernel.name;
    }
}

TEST(MeasuredKernels, AreOrderedWhereTheyDifferClearly) {
    constexpr double clearly = 1.5;
    const auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    for (const MeasuredKernel& fast : kernels)
        for (const MeasuredKernel& slow : kernels)
            if (slow.us > clearly * fast.us) {
                EXPECT_LT(predictedUs(fast, *profile), predictedUs(slow, *profile))
                    << fast.name << ", " << slow.name;
            }
}
