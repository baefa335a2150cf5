// SPDX-License-Identifier: Apache-2.0
// The static type of a value: kind, element type, shape.
#pragma once

#include "core/graph/dim.h"
#include "core/graph/dtype.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

/// Dimensions, outermost first.
using Shape = std::vector<Dim>;

/// Concrete dimensions, outermost first.
using Extents = std::vector<int64_t>;

/// Foreign: what ONNX has besides (maps, sparse tensors, sequences of sequences), kept as declared.
enum class TypeKind : uint8_t { Tensor, Sequence, Optional, Foreign };

struct ForeignType {
    std::string text;  ///< "map(int64,float)"
    std::string proto; ///< as the file has it
};

/// `dtype` and `shape` describe the tensor, or the elements of a sequence or optional.
struct Type {
    TypeKind kind = TypeKind::Tensor;
    DType dtype = DType::Undefined;
    std::optional<Shape> shape; ///< none: even the rank is unknown
    bool ofSequence = false;    ///< of an Optional: it holds a sequence of these tensors
    /// Of that kind only, which has no dtype or shape.
    std::shared_ptr<const ForeignType> foreign = nullptr;

    bool hasRank() const { return shape.has_value(); }

    size_t rank() const { return shape->size(); }

    /// The dimensions as numbers, when all are.
    std::optional<Extents> extents() const;

    /// Product of the dimensions; none when a dimension is not a number or it overflows.
    std::optional<int64_t> elementCount() const;

    /// elementCount times the size of an element; none also for strings.
    std::optional<int64_t> byteCount() const;

    /// "float[N,3,224,224]", "int64[?]" for one unknown dimension, "float[...]" without rank.
    std::string text() const;
};

inline Type tensorType(DType dtype, Shape shape) {
    return {TypeKind::Tensor, dtype, std::move(shape)};
}

/// True when dtype, rank and every dimension are known and equal.
bool certainlyEqual(const Type& a, const Type& b);

/// The type with what it leaves unknown taken from another one of the same value: a declared one.
Type completed(Type known, const Type& other);

/// "[1,3,224,224]"
std::string text(const Shape& shape);
std::string text(const Extents& extents);

/// Product of extents, or none on overflow, a negative extent, or a zero beside 2^31 others.
std::optional<int64_t> elementCount(const Extents& extents);

/// Row-major strides in elements.
Extents rowMajorStrides(const Extents& extents);

/// Extents as a Shape of numbers.
Shape toShape(const Extents& extents);

} // namespace fuselage
