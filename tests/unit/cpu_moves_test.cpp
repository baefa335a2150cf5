// SPDX-License-Identifier: Apache-2.0
// Tiles between memory and lanes, and rows of few elements reduced together: whole tiles against
// the same functions element by element, for every type, instruction set and kind of strides.
#include "core/cpu/vector_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

struct TileMoves {
    int64_t rows = 1, cols = 1, rowStride = 1, colStride = 1;

    std::string text() const {
        return std::to_string(rows) + " x " + std::to_string(cols) + ", strides " +
               std::to_string(rowStride) + ", " + std::to_string(colStride);
    }

    int64_t at(int64_t r, int64_t c) const { return r * rowStride + c * colStride; }

    /// Elements from the first in memory to the last, and where (0, 0) is among them.
    int64_t span() const {
        return 1 + std::abs(rowStride) * (rows - 1) + std::abs(colStride) * (cols - 1);
    }

    int64_t origin() const {
        return std::max<int64_t>(0, -rowStride) * (rows - 1) +
               std::max<int64_t>(0, -colStride) * (cols - 1);
    }
};

/// Strides with which no two elements meet; of operands that are only read also such as do.
std::vector<TileMoves> tilesOf(int64_t rows, int64_t cols, bool mayMeet) {
    std::vector<TileMoves> out;
    for (int64_t pad : {0, 1, 5}) {
        out.push_back({rows, cols, cols + pad, 1});
        out.push_back({rows, cols, 1, rows + pad});
        out.push_back({rows, cols, 3 * (cols + pad), 3});
        out.push_back({rows, cols, 2, 2 * (rows + pad)});
        out.push_back({rows, cols, -(cols + pad), -1});
        out.push_back({rows, cols, -1, rows + pad});
    }
    if (mayMeet)
        for (auto [row, col] : {std::pair<int64_t, int64_t>{0, 1}, {1, 0}, {0, 0}, {1, 1}, {0, 4}})
            out.push_back({rows, cols, row, col});
    return out;
}

constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 8, 17, 40};

/// Elements as they are stored; of bits that no conversion changes twice.
std::vector<std::byte> randomElements(DType type, size_t count, std::mt19937& random) {
    std::vector<std::byte> out(count * sizeOf(type));
    for (size_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(static_cast<int>(random() % 101)) -
                           (type == DType::Float32 || type == DType::Float64 ? 50.5 : 0);
        Tensor one(type, {});
        one.set(0, type == DType::Bool ? double(random() % 2) : value);
        std::memcpy(out.data() + i * sizeOf(type), one.bytes(), sizeOf(type));
    }
    return out;
}

void expectLoads(LoadFunction load, DType type, size_t laneSize, std::mt19937& random) {
    for (int64_t rows : sizes)
        for (int64_t cols : sizes)
            for (const TileMoves& tile : tilesOf(rows, cols, true)) {
                const auto memory = randomElements(type, static_cast<size_t>(tile.span()), random);
                auto element = [&](int64_t at) {
                    return memory.data() +
                           (tile.origin() + at) * static_cast<int64_t>(sizeOf(type));
                };
                std::vector<std::byte> lanes(static_cast<size_t>(rows * cols) * laneSize);
                std::vector<std::byte> expected = lanes;
                load(lanes.data(), element(0), static_cast<size_t>(rows), static_cast<size_t>(cols),
                     tile.rowStride, tile.colStride);
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < cols; ++c)
                        load(expected.data() + static_cast<size_t>(r * cols + c) * laneSize,
                             element(tile.at(r, c)), 1, 1, 0, 0);
                ASSERT_EQ(lanes, expected) << nameOf(type) << " " << tile.text();
            }
}

