// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/memory_counts.h"

#include "tests/shim/simt_internal.h"
#include "tests/shim/warp_lanes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

extern unsigned char sharedMemory[];

namespace simt::counts {

bool counting = false;

namespace {

constexpr uint32_t mostRanks = 16; ///< blocks of a cluster
constexpr size_t lanesOfWarp = 32, rowBytes = 16, sectorBytes = 32;
constexpr int mostReadsOfRows = 8; ///< of the emulation of one ldmatrix

/// A thread's events since the block last met, and what its next accesses belong to.
struct Lane {
    std::vector<Event> events;
    uintptr_t vector = 0; ///< announced
    size_t vectorBytes = 0, vectorLeft = 0;
    bool vectorSeen = false;
    std::vector<uintptr_t> rows; ///< of the ldmatrix that is being emulated
    int rowReads = 0;
};

/// Sectors of a region: whether the launch touched them, and the last block that did.
struct Touched {
    std::vector<uint32_t> lastBlock;

    /// Adds the sector to what the figures count.
    void add(size_t sector, uint32_t block, GlobalCounts& to) {
        if (lastBlock[sector] == 0)
            ++to.distinct;
        if (lastBlock[sector] != block)
            ++to.ofBlocks;
        lastBlock[sector] = block;
    }
};

struct Recorder {
    std::vector<Region> regions;
    std::vector<Touched> readSectors, writtenSectors;
    std::vector<Lane> lanes;
    std::unordered_map<const void*, PlaceCounts> places;
    uint32_t block = 0, rank = 0; ///< the running cluster's first block, from 1; and which of it
    Counts counts;
};

Recorder recorder;

Lane& self() {
    const size_t thread = currentThread();
    if (recorder.lanes.size() <= thread)
        recorder.lanes.resize(thread + 1);
    return recorder.lanes[thread];
}

bool isShared(uintptr_t address) {
    return address - reinterpret_cast<uintptr_t>(sharedMemory) < sharedLimit;
}

/// The region that holds an address, or the number of regions.
size_t regionOf(uintptr_t address) {
    size_t i = 0;
    while (i < recorder.regions.size() &&
           address - reinterpret_cast<uintptr_t>(recorder.regions[i].begin) >=
               recorder.regions[i].bytes)
        ++i;
    return i;
}

void add(Lane& lane, Doing doing, uintptr_t address, size_t bytes, const void* place) {
    lane.events.push_back(
        {reinterpret_cast<uintptr_t>(place), address, static_cast<uint16_t>(bytes), doing});
}

void countPlace(const Request& request, bool shared, uint64_t cost, uint64_t ideal) {
    PlaceCounts& place = recorder.places[request.place];
    place.place = request.place;
    place.shared = shared;
    ++place.requests;
    place.cost += cost;
    place.ideal += ideal;
}

void countShared(const Request& request) {
    Counts& all = recorder.counts;
    SharedCounts& to = request.doing == Doing::Rows   ? all.matrixReads
                       : request.doing == Doing::Read ? all.sharedReads
                                                      : all.sharedWrites;
    const Wavefronts wavefronts = wavefrontsOf(request);
    ++to.requests;
    to.wavefronts += wavefronts.taken;
    to.ideal += wavefronts.ideal;
    countPlace(request, true, wavefronts.taken, wavefronts.ideal);
}

/// Sectors are counted from the region's first byte, which on a device is aligned.
void countGlobal(Request request, size_t region) {
    const auto begin = reinterpret_cast<uintptr_t>(recorder.regions[region].begin);
    for (unsigned lane = 0; lane < lanesOfWarp; ++lane)
        request.address[lane] -= request.active(lane) ? begin : 0;
    const bool write = request.doing == Doing::Write;
    GlobalCounts& to = (write ? recorder.counts.writes : recorder.counts.reads)[region];
    Touched& touched = (write ? recorder.writtenSectors : recorder.readSectors)[region];
    const Sectors sectors = sectorsOf(request);
    ++to.requests;
    bool wide = true;
    for (unsigned lane = 0; lane < lanesOfWarp; ++lane)
        if (request.active(lane)) {
            to.asked += request.bytes[lane];
            wide = wide && request.bytes[lane] == 16;
        }
    to.wide += wide ? 1 : 0;
    to.ideal += sectors.ideal;
    to.sectors += sectors.touched.size();
    for (uintptr_t sector : sectors.touched)
        touched.add(sector, recorder.block + recorder.rank, to);
    countPlace(request, false, sectors.touched.size(), sectors.ideal);
}

void count(const Request& request) {
    unsigned lane = 0;
    while (!request.active(lane))
        ++lane;
    if (isShared(request.address[lane]))
        return countShared(request);
    if (const size_t region = regionOf(request.address[lane]); region < recorder.regions.size())
        countGlobal(request, region);
}

} // namespace

void begin(std::vector<Region> regions) {
    recorder = {};
    recorder.regions = std::move(regions);
    recorder.counts.reads.resize(recorder.regions.size());
    recorder.counts.writes.resize(recorder.regions.size());
    for (const Region& region : recorder.regions)
        for (auto* sectors : {&recorder.readSectors, &recorder.writtenSectors})
            sectors->push_back({std::vector<uint32_t>(region.bytes / sectorBytes + 2)});
    counting = true;
}

Counts end() {
    counting = false;
    for (const auto& [place, counts] : recorder.places)
        recorder.counts.places.push_back(counts);
    std::sort(recorder.counts.places.begin(), recorder.counts.places.end(),
              [](const PlaceCounts& a, const PlaceCounts& b) { return a.place < b.place; });
    return std::exchange(recorder, {}).counts;
}

void startBlock() {
    if (counting)
        recorder.block += mostRanks; // as many numbers as a cluster may need
}

void note(const void* address, size_t bytes, bool write, const void* place) {
    if (!counting || !running())
        return;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (!isShared(at) && regionOf(at) == recorder.regions.size())
        return;
    Lane& lane = self();
    if (lane.rowReads > 0 && !write) {
        --lane.rowReads;
        for (uintptr_t row : lane.rows)
            if (at - row < rowBytes)
                return;
    }
    lane.rowReads = 0;
    const bool inVector = at - lane.vector < lane.vectorBytes && lane.vectorLeft >= bytes;
    if (!inVector) {
        lane.vectorLeft = 0;
        return add(lane, write ? Doing::Write : Doing::Read, at, bytes, place);
    }
    if (!lane.vectorSeen)
        add(lane, write ? Doing::Write : Doing::Read, lane.vector, lane.vectorBytes, place);
    lane.vectorSeen = true;
    lane.vectorLeft -= bytes;
}

void noteVector(const void* address, size_t bytes) {
    if (!counting || !running())
        return;
    Lane& lane = self();
    lane.vector = reinterpret_cast<uintptr_t>(address);
    lane.vectorBytes = lane.vectorLeft = bytes;
    lane.vectorSeen = false;
}

void noteRows(const void* mine, const void* const* all, const void* place) {
    if (!counting || !running())
        return;
    Lane& lane = self();
    lane.rows.clear();
    for (size_t i = 0; i < lanesOfWarp; ++i)
        lane.rows.push_back(reinterpret_cast<uintptr_t>(all[i]));
    lane.rowReads = mostReadsOfRows;
    add(lane, Doing::Rows, reinterpret_cast<uintptr_t>(mine), rowBytes, place);
}

void noteCopy(const void* to, const void* from, size_t bytes, bool inside, const void* place) {
    if (!counting || !running())
        return;
    // Two events at one place: all lanes read, then all write.
    Lane& lane = self();
    lane.vectorLeft = 0;
    if (inside)
        add(lane, Doing::Read, reinterpret_cast<uintptr_t>(from), bytes,
            static_cast<const char*>(place) - 1);
    add(lane, Doing::Write, reinterpret_cast<uintptr_t>(to), bytes, place);
}

void noteBlock(const void* place) {
    if (!counting || !running())
        return;
    Lane& lane = self();
    // Of blocks that follow each other forwards the last one says where the lane stands.
    if (!lane.events.empty() && lane.events.back().doing == Doing::Block &&
        lane.events.back().place <= reinterpret_cast<uintptr_t>(place))
        lane.events.pop_back();
    add(lane, Doing::Block, 0, 0, place);
}

void noteBox(size_t bytes, unsigned blocks) {
    if (!counting || !running())
        return;
    recorder.counts.boxesFetched += bytes;
    recorder.counts.boxesLanded += bytes * blocks;
}

void noteMeeting() {
    if (counting && running())
        add(self(), Doing::Meeting, 0, 0, nullptr);
}

void settle(size_t threads) {
    if (!counting)
        return;
    recorder.lanes.resize(std::max(threads, recorder.lanes.size()));
    std::vector<std::span<const Event>> warp;
    for (size_t first = 0; first < threads; first += lanesOfWarp) {
        warp.clear();
        recorder.rank = static_cast<uint32_t>(first * clusterBlocks() / threads);
        for (size_t i = first; i < std::min(threads, first + lanesOfWarp); ++i)
            warp.push_back(recorder.lanes[i].events);
        forEachRequest(warp, count);
    }
    for (Lane& lane : recorder.lanes)
        lane.events.clear();
}

} // namespace simt::counts

// What the compiler calls at the start of each block of code (-fsanitize-coverage=trace-pc).
extern "C" void __sanitizer_cov_trace_pc() {
    simt::counts::noteBlock(__builtin_return_address(0));
}
