// SPDX-License-Identifier: Apache-2.0
// What gpu/device/tma.cuh calls as host code: barriers in shared memory and copies of boxes. Part
// of simt.h.
#pragma once

#include <cstdint>

namespace simt {

void initBarrier(const void* barrier, uint32_t arrivals);
void publishBarriers();
void arrive(const void* barrier, uint32_t bytes);
void arriveIn(unsigned block, const void* barrier);
/// `all`: it acquires what other blocks of the cluster released too.
void waitBarrier(const void* barrier, uint32_t parity, bool all);
/// `blocks`: a bit for each block of the cluster that it lands in; 0: the thread's own.
void copyBox(void* to, const void* map, const void* barrier, const int* at, int rank,
             unsigned blocks);
/// `offset`: of the rank - 2 dims of places.
void copyPixels(void* to, const void* map, const void* barrier, const int* at,
                const unsigned short* offset, int rank, unsigned blocks);
void fetchMap(const void* map);

} // namespace simt

#define __grid_constant__

inline void hostInitBarrier(unsigned long long* barrier, unsigned arrivals) {
    simt::initBarrier(barrier, arrivals);
}

inline void hostPublishBarriers() {
    simt::publishBarriers();
}

inline void hostArrive(unsigned long long* barrier) {
    simt::arrive(barrier, 0);
}

inline void hostArriveExpecting(unsigned long long* barrier, unsigned bytes) {
    simt::arrive(barrier, bytes);
}

inline void hostWaitBarrier(unsigned long long* barrier, unsigned parity) {
    simt::waitBarrier(barrier, parity, false);
}

inline void hostWaitForCluster(unsigned long long* barrier, unsigned parity) {
    simt::waitBarrier(barrier, parity, true);
}

inline void hostArriveIn(unsigned block, unsigned long long* barrier) {
    simt::arriveIn(block, barrier);
}

inline void hostCopyBox(void* to, const void* map, unsigned long long* barrier, const int* at,
                        int rank, unsigned blocks) {
    simt::copyBox(to, map, barrier, at, rank, blocks);
}

inline void hostCopyPixels(void* to, const void* map, unsigned long long* barrier, const int* at,
                           const unsigned short* offset, int rank, unsigned blocks) {
    simt::copyPixels(to, map, barrier, at, offset, rank, blocks);
}

inline void hostFetchMap(const void* map) {
    simt::fetchMap(map);
}
