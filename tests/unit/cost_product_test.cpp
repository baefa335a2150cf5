// SPDX-License-Identifier: Apache-2.0
// What the time model says of products: peaks, tiles, splits, shapes of convolutions.
#include "cost_support.h"
#include "kernel_support.h"

#include <fmt/format.h>

using namespace fuselage;
using namespace fuselage::testing_cost;
using namespace fuselage::testing_kernel;

TEST(ProductTime, LargeSquareGemmIsNearItsMeasuredRate) {
    KernelProgram program = programOf(bodyFrom("(float16[8192,8192] x, float16[8192,8192] w) => "
                                               "(float16[8192,8192] y) { y = MatMul(x, w) }"));
    TimeEstimate estimate = timeOf(program, h200());
    EXPECT_EQ(estimate.limiter, "matrix");
    const double rate = 2.0 * 8192 * 8192 * 8192 / estimate.seconds;
    EXPECT_NEAR(rate, 720e12, 60e12);
}

TEST(ProductTime, ParametersInFloat32LeaveAHalfConvolutionOnTheUnitsOfHalves) {
    const std::string head = "(float16[32,512,7,7] x, float16[512,512,3,3] w";
    const std::string conv = "c = Conv<pads=[1,1,1,1]>(x, w) ";
    const TimeEstimate bare =
        timeOf(programOf(bodyFrom(head + ") => (float16[32,512,7,7] c) { " + conv + "}")), h200());
    const TimeEstimate fused = timeOf(
        programOf(bodyFrom(head + ", float[512,1,1] b) => (float16[32,512,7,7] y) { " + conv +
                           "d = Cast<to=1>(c) e = Add(d, b) r = Relu(e) y = Cast<to=10>(r) }")),
        h200());
    EXPECT_EQ(fused.matrix, bare.matrix);
    EXPECT_LT(fused.seconds, 1.1 * bare.seconds);
}

TEST(ProductTime, Tf32IsFasterThanFloat32LanesAndChangesNothingElse) {
    auto both = [](const std::string& body) {
        const KernelProgram program = programOf(bodyFrom(body));
        const Traffic traffic = predictTraffic(program, h200(), {});
        auto predicted = [&](bool tf32) {
            return predictTime(program, workOf(program), traffic, h200(), tf32).matrix;
        };
        return std::pair(predicted(false), predicted(true));
    };
    // So few terms that nobody splits them.
    const auto [lanes, tf32] =
        both("(float[512,128] x, float[128,512] w) => (float[512,512] y) { y = MatMul(x, w) }");
    EXPECT_NEAR(lanes / tf32, h200().tf32MatrixFlops / h200().fp32Flops, 1e-9);
    const auto [half, same] = both("(float16[512,512] x, float16[512,512] w) => "
                                   "(float16[512,512] y) { y = MatMul(x, w) }");
    EXPECT_EQ(half, same);
}

/// Those have kernels for them (gpu/kernels, integer_*); on lanes nobody would fuse them.
TEST(ProductTime, IntegersOf8BitsAreMultipliedByTensorCoresFromSm80On) {
    const auto product = [](const char* type) {
        return programOf(bodyFrom(fmt::format(
            "({0}[6304,768] x, {0}[768,3072] w) => ({1}[6304,3072] y) {{ y = {2}(x, w) }}", type,
            std::string(type) == "int8" ? "int32" : type,
            std::string(type) == "int8" ? "MatMulInteger" : "MatMul")));
    };
    const KernelProgram integers = product("int8"), halves = product("float16");
    size_t asked = 0;
    for (const std::string& name : deviceProfileNames()) {
        const auto profile = deviceProfile(name);
        ASSERT_TRUE(profile) << name;
        if (profile->kind != DeviceKind::Gpu || profile->arch == "sm_75")
            continue;
        ++asked;
        EXPECT_LT(timeOf(integers, *profile).seconds, 2 * timeOf(halves, *profile).seconds) << name;
    }
    EXPECT_GT(asked, 5U);
}

TEST(ProductTime, MoreTermsAreNeverFaster) {
    for (const char* type : {"float", "float16"})
        for (int64_t columns : {16, 128, 512, 3000}) {
            double last = 0;
            for (int64_t terms = 32; terms <= 4096; terms += terms < 600 ? 1 : 97) {
                const std::string body = fmt::format(
                    "({0}[128,{1}] x, {0}[{1},{2}] w) => ({0}[128,{2}] y) {{ y = MatMul(x, w) }}",
                    type, terms, columns);
                const double seconds = timeOf(programOf(bodyFrom(body)), h200()).seconds;
                ASSERT_GE(seconds, last) << type << " " << terms << " " << columns;
                last = seconds;
            }
        }
}

TEST(ProductTime, OneOfFewRowsIsAStreamOfItsWeights) {
    auto launch = [](int64_t rows) {
        return timeOf(programOf(bodyFrom(fmt::format(
                          "(float16[{0},256] x, float16[256,256] w) => (float16[{0},256] y) "
                          "{{ y = MatMul(x, w) }}",
                          rows))),
                      h200())
            .launch;
    };
    EXPECT_EQ(launch(1), h200().launchSeconds);
    EXPECT_EQ(launch(16), h200().launchSeconds + h200().productSeconds);
}

