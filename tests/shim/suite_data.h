// SPDX-License-Identifier: Apache-2.0
// Operands for a case of the suite from a seed, and what its program makes of them.
#pragma once

#include "core/kernel/program.h"
#include "core/ops/reference_value.h"

#include <cstdint>
#include <vector>

namespace fuselage::gpu_suite {

class Random {
public:
    uint32_t next() { return (m_state = m_state * 1664525U + 1013904223U) >> 8; }

private:
    uint32_t m_state = 2463534242U;
};

/// Numbers between -2 and 2, integers between -10 and 10; `special`: also NaN, infinities, zeros.
ReferenceValue dataFor(const OperandType& type, bool special, Random& random);

/// Outputs of the program, or of the members of a group one after the other; none and a message on
/// stderr where it cannot be evaluated.
std::vector<ReferenceValue> wantedFor(const KernelProgram& program,
                                      const std::vector<ReferenceValue>& inputs);

} // namespace fuselage::gpu_suite
