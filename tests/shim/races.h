// SPDX-License-Identifier: Apache-2.0
// Races in shared memory: two threads of a block touch one byte, at least one writes, and no
// barrier lies between. Kernels that are compiled with the compiler's thread instrumentation report
// every access to races.cpp; the scheduler (simt.cpp) says when threads meet. Votes and shuffles
// order nothing, as on the device; a __syncwarp orders the lanes of its warp.
#pragma once

#include <cstddef>

namespace simt::races {

/// A block of so many threads starts: nothing before it counts.
void startBlock(size_t threads);

/// All threads of the block met.
void barrier();

/// The lanes of a warp met at a __syncwarp; called once a meeting.
void syncWarp(size_t warp);

/// An asynchronous copy to shared memory is on its way, or has been waited for: from the one to the
/// other nobody may touch its target.
void beginCopy(const void* to, size_t bytes, const void* place);
void endCopy(const void* to, size_t bytes);

/// What the running thread wrote to shared memory so far may be read by products (the manual's
/// async proxy); and one reads it: else without such a fence and a barrier after the write.
void fenceForProducts();
void noteProduct(const void* address, size_t bytes, const void* place);

/// The running thread touches memory; `place` is an address in the code. Only shared memory counts.
void note(const void* address, size_t bytes, bool write, const void* place);

} // namespace simt::races