TEST(ProductTime, AConvolutionOfOneTapIsAMatrixProduct) {
    const double conv =
        timeOf(programOf(bodyFrom("(float16[8,512,28,28] x, float16[256,512,1,1] w) => "
                                  "(float16[8,256,28,28] y) { y = Conv(x, w) }")),
               h200())
            .matrix;
    const double product = timeOf(programOf(bodyFrom("(float16[6272,512] x, float16[512,256] w) => "
                                                     "(float16[6272,256] y) { y = MatMul(x, w) }")),
                                  h200())
                               .matrix;
    EXPECT_NEAR(conv / product, 1, 0.01);
}

TEST(ProductTime, PatchesReadRowsOfTaps) {
    auto matrix = [](int extent, int stride) {
        const std::string body =
            fmt::format("(float16[8,3,{0},{0}] x, float16[64,3,8,8] w) => (float16[8,64,29,29] y) "
                        "{{ y = Conv<strides=[{1},{1}]>(x, w) }}",
                        extent, stride);
        return timeOf(programOf(bodyFrom(body)), h200()).matrix;
    };
    const double overlapping = matrix(64, 2), patches = matrix(232, 8); // results alike
    const double few = h200().fewChannels;
    EXPECT_NEAR(overlapping / patches, (1 + few / 3) / (1 + few / 24), 1e-6);
}

/// Rows of windows in three dimensions are gathered from many short lines, which costs more than
/// to multiply few channels in floats; where channels are many it does not matter.
TEST(ProductTime, IntegersOfThreeDimensionsGatherTheirLines) {
    DeviceProfile profile = *deviceProfile("cpu_avx512");
    profile.integerGain = 3; // as where there are dot products of 8 bits
    const auto times = [&](int64_t channels) {
        const std::string rest =
            fmt::format("[1,{0},8,12,12] x, {{}}[16,{0},3,3,3] w) => ({{}}[1,16,8,12,12] y) "
                        "{{{{ y = {{}}<kernel_shape=[3,3,3],pads=[1,1,1,1,1,1]>(x, w) }}}}",
                        channels);
        const auto of = [&](const char* type, const char* sum, const char* op) {
            const std::string body =
                std::string("(") + type + fmt::format(fmt::runtime(rest), type, sum, op);
            return timeOf(programOf(bodyFrom(body)), profile).seconds;
        };
        return std::pair(of("int8", "int32", "ConvInteger"), of("float", "float", "Conv"));
    };
    const auto [fewIntegers, fewFloats] = times(3);
    EXPECT_GT(fewIntegers, 1.2 * fewFloats);
    const auto [manyIntegers, manyFloats] = times(64);
    EXPECT_LT(manyIntegers, manyFloats);
}

namespace {

KernelProgram fourBits(int64_t rows, const char* type = "float16", int64_t size = 4096) {
    return programOf(bodyFrom(fmt::format(
        "({0}[{1},{2}] x, uint8[{2},{3},16] b, {0}[{4}] s) => ({0}[{1},{2}] y) "
        "{{ y = com.microsoft.MatMulNBits<K={2}, N={2}, bits=4, block_size=32>(x, b, s) }}",
        type, rows, size, size / 32, size / 32 * size)));
}

TimeEstimate sixteenBits(int64_t rows, const DeviceProfile& profile) {
    return timeOf(programOf(bodyFrom(fmt::format("(float16[{0},4096] x, float16[4096,4096] w) => "
                                                 "(float16[{0},4096] y) {{ y = MatMul(x, w) }}",
                                                 rows))),
                  profile);
}

} // namespace

/// Few rows wait for a quarter of the bytes; of many, tensor cores multiply elements that are made
/// on the way or in front of them.
TEST(ProductTime, WeightsOfFourBitsAreAStreamOrGoToTheTensorCores) {
    for (const char* name : {"t4", "a100", "l4", "h200"}) {
        SCOPED_TRACE(name);
        const DeviceProfile profile = *deviceProfile(name);
        EXPECT_LT(timeOf(fourBits(1), profile).seconds, sixteenBits(1, profile).seconds);
        EXPECT_EQ(timeOf(fourBits(1), profile).matrix, 0);
        for (const int64_t rows : {64, 512, 4096}) {
            const TimeEstimate few = timeOf(fourBits(rows), profile);
            EXPECT_GT(few.matrix, 0) << rows;
            EXPECT_LT(few.seconds, 2 * sixteenBits(rows, profile).seconds) << rows;
        }
        double before = 0;
        for (int64_t rows = 2; rows <= 8192; rows *= 2) {
            const double seconds = timeOf(fourBits(rows), profile).seconds;
            EXPECT_GE(seconds, 0.9 * before) << rows;
            before = seconds;
        }
    }
}

/// Rows of float32 are not rounded for them, and a T4 multiplies no bfloat16.
TEST(ProductTime, WeightsOfFourBitsStayOnLanesForWhatTensorCoresDoNotTake) {
    EXPECT_EQ(timeOf(fourBits(512, "float"), h200()).matrix, 0);
    EXPECT_EQ(timeOf(fourBits(512, "bfloat16"), *deviceProfile("t4")).matrix, 0);
    EXPECT_GT(timeOf(fourBits(512, "bfloat16"), *deviceProfile("l4")).matrix, 0);
    // Lanes also unpack weights and convert rows: far from one instruction a multiply-add.
    const double lanes = 512.0 * 4096 * 4096 / (132 * 128 * 1.98e9);
    EXPECT_GT(timeOf(fourBits(512, "float"), h200()).issue, 2.5 * lanes);
}
