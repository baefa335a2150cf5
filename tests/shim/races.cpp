// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/races.h"

#include "tests/shim/crossings.h"
#include "tests/shim/memory_counts.h"
#include "tests/shim/simt_internal.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <vector>

extern unsigned char sharedMemory[];

namespace simt::races {

namespace {

struct Access {
    uint32_t epoch = 0; ///< barriers so far; 0: none such
    uint32_t warpEpoch = 0;
    uint32_t thread = 0;
    uint32_t fences = 0; ///< of that thread so far, for products
    uint32_t clock = 0;  ///< releases of that thread so far; of a copier: the phase
    const void* place = nullptr;
};

constexpr uint32_t firstCopier = mostThreads; ///< as a thread: behind all others

/// The last ones that matter of each byte. Two reads: the last, and one of another thread, if
/// possible of another warp.
struct Byte {
    Access write, read, otherRead, copy;
};

/// The block that runs, or the cluster.
struct Block {
    std::vector<std::vector<Byte>> bytes; ///< by rank
    std::vector<uint32_t> warpEpochs;
    std::vector<uint32_t> fences; ///< of each thread
    std::vector<uint32_t> releases;
    std::vector<Knowledge> knows; ///< by thread; empty: nobody meets by signals
    std::vector<uint32_t> epochs; ///< by rank; no two ever have the same
    uint32_t lastEpoch = 0, firstEpoch = 1;
    size_t threads = 0; ///< of a rank
};

Block& block() {
    static Block instance;
    return instance;
}

size_t rankOf(size_t thread) {
    return thread / block().threads;
}

size_t rankNow() {
    return rankOf(currentThread());
}

} // namespace

std::string placeText(const void* place) {
    char fallback[32];
    std::snprintf(fallback, sizeof fallback, "%p", place);
    Dl_info info{};
    if (place == nullptr || dladdr(place, &info) == 0 || info.dli_fname == nullptr)
        return fallback;
    const auto offset = static_cast<const char*>(place) - static_cast<const char*>(info.dli_fbase);
    char command[512];
    std::snprintf(command, sizeof command, "addr2line -e '%s' 0x%zx 2>/dev/null", info.dli_fname,
                  static_cast<size_t>(offset - 1));
    std::FILE* pipe = popen(command, "r");
    char line[400] = "";
    const bool read = pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;
    if (pipe != nullptr)
        pclose(pipe);
    std::string out = line;
    out = out.substr(0, out.find_first_of("\n ("));
    const size_t colon = out.rfind(':');
    if (!read || colon == std::string::npos || out[colon + 1] == '?')
        return fallback;
    std::ifstream source(out.substr(0, colon));
    std::string text;
    for (int n = std::atoi(out.c_str() + colon + 1); n > 0 && std::getline(source, text); --n) {
    }
    const size_t begin = text.find_first_not_of(' ');
    out.erase(0, out.rfind('/') + 1);
    return begin == std::string::npos ? out : out + ": `" + text.substr(begin) + "`";
}

namespace {

std::string nameOf(uint32_t thread) {
    return thread < firstCopier ? "thread " + std::to_string(thread) : "a copy of a box";
}

[[noreturn]] void report(const char* first, const Access& before, const char* second,
                         const void* place, size_t byte) {
    const std::string text = "a race in shared memory at byte " + std::to_string(byte) + ": " +
                             nameOf(before.thread) + " " + first + " at " +
                             placeText(before.place) + ", thread " +
                             std::to_string(currentThread()) + " " + second + " at " +
                             placeText(place) + ", without a barrier between";
    stop(text.c_str(), 0);
}

} // namespace

void startBlock(size_t threads, size_t blocks) {
    Block& now = block();
    const size_t all = threads * blocks;
    now.threads = threads;
    while (now.bytes.size() < blocks)
        now.bytes.emplace_back(sharedLimit);
    now.firstEpoch = now.lastEpoch + 1;
    now.epochs.clear();
    for (size_t rank = 0; rank < blocks; ++rank)
        now.epochs.push_back(++now.lastEpoch);
    now.warpEpochs.assign((all + 31) / 32, 0);
    now.fences.assign(all, 0);
    now.releases.assign(all, 0);
    now.knows.clear();
    if (blocks > 1)
        orderBySignals();
}

namespace {

/// Threads from `first` on, up to `last`, know what each of them does.
void share(size_t first, size_t last) {
    std::vector<Knowledge>& knows = block().knows;
    if (knows.empty())
        return;
    Knowledge all;
    for (size_t thread = first; thread < last; ++thread) {
        merge(all, knows[thread]);
        all[thread] = ++block().releases[thread];
    }
    for (size_t thread = first; thread < last; ++thread)
        knows[thread] = all;
}

} // namespace

void barrier() {
    const size_t rank = rankNow(), first = rank * block().threads;
    block().epochs[rank] = ++block().lastEpoch;
    share(first, first + block().threads);
}

void meetCluster() {
    for (uint32_t& epoch : block().epochs)
        epoch = ++block().lastEpoch;
    share(0, block().releases.size());
}

void syncWarp(size_t warp) {
    ++block().warpEpochs[warp];
    share(warp * 32, std::min(warp * 32 + 32, block().releases.size()));
}

void orderBySignals() {
    if (block().knows.empty())
        block().knows.assign(block().releases.size(), Knowledge(firstCopier + mostCopiers, 0));
}

void merge(Knowledge& into, const Knowledge& from) {
    into.resize(std::max(into.size(), from.size()), 0);
    for (size_t i = 0; i < from.size(); ++i)
        into[i] = std::max(into[i], from[i]);
}

size_t numberOfCopier(size_t copier) {
    return firstCopier + copier;
}

void addCopies(Knowledge& into, size_t copier, uint32_t phases) {
    into.resize(firstCopier + mostCopiers, 0);
    into[firstCopier + copier] = phases;
}

uint32_t release(Knowledge& into) {
    const size_t thread = currentThread();
    merge(into, block().knows[thread]);
    return into[thread] = ++block().releases[thread];
}

void acquire(const Knowledge& from) {
    merge(block().knows[currentThread()], from);
}

namespace {

/// Nothing orders the access before with one that the thread makes now.
bool unordered(const Access& before, const Access& now) {
    const std::vector<Knowledge>& knows = block().knows;
    if (before.thread >= firstCopier)
        return before.epoch >= block().firstEpoch &&
               knows[now.thread][before.thread] <= before.clock;
    if (rankOf(before.thread) != rankOf(now.thread))
        return before.epoch >= block().firstEpoch &&
               knows[now.thread][before.thread] <= before.clock;
    return before.epoch == now.epoch && before.thread != now.thread &&
           (before.thread / 32 != now.thread / 32 || before.warpEpoch == now.warpEpoch) &&
           (knows.empty() || knows[now.thread][before.thread] <= before.clock);
}

void noteRead(Byte& byte, const Access& now, size_t number) {
    if (unordered(byte.write, now))
        report("writes", byte.write, "reads", now.place, number);
    const bool farther = byte.otherRead.epoch == now.epoch &&
                         byte.otherRead.thread / 32 != now.thread / 32 &&
                         byte.read.thread / 32 == now.thread / 32;
    if (byte.read.epoch == now.epoch && byte.read.thread != now.thread && !farther)
        byte.otherRead = byte.read;
    byte.read = now;
}

void noteWrite(Byte& byte, const Access& now, size_t number) {
    if (unordered(byte.write, now))
        report("writes", byte.write, "writes", now.place, number);
    for (const Access* read : {&byte.read, &byte.otherRead})
        if (unordered(*read, now))
            report("reads", *read, "writes", now.place, number);
    byte.write = now;
}

Access accessNow(const void* place) {
    const size_t thread = currentThread();
    return {block().epochs[rankOf(thread)], block().warpEpochs[thread / 32],
            static_cast<uint32_t>(thread),  block().fences[thread],
            block().releases[thread],       place};
}

/// The bytes of an access that lie in a rank's shared memory.
Byte* bytesIn(size_t rank, const void* address, size_t bytes) {
    const auto at =
        reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(sharedMemory);
    return at < sharedLimit && at + bytes <= sharedLimit ? &block().bytes[rank][at] : nullptr;
}

/// ... in that of the running thread, while a kernel runs.
Byte* bytesOf(const void* address, size_t bytes) {
    return running() ? bytesIn(rankNow(), address, bytes) : nullptr;
}

void noteBytes(size_t rank, const void* address, size_t bytes, bool write, const void* place) {
    Byte* const first = bytesIn(rank, address, bytes);
    if (first == nullptr)
        return;
    const Access now = accessNow(place);
    const auto numberOf = [&](const Byte* byte) {
        return static_cast<size_t>(byte - block().bytes[rank].data());
    };
    for (Byte* byte = first; byte != first + bytes; ++byte) {
        if (byte->copy.epoch >= block().firstEpoch)
            report("copies asynchronously", byte->copy, write ? "writes" : "reads", place,
                   numberOf(byte));
        if (write)
            noteWrite(*byte, now, numberOf(byte));
        else
            noteRead(*byte, now, numberOf(byte));
    }
}

} // namespace

void note(const void* address, size_t bytes, bool write, const void* place) {
    if (running())
        noteBytes(rankNow(), address, bytes, write, place);
}

void noteThere(size_t rank, const void* address, const void* place) {
    noteBytes(rank, address, 8, false, place);
}

void fenceForProducts() {
    ++block().fences[currentThread()];
}

namespace {

/// What the byte holds was written by a thread that has not fenced since.
bool unfenced(const Byte& byte) {
    return byte.write.epoch >= block().firstEpoch && byte.write.thread < firstCopier &&
           byte.write.fences == block().fences[byte.write.thread];
}

[[noreturn]] void reportUnfenced(const char* what, const Byte& byte) {
    const std::string text = what + std::to_string(currentThread()) + " what thread " +
                             std::to_string(byte.write.thread) + " writes at " +
                             placeText(byte.write.place) + ", without a fence.proxy.async between";
    stop(text.c_str(), 0);
}

} // namespace

void noteProduct(const void* address, size_t bytes, const void* place) {
    note(address, bytes, false, place);
    const Byte* const first = bytesOf(address, bytes);
    if (first == nullptr)
        stop("a product outside of the shared memory", 0);
    for (const Byte* byte = first; byte != first + bytes; ++byte)
        if (unfenced(*byte))
            reportUnfenced("a product reads in thread ", *byte);
}

void beginTmaCopy(size_t rank, const void* to, size_t bytes, size_t copier, uint32_t phase,
                  const void* place) {
    Byte* const first = bytesIn(rank, to, bytes);
    for (Byte* byte = first; byte != first + bytes; ++byte)
        if (unfenced(*byte))
            reportUnfenced("a copy of a box overwrites in thread ", *byte);
    noteBytes(rank, to, bytes, true, place);
    for (Byte* byte = first; byte != first + bytes; ++byte) {
        byte->copy = accessNow(place);
        byte->write = byte->copy;
        byte->write.thread = firstCopier + static_cast<uint32_t>(copier);
        byte->write.clock = phase;
    }
}

void endTmaCopy(size_t rank, const void* to, size_t bytes) {
    Byte* const first = bytesIn(rank, to, bytes);
    for (Byte* byte = first; byte != first + bytes; ++byte)
        byte->copy = {};
}

void beginCopy(const void* to, size_t bytes, const void* place) {
    note(to, bytes, true, place);
    Byte* const first = bytesOf(to, bytes);
    for (Byte* byte = first; byte != nullptr && byte != first + bytes; ++byte)
        byte->copy = accessNow(place);
}

void endCopy(const void* to, size_t bytes) {
    Byte* const first = bytesOf(to, bytes);
    if (first == nullptr)
        return;
    const void* const place = first->copy.place;
    for (Byte* byte = first; byte != first + bytes; ++byte)
        byte->copy = {};
    note(to, bytes, true, place);
}

} // namespace simt::races

