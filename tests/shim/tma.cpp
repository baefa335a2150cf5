// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory and TMA as host code, after the PTX manual's "mbarrier" and
// "cp.async.bulk.tensor": phases with arrivals and bytes, boxes with zeros behind the tensor's end,
// the pixels of im2col mode, the swizzle of shared memory's addresses. Late copies land when no
// thread can go on, the one asked for last first; early ones at once. A copy for several blocks of
// a cluster lands in each of them at a time of its own. A block must know, by what its threads
// acquired before they ended, that whatever other blocks do to its memory is done. Who may rely on
// what is decided by races.cpp.
#include "tests/shim/tma.h"

#include "tests/shim/memory_counts.h"
#include "tests/shim/races.h"
#include "tests/shim/simt_internal.h"
#include "tests/shim/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

extern unsigned char sharedMemory[];

namespace simt {

namespace {

constexpr size_t mostBarriers = races::mostCopiers;
constexpr int64_t mostBytes = (int64_t{1} << 20) - 1;

struct Phases {
    const void* at = nullptr;
    size_t rank = 0;  ///< whose memory it is in
    size_t maker = 0; ///< thread
    bool published = false;
    bool fromAfar = false; ///< another block arrived
    uint32_t arrivals = 0, missing = 0;
    int64_t bytes = 0;        ///< expected and not there yet; negative: there and not expected
    uint32_t ended = 0;       ///< phases so far
    races::Knowledge brought; ///< by those who arrived in this phase
    races::Knowledge open;    ///< what who waits for the last ended phase gets
};

struct BoxCopy {
    TensorMapFacts map;
    size_t rank = 0, to = 0; ///< byte of its shared memory
    size_t barrier = 0;
    std::vector<int64_t> at, offset; ///< the latter of im2col mode, 0 for channels and images
};

struct Waiting {
    size_t barrier = 0;
    uint32_t parity = 0;
};

/// What a rank must know before it ends: `number` is as of races::Knowledge.
struct Visit {
    size_t rank = 0, number = 0;
    uint32_t clock = 0;
    std::string text;
};

struct Signals {
    std::vector<Phases> barriers;
    std::vector<BoxCopy> copies;        ///< that did not land
    std::vector<Waiting> waits;         ///< by thread
    std::vector<Visit> visits;          ///< of other ranks
    std::vector<races::Knowledge> left; ///< by rank: what its threads knew when they ended
    bool early = false;
};

Signals signals;

size_t sharedByte(const void* address) {
    return static_cast<size_t>(static_cast<const unsigned char*>(address) - sharedMemory);
}

std::string text(const Phases& barrier) {
    return "the barrier at byte " + std::to_string(sharedByte(barrier.at)) +
           (clusterBlocks() > 1 ? " of block " + std::to_string(barrier.rank) : "") + ", phase " +
           std::to_string(barrier.ended);
}

[[noreturn]] void stopAt(const std::string& what) {
    stop(what.c_str(), 0);
}

size_t find(const void* address, const char* what, size_t rank) {
    if (rank >= clusterBlocks())
        stopAt(std::string(what) + " in a block that the cluster does not have");
    for (size_t i = 0; i < signals.barriers.size(); ++i) {
        const Phases& barrier = signals.barriers[i];
        if (barrier.at != address || barrier.rank != rank)
            continue;
        if (!barrier.published && barrier.maker != currentThread())
            stopAt(std::string(what) + " of a barrier that was made without fence.mbarrier_init");
        races::noteThere(rank, address, nullptr);
        return i;
    }
    stopAt(std::string(what) + " of what is no barrier, byte " +
           std::to_string(sharedByte(address)));
}

void endPhase(size_t number) {
    Phases& barrier = signals.barriers[number];
    if (barrier.missing > 0 || barrier.bytes != 0)
        return;
    ++barrier.ended;
    barrier.missing = barrier.arrivals;
    races::addCopies(barrier.brought, number, barrier.ended);
    races::merge(barrier.open, barrier.brought);
    barrier.brought.clear();
}

void addBytes(size_t number, int64_t bytes) {
    Phases& barrier = signals.barriers[number];
    barrier.bytes += bytes;
    if (barrier.bytes > mostBytes || barrier.bytes < -mostBytes)
        stopAt("too many bytes for " + text(barrier));
}

size_t swizzledByte(size_t byte) {
    return byte ^ (byte >> 7 & 7) << 4;
}

/// One row of the box, which begins at `place` in the tensor.
void landRow(const BoxCopy& copy, const std::vector<int64_t>& place, size_t to) {
    const TensorMapFacts& map = copy.map;
    const std::byte* from = map.address;
    bool inside = true;
    for (size_t d = 1; d < map.rank; ++d) {
        const int64_t at = place[d];
        inside = inside && at >= 0 && at < static_cast<int64_t>(map.dims[d]);
        from += at * static_cast<int64_t>(map.strides[d]);
    }
    for (size_t i = 0; i < map.box[0]; ++i) {
        const int64_t at = place[0] + static_cast<int64_t>(i);
        const size_t byte = to + i * map.elementBytes;
        unsigned char* const target =
            sharedOf(copy.rank) + (map.swizzled ? swizzledByte(byte) : byte);
        if (inside && at >= 0 && at < static_cast<int64_t>(map.dims[0]))
            std::memcpy(target, from + at * static_cast<int64_t>(map.elementBytes),
                        map.elementBytes);
        else
            std::memset(target, 0, map.elementBytes);
    }
}

/// The filter's base goes on to the next pixel: along the box, at its end to the next line of it,
/// at the end of all to the next image.
void nextPixel(const TensorMapFacts& map, std::vector<int64_t>& base) {
    for (size_t d = 1; d + 1 < map.rank; ++d) {
        base[d] += map.steps[d];
        if (base[d] <= map.last[d])
            return;
        base[d] = map.first[d];
    }
    ++base[map.rank - 1];
}

void landPixels(const BoxCopy& copy) {
    const size_t rowBytes = copy.map.box[0] * copy.map.elementBytes;
    std::vector<int64_t> base = copy.at, place = base;
    for (size_t pixel = 0; pixel < copy.map.box[1]; ++pixel) {
        for (size_t d = 0; d < base.size(); ++d)
            place[d] = base[d] + copy.offset[d];
        landRow(copy, place, copy.to + pixel * rowBytes);
        nextPixel(copy.map, base);
    }
}

void landRows(const BoxCopy& copy) {
    const TensorMapFacts& map = copy.map;
    const size_t rowBytes = map.box[0] * map.elementBytes, rows = map.boxBytes() / rowBytes;
    std::vector<int64_t> place = copy.at;
    for (size_t row = 0; row < rows; ++row) {
        size_t rest = row;
        for (size_t d = 1; d < map.rank; ++d) {
            place[d] = copy.at[d] + static_cast<int64_t>(rest % map.box[d]);
            rest /= map.box[d];
        }
        landRow(copy, place, copy.to + row * rowBytes);
    }
}

void land(const BoxCopy& copy) {
    const TensorMapFacts& map = copy.map;
    if (map.pixels)
        landPixels(copy);
    else
        landRows(copy);
    races::endTmaCopy(copy.rank, sharedMemory + copy.to, map.boxBytes());
    addBytes(copy.barrier, -static_cast<int64_t>(map.boxBytes()));
    endPhase(copy.barrier);
}

bool open(const Waiting& wait) {
    return signals.barriers[wait.barrier].ended % 2 != wait.parity;
}

/// The running thread does something to another rank's memory, which is known as `number`, `clock`.
void visit(size_t rank, size_t number, uint32_t clock, const std::string& what) {
    if (rank != currentRank())
        signals.visits.push_back(
            {rank, number, clock,
             what + " of thread " + std::to_string(currentThread()) + " of the cluster"});
}

void arriveAt(size_t number, uint32_t bytes) {
    Phases& barrier = signals.barriers[number];
    if (barrier.missing == 0)
        stopAt("an arrival too many at " + text(barrier));
    addBytes(number, bytes);
    --barrier.missing;
    const uint32_t clock = races::release(barrier.brought);
    visit(barrier.rank, currentThread(), clock, "an arrival at " + text(barrier));
    endPhase(number);
}

void beginCopy(const BoxCopy& copy, const void* place) {
    const Phases& barrier = signals.barriers[copy.barrier];
    if (!barrier.published)
        stop("a copy for a barrier that was made without fence.mbarrier_init", 0);
    races::beginTmaCopy(copy.rank, sharedMemory + copy.to, copy.map.boxBytes(), copy.barrier,
                        barrier.ended, place);
    visit(copy.rank, races::numberOfCopier(copy.barrier), barrier.ended + 1,
          "a copy for " + text(barrier));
    if (signals.early)
        land(copy);
    else
        signals.copies.push_back(copy);
}

} // namespace

void startTma(size_t threads, bool early) {
    signals.barriers.clear();
    signals.copies.clear();
    signals.waits.assign(threads, {});
    signals.visits.clear();
    signals.left.assign(clusterBlocks(), {});
    signals.early = early;
}

void endTma() {
    if (!signals.copies.empty())
        stop("a kernel ends before its copies of boxes", 0);
    for (const Phases& barrier : signals.barriers)
        if (barrier.bytes != 0)
            stopAt("a kernel ends while bytes are missing at " + text(barrier));
    for (const Visit& one : signals.visits) {
        const races::Knowledge& known = signals.left[one.rank];
        if (known.size() <= one.number || known[one.number] < one.clock)
            stopAt("block " + std::to_string(one.rank) + " may end before " + one.text);
    }
}

void leaveTma() {
    if (clusterBlocks() > 1)
        races::release(signals.left[currentRank()]);
}

bool landCopy() {
    if (signals.copies.empty())
        return false;
    const BoxCopy copy = std::move(signals.copies.back());
    signals.copies.pop_back();
    land(copy);
    return true;
}

bool barrierOpens(size_t thread) {
    return open(signals.waits[thread]);
}

std::string waitText(size_t thread) {
    const Waiting& wait = signals.waits[thread];
    const Phases& barrier = signals.barriers[wait.barrier];
    return " waits for parity " + std::to_string(wait.parity) + " of " + text(barrier) + ": " +
           std::to_string(barrier.missing) + " arrivals and " + std::to_string(barrier.bytes) +
           " bytes are missing";
}

void initBarrier(const void* barrier, uint32_t arrivals) {
    if (sharedByte(barrier) >= sharedLimit || sharedByte(barrier) % 8 != 0 || arrivals == 0 ||
        arrivals >= 1u << 20)
        stop("a barrier that cannot be", 0);
    for (const Phases& other : signals.barriers)
        if (other.at == barrier && other.rank == currentRank())
            stopAt("made once more: " + text(other));
    if (signals.barriers.size() == mostBarriers)
        stop("more barriers than are modelled", 0);
    races::note(barrier, 8, true, __builtin_return_address(0));
    races::orderBySignals();
    Phases made;
    made.at = barrier;
    made.rank = currentRank();
    made.maker = currentThread();
    made.arrivals = made.missing = arrivals;
    signals.barriers.push_back(std::move(made));
}

void publishBarriers() {
    races::fenceForProducts();
    for (Phases& barrier : signals.barriers)
        barrier.published = barrier.published || barrier.maker == currentThread();
}

void arrive(const void* address, uint32_t bytes) {
    arriveAt(find(address, "an arrival", currentRank()), bytes);
}

void arriveIn(unsigned block, const void* address) {
    const size_t number = find(address, "an arrival", block);
    if (block != currentRank())
        signals.barriers[number].fromAfar = true;
    arriveAt(number, 0);
}

void waitBarrier(const void* address, uint32_t parity, bool all) {
    if (parity > 1)
        stop("a parity that is neither 0 nor 1", 0);
    const size_t number = find(address, "a wait", currentRank());
    signals.waits[currentThread()] = {number, parity};
    while (!barrierOpens(currentThread()))
        waitForSignal();
    if (signals.barriers[number].fromAfar && !all)
        stopAt("a wait that does not acquire what other blocks released, at " +
               text(signals.barriers[number]));
    races::acquire(signals.barriers[number].open);
}

namespace {

/// A copy by the map, before it is known where it begins.
BoxCopy copyBy(const void* map, int rank, bool pixels) {
    BoxCopy copy;
    if (!decodeTensorMap(map, copy.map))
        stop("a copy through what is no tensor map", 0);
    if (copy.map.pixels != pixels)
        stop(pixels ? "a copy of pixels by a map of boxes" : "a copy of a box by a map of pixels",
             0);
    if (copy.map.rank != static_cast<uint32_t>(rank))
        stop("a copy with another rank than its map's", 0);
    return copy;
}

void beginCopies(BoxCopy& copy, const void* to, const void* address, unsigned blocks,
                 const void* place) {
    copy.to = sharedByte(to);
    const size_t bytes = copy.map.boxBytes();
    if (copy.to % 128 != 0 || copy.to >= sharedLimit || copy.to + bytes > sharedLimit)
        stop("a box goes to a place where none may lie", 0);
    const unsigned targets = blocks == 0 ? 1U << currentRank() : blocks;
    if (targets >> clusterBlocks() != 0)
        stop("a copy to a block that the cluster does not have", 0);
    counts::noteBox(bytes, static_cast<unsigned>(std::popcount(targets)));
    for (copy.rank = 0; targets >> copy.rank != 0; ++copy.rank)
        if ((targets >> copy.rank & 1) != 0) {
            copy.barrier = find(address, "a copy", copy.rank);
            beginCopy(copy, place);
        }
}

} // namespace

void copyBox(void* to, const void* map, const void* address, const int* at, int rank,
             unsigned blocks) {
    BoxCopy copy = copyBy(map, rank, false);
    copy.at.assign(at, at + rank);
    beginCopies(copy, to, address, blocks, __builtin_return_address(0));
}

void copyPixels(void* to, const void* map, const void* address, const int* at,
                const unsigned short* offset, int rank, unsigned blocks) {
    BoxCopy copy = copyBy(map, rank, true);
    copy.at.assign(at, at + rank);
    copy.offset.assign(copy.at.size(), 0);
    for (size_t d = 1; d + 1 < copy.at.size(); ++d) {
        if (copy.at[d] < copy.map.first[d] || copy.at[d] > copy.map.last[d])
            stop("a copy of pixels that begins outside of their box", 0);
        copy.offset[d] = offset[d - 1];
        if (copy.offset[d] > copy.map.mostOffset)
            stop("an offset of pixels that the instruction has no bits for", 0);
    }
    beginCopies(copy, to, address, blocks, __builtin_return_address(0));
}

void fetchMap(const void* map) {
    TensorMapFacts facts;
    if (!decodeTensorMap(map, facts))
        stop("a prefetch of what is no tensor map", 0);
}

} // namespace simt
