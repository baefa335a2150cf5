// SPDX-License-Identifier: Apache-2.0
// Products of matrices of 8-bit integers, exact to the last bit: oneDNN's uint8 x int8 (and int8 x
// int8 where the processor has them) with plain sums in int32, which has nothing of float32 on the
// way. Whatever does not fit these types (zero
// points, wide differences, processors that saturate pairs of products at 16 bits) is made to fit
// by writing the weights as a sum of parts.
#pragma once

#include "core/cpu/kernel.h"

#include <memory>
#include <variant>

namespace fuselage::cpu {

/// Weights [k, n], row-major, as int32 between -255 and 255.
struct IntegerMatrix {
    int64_t k = 0, n = 0;
    std::vector<int32_t> values;
};

class IntegerProduct {
public:
    /// a: m rows of k, `aStride` apart. c: m rows of n, `cStride` apart.
    struct Shape {
        int64_t m = 1, k = 1, n = 1, aStride = 1, cStride = 1;
        bool aSigned = false; ///< elements of a are int8: needs multipliesSigned()
    };

    virtual ~IntegerProduct() = default;
    /// c = a * matrix; by several workers at once, each with scratch of its own.
    virtual void run(const uint8_t* a, size_t matrix, int32_t* c, std::byte* scratch) const = 0;

    size_t scratchBytes = 0;
    std::string implementation;
};

/// Whether products of int8 x int8 are exact on this processor.
bool multipliesSigned();

using IntegerProductResult = std::variant<std::unique_ptr<IntegerProduct>, Reason>;

/// Packs the matrices, which are all [k, n], into `pages`.
IntegerProductResult makeIntegerProduct(const IntegerProduct::Shape& shape,
                                        const std::vector<IntegerMatrix>& matrices,
                                        const VectorTable& table, Pages& pages);

} // namespace fuselage::cpu
