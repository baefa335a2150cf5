// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/emit_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace fuselage::gpu {

namespace {

KernelOperand operandOf(const char* kind, const OperandLayout& layout, const Access& access,
                        size_t dims) {
    return {fmt::format("{}{}", kind, access.operand), layout.dtype,
            strided(access, layout.strides, dims), layout.alignment};
}

} // namespace

KernelOperand readOperand(const KernelRequest& request, const Access& access, size_t dims) {
    return operandOf("in", request.inputs[access.operand], access, dims);
}

KernelOperand writtenOperand(const KernelRequest& request, const Access& access, size_t dims) {
    return operandOf("out", request.outputs[access.operand], access, dims);
}

LoopNest::LoopNest(const Extents& space, const std::vector<KernelOperand>& operands, size_t first,
                   int leader) {
    std::vector<StridedAccess> accesses;
    for (const KernelOperand& operand : operands) {
        const Extents& strides = operand.access.strides;
        const auto begin = strides.begin() + static_cast<ptrdiff_t>(first);
        accesses.push_back(
            {operand.access.offset, Extents(begin, begin + static_cast<ptrdiff_t>(space.size()))});
    }
    m_loops = mergedLoops(space, accesses);
    if (leader >= 0) {
        sortByStrides(m_loops, static_cast<size_t>(leader));
        mergeNeighbours(m_loops);
    }
    for (int64_t extent : space)
        m_count *= extent;
    // A bound on every offset, so that 32 bits are used where they do.
    constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
    m_wide = m_count > limit;
    for (size_t k = 0; k < operands.size(); ++k) {
        __int128 reach = std::abs(operands[k].access.offset);
        for (const Loop& loop : m_loops)
            reach += static_cast<__int128>(std::abs(loop.strides[k])) * loop.extent;
        m_wide = m_wide || reach > limit;
    }
}

LoopNest::LoopNest(std::vector<Loop> loops, bool wide) : m_loops(std::move(loops)), m_wide(wide) {
    for (const Loop& loop : m_loops)
        m_count *= loop.extent;
}

bool LoopNest::dense(size_t operand) const {
    int64_t inner = 1;
    for (size_t i = m_loops.size(); i-- > 0;) {
        if (m_loops[i].strides[operand] != inner)
            return false;
        inner *= m_loops[i].extent;
    }
    return true;
}

std::string LoopNest::split(const std::string& linear, const std::string& prefix,
                            const std::string& indent) const {
    std::string out, rest = linear;
    for (size_t i = m_loops.size(); i-- > 0;) {
        if (i == 0) {
            if (rest != prefix + "0")
                out += fmt::format("{}const {} {}0 = {};\n", indent, indexType(), prefix, rest);
            break;
        }
        out += fmt::format("{}const {} {}{} = {} % {}u;\n", indent, indexType(), prefix, i, rest,
                           m_loops[i].extent);
        const std::string next =
            fmt::format("{}{}{}", prefix, i == 1 ? "" : "Over", i == 1 ? 0 : i);
        out += fmt::format("{}const {} {} = {} / {}u;\n", indent, indexType(), next, rest,
                           m_loops[i].extent);
        rest = next;
    }
    return out;
}

std::string LoopNest::offset(size_t operand, const std::string& prefix,
                             const std::string& linear) const {
    if (!moves(operand))
        return "0";
    if (!linear.empty() && dense(operand))
        return linear;
    std::string out;
    for (size_t i = 0; i < m_loops.size(); ++i) {
        const int64_t stride = m_loops[i].strides[operand];
        if (stride == 0)
            continue;
        out += out.empty() ? "" : " + ";
        out += fmt::format("static_cast<{}>({}{})", offsetType(), prefix, i);
        if (stride != 1)
            out += fmt::format(" * {}{}", stride, m_wide ? "ll" : "");
    }
    return out;
}

bool LoopNest::needsSplit(size_t operands) const {
    for (size_t k = 0; k < operands; ++k)
        if (moves(k) && !dense(k))
            return true;
    return false;
}

int64_t LoopNest::innerStride(size_t operand) const {
    return m_loops.empty() ? 0 : m_loops.back().strides[operand];
}

bool LoopNest::moves(size_t operand) const {
    return std::any_of(m_loops.begin(), m_loops.end(),
                       [&](const Loop& loop) { return loop.strides[operand] != 0; });
}

void LoopNest::moveInnermost(size_t loop) {
    const auto at = m_loops.begin() + static_cast<ptrdiff_t>(loop);
    std::rotate(at, at + 1, m_loops.end());
}

LaneAccess laneAccess(const LoopNest& nest, const KernelOperand& operand, size_t number,
                      int width) {
    const int64_t n = width;
    if (!nest.moves(number))
        return LaneAccess::Uniform;
    if (n == 1)
        return LaneAccess::Gather;
    const bool whole = nest.loops().size() == 1 || nest.innerExtent() % n == 0;
    if (whole && nest.loops().size() > 1 && nest.innerStride(number) == 0)
        return LaneAccess::Uniform;
    const bool dense = nest.dense(number);
    if (!dense && !(whole && nest.innerStride(number) == 1))
        return LaneAccess::Gather;
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t access = std::min<int64_t>(16, n * size);
    bool aligned = operand.alignment % access == 0 && operand.access.offset * size % access == 0;
    if (!dense)
        for (size_t i = 0; i + 1 < nest.loops().size(); ++i)
            aligned = aligned && nest.loops()[i].strides[number] * size % access == 0;
    return aligned ? LaneAccess::Vector : LaneAccess::Gather;
}

} // namespace fuselage::gpu
