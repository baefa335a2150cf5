// SPDX-License-Identifier: Apache-2.0
// Constants in the form that a kernel or a library call wants them: weights reordered, scaled and
// with zeros around them, values of an epilogue as a vector. First a recipe, made while planning;
// the bytes only when they are uploaded.
#pragma once

#include "core/graph/tensor.h"
#include "core/support/result.h"
#include "gpu/emit/kernel_text.h"

#include <span>
#include <vector>

namespace fuselage::gpu {

/// Element i (over `extents`) of the result lies at dot(i, strides) and is
/// source[offset + dot(i, sourceStrides)] * factors[dot(i, factorStrides)].
struct PackedConstant {
    DType dtype = DType::Float32;
    Extents extents, strides;
    uint32_t input = 0; ///< the program's input it comes from; not used when `values` are given
    int64_t offset = 0;
    Extents sourceStrides;
    std::vector<double> factors; ///< empty: one
    Extents factorStrides;
    std::vector<double> values; ///< the whole result, in order of memory
    bool sums = false;          ///< in int32, of the integers along dims whose stride is 0
    int64_t size = 0; ///< elements of the result where it is more than `extents`: the rest is zero

    int64_t elements() const;
};

/// The recipe of what a generated kernel asked for, from a constant of this type and these extents.
PackedConstant recipeOf(const PackedOperand& packed, DType dtype, const Extents& extents);

/// The bytes of the result; `constants` are parallel to the program's inputs. Error
/// "constant.range" when a scaled element does not fit in the type.
Result<std::vector<std::byte>> pack(const PackedConstant& recipe,
                                    std::span<const TensorPtr> constants);

} // namespace fuselage::gpu
