// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/packed_constant.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace fuselage::gpu {

namespace {

/// Calls row(to, from, factor) with the element offsets of every row along the last dimension.
template <typename Row> void eachRow(const PackedConstant& recipe, Row row) {
    const size_t outer = recipe.extents.size() - 1;
    Extents index(outer, 0);
    auto dot = [&](const Extents& strides) {
        int64_t out = 0;
        for (size_t d = 0; d < outer && d < strides.size(); ++d)
            out += index[d] * strides[d];
        return out;
    };
    const int64_t count =
        elementCount(recipe.extents).value_or(0) / std::max<int64_t>(recipe.extents[outer], 1);
    for (int64_t i = 0; i < count; ++i) {
        row(dot(recipe.strides), recipe.offset + dot(recipe.sourceStrides),
            dot(recipe.factorStrides));
        for (size_t d = outer; d-- > 0;) {
            if (++index[d] < recipe.extents[d])
                break;
            index[d] = 0;
        }
    }
}

/// Moves elements of one size.
template <typename Element>
void moveElements(const PackedConstant& recipe, const std::byte* source, std::byte* out) {
    const size_t last = recipe.extents.size() - 1;
    const auto* from = reinterpret_cast<const Element*>(source);
    auto* to = reinterpret_cast<Element*>(out);
    eachRow(recipe, [&](int64_t toAt, int64_t fromAt, int64_t) {
        for (int64_t i = 0; i < recipe.extents[last]; ++i)
            to[toAt + i * recipe.strides[last]] = from[fromAt + i * recipe.sourceStrides[last]];
    });
}

/// How elements of 16 and 32 bits are read and written.
struct Floats {
    using Stored = float;
    static float load(float x) { return x; }
    static float store(float x) { return x; }
};

struct Halves {
    using Stored = uint16_t;
    static float load(uint16_t x) { return halfToFloat(x); }
    static uint16_t store(float x) { return floatToHalf(x); }
};

struct Bfloats {
    using Stored = uint16_t;
    static float load(uint16_t x) { return bfloat16ToFloat(x); }
    static uint16_t store(float x) { return floatToBfloat16(x); }
};

/// The product is rounded once, as by scaleElements; false when an element does not fit.
template <typename Type>
bool scaleTyped(const PackedConstant& recipe, const std::byte* source, std::byte* out) {
    using Stored = typename Type::Stored;
    const size_t last = recipe.extents.size() - 1;
    const auto* from = reinterpret_cast<const Stored*>(source);
    auto* to = reinterpret_cast<Stored*>(out);
    bool fits = true;
    eachRow(recipe, [&](int64_t toAt, int64_t fromAt, int64_t factorAt) {
        for (int64_t i = 0; i < recipe.extents[last]; ++i) {
            const float value = Type::load(from[fromAt + i * recipe.sourceStrides[last]]);
            const double factor =
                recipe.factors[static_cast<size_t>(factorAt + i * recipe.factorStrides[last])];
            const Stored stored = Type::store(static_cast<float>(value * factor));
            to[toAt + i * recipe.strides[last]] = stored;
            fits = fits && (!std::isfinite(value) || std::isfinite(Type::load(stored)));
        }
    });
    return fits;
}

/// Through double, with the factors; false when an element does not fit in the type.
bool scaleElements(const PackedConstant& recipe, const Tensor& source, Tensor& out) {
    const size_t last = recipe.extents.size() - 1;
    bool fits = true;
    eachRow(recipe, [&](int64_t toAt, int64_t fromAt, int64_t factorAt) {
        for (int64_t i = 0; i < recipe.extents[last]; ++i) {
            double value = source.at(fromAt + i * recipe.sourceStrides[last]);
            const bool finite = std::isfinite(value);
            if (!recipe.factors.empty())
                value *=
                    recipe.factors[static_cast<size_t>(factorAt + i * recipe.factorStrides[last])];
            const int64_t at = toAt + i * recipe.strides[last];
            out.set(at, value);
            fits = fits && (!finite || std::isfinite(out.at(at)));
        }
    });
    return fits;
}

/// Adds integers of 8 bits in int32, which wraps.
void sumElements(const PackedConstant& recipe, const Tensor& source, Tensor& out) {
    assert(sizeOf(source.dtype()) == 1 && !isFloat(source.dtype()) && "sums of bytes");
    const size_t last = recipe.extents.size() - 1;
    const bool isSigned = source.dtype() == DType::Int8;
    const auto* from = reinterpret_cast<const uint8_t*>(source.bytes());
    auto* to = reinterpret_cast<uint32_t*>(out.bytes());
    eachRow(recipe, [&](int64_t toAt, int64_t fromAt, int64_t) {
        for (int64_t i = 0; i < recipe.extents[last]; ++i) {
            const uint8_t bits = from[fromAt + i * recipe.sourceStrides[last]];
            const int32_t number = isSigned ? static_cast<int8_t>(bits) : bits;
            to[toAt + i * recipe.strides[last]] += static_cast<uint32_t>(number);
        }
    });
}

std::vector<std::byte> bytesOf(const Tensor& tensor) {
    return {tensor.bytes(), tensor.bytes() + tensor.byteCount()};
}

} // namespace

