// SPDX-License-Identifier: Apache-2.0
// Memory of the stand-in driver: guarded pages, poison, checked copies.
#include "tests/fakecuda/fake_state.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace fakecuda {

namespace {

constexpr size_t alignment = 256;
constexpr size_t guard = size_t{64} << 10; ///< bytes on either side that fault, whole pages
constexpr unsigned char pattern = 0xa5;

Allocation allocate(size_t bytes, bool pinned) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    const size_t inner = (rounded + page - 1) / page * page;
    Allocation out;
    out.mapped = inner + 2 * guard;
    out.pages = static_cast<std::byte*>(
        mmap(nullptr, out.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (out.pages == MAP_FAILED)
        return {};
    mprotect(out.pages, guard, PROT_NONE);
    mprotect(out.pages + guard + inner, guard, PROT_NONE);
    out.data = out.pages + guard + inner - rounded;
    out.bytes = bytes;
    out.margin = rounded - bytes;
    out.pinned = pinned;
    std::memset(out.pages + guard, 0xff, inner);
    out.mark();
    return out;
}

int give(uint64_t* out, size_t bytes, bool pinned) {
    if (bytes == 0)
        return InvalidValue;
    const auto limit = static_cast<size_t>(setting("FAKECUDA_MEMORY_MIB", 4096)) << 20;
    size_t used = bytes;
    for (const auto& [address, allocation] : state().memory)
        used += allocation.bytes;
    if (used > limit)
        return OutOfMemory;
    const Allocation made = allocate(bytes, pinned);
    if (made.data == nullptr)
        return OutOfMemory;
    *out = reinterpret_cast<uint64_t>(made.data);
    state().memory[*out] = made;
    return Success;
}

int take(uint64_t address) {
    auto found = state().memory.find(address);
    if (found == state().memory.end())
        return InvalidValue;
    if (const int code = drainAll(); code != Success)
        return code;
    // The addresses are never given again: what still uses them faults.
    mprotect(found->second.pages, found->second.mapped, PROT_NONE);
    madvise(found->second.pages, found->second.mapped, MADV_DONTNEED);
    state().memory.erase(found);
    return Success;
}

bool onDevice(uint64_t address, size_t bytes) {
    const Allocation* found = find(address, bytes);
    return found != nullptr && !found->pinned;
}

} // namespace

void Allocation::setOpen(bool open) const {
    mprotect(pages + guard, mapped - 2 * guard, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void Allocation::mark() const {
    std::memset(data + bytes, pattern, margin);
}

bool Allocation::intact() const {
    for (size_t i = 0; i < margin; ++i)
        if (data[bytes + i] != std::byte{pattern})
            return false;
    return true;
}

const Allocation* find(uint64_t address, size_t bytes) {
    auto next = state().memory.upper_bound(address);
    if (next == state().memory.begin())
        return nullptr;
    const Allocation& found = std::prev(next)->second;
    const uint64_t offset = address - std::prev(next)->first;
    return offset + bytes <= found.bytes ? &found : nullptr;
}

} // namespace fakecuda

using namespace fakecuda;

extern "C" {

int cuMemGetInfo_v2(size_t* free, size_t* total) {
    FAKE_CALL("cuMemGetInfo_v2", Context);
    *total = static_cast<size_t>(setting("FAKECUDA_MEMORY_MIB", 4096)) << 20;
    *free = *total;
    for (const auto& [address, allocation] : state().memory)
        *free -= allocation.bytes;
    return Success;
}

int cuMemAlloc_v2(uint64_t* out, size_t bytes) {
    FAKE_CALL("cuMemAlloc_v2", Unsafe);
    return give(out, bytes, false);
}

int cuMemFree_v2(uint64_t address) {
    FAKE_CALL("cuMemFree_v2", Unsafe);
    return take(address);
}

int cuMemAllocHost_v2(void** out, size_t bytes) {
    FAKE_CALL("cuMemAllocHost_v2", Unsafe);
    uint64_t address = 0;
    const int code = give(&address, bytes, true);
    *out = reinterpret_cast<void*>(address);
    return code;
}

int cuMemFreeHost(void* address) {
    FAKE_CALL("cuMemFreeHost", Unsafe);
    return take(reinterpret_cast<uint64_t>(address));
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream* stream) {
    FAKE_CALL("cuMemcpyHtoDAsync_v2", Context);
    if (!onDevice(to, bytes))
        return InvalidValue;
    const Allocation* host = find(reinterpret_cast<uint64_t>(from), bytes);
    if (host != nullptr && !host->pinned)
        return InvalidValue;
    if (host != nullptr)
        return enqueue(stream, NodeKind::Copy, "copy in", [to, from, bytes] {
            std::memcpy(reinterpret_cast<void*>(to), from, bytes);
            return Success;
        });
    // Pageable memory is read before the call returns.
    const auto* begin = static_cast<const std::byte*>(from);
    return enqueue(stream, NodeKind::Copy, "copy in",
                   [to, data = std::vector<std::byte>(begin, begin + bytes)] {
                       std::memcpy(reinterpret_cast<void*>(to), data.data(), data.size());
                       return Success;
                   });
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream* stream) {
    FAKE_CALL("cuMemcpyDtoHAsync_v2", Context);
    if (!onDevice(from, bytes))
        return InvalidValue;
    const int code = enqueue(stream, NodeKind::Copy, "copy out", [to, from, bytes] {
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return Success;
    });
    // Into pageable memory the driver copies before it returns.
    const bool pinned = find(reinterpret_cast<uint64_t>(to), bytes) != nullptr;
    return code != Success || pinned || stream->capture ? code : drain(stream, stream->queued);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
    FAKE_CALL("cuMemcpyDtoDAsync_v2", Context);
    if (!onDevice(to, bytes) || !onDevice(from, bytes))
        return InvalidValue;
    return enqueue(stream, NodeKind::Copy, "copy", [to, from, bytes] {
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
        return Success;
    });
}

int cuMemsetD8Async(uint64_t at, unsigned char byte, size_t bytes, Stream* stream) {
    FAKE_CALL("cuMemsetD8Async", Context);
    if (!onDevice(at, bytes))
        return InvalidValue;
    return enqueue(stream, NodeKind::Fill, "fill", [at, byte, bytes] {
        ++state().fills;
        std::memset(reinterpret_cast<void*>(at), byte, bytes);
        return Success;
    });
}
}
