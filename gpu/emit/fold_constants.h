// SPDX-License-Identifier: Apache-2.0
// A program without the work that constants alone decide (core/kernel/constant_part.h): the results
// are tables that a kernel reads in their place, BatchNormalization's two numbers a channel. Made
// before the variants see a request, so none of them knows of it.
#pragma once

#include "gpu/emit/emit.h"

#include <memory>
#include <optional>

namespace fuselage::gpu {

struct FoldedRequest {
    KernelProgram program;
    KernelRequest request; ///< of that program; operands that nobody reads any more are gone
    /// Parallel to the request's inputs: the operand of the given program; none: the next table.
    std::vector<std::optional<uint32_t>> given;
    std::vector<std::string> tables; ///< bytes

    /// An operand of the given program is still read.
    bool reads(uint32_t operand) const;
};

/// Null when there is nothing to fold, or the request is strict or allows no wider numbers.
std::unique_ptr<FoldedRequest> foldConstants(const KernelRequest& request);

/// The kernels of the folded request as kernels of the given one.
void renumber(KernelSet& set, const FoldedRequest& folded);

} // namespace fuselage::gpu
