// SPDX-License-Identifier: Apache-2.0
// Memory traffic of a kernel, counted: what each warp asks of global and of shared memory, after
// the device's rules. Fed by the instrumentation that also feeds races.cpp; off unless begin() was
// called. It counts what the text of a kernel says, before NVRTC: a load that the compiler removes
// is still here, and spills are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt::counts {

/// Requests of one direction to one region of global memory. A sector is 32 bytes.
struct GlobalCounts {
    uint64_t requests = 0; ///< instructions of a warp
    uint64_t wide = 0;     ///< of them, each lane moves 16 bytes
    uint64_t asked = 0;    ///< bytes, of all lanes
    uint64_t ideal = 0;    ///< sectors, if the distinct bytes of each request lay side by side
    uint64_t sectors = 0;  ///< of each request: what passes the first cache
    uint64_t ofBlocks = 0; ///< distinct ones of each block: what a first cache cannot save
    uint64_t distinct = 0; ///< of the launch: what memory must move once
};

/// Requests to shared memory: 32 banks of 4 bytes. `ideal`: wavefronts without conflicts.
struct SharedCounts {
    uint64_t requests = 0, wavefronts = 0, ideal = 0;
};

/// All that one instruction did; `place` is an address in the code, see races::placeText.
struct PlaceCounts {
    const void* place = nullptr;
    bool shared = false;
    uint64_t requests = 0, cost = 0, ideal = 0; ///< sectors, or wavefronts
};

struct Counts {
    std::vector<GlobalCounts> reads, writes; ///< parallel to the regions
    SharedCounts sharedReads, sharedWrites;
    SharedCounts matrixReads; ///< ldmatrix of four matrices
    std::vector<PlaceCounts> places;
    /// Of boxes that TMA copies: what is fetched, and what lands in shared memory, more of it where
    /// a box goes to several blocks of a cluster. Bytes, those beyond a tensor's end among them.
    uint64_t boxesFetched = 0, boxesLanded = 0;
};

/// An operand in global memory. Addresses of no region and not shared are a thread's own.
struct Region {
    const void* begin = nullptr;
    size_t bytes = 0;
};

/// Counts the launches from here to end().
void begin(std::vector<Region> regions);
Counts end();

/// Between begin() and end().
extern bool counting;

/// What the running thread does; nothing when not counting. `note`: an access that the
/// instrumentation saw. `noteVector`: the next accesses of the thread inside these bytes are parts
/// of one. `noteRows`: ldmatrix of the rows of 16 bytes that all lanes brought; the reads from them
/// that follow are its emulation. `noteCopy`: an asynchronous copy. `noteBlock`: a block of code
/// begins, by which lanes that took another way find each other again. `noteBox`: one is fetched
/// for so many blocks. `noteMeeting`: the lanes of
/// its warp wait for each other.
void note(const void* address, size_t bytes, bool write, const void* place);
void noteVector(const void* address, size_t bytes);
void noteRows(const void* mine, const void* const* all, const void* place);
void noteCopy(const void* to, const void* from, size_t bytes, bool inside, const void* place);
void noteBlock(const void* place);
void noteBox(size_t bytes, unsigned blocks);
void noteMeeting();

/// All threads of the block wait at a barrier or are done; and a block begins.
void settle(size_t threads);
void startBlock();

} // namespace simt::counts
