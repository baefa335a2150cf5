// SPDX-License-Identifier: Apache-2.0
// The state of the scheduler (simt.cpp), which operations of warps and asynchronous copies
// (simt_warp.cpp) share.
#pragma once

#include "tests/shim/simt.h"
#include "tests/shim/simt_launch.h"

#include <cstddef>
#include <cstdint>
#include <ucontext.h>
#include <vector>

namespace simt {

enum class State : uint8_t { Ready, AtBarrier, AtCluster, InWarp, ForSignal, Done };

/// A copy that was asked for; `group` when it was committed.
struct Copy {
    void* to;
    const void* from;
    int bytes;
    bool inside;
    size_t group;
    bool done; ///< early; its thread may still not rely on it
};

struct Fiber {
    ucontext_t context{};
    Index index;
    State state = State::Done;
    int line = 0;
    unsigned mask = 0;
    size_t warpCalls = 0;     ///< warp operations so far: parity picks the buffer
    std::vector<Copy> copies; ///< not done yet
    size_t groups = 0;        ///< closed so far
    bool waited = false;      ///< for the kernels before this one
};

struct Warp {
    uint64_t values[2][32] = {};
    alignas(8) uint32_t words[2][32 * 8] = {};
    unsigned arrived = 0;
    int line = 0;
    unsigned mask = 0;
};

/// How far the threads of a block are, and its shared memory while another block's is in place.
struct Rank {
    size_t atBarrier = 0, done = 0;
    std::vector<unsigned char> shared;
};

/// The block that runs now, or the cluster.
struct Machine {
    std::vector<Fiber> fibers;
    std::vector<Rank> ranks;
    size_t threads = 0;   ///< of a rank
    size_t inPlace = 0;   ///< rank whose shared memory lies in `sharedMemory`
    size_t atCluster = 0; ///< threads that wait for all others
    std::vector<Warp> warps;
    std::byte* stacks = nullptr;
    size_t stackCount = 0;
    ucontext_t scheduler{};
    size_t current = 0;
    const Launch* launch = nullptr;
    bool open = true;     ///< Launch::gate
    bool survive = false; ///< mistakes end the launch, not the program
    Outcome outcome;
};

extern Machine machine;

/// Back to the scheduler until another thread makes the running one ready.
void wait(State state);

} // namespace simt
