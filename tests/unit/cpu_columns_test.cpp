// SPDX-License-Identifier: Apache-2.0
// The tile of products in types that no library has, of every instruction set of this machine.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

/// Whole numbers, whose sums are exact in any order; integers wrap.
template <typename T> void expectProducts(ColumnLoops::Tile<T> tile, std::mt19937& random) {
    constexpr size_t rows = ColumnLoops::rows, columns = ColumnLoops::columns<T>;
    const size_t depth = random() % 40, wanted = 1 + random() % rows,
                 bStep = columns + random() % 3, outStep = columns + random() % 3;
    std::vector<T> a(depth * rows), b(depth * bStep), out(rows * outStep, T(7));
    for (T& each : a)
        each = static_cast<T>(random() % 1000);
    for (T& each : b)
        each = static_cast<T>(random() % 1000);
    tile({out.data(), a.data(), b.data(), outStep, bStep, depth, wanted});
    for (size_t r = 0; r < wanted; ++r)
        for (size_t n = 0; n < columns; ++n) {
            T sum = 0;
            for (size_t k = 0; k < depth; ++k)
                sum += a[k * rows + r] * b[k * bStep + n];
            ASSERT_EQ(out[r * outStep + n], sum) << r << ", " << n << " of depth " << depth;
        }
    for (size_t r = 0; r < rows; ++r)
        for (size_t n = columns; n < outStep; ++n)
            ASSERT_EQ(out[r * outStep + n], T(7)) << "written beside the tile";
}

} // namespace

TEST(CpuColumns, EveryTileIsTheSumOfItsProducts) {
    for (size_t level = 0; level < vectorTableCount(); ++level) {
        const ColumnLoops& loops = vectorTable(level).columns;
        SCOPED_TRACE(vectorTable(level).name);
        std::mt19937 random(3);
        for (int drawn = 0; drawn < 300 && !testing::Test::HasFatalFailure(); ++drawn) {
            expectProducts(loops.doubles, random);
            expectProducts(loops.words, random);
            expectProducts(loops.longWords, random);
        }
    }
}