int64_t PackedConstant::elements() const {
    return size != 0        ? size
           : values.empty() ? elementCount(extents).value_or(0)
                            : static_cast<int64_t>(values.size());
}

PackedConstant recipeOf(const PackedOperand& packed, DType dtype, const Extents& extents) {
    assert(packed.order.size() <= extents.size() && packed.extents.size() == packed.order.size());
    PackedConstant out;
    out.sums = packed.order.size() < extents.size();
    out.dtype = out.sums ? DType::Int32 : dtype;
    out.extents = extents;
    out.strides = Extents(extents.size(), 0);
    out.input = packed.input;
    out.sourceStrides = rowMajorStrides(extents);
    out.size = 1;
    for (size_t i = packed.order.size(); i-- > 0;) {
        out.strides[packed.order[i]] = out.size;
        out.size *= packed.extents[i];
    }
    return out;
}

Result<std::vector<std::byte>> pack(const PackedConstant& recipe,
                                    std::span<const TensorPtr> constants) {
    Tensor out(recipe.dtype, {recipe.elements()});
    if (!recipe.values.empty()) {
        for (size_t i = 0; i < recipe.values.size(); ++i)
            out.set(static_cast<int64_t>(i), recipe.values[i]);
        return bytesOf(out);
    }
    assert(recipe.input < constants.size() && constants[recipe.input] && "a constant to pack");
    assert(!recipe.extents.empty() && "a recipe with dimensions");
    const Tensor& source = *constants[recipe.input];
    if (recipe.sums) {
        sumElements(recipe, source, out);
        return bytesOf(out);
    }
    if (recipe.factors.empty() && source.dtype() == recipe.dtype) {
        switch (sizeOf(recipe.dtype)) {
        case 1:
            moveElements<uint8_t>(recipe, source.bytes(), out.bytes());
            break;
        case 2:
            moveElements<uint16_t>(recipe, source.bytes(), out.bytes());
            break;
        case 4:
            moveElements<uint32_t>(recipe, source.bytes(), out.bytes());
            break;
        default:
            moveElements<uint64_t>(recipe, source.bytes(), out.bytes());
        }
        return bytesOf(out);
    }
    auto scale = [&] {
        if (source.dtype() != recipe.dtype)
            return scaleElements(recipe, source, out);
        switch (recipe.dtype) {
        case DType::Float32:
            return scaleTyped<Floats>(recipe, source.bytes(), out.bytes());
        case DType::Float16:
            return scaleTyped<Halves>(recipe, source.bytes(), out.bytes());
        case DType::BFloat16:
            return scaleTyped<Bfloats>(recipe, source.bytes(), out.bytes());
        default:
            return scaleElements(recipe, source, out);
        }
    };
    if (!scale())
        return failure("constant.range",
                       std::string("scaled weights do not fit in ") + nameOf(recipe.dtype));
    return bytesOf(out);
}

} // namespace fuselage::gpu
