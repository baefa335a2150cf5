// SPDX-License-Identifier: Apache-2.0
// Pooling of float data: oneDNN's primitives where they are fast, vector loops of our own for every
// other window and order of memory. The largest of 8-bit integers: the same loops.
#pragma once

#include "core/cpu/kernel.h"

namespace fuselage::cpu {

class PoolEngine {
public:
    virtual ~PoolEngine() = default;
    /// Several workers may call it at the same time, each with its own scratch.
    virtual void run(const std::byte* source, std::byte* target, std::byte* scratch) = 0;

    size_t scratchBytes = 0;
    int64_t rowLength = 0; ///< of an operand that is walked row by row, else 0
    std::string implementation;
};

/// oneDNN's; nothing when it has no such pooling, or only one that is many times slower than
/// makeVectorPool(). An operand in parts or in another order than the result's may be copied.
std::unique_ptr<PoolEngine> makePoolEngine(PoolKind kind, const SlidingWindow& window,
                                           const Extents& inExtents, const Extents& inStrides,
                                           const Extents& outExtents, const Extents& outStrides,
                                           bool mayCopy = true);

/// Whether makeVectorPool() takes these strides: channels, or else the last dimension, are
/// neighbours in both.
bool canPoolVectors(const Extents& inStrides, const Extents& outStrides);

/// Of Lp pools the sums, without powers. Needs canPoolVectors(). Nothing for windows of absurd
/// size.
std::unique_ptr<PoolEngine> makeVectorPool(PoolKind kind, const SlidingWindow& window,
                                           const Extents& inExtents, const Extents& inStrides,
                                           const Extents& outExtents, const Extents& outStrides,
                                           const PrepareContext& context);

/// Whether makeBytePool() takes the window: of no absurd size, and nowhere without any element.
bool canPoolBytes(const SlidingWindow& window, const Extents& inExtents, const Extents& outExtents);

/// The largest of each window of Int8 or UInt8 data. Needs canPoolVectors() and canPoolBytes().
std::unique_ptr<PoolEngine> makeBytePool(DType type, const SlidingWindow& window,
                                         const Extents& inExtents, const Extents& inStrides,
                                         const Extents& outExtents, const Extents& outStrides,
                                         const PrepareContext& context);

/// oneDNN's where it is fast, else vector loops; nothing where neither takes it.
std::unique_ptr<PoolEngine> makePool(PoolKind kind, const SlidingWindow& window,
                                     const Extents& inExtents, const Extents& inStrides,
                                     const Extents& outExtents, const Extents& outStrides,
                                     const PrepareContext& context);

} // namespace fuselage::cpu
