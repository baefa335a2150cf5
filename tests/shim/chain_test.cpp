// SPDX-License-Identifier: Apache-2.0
// Rows that are made in the kernels of the layers that multiply them: the hardest ones for a
// normalisation against the evaluator. Mistakes in their text: mutants_test.cpp.
#include "gpu/kernels/variant_table.h"
#include "tests/shim/kernel_run.h"
#include "tests/shim/suite.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

/// One kind after the other: where a mean is large beside what is left of it, where nothing is
/// left, where one element decides, where elements are the largest or smallest of their type.
void makeRowsHard(ReferenceValue& rows) {
    const bool half = rows.dtype == DType::Float16;
    const double largest = half ? 65504 : 1e18, smallest = half ? 6e-8 : 1e-30;
    const auto length = static_cast<size_t>(rows.extents.back());
    for (size_t i = 0; i < rows.floats.size(); ++i) {
        const size_t row = i / length, at = i % length;
        const double drawn = rows.floats[i], step = at % 2 == 0 ? 1 : -1;
        const double kinds[] = {drawn,
                                1000.5,
                                1000 + 0.5 * step,
                                at == row % length ? largest / 2 : drawn,
                                drawn * smallest * 64,
                                0,
                                step * largest,
                                -30000 + 16 * drawn,
                                largest - largest / 256 * (drawn + 2),
                                at + 1 == length ? 2048.0 : 2047.0};
        rows.floats[i] = roundTo(rows.dtype, kinds[row % std::size(kinds)]);
    }
}

TEST(ChainRow, hardRowsAgreeWithTheEvaluator) {
    for (const char* name :
         {"chain_norm", "chain_norm_tiles", "chain_norm_wide", "chain_norm_groups",
          "chain_norm_groups_wide", "front_eight_by_columns", "front_floats", "front_drawn_0",
          "front_drawn_9"}) {
        SCOPED_TRACE(name);
        const Prepared prepared = preparedNamed(name);
        ASSERT_TRUE(prepared.program);
        std::vector<ReferenceValue> inputs = inputsFor(*prepared.program);
        makeRowsHard(inputs[0]);
        const std::vector<ReferenceValue> wanted = wantedFor(*prepared.program, inputs);
        const gpu::Candidates candidates = gpu::emitAll(prepared.request);
        ASSERT_FALSE(candidates.accepted.empty());
        for (const gpu::KernelSet& set : candidates.accepted)
            runSet(prepared.request, set, inputs, wanted);
    }
}

} // namespace
