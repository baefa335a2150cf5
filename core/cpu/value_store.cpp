// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/value_store.h"

#include <cstring>

namespace fuselage::cpu {

OperandLayout layoutOf(const PlanValue& value) {
    return {value.dtype, value.extents, value.strides, value.constant};
}

ValueStore::ValueStore(std::shared_ptr<const Plan> plan, Pages& pages)
    : m_plan(std::move(plan)), m_arena(pages.take(static_cast<size_t>(m_plan->arenaBytes))),
      m_tensors(m_plan->values.size()), m_host(m_plan->values.size()) {}

Result<void> ValueStore::begin(std::span<const Tensor> inputs) {
    if (inputs.size() != m_plan->inputs.size())
        return failure("run.inputs", "the plan takes " + std::to_string(m_plan->inputs.size()) +
                                         " inputs, " + std::to_string(inputs.size()) +
                                         " were given");
    for (size_t i = 0; i < inputs.size(); ++i) {
        const PlanValue& value = m_plan->values[m_plan->inputs[i]];
        if (value.residence == Residence::Host) {
            m_host[m_plan->inputs[i]] = ReferenceValue::from(inputs[i]);
            continue;
        }
        if (inputs[i].dtype() != value.dtype || inputs[i].extents() != value.extents)
            return failure("run.inputs",
                           "input `" + value.name + "` is " + nameOf(value.dtype) +
                               text(value.extents) + " in the plan, " + nameOf(inputs[i].dtype()) +
                               text(inputs[i].extents()) + " was given",
                           value.name);
        m_tensors[m_plan->inputs[i]] = inputs[i];
    }
    for (uint32_t output : m_plan->outputs)
        if (m_plan->values[output].residence == Residence::Output)
            m_tensors[output] =
                Tensor(m_plan->values[output].dtype, m_plan->values[output].extents);
    return {};
}

std::byte* ValueStore::data(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    switch (value.residence) {
    case Residence::Input:
    case Residence::Output:
        return m_tensors[index].bytes();
    case Residence::Constant: // kernels only read constants
        return const_cast<std::byte*>(value.constant->bytes());
    case Residence::Arena:
        return m_arena + value.offset;
    case Residence::Alias: {
        std::byte* base = data(value.aliasOf);
        return base ? base + value.offset * static_cast<int64_t>(sizeOf(value.dtype)) : nullptr;
    }
    case Residence::Host:
        return nullptr;
    }
    return nullptr;
}

namespace {

/// Calls visit(offset in elements) for every element in row-major order.
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

Tensor ValueStore::gather(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    Tensor out(value.dtype, value.extents);
    const std::byte* from = data(index);
    size_t bytes = sizeOf(value.dtype);
    if (layoutOf(value).rowMajor()) {
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

void ValueStore::scatter(uint32_t index, const Tensor& tensor) {
    const PlanValue& value = m_plan->values[index];
    std::byte* to = data(index);
    size_t bytes = sizeOf(value.dtype);
    forEachElement(value.extents, value.strides, [&](int64_t i, int64_t offset) {
        std::memcpy(to + offset * static_cast<int64_t>(bytes),
                    tensor.bytes() + static_cast<size_t>(i) * bytes, bytes);
    });
}

ReferenceValue ValueStore::reference(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    if (value.constant)
        return ReferenceValue::from(*value.constant);
    if (value.residence == Residence::Host)
        return m_host[index];
    return ReferenceValue::from(gather(index));
}

Result<void> ValueStore::store(uint32_t index, ReferenceValue from) {
    const PlanValue& value = m_plan->values[index];
    if (value.residence == Residence::Host) {
        m_host[index] = std::move(from);
        return {};
    }
    // Shapes that depend on data are planned as the file declares them, and files may lie.
    if (from.kind != TypeKind::Tensor || from.dtype != value.dtype || from.extents != value.extents)
        return failure("run.shape",
                       "`" + value.name + "` is " + nameOf(from.dtype) + text(from.extents) +
                           ", the model declares " + nameOf(value.dtype) + text(value.extents),
                       value.name, "correct or remove the declaration in the model");
    scatter(index, from.toTensor());
    return {};
}

Result<std::vector<Tensor>> ValueStore::finish() {
    std::vector<Tensor> outputs;
    for (uint32_t index : m_plan->outputs) {
        const PlanValue& value = m_plan->values[index];
        if (value.residence == Residence::Output)
            outputs.push_back(m_tensors[index]);
        else if (value.constant)
            outputs.push_back(value.constant->clone());
        else if (value.residence != Residence::Host)
            outputs.push_back(gather(index));
        else if (m_host[index].kind == TypeKind::Tensor)
            outputs.push_back(m_host[index].toTensor());
        else
            return failure("run.outputs", "output `" + value.name + "` is not a tensor", value.name,
                           "use the interpreter for sequences and optionals");
    }
    for (Tensor& tensor : m_tensors)
        tensor = {};
    for (ReferenceValue& value : m_host)
        value = {};
    return outputs;
}

} // namespace fuselage::cpu
