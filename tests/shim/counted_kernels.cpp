// SPDX-License-Identifier: Apache-2.0
// Compiled as the kernels of the traffic suite are.
#include "tests/shim/counted_kernels.h"

#include "tests/shim/simt.h"

namespace {

volatile unsigned ignored;

unsigned* words(void* const* a) {
    return static_cast<unsigned*>(a[0]);
}

unsigned* sharedWords() {
    return reinterpret_cast<unsigned*>(sharedMemory);
}

__forceinline__ void read16(const void* from) {
    hostVectorAccess(from, 16);
    for (int i = 0; i < 4; ++i)
        ignored = static_cast<const unsigned*>(from)[i];
}

/// As gpu/device/mma.cuh reads.
__forceinline__ void readRows(const void* row) {
    const unsigned* const* rows = hostRows(row);
    for (int i = 0; i < 4; ++i)
        ignored = rows[i * 8 + static_cast<int>(threadIdx.x) / 4][threadIdx.x % 4];
}

} // namespace

namespace counted {

void sideBySide(void* const* a) {
    read16(words(a) + 4 * (threadIdx.x + blockDim.x * blockIdx.x));
}

void oneByte(void* const* a) {
    static_cast<unsigned char*>(a[0])[32 * threadIdx.x] = 1;
}

void everyOther(void* const* a) {
    ignored = words(a)[2 * threadIdx.x];
}

void broadcast(void* const* a) {
    ignored = words(a)[7];
}

void guardedRounds(void* const* a) {
    for (unsigned round = 0; round < 2; ++round)
        if (threadIdx.x + round > 0)
            ignored = words(a)[threadIdx.x + 32 * round];
}

void columns(void* const*) {
    sharedWords()[32 * threadIdx.x] = 1;
}

void paddedColumns(void* const*) {
    sharedWords()[33 * threadIdx.x] = 1;
}

void vectors(void* const*) {
    read16(sharedMemory + 16 * threadIdx.x);
}

void matrixRows(void* const*) {
    readRows(sharedMemory + 128 * threadIdx.x);
}

void matrixRowsSwizzled(void* const*) {
    readRows(sharedMemory + 128 * threadIdx.x + 16 * (threadIdx.x % 8));
}

void copies(void* const* a) {
    hostCopyLater(sharedMemory + 16 * threadIdx.x, words(a) + 4 * threadIdx.x, 16,
                  threadIdx.x < 16);
    hostCommitCopies();
    hostWaitCopies(0);
}

} // namespace counted
