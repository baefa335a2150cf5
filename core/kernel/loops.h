// SPDX-License-Identifier: Apache-2.0
// An iteration space as loops over strided operands: dims of extent one dropped, neighbours merged
// where every operand allows, loops ordered by the strides of one of them. Knows strides only; the
// tile interpreter and the CUDA emitter start from here.
#pragma once

#include "core/kernel/program.h"

#include <cstdint>
#include <vector>

namespace fuselage {

/// One loop with the elements that each operand moves per step.
struct Loop {
    int64_t extent = 1;
    std::vector<int64_t> strides; ///< per operand
};

/// Each dim of the operand by the dim of the space with its number.
Access identityAccess(uint32_t operand, size_t dims);

/// Loops over `space` for these operands, without the extents of one, with neighbours merged where
/// every operand allows. The order of loops stays.
std::vector<Loop> mergedLoops(const Extents& space, const std::vector<StridedAccess>& operands);

/// Merges neighbours where every operand allows.
void mergeNeighbours(std::vector<Loop>& loops);

/// Sorts loops by the size of the strides of operand `leader`, largest first.
void sortByStrides(std::vector<Loop>& loops, size_t leader);

/// The operand in whose order the loops are best walked: the first one, which is written, unless
/// more of those with an element for each step lie along another loop than along its own.
size_t leaderOf(const std::vector<Loop>& loops);

} // namespace fuselage
