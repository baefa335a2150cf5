// SPDX-License-Identifier: Apache-2.0
// Convolutions in types that no library has, as products of matrices: filters by pixels, of a copy
// of x that has its border.
#pragma once

#include "core/cpu/plain_contraction.h"

namespace fuselage::cpu {

/// Null for transposed ones, and where the windows of one product would fill too much memory.
std::unique_ptr<PlainContraction> makePaddedConvolution(const Contraction& program,
                                                        const OperandLayout& a,
                                                        const OperandLayout& b,
                                                        const PrepareContext& context);

} // namespace fuselage::cpu
