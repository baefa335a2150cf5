// SPDX-License-Identifier: Apache-2.0
// Products of matrices in types that no library multiplies, as doubles or as integers that wrap: B
// in panels of columns that lie side by side, A a few rows at a time.
#pragma once

#include "core/cpu/plain_contraction.h"

namespace fuselage::cpu {

/// Where the matrices of an operand lie, in elements: one for each place of `batches`.
struct MatrixPlaces {
    std::vector<int64_t> batches, lines, depth; ///< lines: rows of A, columns of B
};

struct MatrixOperand {
    DType dtype = DType::Float64;
    MatrixPlaces places;
    TensorPtr constant; ///< null: varies
};

/// Sums of type `sums`, matrix by matrix, rows after one another.
std::unique_ptr<PlainContraction> makeColumnProduct(MatrixOperand a, MatrixOperand b, DType sums,
                                                    const PrepareContext& context);

/// `program`: of kind MatMul. A constant B is packed once, here.
std::unique_ptr<PlainContraction> makeColumnProduct(const Contraction& program,
                                                    const OperandLayout& a, const OperandLayout& b,
                                                    const PrepareContext& context);

} // namespace fuselage::cpu
