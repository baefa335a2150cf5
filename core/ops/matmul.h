// SPDX-License-Identifier: Apache-2.0
// Matrix products of floats and integers: MatMul, Gemm, their fused forms, and Det.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> matmulRows();

/// Numpy's matmul of two values of the same class; integers are not wrapped.
Result<ReferenceValue> matrixProduct(const Node& node, const ReferenceValue& a,
                                     const ReferenceValue& b, DType dtype, ThreadPool& threads);

} // namespace fuselage
