// SPDX-License-Identifier: Apache-2.0
// Kernels with and without races for the tests of the race check; a[0]: an int a thread, a[1]: 16
// bytes that are a multiple of 16. Blocks of 64 threads.
#pragma once

namespace racy {

// Ordered.
void neighbourAfterBarrier(void* const* a);
void laneAfterSyncWarp(void* const* a);
void halvesOfAWord(void* const* a);

// Races.
void neighbourWithoutBarrier(void* const* a);
void laneAfterAShuffle(void* const* a);
void otherWarpAfterSyncWarp(void* const* a);
void overwrittenWhileRead(void* const* a);
void twoWriters(void* const* a);
void copyReadBeforeItsWait(void* const* a);
void copyReadWithoutBarrier(void* const* a);

} // namespace racy
