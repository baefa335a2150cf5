// SPDX-License-Identifier: Apache-2.0
// Sizes of a tensor-core kernel: which results a block and a warp own, how deep its pipeline is.
#pragma once

#include <cstdint>
#include <span>

namespace fuselage::gpu {

struct TensorTile {
    const char* name;   ///< "128x64"
    int m, n;           ///< results of a block
    int kBytes;         ///< of one stage's rows, 64 or 128
    int warpsM, warpsN; ///< warps of a block
    int stages;         ///< copies in flight, plus the tile that is used
    uint32_t residentBlocks;
    bool splits = false; ///< there is a variant besides that cuts k into parts
    bool matrix =
        true; ///< tensor cores; else float32 arithmetic, 8 x 4 lanes over a warp's results
    /// Four warps multiply 64 rows from shared memory while they go on: sm_90. Stages: two are
    /// read.
    bool warpgroup = false;
    /// 8-bit integers, whose sums are int32. A warpgroup's tile takes them as it takes 16 bits.
    bool integer = false;

    int threads() const { return 32 * warpsM * warpsN; }
    int warpM() const { return m / warpsM; } ///< multiple of 16
    int warpN() const { return n / warpsN; } ///< multiple of 16
    /// Tiles whose copies are on their way while one is multiplied.
    int ahead() const { return stages - (warpgroup ? 2 : 1); }
    int stageBytes() const { return (m + n) * kBytes; }
    /// Floats between rows of the slab of 16 rows in which a warp turns its sums.
    int slabStride() const { return warpN() + 8; }
    int slabBytes() const { return 16 * slabStride() * 4; }
};

} // namespace fuselage::gpu
