// SPDX-License-Identifier: Apache-2.0
// Products of matrices in types that no library multiplies, as doubles or as integers that wrap: B
// in panels of columns that lie side by side, A a few rows at a time.
#pragma once

#include "core/cpu/plain_contraction.h"

namespace fuselage::cpu {

/// `program`: of kind MatMul. A constant B is packed once, here.
std::unique_ptr<PlainContraction> makeColumnProduct(const Contraction& program,
                                                    const OperandLayout& a, const OperandLayout& b,
                                                    const PrepareContext& context);

} // namespace fuselage::cpu
