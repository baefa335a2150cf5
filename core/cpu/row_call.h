// SPDX-License-Identifier: Apache-2.0
// What products of rows with weights are called with: any number of rows of A, and the
// rows of Y that they become.
#pragma once

#include "core/graph/dtype.h"

#include <cstddef>
#include <cstdint>

namespace fuselage::cpu {

/// What the elements of A and Y may be.
constexpr bool isRowType(DType type) {
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
}

/// Rows are contiguous, with bytes from one to the next.
struct RowCall {
    int64_t rows = 0;
    const std::byte* a = nullptr;
    DType aType = DType::Float32;
    size_t aStep = 0;
    std::byte* y = nullptr;
    DType yType = DType::Float32;
    size_t yStep = 0;
    const float* bias = nullptr; ///< for each column, with what fills the last panel; null: none
};

} // namespace fuselage::cpu
