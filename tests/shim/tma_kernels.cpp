// SPDX-License-Identifier: Apache-2.0
// A ring of stages with the steps that make it right or without some. Compiled with the thread
// instrumentation, as the suite is.
#include "tests/shim/tma_kernels.h"

#include "tests/shim/simt.h"

namespace tma {

namespace {

struct Ring {
    unsigned long long* const full =
        reinterpret_cast<unsigned long long*>(sharedMemory + ringBytes);
    unsigned long long* const empty = full + stages;

    float* stage(int number) const {
        return reinterpret_cast<float*>(sharedMemory + number * static_cast<int>(boxBytes));
    }
};

unsigned parityOf(const Steps& steps, int tile) {
    return steps.flip ? static_cast<unsigned>(tile / stages % 2) : 0;
}

void copy(const Steps& steps, const void* map, int tile) {
    const Ring ring;
    const int stage = tile % stages, first = tile * boxRows;
    if (!steps.pixels) {
        const int at[] = {0, first};
        hostCopyBox(ring.stage(stage), map, ring.full + stage, at, 2, 0);
        return;
    }
    const int at[] = {0, first % along * stepAlong - 1 + steps.aside,
                      first / along % down * stepDown - 1, first / (along * down)};
    hostCopyPixels(ring.stage(stage), map, ring.full + stage, at, steps.offset, 4, 0);
}

void fill(const Steps& steps, const void* map) {
    const Ring ring;
    for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % stages;
        if (steps.waitEmpty)
            hostWaitBarrier(ring.empty + stage, parityOf(steps, tile) ^ 1);
        hostArriveExpecting(ring.full + stage, steps.expect);
        for (unsigned i = 0; i < steps.again; ++i)
            hostArrive(ring.full + stage);
        copy(steps, map, tile);
    }
}

void drain(const Steps& steps, float* out) {
    const Ring ring;
    const unsigned lane = threadIdx.x % 32;
    for (int tile = 0; tile < tiles; ++tile) {
        const int stage = tile % stages;
        if (steps.waitFull)
            hostWaitBarrier(ring.full + stage, parityOf(steps, tile));
        if (steps.late && lane == 0)
            hostArrive(ring.empty + stage);
        const float* const from = ring.stage(stage);
        float sum = 0;
        for (unsigned row = 0; row < boxRows; ++row) // units of 16 bytes lie exchanged
            sum +=
                static_cast<float>(row + 1) * from[row * 32 + (lane / 4 ^ row % 8) * 4 + lane % 4];
        out[tile * 32 + static_cast<int>(lane)] = sum;
        if (steps.sync)
            __syncwarp();
        if (steps.empty && !steps.late && lane == 0)
            hostArrive(ring.empty + stage);
    }
}

} // namespace

void ring(void* const* arguments) {
    const Steps& steps = *static_cast<const Steps*>(arguments[0]);
    const Ring ring;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage) {
            hostInitBarrier(ring.full + stage, steps.arrivals);
            hostInitBarrier(ring.empty + stage, 1);
        }
        if (steps.publish)
            hostPublishBarriers();
        if (steps.generic)
            ring.stage(1)[7] = 1;
    }
    if (steps.meet)
        __syncthreads();
    if (threadIdx.x == 0)
        fill(steps, arguments[1]);
    else if (threadIdx.x >= 32)
        drain(steps, static_cast<float*>(arguments[2]));
}

} // namespace tma
