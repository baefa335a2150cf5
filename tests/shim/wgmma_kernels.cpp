// SPDX-License-Identifier: Apache-2.0
// A product of one warpgroup, 64 x 64 x 64, with the steps that make it right or without some. The
// elements are whole numbers. Compiled with the thread instrumentation, as the suite is.
#include "tests/shim/wgmma_kernels.h"

#include "tests/shim/simt.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wgmma {

namespace {

float numberOf(uint16_t bits) {
    return static_cast<float>(static_cast<int16_t>(bits));
}

/// Rows of 128 bytes, the 16-byte units of a row exchanged by its number: of A, and of B along k
/// or, for weighted products, along its columns.
void fill(bool weighted) {
    auto* const shared = reinterpret_cast<int16_t*>(sharedMemory);
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += 128) {
        const int row = i / 64, k = i % 64, at = (row * 8 + (k / 8 ^ row % 8)) * 8 + k % 8;
        shared[at] = static_cast<int16_t>(a(row, k));
        shared[64 * 64 + at] = static_cast<int16_t>(weighted ? b(row, k) : b(k, row));
    }
}

/// The same of bytes, 64 of them a row.
void fillBytes() {
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += 128) {
        const int row = i / 64, k = i % 64, at = (row * 8 + (k / 16 ^ row % 8)) * 16 + k % 16;
        sharedMemory[at] = static_cast<unsigned char>(a(row, k));
        sharedMemory[8192 + at] = static_cast<unsigned char>(b(k, row));
    }
}

/// The thread's words of A for a step of 16 along k.
void fragmentOf(int step, unsigned (&words)[4]) {
    const int lane = static_cast<int>(threadIdx.x % 32), row = static_cast<int>(threadIdx.x) / 32;
    for (int i = 0; i < 4; ++i) {
        const int m = row * 16 + lane / 4 + i % 2 * 8, k = step * 16 + lane % 4 * 2 + i / 2 * 8;
        words[i] = static_cast<uint16_t>(a(m, k)) | static_cast<unsigned>(a(m, k + 1)) << 16;
    }
}

uint64_t descriptorOf(unsigned byte) {
    return byte >> 4 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

/// Two steps of 32 bytes each.
void multiplyBytes(const Steps& steps, float* out) {
    int sums[32];
    std::fill(sums, sums + 32, steps.anew ? 12345 : 0);
    if (steps.open)
        hostOpenProducts();
    const uint64_t rows = descriptorOf(!steps.together && threadIdx.x == 5 ? 32 : 0);
    for (unsigned step = 0; step < 2; ++step)
        hostMultiplyBytes(sums, 64, rows + step * 2, descriptorOf(8192) + step * 2,
                          step > 0 || !steps.anew, steps.signedA, steps.signedB);
    hostCommitProducts();
    out[32] = std::bit_cast<float>(sums[0]);
    if (steps.wait)
        hostWaitProducts(0);
    for (int i = 0; i < 32; ++i)
        out[i] = static_cast<float>(sums[i]);
}

} // namespace

void product(void* const* arguments) {
    const Steps& steps = *static_cast<const Steps*>(arguments[0]);
    auto* const out = static_cast<float*>(arguments[1]) + threadIdx.x * 33;
    if (steps.bytes)
        fillBytes();
    else
        fill(steps.weighted);
    if (steps.fence)
        hostFenceForProducts();
    if (steps.barrier)
        __syncthreads();
    if (steps.bytes) {
        multiplyBytes(steps, out);
        return;
    }
    float sums[32];
    std::fill(sums, sums + 32, !steps.anew ? 0.0F : NAN);
    unsigned words[4][4];
    for (int step = 0; step < 4; ++step)
        fragmentOf(step, words[step]);
    if (steps.open)
        hostOpenProducts();
    const uint64_t rows = descriptorOf(!steps.together && threadIdx.x == 5 ? 32 : 0);
    for (unsigned step = 0; step < 4; ++step)
        if (steps.weighted)
            hostMultiplyWeighted(sums, 64, words[step], hostGatherWarp(words[step]),
                                 descriptorOf(8192) + step * 128 + (rows & 2) * 32,
                                 step > 0 || !steps.anew, numberOf);
        else
            hostMultiplyGroup(sums, 64, rows + step * 2, descriptorOf(8192) + step * 2,
                              step > 0 || !steps.anew, numberOf);
    hostCommitProducts();
    if (!steps.kept)
        words[1][2] ^= 1;
    out[32] = sums[0];
    if (steps.wait)
        hostWaitProducts(0);
    for (int i = 0; i < 32; ++i)
        out[i] = sums[i];
}

} // namespace wgmma
