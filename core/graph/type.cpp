// SPDX-License-Identifier: Apache-2.0
#include "core/graph/type.h"

#include "core/support/checked.h"

namespace fuselage {

std::optional<Extents> Type::extents() const {
    if (!shape)
        return std::nullopt;
    Extents out;
    for (const Dim& dim : *shape) {
        if (!dim.isNumber())
            return std::nullopt;
        out.push_back(dim.value());
    }
    return out;
}

std::optional<int64_t> Type::elementCount() const {
    auto known = extents();
    return known ? fuselage::elementCount(*known) : std::nullopt;
}

std::optional<int64_t> Type::byteCount() const {
    auto count = elementCount();
    if (!count || sizeOf(dtype) == 0)
        return std::nullopt;
    return checkedMultiply(*count, static_cast<int64_t>(sizeOf(dtype)));
}

std::string Type::text() const {
    std::string tensor = std::string(nameOf(dtype)) + (shape ? fuselage::text(*shape) : "[...]");
    switch (kind) {
    case TypeKind::Tensor:
        return tensor;
    case TypeKind::Sequence:
        return "seq(" + tensor + ")";
    case TypeKind::Optional:
        return "optional(" + (ofSequence ? "seq(" + tensor + ")" : tensor) + ")";
    case TypeKind::Foreign:
        return foreign->text;
    }
    return tensor;
}

bool certainlyEqual(const Type& a, const Type& b) {
    return a.kind == b.kind && a.ofSequence == b.ofSequence && a.dtype == b.dtype && a.shape &&
           b.shape && *a.shape == *b.shape;
}

Type completed(Type known, const Type& other) {
    if (known.dtype == DType::Undefined) {
        known.dtype = other.dtype;
        if (!known.shape) {
            known.kind = other.kind;
            known.foreign = other.foreign;
        }
    }
    if (other.kind != known.kind || !other.shape)
        return known;
    if (!known.shape) {
        known.shape = other.shape;
    } else if (known.shape->size() == other.shape->size()) {
        for (size_t i = 0; i < other.shape->size(); ++i)
            if ((*known.shape)[i].isUnknown())
                (*known.shape)[i] = (*other.shape)[i];
    }
    return known;
}

std::string text(const Shape& shape) {
    std::string out = "[";
    for (size_t i = 0; i < shape.size(); ++i)
        out += (i ? "," : "") + shape[i].text();
    return out + "]";
}

std::string text(const Extents& extents) {
    return text(toShape(extents));
}

/// Empty tensors of hostile files may have extents that loops over one axis would never end on.
constexpr int64_t mostBesideZero = int64_t(1) << 31;

std::optional<int64_t> elementCount(const Extents& extents) {
    int64_t count = 1;
    bool zero = false;
    for (int64_t extent : extents) {
        // A zero extent must not hide an overflow of the others.
        zero = zero || extent == 0;
        auto next = checkedMultiply(count, extent == 0 ? 1 : extent);
        if (!next)
            return std::nullopt;
        count = *next;
    }
    return !zero                     ? std::optional(count)
           : count <= mostBesideZero ? std::optional<int64_t>(0)
                                     : std::nullopt;
}

Extents rowMajorStrides(const Extents& extents) {
    Extents strides(extents.size(), 1);
    for (size_t i = extents.size(); i-- > 1;)
        strides[i - 1] = strides[i] * extents[i];
    return strides;
}

Shape toShape(const Extents& extents) {
    return {extents.begin(), extents.end()};
}

} // namespace fuselage
