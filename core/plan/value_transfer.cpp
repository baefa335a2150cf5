// SPDX-License-Identifier: Apache-2.0
#include "core/plan/value_transfer.h"

#include <cstring>
#include <type_traits>

namespace fuselage {

namespace {

/// Calls visit(number, offset in elements) for every element in row-major order.
template <typename Visit>
void forEachElement(const Extents& extents, const Extents& strides, Visit visit) {
    Extents index(extents.size(), 0);
    int64_t count = elementCount(extents).value_or(0);
    int64_t offset = 0;
    for (int64_t i = 0; i < count; ++i) {
        visit(i, offset);
        for (size_t d = extents.size(); d-- > 0;) {
            offset += strides[d];
            if (++index[d] < extents[d])
                break;
            offset -= strides[d] * extents[d];
            index[d] = 0;
        }
    }
}

/// Elements of a size that is known while compiling, row by row: a copy of unknown size is a call.
template <size_t bytes, typename Move>
void moveRows(const Extents& extents, const Extents& strides, Move move) {
    const bool scalar = extents.empty();
    const int64_t length = scalar ? 1 : extents.back(), step = scalar ? 0 : strides.back();
    const size_t outer = scalar ? 0 : extents.size() - 1;
    const auto head = [&](const Extents& all) {
        return Extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(outer));
    };
    forEachElement(head(extents), head(strides), [&](int64_t row, int64_t offset) {
        for (int64_t i = 0; i < length; ++i)
            move((row * length + i) * static_cast<int64_t>(bytes),
                 (offset + i * step) * static_cast<int64_t>(bytes),
                 std::integral_constant<size_t, bytes>());
    });
}

/// Calls move(place when dense, place when strided, number of bytes) for every element.
template <typename Move> void moveElements(const PlanValue& value, Move move) {
    switch (sizeOf(value.dtype)) {
    case 1:
        return moveRows<1>(value.extents, value.strides, move);
    case 2:
        return moveRows<2>(value.extents, value.strides, move);
    case 4:
        return moveRows<4>(value.extents, value.strides, move);
    case 8:
        return moveRows<8>(value.extents, value.strides, move);
    case 16:
        return moveRows<16>(value.extents, value.strides, move);
    default: // strings are nowhere in the memory of a plan
        return;
    }
}

} // namespace

int64_t spanOf(const Extents& extents, const Extents& strides) {
    int64_t last = 0;
    for (size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] == 0)
            return 0;
        last += (extents[d] - 1) * strides[d];
    }
    return last + 1;
}

bool isRowMajor(const Extents& extents, const Extents& strides) {
    const Extents dense = rowMajorStrides(extents);
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] > 1 && dense[d] != strides[d])
            return false;
    return true;
}

Result<void> checkInputs(const Plan& plan, std::span<const Tensor> inputs) {
    if (inputs.size() != plan.inputs.size())
        return failure("run.inputs", "the plan takes " + std::to_string(plan.inputs.size()) +
                                         " inputs, " + std::to_string(inputs.size()) +
                                         " were given");
    for (size_t i = 0; i < inputs.size(); ++i) {
        const PlanValue& value = plan.values[plan.inputs[i]];
        if (value.residence == Residence::Host)
            continue;
        if (inputs[i].dtype() != value.dtype || inputs[i].extents() != value.extents)
            return failure("run.inputs",
                           "input `" + value.name + "` is " + nameOf(value.dtype) +
                               text(value.extents) + " in the plan, " + nameOf(inputs[i].dtype()) +
                               text(inputs[i].extents()) + " was given",
                           value.name);
    }
    return {};
}

Result<void> checkComputed(const PlanValue& value, const ReferenceValue& computed) {
    if (computed.kind == TypeKind::Tensor && computed.dtype == value.dtype &&
        computed.extents == value.extents)
        return {};
    return failure("run.shape",
                   "`" + value.name + "` is " + nameOf(computed.dtype) + text(computed.extents) +
                       ", the model declares " + nameOf(value.dtype) + text(value.extents),
                   value.name, "correct or remove the declaration in the model");
}

Tensor fromStrided(const PlanValue& value, const std::byte* from) {
    Tensor out(value.dtype, value.extents);
    if (isRowMajor(value.extents, value.strides)) {
        if (out.byteCount() > 0)
            std::memcpy(out.bytes(), from, out.byteCount());
        return out;
    }
    std::byte* to = out.bytes();
    moveElements(value, [&](int64_t dense, int64_t strided, auto bytes) {
        std::memcpy(to + dense, from + strided, bytes());
    });
    return out;
}

void toStrided(const PlanValue& value, const Tensor& tensor, std::byte* to) {
    const std::byte* from = tensor.bytes();
    if (isRowMajor(value.extents, value.strides)) {
        if (tensor.byteCount() > 0)
            std::memcpy(to, from, tensor.byteCount());
        return;
    }
    moveElements(value, [&](int64_t dense, int64_t strided, auto bytes) {
        std::memcpy(to + strided, from + dense, bytes());
    });
}

} // namespace fuselage
