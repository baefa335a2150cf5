// SPDX-License-Identifier: Apache-2.0
// What the kernels of chains share: a warp owns some rows, whose elements lie in its registers as
// fragments, and so do the sums of all results of these rows (mma.cuh). Slices of both weights,
// some hidden columns each, pass through shared memory; where all of them fit they stay there, and
// blocks take tile after tile without a barrier: the next rows are copied while these are
// multiplied. What a slice is and how it is multiplied is the kernel's. Names in the text:
// `a[pieces][terms / 16][4]` are the rows, `sum[pieces][results / 8][4]` the sums so far, `first`
// is the warp's first row, `s` the slice and `stage` where it lies; `own` is the lane, g and t its
// place of mma.cuh, `type` a null pointer to the elements' type.
#pragma once

#include "gpu/kernels/chain.h"

#include <functional>
#include <string>

namespace fuselage::gpu {

/// Slices of the weights on their way through shared memory.
struct ChainRing {
    int64_t columns = 0, bytes = 0; ///< hidden columns and bytes of a slice
    int64_t stages = 0;             ///< slices at a time
    /// Statements that copy a slice to the stage of that number.
    std::function<std::string(const std::string& slice, const std::string& stage)> fetch;
    std::string slice;      ///< statements that multiply the slice at `stage`
    bool forGroups = false; ///< products of warpgroups read it
    int64_t alignment = 16; ///< of stages
};

class ChainRows {
public:
    static constexpr int64_t mostHeld = 144; ///< of 255 registers, for rows and sums

    ChainRows(const ChainSpec& spec, int64_t pieces, int64_t warps)
        : m_spec(spec), m_pieces(pieces), m_warps(warps) {}

    int64_t pieces() const { return m_pieces; } ///< of 16 rows, of a warp
    int64_t warps() const { return m_warps; }
    int64_t tileRows() const { return m_warps * warpRows(); } ///< of a block
    int64_t tiles() const;
    int64_t rowBytes() const; ///< of shared memory, for the rows of a block
    /// Registers of a thread that hold fragments of rows and sums.
    int64_t held() const { return m_pieces * (m_spec.terms() / 4 + m_spec.results() / 2); }
    /// How many slices of so many columns and bytes are in shared memory: all, or `most`; 0: not
    /// two of them fit.
    int64_t stagesOf(int64_t columns, int64_t bytes, int64_t most) const;
    bool fewerTilesThanUnits() const;
    /// Why rows and sums do not stay in registers, or slices not in shared memory.
    std::optional<Reason> refused(const ChainRing& ring) const;

    KernelPart part(const ChainRing& ring) const;

private:
    int64_t warpRows() const { return 16 * m_pieces; }
    int64_t pitch() const { return 2 * m_spec.terms() + 16; } ///< bytes; no bank is met twice
    std::string functions() const;
    std::string begin(const ChainRing& ring) const;
    std::string arrival(const ChainRing& ring, int64_t behind) const;
    std::string fragments() const;
    std::string openSums() const;
    std::string tile(const ChainRing& ring, int64_t blocks) const;
    std::string results() const;

    const ChainSpec& m_spec;
    int64_t m_pieces, m_warps;
};

/// What no kernel of this kind takes.
std::optional<Reason> refuseChain(const ChainSpec& spec);

} // namespace fuselage::gpu
