// SPDX-License-Identifier: Apache-2.0
// Products that write their results over the residual that TMA brings: as a plan lets them, element
// for element.
#include "gpu/kernels/variant_table.h"
#include "tests/shim/kernel_run.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

/// The kernels write where the program's input `input` lies.
gpu::KernelSet writingOver(gpu::KernelSet set, uint32_t input) {
    for (gpu::KernelText& kernel : set.kernels)
        for (gpu::KernelArgument& argument : kernel.arguments)
            if (argument.kind == gpu::KernelArgument::Kind::Output)
                argument = {gpu::KernelArgument::Kind::Input, input, argument.offset};
    return set;
}

TEST(Landed, resultsOverTheResidualAreThoseBesideIt) {
    const Prepared prepared = preparedNamed("contraction_tma_landed");
    ASSERT_TRUE(prepared.program);
    constexpr uint32_t residual = 3;
    const std::vector<ReferenceValue> inputs = inputsFor(*prepared.program);
    size_t landed = 0;
    for (const gpu::KernelSet& set : gpu::emitAll(prepared.request).accepted) {
        if (!set.variant.starts_with("tma_"))
            continue;
        SCOPED_TRACE(set.variant);
        landed += set.kernels[0].maps.size() == 3 ? 1 : 0;
        for (const bool other : {false, true}) {
            Arena beside = arenaFor(prepared.request, inputs);
            addNeeds(beside, set, inputs);
            launchAll(set, beside, {other, false});
            Arena over = arenaFor(prepared.request, inputs);
            addNeeds(over, set, inputs);
            launchAll(writingOver(set, residual), over, {other, false});
            ASSERT_EQ(over.inputs[residual].size(), beside.outputs[0].size());
            EXPECT_EQ(std::memcmp(over.inputs[residual].data(), beside.outputs[0].data(),
                                  beside.outputs[0].size()),
                      0);
        }
    }
    EXPECT_EQ(landed, 10U);
}

} // namespace
