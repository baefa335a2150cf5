// SPDX-License-Identifier: Apache-2.0
// Channels innermost in memory around convolutions and pools: the choice of layouts that the cpu
// and cuda backends share.
#pragma once

#include "core/kernel/layout_work.h"
#include "core/plan/plan.h"

#include <functional>

namespace fuselage {

/// Whether a Library program writes its outputs in the order in which its inputs lie.
using KeepsOrder = std::function<bool(const KernelProgram&)>;

struct LayoutChoice {
    KeepsOrder library; ///< may be empty: none does
    /// Also values that no convolution touches, where what matrix products and rows read and write
    /// is then contiguous along their innermost dimension; and rows in the order in which a
    /// Transpose hands them to products, so that all of them are rows of one product.
    bool products = false;
};

/// Puts channels innermost in the arena values around convolutions and pools, and in what
/// pointwise and copying programs (and `library`) make of them. Called before views and buffers
/// are decided.
void chooseChannelsLast(Plan& plan, const LayoutChoice& choice);

} // namespace fuselage
