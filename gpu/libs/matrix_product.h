// SPDX-License-Identifier: Apache-2.0
// A contraction as batched matrices with strides, weights packed where they are known: the common
// start of the cuDNN graph and of the cuBLASLt call.
#pragma once

#include "core/kernel/matmul_shape.h"
#include "gpu/emit/packed_constant.h"
#include "gpu/libs/contraction_match.h"

namespace fuselage::gpu {

struct MatrixProduct {
    /// Positions of the operands in the strides of the loops; after the writes come the reads.
    static constexpr size_t a = 0, b = 1, channel = 2, firstWrite = 3;

    MatMulLoops loops;
    std::vector<int64_t> offsets; ///< parallel to the operands
    size_t firstRead = 0;
    std::optional<PackedConstant> packedB; ///< the reduced dimension innermost
    bool scaleFolded = false;              ///< packedB holds the epilogue's scale
};

/// `channel` is a dense vector along the program's n dimensions. Reason "layout" when there are no
/// matrices.
std::variant<MatrixProduct, Reason> matrixProduct(const KernelRequest& request,
                                                  const MatchedContraction& matched);

/// The tensor of an input that never changes, else null.
TensorPtr constantOf(const KernelRequest& request, uint32_t operand);

} // namespace fuselage::gpu
