// SPDX-License-Identifier: Apache-2.0
// A product of one warpgroup, 64 x 64 x 64, with the steps that make it right or without some. The
// elements are whole numbers. Compiled with the thread instrumentation, as the suite is.
#include "tests/shim/wgmma_kernels.h"

#include "tests/shim/simt.h"

namespace wgmma {

namespace {

float numberOf(uint16_t bits) {
    return static_cast<float>(static_cast<int16_t>(bits));
}

/// Rows of 128 bytes, the 16-byte units of a row exchanged by its number.
void fill() {
    auto* const shared = reinterpret_cast<int16_t*>(sharedMemory);
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += 128) {
        const int row = i / 64, k = i % 64, at = (row * 8 + (k / 8 ^ row % 8)) * 8 + k % 8;
        shared[at] = static_cast<int16_t>(a(row, k));
        shared[64 * 64 + at] = static_cast<int16_t>(b(k, row));
    }
}

uint64_t descriptorOf(unsigned byte) {
    return byte >> 4 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

} // namespace

void product(void* const* arguments) {
    const Steps& steps = *static_cast<const Steps*>(arguments[0]);
    auto* const out = static_cast<float*>(arguments[1]) + threadIdx.x * 33;
    fill();
    if (steps.fence)
        hostFenceForProducts();
    if (steps.barrier)
        __syncthreads();
    float sums[32] = {};
    if (steps.open)
        hostOpenProducts();
    const uint64_t rows = descriptorOf(!steps.together && threadIdx.x == 5 ? 32 : 0);
    for (unsigned step = 0; step < 4; ++step)
        hostMultiplyGroup(sums, 64, rows + step * 2, descriptorOf(8192) + step * 2, numberOf);
    hostCommitProducts();
    out[32] = sums[0];
    if (steps.wait)
        hostWaitProducts(0);
    for (int i = 0; i < 32; ++i)
        out[i] = sums[i];
}

} // namespace wgmma
