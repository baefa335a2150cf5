// SPDX-License-Identifier: Apache-2.0
// The operands of a MatMulNBits as its kernels take them, and the same as a Contraction, whose
// tiles compute it where the rows are many: B is then a matrix that is stored in a few bits
// (BlockedColumns).
#pragma once

#include "gpu/kernels/contraction_view.h"
#include "gpu/kernels/library_view.h"

#include <memory>

namespace fuselage::gpu {

struct BlockedOperands {
    LibraryOperand a, weights, scales, zeros, bias, result;
    BlockedWeights geometry;
    int64_t rows = 1; ///< of A
};

/// Dense operands in 4 or 8 bits, scales of a float type; refused: what else the operator allows.
std::variant<BlockedOperands, Reason> blockedOperands(const KernelRequest& request);

/// From so many rows on a launch of its own may make weights elements: two tiles would do so
/// themselves.
constexpr int64_t expandedRows = 256;

/// How the weights lie, for the tiles.
BlockedStorage storageOf(const BlockedOperands& operands);

/// [rows, N] over [K] of those operands, with the bias behind the sums.
struct BlockedProduct {
    /// B is what the weights stand for: [N, K] of A's type, though its operand is packed.
    std::unique_ptr<KernelProgram> program;
    KernelRequest flat;  ///< of `program`: rows are one dim, what is packed lies as B does
    KernelRequest typed; ///< of `program`: operands as they are in memory, for parameters
};

BlockedProduct blockedProduct(const KernelRequest& request, const BlockedOperands& operands);

/// The same in two launches: `expand` makes B in scratch memory, from which `view` has it.
struct ExpandedProduct {
    BlockedProduct product;
    KernelPart expand;
    ContractionView view;
    int64_t scratchBytes = 0;
};

/// Refused for fewer rows than these, and for what the tiles have no 16-bit elements of.
std::variant<ExpandedProduct, Reason> expandedProduct(const KernelRequest& request,
                                                      int64_t leastRows);

} // namespace fuselage::gpu
