// SPDX-License-Identifier: Apache-2.0
// What a kernel asks of memory because of how its threads lie over an operand: counted for one
// block in the middle, from the same strides that the text is made of, and taken as many times as
// there are blocks. What the shim counts in a run of the text is what it is held to
// (tests/shim/traffic_test.cpp).
#pragma once

#include "gpu/emit/emit_access.h"

#include <functional>

namespace fuselage::gpu {

/// How the threads of a block reach one operand.
struct LaneRequests {
    /// Element that a thread's request begins with, from the operand's start.
    std::function<int64_t(int64_t thread, int64_t place)> at;
    int64_t places = 1; ///< requests of a thread
    int64_t width = 1;  ///< elements of a request, side by side
    DType dtype = DType::Float32;
    bool isWritten = false;
};

/// Of `threads` neighbours that share a first cache, taken `times` times.
MemoryAsked askedBy(int64_t threads, const LaneRequests& requests, double times);

/// Element of an operand at a linear index of a nest.
int64_t elementAt(const LoopNest& nest, size_t operand, int64_t linear);

/// The same of `count` indices from `first` on, which begin again at `end`.
std::vector<int64_t> elementsAt(const LoopNest& nest, size_t operand, int64_t first, int64_t count,
                                int64_t end);

/// Threads that each own `width` consecutive iterations of a nest, innermost loop last: those of
/// one block from the middle of the nest, for all of it. The first `writes` operands are written.
MemoryAsked askedAlong(const LoopNest& nest, const std::vector<KernelOperand>& operands,
                       size_t writes, int width, int64_t threads);

} // namespace fuselage::gpu
