// SPDX-License-Identifier: Apache-2.0
// What a kernel of ours for this program is predicted to need of a GPU's multiprocessor, before one
// is written: from the values that its tapes keep alive, and from what the kernels of each kind
// hold besides (accumulators of a tile, elements of a row, addresses). How far that is from what
// NVRTC counts: tests/bench/REGISTERS.md. Knows no text of a kernel.
#pragma once

#include "core/cost/cost.h"

namespace fuselage {

struct KernelResources {
    int registers = 0;        ///< of a thread, 32 bits each; more than 255 do not fit
    int spilledBytes = 0;     ///< of a thread, for those that do not
    int64_t sharedBytes = 0;  ///< of a block
    int64_t instructions = 0; ///< machine code of its longest straight run
    int elements = 1;         ///< results that a thread computes side by side
    int loadedBytes = 0;      ///< that it asks memory for before it waits; 0: not known
};

/// Most that a thread can have.
constexpr int mostRegisters = 255;

/// Values of 32 bits that are alive at once while the tape runs, at the place with most of them.
/// With `inputsFirst` all that it reads is there before it begins.
int liveRegisters(const Tape& tape, bool inputsFirst);

KernelResources predictResources(const KernelProgram& program, const DeviceProfile& profile);

/// Code of which so much does not fit a multiprocessor's instruction cache: every warp waits for
/// what another has just pushed out.
bool exceedsCodeCache(const KernelResources& resources);

/// How much longer issue takes for that; 1: it fits.
double fetchLoss(const KernelResources& resources);

/// Share of the multiprocessor's threads that this many registers leave room for, at most 1.
double occupancyOf(const KernelResources& resources, const DeviceProfile& profile);

} // namespace fuselage
