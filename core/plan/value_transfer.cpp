// SPDX-License-Identifier: Apache-2.0
#include "core/plan/value_transfer.h"

#include <cstring>

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
    const size_t bytes = sizeOf(value.dtype);
    if (isRowMajor(value.extents, value.strides)) {
        if (out.byteCount() > 0)
            std::memcpy(out.bytes(), from, out.byteCount());
        return out;
    }
    forEachElement(value.extents, value.strides, [&](int64_t i, int64_t offset) {
        std::memcpy(out.bytes() + static_cast<size_t>(i) * bytes,
                    from + offset * static_cast<int64_t>(bytes), bytes);
    });
    return out;
}

void toStrided(const PlanValue& value, const Tensor& tensor, std::byte* to) {
    const size_t bytes = sizeOf(value.dtype);
    forEachElement(value.extents, value.strides, [&](int64_t i, int64_t offset) {
        std::memcpy(to + offset * static_cast<int64_t>(bytes),
                    tensor.bytes() + static_cast<size_t>(i) * bytes, bytes);
    });
}

} // namespace fuselage
