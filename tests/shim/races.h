// SPDX-License-Identifier: Apache-2.0
// Races in shared memory: two threads of a block touch one byte, at least one writes, and no
// barrier lies between. Kernels that are compiled with the compiler's thread instrumentation report
// every access to races.cpp; the scheduler (simt.cpp) says when threads meet. Votes and shuffles
// order nothing, as on the device; a __syncwarp orders the lanes of its warp. Threads of a cluster
// are numbered through; each of its blocks, a rank, has shared memory of its own, at one address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt::races {

/// A cluster of so many blocks of so many threads starts: nothing before it counts.
void startBlock(size_t threads, size_t blocks = 1);

/// All threads of the running thread's block met; all of the cluster.
void barrier();
void meetCluster();

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

/// What a thread knows to be done: how often each thread has released what it did, and how many
/// phases of each barrier's copies are there. Empty: nothing.
using Knowledge = std::vector<uint32_t>;
constexpr size_t mostCopiers = 64; ///< barriers that copies of boxes may count for
size_t numberOfCopier(size_t copier);

/// From now on in this block threads also meet by signals: a release that is acquired orders.
void orderBySignals();
uint32_t release(Knowledge& into); ///< what the running thread did and knows; how often so far
void acquire(const Knowledge& from);
void merge(Knowledge& into, const Knowledge& from);
void addCopies(Knowledge& into, size_t copier, uint32_t phases);

/// A copy of the copier's phase to a rank's memory is on its way until it has landed; who has not
/// acquired that phase may not touch its target afterwards either.
void beginTmaCopy(size_t rank, const void* to, size_t bytes, size_t copier, uint32_t phase,
                  const void* place);
void endTmaCopy(size_t rank, const void* to, size_t bytes);

/// The running thread uses a barrier, 8 bytes, in another rank's memory.
void noteThere(size_t rank, const void* address, const void* place);

/// The running thread touches memory; `place` is an address in the code. Only shared memory counts.
void note(const void* address, size_t bytes, bool write, const void* place);

/// "file:line: `text`" of an address in the code, as far as it can be known.
std::string placeText(const void* place);

} // namespace simt::races
