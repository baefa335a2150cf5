// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of the race check: each but the first ones lets two threads touch a byte of
// shared memory without an order. Compiled with the thread instrumentation, as the suite is.
#include "tests/shim/racy_kernels.h"

#include "tests/shim/simt.h"

#define shared reinterpret_cast<int*>(sharedMemory)

namespace racy {

void neighbourAfterBarrier(void* const* a) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    static_cast<int*>(a[0])[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

void laneAfterSyncWarp(void* const* a) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncwarp();
    static_cast<int*>(a[0])[threadIdx.x] = shared[threadIdx.x ^ 1];
}

void halvesOfAWord(void* const* a) {
    reinterpret_cast<unsigned short*>(sharedMemory)[threadIdx.x] = 1;
    static_cast<int*>(a[0])[threadIdx.x] = 1;
}

void neighbourWithoutBarrier(void* const* a) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    static_cast<int*>(a[0])[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

void laneAfterAShuffle(void* const* a) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __shfl_xor_sync(0xffffffffu, 1, 1);
    static_cast<int*>(a[0])[threadIdx.x] = shared[threadIdx.x ^ 1];
}

void otherWarpAfterSyncWarp(void* const* a) {
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncwarp();
    static_cast<int*>(a[0])[threadIdx.x] = shared[threadIdx.x ^ 32];
}

void overwrittenWhileRead(void* const* a) {
    if (threadIdx.x == 0)
        shared[0] = 7;
    __syncthreads();
    static_cast<int*>(a[0])[threadIdx.x] = shared[0];
    if (threadIdx.x == blockDim.x - 1)
        shared[0] = 8;
}

void twoWriters(void* const*) {
    shared[threadIdx.x / 2] = 1;
}

void copyReadBeforeItsWait(void* const* a) {
    if (threadIdx.x == 0) {
        hostCopyLater(shared, a[1], 16, true);
        hostCommitCopies();
    }
    __syncthreads();
    static_cast<int*>(a[0])[threadIdx.x] = shared[0];
    hostWaitCopies(0);
}

void copyReadWithoutBarrier(void* const* a) {
    if (threadIdx.x == 0) {
        hostCopyLater(shared, a[1], 16, true);
        hostCommitCopies();
    }
    hostWaitCopies(0);
    static_cast<int*>(a[0])[threadIdx.x] = shared[0];
}

} // namespace racy
