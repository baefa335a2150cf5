// SPDX-License-Identifier: Apache-2.0
// Index arithmetic of a kernel: collapsed loops over strided operands as text with literal extents
// and strides (the compiler turns a division by a literal into a multiplication), and the choice
// of how many consecutive elements one access may move.
#pragma once

#include "core/kernel/loops.h"
#include "gpu/emit/emit.h"

#include <string>
#include <vector>

namespace fuselage::gpu {

/// An operand of a program as a kernel accesses it.
struct KernelOperand {
    std::string pointer; ///< name of the parameter, "in0"
    DType dtype = DType::Float32;
    StridedAccess access; ///< elements, over the iteration dims
    int64_t alignment = 16;
};

KernelOperand readOperand(const KernelRequest& request, const Access& access, size_t dims);
KernelOperand writtenOperand(const KernelRequest& request, const Access& access, size_t dims);

/// An iteration space (or some dims of one) with the operands that move through it.
class LoopNest {
public:
    /// `first`, `dims`: which iteration dims of the operands' accesses. With a leader, loops are
    /// ordered by its strides.
    LoopNest(const Extents& space, const std::vector<KernelOperand>& operands, size_t first,
             int leader = -1);

    /// Some loops of another nest.
    LoopNest(std::vector<Loop> loops, bool wide);

    int64_t count() const { return m_count; } ///< elements; 0 when an extent is

    const std::vector<Loop>& loops() const { return m_loops; }

    bool wide() const { return m_wide; } ///< an index or offset needs 64 bits

    const char* indexType() const { return m_wide ? "unsigned long long" : "unsigned"; }

    const char* offsetType() const { return m_wide ? "long long" : "int"; }

    /// Statements that declare PREFIX0, PREFIX1 ... from the linear index.
    std::string split(const std::string& linear, const std::string& prefix,
                      const std::string& indent) const;

    /// Offset of an operand from those, without its constant part. `linear`, where given, is the
    /// name of the linear index, which a dense operand uses as it is.
    std::string offset(size_t operand, const std::string& prefix,
                       const std::string& linear = {}) const;

    /// Whether any of the first `operands` needs split() when linear indices are given.
    bool needsSplit(size_t operands) const;

    bool dense(size_t operand) const; ///< consecutive over the whole nest

    /// Stride along the innermost loop; 0 when there is no loop.
    int64_t innerStride(size_t operand) const;
    int64_t innerExtent() const { return m_loops.empty() ? 1 : m_loops.back().extent; }

    bool moves(size_t operand) const; ///< some stride is not zero

    void moveInnermost(size_t loop); ///< makes this loop the last one

private:
    std::vector<Loop> m_loops;
    int64_t m_count = 1;
    bool m_wide = false;
};

/// How an operand's elements reach the lanes of a thread that owns `width` consecutive iterations.
enum class LaneAccess : uint8_t {
    Uniform, ///< one element for all lanes
    Vector,  ///< consecutive and aligned: one access
    Gather,  ///< an offset for each lane
};

LaneAccess laneAccess(const LoopNest& nest, const KernelOperand& operand, size_t number, int width);

} // namespace fuselage::gpu
