// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp did one by one -> what the warp did at once. Lanes that stand at the
// same instruction make one request; where they stand at different ones, the lowest address in the
// code goes first, as compilers place the point where ways meet again behind both. That is exact
// for lanes that go the same way and for guards and loops whose blocks of code report themselves
// (memory_counts.h: noteBlock); without these a lane that skips an access in one round of a loop is
// paired with its next one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace simt::counts {

enum class Doing : uint8_t { Block, Meeting, Read, Write, Rows };

struct Event {
    uintptr_t place = 0, address = 0;
    uint16_t bytes = 0;
    Doing doing = Doing::Block;
};

/// One instruction of a warp; address and size of each lane that takes part.
struct Request {
    Doing doing = Doing::Read;
    const void* place = nullptr;
    uint32_t lanes = 0; ///< that take part
    std::array<uintptr_t, 32> address{};
    std::array<uint16_t, 32> bytes{};

    bool active(unsigned lane) const { return (lanes >> lane & 1) != 0; }
};

/// Calls `visit` for every access of the warp, in the order in which it makes them.
void forEachRequest(std::span<const std::span<const Event>> lanes,
                    const std::function<void(const Request&)>& visit);

/// Wavefronts of a request to shared memory, and those that it would have without conflicts.
struct Wavefronts {
    uint64_t taken = 0, ideal = 0;
};

Wavefronts wavefrontsOf(const Request& request);

/// Numbers of the 32-byte sectors that a request touches, ascending; and how many its distinct
/// bytes would fill.
struct Sectors {
    std::vector<uintptr_t> touched;
    uint64_t ideal = 0;
};

Sectors sectorsOf(const Request& request);

} // namespace simt::counts
