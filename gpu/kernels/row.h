// SPDX-License-Identifier: Apache-2.0
// Row kernels: one generator, and a table of teams of threads that share a row.
#pragma once

#include "gpu/emit/emit_kernel.h"

namespace fuselage::gpu {

/// Which threads of a block work on one row.
enum class RowTeam : uint8_t {
    Thread, ///< one thread a row
    Warp,   ///< `lanes` neighbours of a warp a row
    Block,  ///< the block has one row
    Lanes,  ///< threads of the same lane in all warps: 32 neighbouring rows a block
};

struct RowGeometry {
    RowTeam team = RowTeam::Thread;
    uint32_t threads = defaultThreads;
    int width = 1;      ///< consecutive elements a thread takes at once
    bool cache = false; ///< what several passes read stays in registers
    int outerLoop = -1; ///< loop over rows that becomes the innermost one
    int lanes = 32;     ///< of a row of RowTeam::Warp: a power of two
};

EmitResult emitRowWarp(const KernelRequest& request);
EmitResult emitRowBlock(const KernelRequest& request);
EmitResult emitRowTwoPass(const KernelRequest& request);
EmitResult emitRowOuter(const KernelRequest& request);
EmitResult emitRowPlain(const KernelRequest& request);

/// The part of row_warp, or of row_two_pass for longer rows; for groups, whose blocks have
/// `defaultThreads` threads.
PartResult rowPartForGroup(const KernelRequest& request);

} // namespace fuselage::gpu
