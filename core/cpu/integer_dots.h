// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers by loops of our own (ByteDots), for shapes too small for a call of
// oneDNN to pay.
#pragma once

#include "core/cpu/integer_product.h"

namespace fuselage::cpu {

/// Whether all weights are int8.
bool areBytes(const std::vector<IntegerMatrix>& matrices);

/// Whether a product of so many rows by each of the matrices is possible here, and takes less time
/// than a call of oneDNN.
bool worthDots(int64_t rows, const std::vector<IntegerMatrix>& matrices, const VectorTable& table,
               int threads);

/// A product whose rows of A are uint8 and whose weights are bytes; k is a multiple of 4. The table
/// has ByteDots.
std::unique_ptr<IntegerProduct> makeDotsProduct(const IntegerProduct::Shape& shape,
                                                const std::vector<IntegerMatrix>& matrices,
                                                const VectorTable& table, Pages& pages);

} // namespace fuselage::cpu
