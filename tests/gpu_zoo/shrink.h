// SPDX-License-Identifier: Apache-2.0
// A kernel program of a model made small enough to run as host code: equal extents stay equal, odd
// ones odd, multiples of a vector's width multiples, and operands lie in memory in the same order.
// Accesses that split or join dimensions are scaled with them. Knows programs, not kernels.
#pragma once

#include "gpu/emit/emit.h"

#include <memory>
#include <optional>

namespace fuselage::gpu_zoo {

struct ShrunkProgram {
    std::unique_ptr<KernelProgram> program; ///< stays at its address
    gpu::KernelRequest request;
};

/// Extents above `most` become at most `most`. None for Library programs and for accesses that
/// cannot be scaled.
std::optional<ShrunkProgram> shrink(const gpu::KernelRequest& request, int64_t most);

/// What an extent becomes: as many trailing zero bits (up to four), odd if it was odd, not below 2.
int64_t shrunkExtent(int64_t extent, int64_t most);

} // namespace fuselage::gpu_zoo
