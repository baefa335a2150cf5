// SPDX-License-Identifier: Apache-2.0
// What emitted CUDA text needs to be host C++: the words of the language, thread and block numbers,
// barriers, shuffles, shared memory. Each thread of a block is a fiber; simt.cpp runs them.
// Included by the generated suite only, before any kernel.
#pragma once

#include "tests/shim/tma.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#define __device__
#define __global__
#define __shared__
#ifdef FUSELAGE_SHIM_COUNTS // each call is a place of its own, see warp_lanes.h
#define __forceinline__ inline __attribute__((always_inline))
#else
#define __forceinline__ inline
#endif
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

namespace simt {

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

/// The running thread's numbers; the scheduler sets them.
extern Index thread, block, blockSize, gridSize;

/// All threads of the block meet here; a thread that left, or waits at another line, is an error.
void barrier(int line);

/// All threads of the cluster meet here; a thread that left is an error.
void meetCluster();

/// The thread waits for the kernels before this one; see Launch::gate.
void waitForKernelsBefore();

/// What the thread wrote to memory comes before what it does next, for all blocks.
void fence();

/// Adds to a word of memory; no other thread comes between. Returns what it was.
unsigned addToWord(unsigned* word, unsigned add);

/// All lanes in `mask` meet; each gets the bits that lane `source` brought.
uint64_t shuffle(unsigned mask, uint64_t bits, unsigned source, int line);
unsigned ballot(unsigned mask, bool vote, int line);

/// All lanes of the warp meet, and see what the others wrote to shared memory.
void syncWarp(int line);

/// All lanes of a warp meet; the words of lane l then lie at `count` * l, until the second meeting
/// after this one. At most 8 words.
const uint32_t* gather(const uint32_t* words, int count);

/// Copies of a thread that are not there yet; see Launch::earlyCopies.
void copyLater(void* to, const void* from, int bytes, bool inside);
void commitCopies();
void waitCopies(int pending);

/// Products of warpgroups, see gpu/device/wgmma.cuh: done between being asked for and the wait.
using Number = float (*)(uint16_t); ///< an element's value
void fenceForProducts();
void openProducts();
void multiplyGroup(float* sums, int columns, uint64_t a, uint64_t b, bool add, Number number);
/// Of bytes along k, with sums that wrap; which operands are signed.
void multiplyBytes(int* sums, int columns, uint64_t a, uint64_t b, bool add, bool signedA,
                   bool signedB);
/// `a`: the thread's words of its fragment; `lanes`: those of all lanes of the warp.
void multiplyWeighted(float* sums, int columns, const uint32_t* a, const uint32_t (*lanes)[4],
                      uint64_t b, bool add, Number number);
void commitProducts();
void waitProducts(int pending);
unsigned sharedOffset(const void* address);

/// Stops with a message when the address is not a multiple of the access's size.
void checkAlignment(const void* address, int bytes);

/// The thread reads rows of 16 bytes, one of each lane, as one instruction of the warp.
void noteRows(const void* mine, const void* const* all);

inline unsigned laneNumber() {
    return (thread.x + blockSize.x * (thread.y + blockSize.y * thread.z)) % 32;
}

template <typename T> T shuffleValue(unsigned mask, T value, unsigned source, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "as on the device");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = shuffle(mask, bits, source, line);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace simt

/// Dynamic shared memory, filled with NaN before each block.
extern unsigned char sharedMemory[];

#define threadIdx simt::thread
#define blockIdx simt::block
#define blockDim simt::blockSize
#define gridDim simt::gridSize
#define __syncthreads() simt::barrier(__LINE__)
#define __syncwarp() simt::syncWarp(__LINE__)
#define __threadfence() simt::fence()
#define atomicAdd(word, add) simt::addToWord(word, add)
#define __shfl_sync(mask, value, source)                                                           \
    simt::shuffleValue(mask, value, static_cast<unsigned>(source), __LINE__)
#define __shfl_xor_sync(mask, value, distance)                                                     \
    simt::shuffleValue(mask, value, simt::laneNumber() ^ static_cast<unsigned>(distance), __LINE__)
#define __ballot_sync(mask, vote) simt::ballot(mask, vote, __LINE__)

inline void hostWaitForKernelsBefore() {
    simt::waitForKernelsBefore();
}

inline void hostMeetCluster() {
    simt::meetCluster();
}

inline void hostVectorAccess(const void* address, int bytes) {
    simt::checkAlignment(address, bytes);
}

template <int count> inline auto hostGatherWarp(const unsigned (&mine)[count]) {
    return reinterpret_cast<const unsigned(*)[count]>(simt::gather(mine, count));
}

/// The addresses, multiples of 16, that all lanes brought.
inline const unsigned* const* hostRows(const void* mine) {
    simt::checkAlignment(mine, 16);
    uint32_t words[2];
    std::memcpy(words, &mine, sizeof mine);
    const uint32_t* all = simt::gather(words, 2);
    simt::noteRows(mine, reinterpret_cast<const void* const*>(all));
    return reinterpret_cast<const unsigned* const*>(all);
}

inline void hostCopyLater(void* to, const void* from, int bytes, bool inside) {
    simt::copyLater(to, from, bytes, inside);
}

inline void hostCommitCopies() {
    simt::commitCopies();
}

inline void hostWaitCopies(int pending) {
    simt::waitCopies(pending);
}

inline void hostFenceForProducts() {
    simt::fenceForProducts();
}

inline void hostOpenProducts() {
    simt::openProducts();
}

inline void hostCommitProducts() {
    simt::commitProducts();
}

inline void hostWaitProducts(int pending) {
    simt::waitProducts(pending);
}

inline unsigned hostSharedAddress(const void* address) {
    return simt::sharedOffset(address);
}

inline void hostMultiplyGroup(float* sums, int columns, unsigned long long a, unsigned long long b,
                              bool add, simt::Number number) {
    simt::multiplyGroup(sums, columns, a, b, add, number);
}

inline void hostMultiplyBytes(int* sums, int columns, unsigned long long a, unsigned long long b,
                              bool add, bool signedA, bool signedB) {
    simt::multiplyBytes(sums, columns, a, b, add, signedA, signedB);
}

inline void hostMultiplyWeighted(float* sums, int columns, const unsigned* a,
                                 const unsigned (*lanes)[4], unsigned long long b, bool add,
                                 simt::Number number) {
    simt::multiplyWeighted(sums, columns, a, lanes, b, add, number);
}

// Arithmetic that is never contracted; the suite is compiled with -ffp-contract=off.
inline float __fadd_rn(float a, float b) {
    return a + b;
}

inline float __fsub_rn(float a, float b) {
    return a - b;
}

inline float __fmul_rn(float a, float b) {
    return a * b;
}

inline double __dadd_rn(double a, double b) {
    return a + b;
}

inline double __dsub_rn(double a, double b) {
    return a - b;
}

inline double __dmul_rn(double a, double b) {
    return a * b;
}

inline double __longlong_as_double(long long bits) {
    double out = 0;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}
