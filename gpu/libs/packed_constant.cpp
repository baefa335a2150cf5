// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/packed_constant.h"

#include <cassert>
#include <cmath>

namespace fuselage::gpu {

namespace {

/// Calls visit(to, from, factor) with element offsets for every element of the recipe.
template <typename Visit> void walk(const PackedConstant& recipe, Visit visit) {
    const size_t dims = recipe.extents.size();
    Extents index(dims, 0);
    auto dot = [&](const Extents& strides) {
        int64_t out = 0;
        for (size_t d = 0; d < strides.size(); ++d)
            out += index[d] * strides[d];
        return out;
    };
    for (int64_t i = 0, count = recipe.elements(); i < count; ++i) {
        visit(dot(recipe.strides), recipe.offset + dot(recipe.sourceStrides),
              dot(recipe.factorStrides));
        for (size_t d = dims; d-- > 0;) {
            if (++index[d] < recipe.extents[d])
                break;
            index[d] = 0;
        }
    }
}

} // namespace

int64_t PackedConstant::elements() const {
    return values.empty() ? elementCount(extents).value_or(0) : static_cast<int64_t>(values.size());
}

Result<std::vector<std::byte>> pack(const PackedConstant& recipe,
                                    std::span<const TensorPtr> constants) {
    Tensor out(recipe.dtype, {recipe.elements()});
    if (!recipe.values.empty()) {
        for (size_t i = 0; i < recipe.values.size(); ++i)
            out.set(static_cast<int64_t>(i), recipe.values[i]);
        return std::vector<std::byte>(out.bytes(), out.bytes() + out.byteCount());
    }
    assert(recipe.input < constants.size() && constants[recipe.input] && "a constant to pack");
    const Tensor& source = *constants[recipe.input];
    bool fits = true;
    walk(recipe, [&](int64_t to, int64_t from, int64_t factor) {
        const double value = source.at(from);
        const double scaled =
            recipe.factors.empty() ? value : value * recipe.factors[static_cast<size_t>(factor)];
        out.set(to, scaled);
        fits = fits && (std::isfinite(out.at(to)) || !std::isfinite(value));
    });
    if (!fits)
        return failure("constant.range",
                       std::string("scaled weights do not fit in ") + nameOf(recipe.dtype));
    return std::vector<std::byte>(out.bytes(), out.bytes() + out.byteCount());
}

} // namespace fuselage::gpu
