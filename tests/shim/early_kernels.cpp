// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/early_kernels.h"

#include "tests/shim/simt.h"
// After the words of the language.
#include "gpu/device/launch.cuh"

namespace early {

namespace {

int* mine(void* const* a, int which) {
    return static_cast<int*>(a[which]) + blockIdx.x * blockDim.x + threadIdx.x;
}

} // namespace

void waitsFirst(void* const* a) {
    waitForKernelsBefore();
    *mine(a, 0) = *mine(a, 1) + *mine(a, 2);
}

void readsConstantsBefore(void* const* a) {
    const int constant = *mine(a, 2);
    waitForKernelsBefore();
    *mine(a, 0) = *mine(a, 1) + constant;
}

void meetsBefore(void* const* a) {
    auto* shared = reinterpret_cast<int*>(sharedMemory);
    shared[threadIdx.x] = *mine(a, 2);
    __syncthreads();
    waitForKernelsBefore();
    *mine(a, 0) = *mine(a, 1) + shared[threadIdx.x];
}

void neverWaits(void* const*) {}

void oneThreadLeaves(void* const* a) {
    if (blockIdx.x == 1 && threadIdx.x == 63)
        return;
    waitsFirst(a);
}

void readsBefore(void* const* a) {
    const int value = *mine(a, 1);
    waitForKernelsBefore();
    *mine(a, 0) = value + *mine(a, 2);
}

void writesBefore(void* const* a) {
    *mine(a, 0) = *mine(a, 2);
    waitForKernelsBefore();
    *mine(a, 0) += *mine(a, 1);
}

void lastThreadReadsBefore(void* const* a) {
    if (blockIdx.x == 1 && threadIdx.x == 63)
        return readsBefore(a);
    waitsFirst(a);
}

void copiesBefore(void* const* a) {
    if (threadIdx.x == 0)
        hostCopyLater(sharedMemory, a[1], 16, true);
    hostCommitCopies();
    waitForKernelsBefore();
    hostWaitCopies(0);
    *mine(a, 0) = *mine(a, 1);
}

void takesATicketBefore(void* const* a) {
    atomicAdd(static_cast<unsigned*>(a[1]), 1u);
    waitForKernelsBefore();
}

} // namespace early
