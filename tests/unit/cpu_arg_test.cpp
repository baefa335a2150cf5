// SPDX-License-Identifier: Apache-2.0
// Where the largest and the smallest elements stand, of every instruction set of this machine.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

/// The first best one, or the last; NaN is best.
template <typename T> size_t placeOf(const std::vector<T>& x, bool maximum, bool last) {
    size_t best = 0;
    for (size_t i = 1; i < x.size(); ++i) {
        const bool isNan = x[i] != x[i], wasNan = x[best] != x[best];
        const bool better = wasNan ? false : isNan || (maximum ? x[i] > x[best] : x[i] < x[best]);
        const bool equal = (isNan && wasNan) || x[i] == x[best];
        if (better || (last && equal))
            best = i;
    }
    return best;
}

template <typename T> T drawn(std::mt19937& random) {
    if constexpr (std::numeric_limits<T>::has_infinity) {
        const T special[] = {std::numeric_limits<T>::infinity(),
                             -std::numeric_limits<T>::infinity(), std::nan(""), T(-0.0), T(0)};
        if (random() % 6 == 0)
            return special[random() % 5];
    }
    return static_cast<T>(static_cast<int>(random() % 5) - 2); // many of a kind
}

/// Rows in two parts, as tiles come one after the other.
template <typename T, typename Acc> void expectPlaces(Lane lane, std::mt19937& random) {
    const size_t rows = 1 + random() % 40, lengths[] = {3, 40};
    const size_t most = lengths[random() % 2], cols[2] = {1 + random() % most, random() % most};
    std::vector<std::vector<T>> all(rows);
    for (auto& row : all)
        for (size_t i = 0; i < cols[0] + cols[1]; ++i)
            row.push_back(drawn<T>(random));
    for (size_t table = 0; table < vectorTableCount(); ++table)
        for (const auto& [kind, maximum, last] : {std::tuple(ReduceKind::ArgMax, true, false),
                                                  {ReduceKind::ArgMin, false, false},
                                                  {ReduceKind::ArgMaxLast, true, true},
                                                  {ReduceKind::ArgMinLast, false, true}})
            for (bool outer : {false, true}) {
                const VectorTable& t = vectorTable(table);
                const auto& functions = outer ? t.reduceOuter : t.reduceInner;
                std::vector<Acc> values(rows);
                std::vector<int64_t> indices(rows, 0);
                size_t first = 0;
                for (size_t count : cols) {
                    std::vector<T> tile(rows * count);
                    for (size_t r = 0; r < rows; ++r)
                        for (size_t i = 0; i < count; ++i)
                            tile[outer ? i * rows + r : r * count + i] = all[r][first + i];
                    if (count > 0)
                        functions[static_cast<size_t>(kind)][static_cast<size_t>(lane)](
                            {values.data(), indices.data()}, tile.data(), outer ? count : rows,
                            outer ? rows : count, static_cast<int64_t>(first));
                    first += count;
                }
                for (size_t r = 0; r < rows; ++r)
                    ASSERT_EQ(static_cast<size_t>(indices[r]), placeOf(all[r], maximum, last))
                        << t.name << ", row " << r << " of " << cols[0] << " + " << cols[1]
                        << (outer ? ", across" : "") << (maximum ? ", largest" : ", smallest")
                        << (last ? ", last" : "");
            }
}

} // namespace

TEST(CpuArg, PlacesAreThoseOfOneElementAfterTheOther) {
    std::mt19937 random(23);
    for (int round = 0; round < 150 && !testing::Test::HasFatalFailure(); ++round) {
        expectPlaces<float, double>(Lane::F32, random);
        expectPlaces<double, double>(Lane::F64, random);
        expectPlaces<int64_t, int64_t>(Lane::I64, random);
    }
}
