// SPDX-License-Identifier: Apache-2.0
// Bytes that a program touches in each of its operands, and how often a kernel reads them again.
#pragma once

#include "core/cost/cost.h"

#include <vector>

namespace fuselage {

struct OperandBytes {
    std::vector<int64_t> read;    ///< per program input
    std::vector<int64_t> written; ///< per program output
};

/// Distinct elements that the accesses touch times the element size, exact.
OperandBytes operandBytes(const KernelProgram& program);

/// Elements that a processor writes and reads again because a prologue makes an operand before the
/// product or the pool begins. Not those of weights, which are made once; nor of integers, whose
/// prologue is a zero point that kernels subtract as they go.
int64_t stagedElements(const KernelProgram& program);

/// How many times a tiled kernel passes over each input: 1 when a pass is enough.
std::vector<double> readPasses(const KernelProgram& program, const DeviceProfile& profile);

/// Results along m and n for which an operand is read from L2 once: a tile, or the tiles of a few
/// neighbouring units that share their reads.
constexpr int64_t contractionTile = 256;

/// Rows of a chain of products that a block ends together.
constexpr double chainTile = 128;

/// Blocks that each make all rows in front of the one product behind them: those that a GPU runs at
/// once, or one for each column.
double blocksWithRows(const Chain& code, const DeviceProfile& profile);

} // namespace fuselage
