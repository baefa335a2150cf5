// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/memory_counts.h"
#include "tests/shim/races.h"
#include "tests/shim/simt_internal.h"
#include "tests/shim/simt_machine.h"

#include <cstring>

namespace simt {

namespace {

/// True for the lane that comes last.
bool meet(unsigned mask, int line) {
    counts::noteMeeting();
    const size_t first = machine.current / 32 * 32;
    Warp& warp = machine.warps[machine.current / 32];
    const unsigned lane = static_cast<unsigned>(machine.current % 32);
    if ((mask >> lane & 1) == 0)
        stop("a lane calls a warp operation without being in its mask", line);
    if (warp.arrived != 0 && (warp.mask != mask || warp.line != line))
        stop("lanes of a warp meet in different operations or with different masks", line);
    warp.mask = mask;
    warp.line = line;
    warp.arrived |= 1u << lane;
    for (unsigned other = 0; other < 32; ++other)
        if ((mask >> other & 1) != 0 && (first + other >= machine.fibers.size() ||
                                         machine.fibers[first + other].state == State::Done))
            stop("a warp operation waits for a lane that left", line);
    if (warp.arrived != mask) {
        wait(State::InWarp);
        return false;
    }
    warp.arrived = 0;
    for (unsigned other = 0; other < 32; ++other)
        if ((mask >> other & 1) != 0)
            machine.fibers[first + other].state = State::Ready;
    return true;
}

} // namespace

void syncWarp(int line) {
    if (meet(0xffffffffU, line))
        races::syncWarp(machine.current / 32);
}

uint64_t shuffle(unsigned mask, uint64_t bits, unsigned source, int line) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    warp.values[buffer][machine.current % 32] = bits;
    if (source >= 32 || (mask >> source & 1) == 0)
        stop("a shuffle reads a lane outside of its mask", line);
    meet(mask, line);
    return warp.values[buffer][source];
}

unsigned ballot(unsigned mask, bool vote, int line) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    warp.values[buffer][machine.current % 32] = vote ? 1 : 0;
    meet(mask, line);
    unsigned out = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1) != 0 && warp.values[buffer][lane] != 0)
            out |= 1u << lane;
    return out;
}

const uint32_t* gather(const uint32_t* words, int count) {
    Fiber& self = machine.fibers[machine.current];
    const size_t buffer = self.warpCalls++ % 2;
    Warp& warp = machine.warps[machine.current / 32];
    std::memcpy(warp.words[buffer] + machine.current % 32 * static_cast<size_t>(count), words,
                static_cast<size_t>(count) * sizeof *words);
    meet(0xffffffffu, -count);
    return warp.words[buffer];
}

namespace {

void perform(const Copy& copy) {
    if (copy.inside)
        std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    else
        std::memset(copy.to, 0, static_cast<size_t>(copy.bytes));
}

} // namespace

void copyLater(void* to, const void* from, int bytes, bool inside) {
    Fiber& self = machine.fibers[machine.current];
    const Copy copy{to, from, bytes, inside, self.groups, machine.launch->earlyCopies};
    const void* const place = __builtin_return_address(0);
    races::beginCopy(to, static_cast<size_t>(bytes), place);
    counts::noteCopy(to, from, static_cast<size_t>(bytes), inside, place);
    if (copy.done)
        perform(copy);
    self.copies.push_back(copy);
}

void commitCopies() {
    ++machine.fibers[machine.current].groups;
}

void waitCopies(int pending) {
    Fiber& self = machine.fibers[machine.current];
    size_t done = 0;
    while (done < self.copies.size() &&
           self.copies[done].group + static_cast<size_t>(pending) < self.groups) {
        const Copy& copy = self.copies[done++];
        if (!copy.done)
            perform(copy);
        races::endCopy(copy.to, static_cast<size_t>(copy.bytes));
    }
    self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<ptrdiff_t>(done));
}

} // namespace simt