namespace {

void accessed(const void* address, size_t bytes, bool write, const void* place) {
    simt::races::note(address, bytes, write, place);
    simt::crossings::note(address, bytes, write, place);
    simt::counts::note(address, bytes, write, place);
}

} // namespace

// What the compiler's thread instrumentation calls. `place` is the instruction after the call.
#define FUSELAGE_ACCESS(name, bytes, write)                                                        \
    extern "C" void __tsan_##name(void* address) {                                                 \
        accessed(address, bytes, write, __builtin_return_address(0));                              \
    }
FUSELAGE_ACCESS(read1, 1, false)
FUSELAGE_ACCESS(read2, 2, false)
FUSELAGE_ACCESS(read4, 4, false)
FUSELAGE_ACCESS(read8, 8, false)
FUSELAGE_ACCESS(read16, 16, false)
FUSELAGE_ACCESS(write1, 1, true)
FUSELAGE_ACCESS(write2, 2, true)
FUSELAGE_ACCESS(write4, 4, true)
FUSELAGE_ACCESS(write8, 8, true)
FUSELAGE_ACCESS(write16, 16, true)
FUSELAGE_ACCESS(unaligned_read2, 2, false)
FUSELAGE_ACCESS(unaligned_read4, 4, false)
FUSELAGE_ACCESS(unaligned_read8, 8, false)
FUSELAGE_ACCESS(unaligned_read16, 16, false)
FUSELAGE_ACCESS(unaligned_write2, 2, true)
FUSELAGE_ACCESS(unaligned_write4, 4, true)
FUSELAGE_ACCESS(unaligned_write8, 8, true)
FUSELAGE_ACCESS(unaligned_write16, 16, true)
#undef FUSELAGE_ACCESS

// The compiler knows these with a signed size.
extern "C" void __tsan_read_range(void* address, ptrdiff_t bytes) {
    accessed(address, static_cast<size_t>(bytes), false, __builtin_return_address(0));
}

extern "C" void __tsan_write_range(void* address, ptrdiff_t bytes) {
    accessed(address, static_cast<size_t>(bytes), true, __builtin_return_address(0));
}

extern "C" void __tsan_init() {}
