// SPDX-License-Identifier: Apache-2.0
// What threads ask of memory is counted as sets of sectors would count it, wherever the requests
// lie: side by side, far apart, in front of their operand.
#include "gpu/emit/lane_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace {

using namespace fuselage;
using namespace fuselage::gpu;

constexpr int64_t sectorBytes = 32, lanesOfWarp = 32;

/// The same, byte by byte.
MemoryAsked bySets(int64_t threads, const LaneRequests& requests) {
    const auto size = static_cast<int64_t>(sizeOf(requests.dtype));
    // As floors: all addresses are moved behind zero by whole sectors.
    constexpr int64_t moved = int64_t{1} << 40;
    MemoryAsked out;
    std::set<int64_t> ofBlock, elements;
    for (int64_t warp = 0; warp * lanesOfWarp < threads; ++warp)
        for (int64_t place = 0; place < requests.places; ++place) {
            std::set<int64_t> ofWarp;
            for (int64_t thread = warp * lanesOfWarp;
                 thread < std::min(threads, (warp + 1) * lanesOfWarp); ++thread) {
                const int64_t first = requests.at(thread, place);
                elements.insert(first);
                ++out.requests;
                for (int64_t byte = first * size; byte < (first + requests.width) * size; ++byte)
                    ofWarp.insert((byte + moved) / sectorBytes);
            }
            out.asked += static_cast<double>(ofWarp.size());
            ofBlock.insert(ofWarp.begin(), ofWarp.end());
        }
    out.fetched = requests.isWritten ? out.asked : static_cast<double>(ofBlock.size());
    const int64_t bytes = static_cast<int64_t>(elements.size()) * requests.width * size;
    out.ideal = static_cast<double>((bytes + sectorBytes - 1) / sectorBytes);
    return out;
}

TEST(LaneMemory, CountsAsSetsOfSectorsDo) {
    std::mt19937 random(7);
    auto pick = [&](std::initializer_list<int64_t> from) {
        return *(from.begin() + random() % from.size());
    };
    size_t far = 0, close = 0, inFront = 0;
    for (int round = 0; round < 300; ++round) {
        LaneRequests requests;
        requests.dtype = random() % 2 == 0 ? DType::Float16 : DType::Float32;
        requests.width = pick({1, 4, 8});
        requests.places = pick({1, 3});
        requests.isWritten = random() % 4 == 0;
        const int64_t threads = pick({1, 31, 64, 256});
        const int64_t stride = pick({0, 1, 8, 640, 100'000'000});
        const int64_t reach = pick({1, 50, 5'000, 1'000'000'000});
        const int64_t offset = pick({0, 3, -700});
        std::vector<int64_t> at;
        for (int64_t i = 0; i < threads * requests.places; ++i)
            at.push_back(offset + i * stride + static_cast<int64_t>(random()) % reach);
        requests.at = [&](int64_t thread, int64_t place) {
            return at[static_cast<size_t>(thread * requests.places + place)];
        };
        const auto [least, most] = std::minmax_element(at.begin(), at.end());
        (*most - *least > 1'000'000 ? far : close) += 1;
        inFront += *least < 0 ? 1 : 0;
        const MemoryAsked is = askedBy(threads, requests, 1), wanted = bySets(threads, requests);
        SCOPED_TRACE(round);
        EXPECT_EQ(is.requests, wanted.requests);
        EXPECT_EQ(is.asked, wanted.asked);
        EXPECT_EQ(is.fetched, wanted.fetched);
        EXPECT_EQ(is.ideal, wanted.ideal);
    }
    EXPECT_GT(far, 30U);
    EXPECT_GT(close, 30U);
    EXPECT_GT(inFront, 30U);
}

} // namespace
