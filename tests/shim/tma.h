// SPDX-License-Identifier: Apache-2.0
// What gpu/device/tma.cuh calls as host code: barriers in shared memory and copies of boxes. Part
// of simt.h.
#pragma once

#include <cstdint>

namespace simt {

void initBarrier(const void* barrier, uint32_t arrivals);
void publishBarriers();
void arrive(const void* barrier, uint32_t bytes);
void waitBarrier(const void* barrier, uint32_t parity);
void copyBox(void* to, const void* map, const void* barrier, const int* at, int rank);
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
    simt::waitBarrier(barrier, parity);
}

inline void hostCopyBox(void* to, const void* map, unsigned long long* barrier, const int* at,
                        int rank) {
    simt::copyBox(to, map, barrier, at, rank);
}

inline void hostFetchMap(const void* map) {
    simt::fetchMap(map);
}
