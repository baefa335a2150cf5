// SPDX-License-Identifier: Apache-2.0
// Values of the reference backend. Storage is wide: every float type is held in double, every
// integer and bool in int64, so that a reference function is written once for each class. The
// declared dtype is kept; float edges are NOT rounded to it (the reference is the exact answer),
// except where an explicit Cast asks; integers always wrap to their dtype.
#pragma once

#include "core/graph/tensor.h"

#include <string>
#include <vector>

namespace fuselage {

struct ReferenceValue {
    TypeKind kind = TypeKind::Tensor;
    DType dtype = DType::Undefined;
    Extents extents;
    std::vector<double> floats; ///< when isFloat(dtype)
    std::vector<int64_t> ints;  ///< integers and Bool
    std::vector<std::string> strings;
    std::vector<ReferenceValue> elements; ///< of a sequence; of an optional zero or one

    /// Zeroed tensor.
    static ReferenceValue tensor(DType dtype, Extents extents);
    static ReferenceValue from(const Tensor& tensor);
    static ReferenceValue ofInts(std::vector<int64_t> values); ///< int64, one dimension

    /// Rounds to the declared dtype.
    Tensor toTensor() const;

    int64_t count() const;

    /// Element as a number whatever the class, 0 for strings; for scalar parameters.
    double at(int64_t index) const;
    int64_t intAt(int64_t index) const;
};

} // namespace fuselage
