// SPDX-License-Identifier: Apache-2.0
// The text around an operand of the epilogue that lands in boxes (TmaLanded): where a kernel's
// warps make its barriers, ask for boxes, wait for them and read them. Empty where nothing lands.
#pragma once

#include "gpu/kernels/tma_kernel.h"

#include <string>

namespace fuselage::gpu {

class TmaLandedText {
public:
    explicit TmaLandedText(const TmaPlan& plan) : m_plan(plan) {}

    /// In the thread that makes the barriers, which begin behind those of `turn`; and its map.
    std::string barriers() const;
    std::string map() const { return m_plan.landed ? "        fetchMap(map2);\n" : ""; }
    /// A warp's places and their barriers; before its tiles.
    std::string places() const;
    /// Before the products: boxes for all places, which are free. TMA writes only after what the
    /// lanes read of the tile before.
    std::string first() const;
    /// Names the box of rows `i` and columns `j`: down the rows, then the next columns. What the
    /// lanes read of the one before stays in front of what TMA writes.
    std::string number() const;
    /// Behind a box that all lanes have read: another one for its place.
    std::string next() const;
    /// Until the box is there.
    std::string wait() const;
    /// Where the elements of `row` and `column` in the box begin.
    std::string ofLane() const;
    /// Behind a tile: how often each place was used.
    std::string turn() const;

private:
    std::string ask(const std::string& indent, const std::string& box) const;

    const TmaPlan& m_plan;
};

} // namespace fuselage::gpu
