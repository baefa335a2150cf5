// SPDX-License-Identifier: Apache-2.0
// A program that is a product whose weights are stored in a few bits (MatMulNBits): its size, as
// the prices and the kernels of products in tiles see it.
#pragma once

#include "core/kernel/program.h"

#include <optional>

namespace fuselage {

/// [rows, depth] times [depth, columns], elements as multiplied.
struct FewBitsProduct {
    int64_t rows = 0, columns = 0, depth = 0;
    DType element = DType::Float32; ///< of the rows, which the weights become too
};

/// Nothing where the program is none, or an extent is not known.
std::optional<FewBitsProduct> fewBitsProduct(const KernelProgram& program);

} // namespace fuselage
