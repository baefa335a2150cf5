// SPDX-License-Identifier: Apache-2.0
// Layouts that matrix products and rows ask for, where no convolution decides.
#include "core/plan/channels_last.h"
#include "kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

namespace {

/// Programs one after the other; the first input of each is the first output of the one before.
Plan chained(const std::vector<std::string>& bodies) {
    Plan out;
    auto value = [&](const OperandType& type, Residence residence) {
        PlanValue made;
        made.dtype = type.dtype;
        made.extents = type.extents;
        made.strides = rowMajorStrides(type.extents);
        made.residence = residence;
        out.values.push_back(std::move(made));
        return static_cast<uint32_t>(out.values.size() - 1);
    };
    for (const std::string& body : bodies) {
        const uint32_t before = out.steps.empty() ? 0 : out.steps.back().outputs[0];
        Step step;
        step.program = programOf(bodyFrom(body));
        for (size_t i = 0; i < step.program.inputs.size(); ++i)
            step.inputs.push_back(i == 0 && !out.steps.empty()
                                      ? before
                                      : value(step.program.inputs[i], Residence::Input));
        step.outputs.push_back(value(step.program.outputs[0], Residence::Arena));
        out.steps.push_back(std::move(step));
    }
    return out;
}

const char* const linear = "(float[2,8,8,64] x, float[64,96] w) => (float[2,96,8,8] y) "
                           "{ t = MatMul(x, w)  y = Transpose<perm=[0,3,1,2]>(t) }";
const char* const norm = "(float[2,96,8,8] y, float[96] s, float[96] b) => (float[2,8,8,96] z) "
                         "{ p = Transpose<perm=[0,2,3,1]>(y) "
                         "z = LayerNormalization<axis=-1>(p, s, b) }";

const Extents& between(const Plan& plan) {
    return plan.values[plan.steps[0].outputs[0]].strides;
}

} // namespace

TEST(Layouts, RowsOfAProductStayContiguousBeforeANormalization) {
    Plan plan = chained({linear, norm});
    chooseChannelsLast(plan, {{}, true});
    EXPECT_EQ(between(plan), channelsLast({2, 96, 8, 8}));
}

TEST(Layouts, ProductsDecideNothingUnlessAsked) {
    Plan plan = chained({linear, norm});
    chooseChannelsLast(plan, {});
    EXPECT_EQ(between(plan), rowMajorStrides({2, 96, 8, 8}));
}

TEST(Layouts, AProductThatWritesRowsAsTheyAreStays) {
    Plan plan = chained({"(float[2,8,8,64] x, float[64,96] w) => (float[2,8,8,96] y) "
                         "{ y = MatMul(x, w) }",
                         "(float[2,8,8,96] y, float[96] s, float[96] b) => (float[2,8,8,96] z) "
                         "{ z = LayerNormalization<axis=-1>(y, s, b) }"});
    chooseChannelsLast(plan, {{}, true});
    EXPECT_EQ(between(plan), rowMajorStrides({2, 8, 8, 96}));
}

TEST(Layouts, ATransposeDoesNotHandChannelsLastOn) {
    // What it writes has other dimensions in these places: the product reads along the last.
    Plan plan = chained({"(float[1,96,8,8] x, float[96,1,7,7] w) => (float[1,96,8,8] y) "
                         "{ y = Conv<group=96,pads=[3,3,3,3]>(x, w) }",
                         "(float[1,96,8,8] x) => (float[1,8,8,96] y) "
                         "{ y = Transpose<perm=[0,2,3,1]>(x) }",
                         "(float[1,8,8,96] x, float[96,384] w) => (float[1,8,8,384] y) "
                         "{ y = MatMul(x, w) }"});
    chooseChannelsLast(plan, {});
    EXPECT_EQ(between(plan), channelsLast({1, 96, 8, 8}));
    EXPECT_EQ(plan.values[plan.steps[1].outputs[0]].strides, rowMajorStrides({1, 8, 8, 96}));
}

TEST(Layouts, RowsThatAProductReadsStayContiguousBehindAConvolution) {
    Plan plan = chained({"(float[1,16,8,8] x, float[16,16,1,1] w) => (float[1,16,8,8] y) "
                         "{ y = Conv(x, w) }",
                         "(float[1,16,8,8] x) => (float[1,16,8,8] y) { y = Tanh(x) }",
                         "(float[1,16,8,8] x, float[1,16,8,24] b) => (float[1,16,8,24] y) "
                         "{ y = MatMul(x, b) }"});
    chooseChannelsLast(plan, {});
    EXPECT_EQ(between(plan), channelsLast({1, 16, 8, 8}));
    EXPECT_EQ(plan.values[plan.steps[1].outputs[0]].strides, rowMajorStrides({1, 16, 8, 8}));
}