void expectStores(StoreFunction store, LoadFunction load, DType type, size_t laneSize,
                  std::mt19937& random) {
    constexpr std::byte untouched{0x5a};
    for (int64_t rows : sizes)
        for (int64_t cols : sizes) {
            const auto count = static_cast<size_t>(rows * cols);
            const auto stored = randomElements(type, count, random);
            std::vector<std::byte> lanes(count * laneSize);
            load(lanes.data(), stored.data(), 1, count, 0, 1);
            for (const TileMoves& tile : tilesOf(rows, cols, false)) {
                std::vector<std::byte> memory(static_cast<size_t>(tile.span()) * sizeOf(type),
                                              untouched);
                std::vector<std::byte> expected = memory;
                auto place = [&](std::vector<std::byte>& in, int64_t at) {
                    return in.data() + (tile.origin() + at) * static_cast<int64_t>(sizeOf(type));
                };
                store(place(memory, 0), lanes.data(), static_cast<size_t>(rows),
                      static_cast<size_t>(cols), tile.rowStride, tile.colStride);
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < cols; ++c)
                        store(place(expected, tile.at(r, c)),
                              lanes.data() + static_cast<size_t>(r * cols + c) * laneSize, 1, 1, 0,
                              0);
                ASSERT_EQ(memory, expected) << nameOf(type) << " " << tile.text();
            }
        }
}

} // namespace

TEST(CpuMoves, TilesAreTheirElements) {
    for (size_t i = 0; i < vectorTableCount(); ++i) {
        const VectorTable& table = vectorTable(i);
        SCOPED_TRACE(table.name);
        std::mt19937 random(7);
        for (size_t t = 0; t < dtypeCount; ++t) {
            const auto type = static_cast<DType>(t);
            if (!table.load[t])
                continue;
            expectLoads(table.load[t], type, laneBytes(laneOf(type)), random);
            expectStores(table.store[t], table.load[t], type, laneBytes(laneOf(type)), random);
            if (table.loadFloat[t])
                expectLoads(table.loadFloat[t], type, sizeof(float), random);
            if (table.storeFloat[t])
                expectStores(table.storeFloat[t], table.loadFloat[t], type, sizeof(float), random);
        }
    }
}

/// All rows at once against one row after the other; the order within a row is the same.
TEST(CpuMoves, RowsReducedTogetherAreThoseReducedAlone) {
    std::mt19937 random(11);
    const float special[] = {NAN, INFINITY, -INFINITY, -0.0F, 0.0F, 3e38F};
    for (size_t i = 0; i < vectorTableCount(); ++i) {
        const VectorTable& table = vectorTable(i);
        for (ReduceKind kind :
             {ReduceKind::Sum, ReduceKind::Product, ReduceKind::Max, ReduceKind::Min})
            for (size_t cols = 1; cols < 40; ++cols)
                for (size_t rows : {1, 2, 15, 16, 17, 63, 64, 65, 131}) {
                    std::vector<float> x(rows * cols);
                    for (float& value : x)
                        value = random() % 16 == 0
                                    ? special[random() % std::size(special)]
                                    : static_cast<float>(static_cast<int>(random() % 7)) - 3;
                    const ReduceFunction reduce =
                        table
                            .reduceInner[static_cast<size_t>(kind)][static_cast<size_t>(Lane::F32)];
                    std::vector<double> together(rows, kind == ReduceKind::Product ? 1 : 0);
                    std::vector<double> alone = together;
                    reduce({together.data()}, x.data(), rows, cols, 0);
                    for (size_t r = 0; r < rows; ++r)
                        reduce({alone.data() + r}, x.data() + r * cols, 1, cols, 0);
                    for (size_t r = 0; r < rows; ++r) {
                        const bool same = std::isnan(alone[r]) ? std::isnan(together[r])
                                                               : alone[r] == together[r] &&
                                                                     std::signbit(alone[r]) ==
                                                                         std::signbit(together[r]);
                        ASSERT_TRUE(same) << table.name << ", kind " << static_cast<int>(kind)
                                          << ", " << rows << " rows of " << cols << ", row " << r
                                          << ": " << together[r] << " is not " << alone[r];
                    }
                }
    }
}
