// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/races.h"

#include "tests/shim/simt_internal.h"

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
    const void* place = nullptr;
};

/// The last ones that matter of each byte. Two reads: the last, and one of another thread, if
/// possible of another warp.
struct Byte {
    Access write, read, otherRead, copy;
};

struct Block {
    std::vector<Byte> bytes{sharedLimit};
    std::vector<uint32_t> warpEpochs;
    std::vector<uint32_t> fences; ///< of each thread
    uint32_t epoch = 1, firstEpoch = 1;
};

Block& block() {
    static Block instance;
    return instance;
}

/// "file:line: `text`" of an address in the code, as far as it can be known.
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

[[noreturn]] void report(const char* first, const Access& before, const char* second,
                         const void* place, size_t byte) {
    const std::string text = "a race in shared memory at byte " + std::to_string(byte) +
                             ": thread " + std::to_string(before.thread) + " " + first + " at " +
                             placeText(before.place) + ", thread " +
                             std::to_string(currentThread()) + " " + second + " at " +
                             placeText(place) + ", without a barrier between";
    stop(text.c_str(), 0);
}

} // namespace

void startBlock(size_t threads) {
    block().firstEpoch = ++block().epoch;
    block().warpEpochs.assign((threads + 31) / 32, 0);
    block().fences.assign(threads, 0);
}

void barrier() {
    ++block().epoch;
}

void syncWarp(size_t warp) {
    ++block().warpEpochs[warp];
}

namespace {

/// Nothing orders the access before with one that the thread makes now.
bool unordered(const Access& before, const Access& now) {
    return before.epoch == now.epoch && before.thread != now.thread &&
           (before.thread / 32 != now.thread / 32 || before.warpEpoch == now.warpEpoch);
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
    return {block().epoch, block().warpEpochs[thread / 32], static_cast<uint32_t>(thread),
            block().fences[thread], place};
}

/// The bytes of an access that lie in shared memory.
Byte* bytesOf(const void* address, size_t bytes) {
    const auto at =
        reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(sharedMemory);
    return at < sharedLimit && at + bytes <= sharedLimit ? &block().bytes[at] : nullptr;
}

size_t numberOf(const Byte* byte) {
    return static_cast<size_t>(byte - block().bytes.data());
}

} // namespace

void note(const void* address, size_t bytes, bool write, const void* place) {
    Byte* const first = bytesOf(address, bytes);
    if (first == nullptr || !running())
        return;
    const Access now = accessNow(place);
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

void fenceForProducts() {
    ++block().fences[currentThread()];
}

void noteProduct(const void* address, size_t bytes, const void* place) {
    note(address, bytes, false, place);
    const Byte* const first = bytesOf(address, bytes);
    if (first == nullptr)
        stop("a product outside of the shared memory", 0);
    for (const Byte* byte = first; byte != first + bytes; ++byte)
        if (byte->write.epoch >= block().firstEpoch &&
            byte->write.fences == block().fences[byte->write.thread]) {
            const std::string text = "a product of thread " + std::to_string(currentThread()) +
                                     " reads what thread " + std::to_string(byte->write.thread) +
                                     " writes at " + placeText(byte->write.place) +
                                     ", without a fence.proxy.async between";
            stop(text.c_str(), 0);
        }
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

// What the compiler's thread instrumentation calls. `place` is the instruction after the call.
#define FUSELAGE_ACCESS(name, bytes, write)                                                        \
    extern "C" void __tsan_##name(void* address) {                                                 \
        simt::races::note(address, bytes, write, __builtin_return_address(0));                     \
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

extern "C" void __tsan_read_range(void* address, size_t bytes) {
    simt::races::note(address, bytes, false, __builtin_return_address(0));
}

extern "C" void __tsan_write_range(void* address, size_t bytes) {
    simt::races::note(address, bytes, true, __builtin_return_address(0));
}

extern "C" void __tsan_init() {}
