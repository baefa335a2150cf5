// SPDX-License-Identifier: Apache-2.0
// A contraction as one cuBLASLt call: plain data that tests read and run without the library. Its
// matrices are column-major, so a row-major C = A B is asked for as C^T = B^T A^T; the bias is then
// one value a row of C^T, an output feature.
#pragma once

#include "gpu/libs/graph_description.h"

namespace fuselage::gpu {

struct LtMatrix {
    DType dtype = DType::Float32;
    int64_t rows = 0, cols = 0; ///< as stored, before it is transposed
    int64_t leading = 0;        ///< elements from one column to the next
    int64_t batchStride = 0;
    TensorMemory memory;
    int64_t alignment = 16; ///< bytes
};

enum class LtActivation : uint8_t { None, Relu, GeluTanh };

/// d = activation(alpha * op(a) * op(b) + c + bias)
struct LtCall {
    LtMatrix a, b, d;
    bool transposeA = false, transposeB = false;
    std::optional<LtMatrix> c; ///< added as it is
    int64_t batch = 1;
    double alpha = 1;
    LtActivation activation = LtActivation::None;
    std::optional<TensorMemory> bias; ///< one value a row of d, in d's type
    int64_t biasBatchStride = 0;
    bool tf32 = false;
    bool integers = false; ///< bytes, summed in 32 bits; alpha is one
    NumericClass numeric = NumericClass::Reassociated;
    std::vector<PackedConstant> packed;
};

/// "d 6x8 = gelu_tanh(a^T 8x6 * b 8x8 + bias)", for tests and reports.
std::string text(const LtCall& call);

/// MatMul contractions with one result, and convolutions of single positions. Reasons as those of
/// describe(), and "epilogue" for what the library has no epilogue for.
std::variant<LtCall, Reason> describeLt(const KernelRequest& request);

} // namespace fuselage::gpu
