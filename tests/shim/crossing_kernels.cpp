// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of crossings.h: the first orders its blocks, each other one lacks one step
// of that. Compiled with the thread instrumentation, as the suite is.
#include "tests/shim/crossing_kernels.h"

#include "tests/shim/simt.h"
// After the words of the language.
#include "gpu/device/math.cuh"
#include "gpu/device/tickets.cuh"

namespace crossing {

namespace {

struct Arguments {
    explicit Arguments(void* const* a)
        : out(static_cast<int*>(a[0])), passed(static_cast<int*>(a[1])),
          ticket(static_cast<unsigned*>(a[2])) {}

    int& mine() const { return passed[blockIdx.x * blockDim.x + threadIdx.x]; }

    /// What a neighbour thread of the other block of two wrote.
    void addOther() const {
        out[threadIdx.x] += passed[(blockIdx.x ^ 1) * blockDim.x + (threadIdx.x ^ 1)];
    }

    int* out;
    int* passed;
    unsigned* ticket;
};

} // namespace

void lastBlockAddsAll(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = static_cast<int>(blockIdx.x + 1);
    if (!lastOfParts(a.ticket, gridDim.x, reinterpret_cast<unsigned*>(sharedMemory)))
        return;
    for (unsigned block = 0; block < gridDim.x; ++block)
        a.out[threadIdx.x] = a.out[threadIdx.x] * 10 + a.passed[block * blockDim.x + threadIdx.x];
}

void readWithoutTicket(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = 1;
    __threadfence();
    __syncthreads();
    a.addOther();
}

void ticketBeforeTheWrite(void* const* arguments) {
    const Arguments a(arguments);
    const bool last = lastOfParts(a.ticket, gridDim.x, reinterpret_cast<unsigned*>(sharedMemory));
    a.mine() = 1;
    if (last)
        a.addOther();
}

void ticketWithoutFence(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(a.ticket, 1u);
        __threadfence();
    }
    __syncthreads();
    if (*a.ticket == gridDim.x)
        a.addOther();
}

void ticketWithoutBarrier(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = 1;
    __threadfence();
    if (threadIdx.x == 0) {
        atomicAdd(a.ticket, 1u);
        __threadfence();
    }
    __syncthreads();
    if (*a.ticket == gridDim.x)
        a.addOther();
}

void readWithoutFence(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(a.ticket, 1u);
    __syncthreads();
    if (*a.ticket == gridDim.x)
        a.addOther();
}

void readWithoutBarrier(void* const* arguments) {
    const Arguments a(arguments);
    a.mine() = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(a.ticket, 1u);
        __threadfence();
    }
    if (*a.ticket == gridDim.x)
        a.addOther();
}

void overwriteOfAnotherBlocks(void* const* arguments) {
    const Arguments a(arguments);
    a.passed[threadIdx.x] = static_cast<int>(blockIdx.x);
}

} // namespace crossing
