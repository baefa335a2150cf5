// SPDX-License-Identifier: Apache-2.0
// The shim itself: what a kernel may do, and each mistake that it must stop at.
#include "tests/shim/simt_launch.h"

#include <gtest/gtest.h>

// After every other header: it defines the words of CUDA.
#include "tests/shim/simt.h"

namespace {

void run(void (*kernel)(void* const*), void* const* arguments, uint32_t threads = 64,
         uint32_t sharedBytes = 256) {
    simt::run({"test kernel", kernel, arguments, {2, 1, 1}, {threads, 1, 1}, sharedBytes});
}

void sumThroughShared(void* const* a) {
    auto* shared = reinterpret_cast<int*>(sharedMemory);
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i)
        sum += shared[i];
    __syncthreads();
    static_cast<int*>(a[0])[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

TEST(Simt, threadsMeetAtBarriers) {
    std::vector<int> out(128);
    void* const arguments[] = {out.data()};
    run(sumThroughShared, arguments);
    for (int value : out)
        EXPECT_EQ(value, 63 * 32);
}

void sumThroughShuffles(void* const* a) {
    int sum = static_cast<int>(threadIdx.x);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    static_cast<int*>(a[0])[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

TEST(Simt, lanesExchangeValues) {
    std::vector<int> out(128);
    void* const arguments[] = {out.data()};
    run(sumThroughShuffles, arguments);
    EXPECT_EQ(out[0], 31 * 16);
    EXPECT_EQ(out[127], 31 * 16 + 32 * 32);
}

TEST(Simt, ballotsCountVotes) {
    std::vector<int> out(128);
    void* const arguments[] = {out.data()};
    run(
        [](void* const* a) {
            const unsigned votes = __ballot_sync(0xffffffffu, threadIdx.x % 2 == 1);
            static_cast<int*>(a[0])[blockIdx.x * blockDim.x + threadIdx.x] =
                votes == 0xaaaaaaaau ? 1 : 0;
        },
        arguments);
    for (int value : out)
        EXPECT_EQ(value, 1);
}

/// The word that a thread sees after it asked for a copy, and after it waited for it.
void copyBeforeAndAfter(void* const* a) {
    auto* shared = reinterpret_cast<uint32_t*>(sharedMemory);
    auto* seen = static_cast<uint32_t*>(a[1]);
    hostCopyLater(shared, a[0], 16, true);
    hostCommitCopies();
    hostCopyLater(shared + 4, a[0], 16, true);
    hostCommitCopies();
    seen[0] = shared[0];
    hostWaitCopies(1);
    seen[1] = shared[0];
    seen[2] = shared[4];
    hostWaitCopies(0);
    seen[3] = shared[4];
}

std::array<uint32_t, 4> seenWords(bool earlyCopies) {
    alignas(16) uint32_t from[4] = {7, 7, 7, 7};
    std::array<uint32_t, 4> seen{};
    void* const arguments[] = {from, seen.data()};
    simt::run({"copies", copyBeforeAndAfter, arguments, {1, 1, 1}, {1, 1, 1}, 256, earlyCopies});
    return seen;
}

TEST(Simt, copiesAreThereAfterTheirWaitAndNotBefore) {
    constexpr uint32_t poison = 0xffffffffU;
    EXPECT_EQ(seenWords(false), (std::array<uint32_t, 4>{poison, 7, poison, 7}));
}

TEST(Simt, copiesMayBeThereAtOnce) {
    EXPECT_EQ(seenWords(true), (std::array<uint32_t, 4>{7, 7, 7, 7}));
}

TEST(Simt, lanesSeeTheWordsOfAllLanes) {
    std::vector<unsigned> out(128);
    void* const arguments[] = {out.data()};
    run(
        [](void* const* a) {
            const unsigned mine[2] = {threadIdx.x, 100 + threadIdx.x};
            const unsigned(*all)[2] = hostGatherWarp(mine);
            static_cast<unsigned*>(a[0])[blockIdx.x * blockDim.x + threadIdx.x] =
                all[31][0] + all[0][1];
        },
        arguments);
    EXPECT_EQ(out[3], 31U + 100U);
    EXPECT_EQ(out[40], 63U + 132U);
}

TEST(SimtDeath, stopsAtADivergentBarrier) {
    EXPECT_DEATH(run(
                     [](void* const*) {
                         if (threadIdx.x < 32)
                             __syncthreads();
                     },
                     nullptr),
                 "barrier");
}

TEST(SimtDeath, stopsWhenThreadsWaitAtDifferentBarriers) {
    EXPECT_DEATH(run(
                     [](void* const*) {
                         if (threadIdx.x < 32)
                             __syncthreads();
                         else
                             __syncthreads();
                     },
                     nullptr),
                 "different barriers");
}

TEST(SimtDeath, stopsWhenALaneLeftBeforeAShuffle) {
    EXPECT_DEATH(run(
                     [](void* const*) {
                         if (threadIdx.x % 32 != 5)
                             __shfl_xor_sync(0xffffffffu, 1, 1);
                     },
                     nullptr),
                 "lane that left");
}

TEST(SimtDeath, stopsAtDifferentMasks) {
    EXPECT_DEATH(run(
                     [](void* const*) {
                         __shfl_sync(threadIdx.x % 2 == 0 ? 0xffffffffu : 0xfffffffeu, 1, 3);
                     },
                     nullptr),
                 "different masks");
}

TEST(SimtDeath, stopsAtAnAccessOutsideOfTheOperands) {
    EXPECT_EXIT(
        {
            const simt::GuardedMemory memory(64);
            void* const arguments[] = {memory.data()};
            run([](void* const* a) { static_cast<float*>(a[0])[threadIdx.x] = 1; }, arguments);
        },
        testing::ExitedWithCode(70), "outside of the operands");
}

TEST(SimtDeath, stopsAtAMisalignedVector) {
    EXPECT_DEATH(run([](void* const*) { hostVectorAccess(sharedMemory + 4, 8); }, nullptr),
                 "aligned");
}

TEST(SimtDeath, stopsAtAWriteBehindSharedMemory) {
    EXPECT_DEATH(run([](void* const*) { sharedMemory[256] = 0; }, nullptr), "shared memory");
}

TEST(Simt, sharedMemoryStartsAsNan) {
    float first = 0;
    void* const arguments[] = {&first};
    run(
        [](void* const* a) {
            float value = 0;
            std::memcpy(&value, sharedMemory, sizeof value);
            *static_cast<float*>(a[0]) = value;
            __syncthreads();
            std::memset(sharedMemory, 0, 4);
        },
        arguments);
    EXPECT_NE(first, first);
}

} // namespace
