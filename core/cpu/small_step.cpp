// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/small_step.h"

#include "core/cpu/kernel.h"
#include "core/kernel/product_element.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

// What one thread of a common processor does in a second, in small programs.
constexpr double matrixOperations = 8e10, instructions = 4e9, bytes = 3e10;
// Sharing saves at most half of this with two threads, and costs a few microseconds when nothing
// else runs.
constexpr double leastSeconds = 30e-6;

double bytesOf(const std::vector<OperandType>& operands) {
    double out = 0;
    for (const OperandType& operand : operands)
        out += static_cast<double>(elementCount(operand.extents).value_or(0)) *
               static_cast<double>(sizeOf(operand.dtype));
    return out;
}

} // namespace

double secondsAlone(const KernelProgram& program) {
    const Work work = workOf(program);
    const double products = static_cast<double>(work.matrixFlops);
    const bool vectors = work.matrix || sizeOf(productElement(program)) == 1;
    const double computing = (vectors ? products / matrixOperations : products / 2 / instructions) +
                             static_cast<double>(work.issue) / instructions;
    return std::max(computing, (bytesOf(program.inputs) + bytesOf(program.outputs)) / bytes);
}

bool isTooSmallToShare(const KernelProgram& program) {
    return secondsAlone(program) < leastSeconds;
}

} // namespace fuselage::cpu
