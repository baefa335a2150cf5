// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/value_store.h"

#include "core/plan/value_transfer.h"
#include "core/support/memory.h"

#include <fmt/format.h>

namespace fuselage::cpu {

OperandLayout layoutOf(const PlanValue& value) {
    return {value.dtype, value.extents, value.strides, value.constant};
}

ReferenceValue headOf(const Tensor& tensor) {
    ReferenceValue out;
    out.dtype = tensor.dtype();
    out.extents = tensor.extents();
    return out;
}

Result<void> checkMemory(const Plan& plan) {
    constexpr double gibibyte = 1 << 30;
    if (fitsInMemory(plan.peakBytes))
        return {};
    return failure("resource.memory",
                   fmt::format("the plan needs {:.1f} GiB for its values, {:.1f} are free",
                               static_cast<double>(plan.peakBytes) / gibibyte,
                               static_cast<double>(freeMemory()) / gibibyte),
                   plan.graph->name(), "give smaller dimensions, e.g. --dim N=1");
}

/// Memory of the store, as long as nothing else is written there.
class LentMemory final : public Storage {
public:
    LentMemory(std::byte* data, size_t size) : m_data(data), m_size(size) {}

    std::byte* data() override { return m_data; }

    size_t size() const override { return m_size; }

private:
    std::byte* m_data;
    size_t m_size;
};

ValueStore::ValueStore(std::shared_ptr<const Plan> plan, Pages& pages)
    : m_plan(std::move(plan)), m_pages(pages),
      m_arena(pages.take(static_cast<size_t>(m_plan->arenaBytes))),
      m_tensors(m_plan->values.size()), m_host(m_plan->values.size()) {}

Result<void> ValueStore::begin(std::span<const Tensor> inputs) {
    if (auto checked = checkInputs(*m_plan, inputs); !checked)
        return checked;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const uint32_t index = m_plan->inputs[i];
        if (m_plan->values[index].residence == Residence::Host)
            m_host[index] = sizeOf(inputs[i].dtype()) == 0
                                ? HostValue{ReferenceValue::from(inputs[i]), {}}
                                : HostValue{{}, inputs[i]};
        else
            m_tensors[index] = inputs[i];
    }
    for (uint32_t output : m_plan->outputs)
        if (m_plan->values[output].residence == Residence::Output)
            m_tensors[output] =
                Tensor(m_plan->values[output].dtype, m_plan->values[output].extents);
    return {};
}

std::byte* ValueStore::data(uint32_t index) {
    if (auto replaced = m_replaced.find(index); replaced != m_replaced.end())
        return const_cast<std::byte*>(replaced->second); // read only, as constants
    const PlanValue& value = m_plan->values[index];
    switch (value.residence) {
    case Residence::Input:
    case Residence::Output:
        return m_tensors[index].bytes();
    case Residence::Constant: // kernels only read constants
        return const_cast<std::byte*>(value.constant->bytes());
    case Residence::Arena: {
        if (value.isFixed) {
            auto [own, isNew] = m_fixed.try_emplace(index);
            if (isNew)
                own->second = take(value);
            return own->second;
        }
        auto widened = value.inner ? m_widened.find(index) : m_widened.end();
        return widened != m_widened.end() ? widened->second : m_arena + value.offset;
    }
    case Residence::Alias: {
        const RootPlace place = placeOf(*m_plan, index);
        std::byte* base = data(place.root);
        return base ? base + place.offset : nullptr;
    }
    case Residence::Host:
        return nullptr;
    }
    return nullptr;
}

std::byte* ValueStore::take(const PlanValue& value) {
    return m_pages.take(static_cast<size_t>(layoutOf(value).span()) * sizeOf(value.dtype));
}

void ValueStore::widen(const Sweep& sweep) {
    for (uint32_t i = 0; i < m_plan->values.size(); ++i) {
        const PlanValue& value = m_plan->values[i];
        if (value.inner && value.firstStep >= sweep.first && value.firstStep <= sweep.last)
            m_widened[i] = take(value);
    }
}

Tensor ValueStore::dense(uint32_t index) {
    PlanValue value = m_plan->values[index];
    if (m_replaced.contains(index))
        value.strides = rowMajorStrides(value.extents);
    return fromStrided(value, data(index));
}

ReferenceValue ValueStore::reference(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    if (value.constant)
        return ReferenceValue::from(*value.constant);
    if (value.residence != Residence::Host)
        return ReferenceValue::from(dense(index));
    const HostValue& host = m_host[index];
    return host.wide ? *host.wide : ReferenceValue::from(host.own);
}

Result<void> ValueStore::store(uint32_t index, ReferenceValue from) {
    const PlanValue& value = m_plan->values[index];
    if (value.residence == Residence::Host) {
        m_host[index] = {std::move(from), {}};
        return {};
    }
    if (auto fits = checkComputed(value, from); !fits)
        return fits;
    toStrided(value, from.toTensor(), data(index));
    return {};
}

bool ValueStore::isHostTensor(uint32_t index) const {
    const HostValue& host = m_host[index];
    return host.own.defined() || (host.wide && host.wide->kind == TypeKind::Tensor);
}

const Extents& ValueStore::hostExtents(uint32_t index) const {
    return m_host[index].wide ? m_host[index].wide->extents : m_host[index].own.extents();
}

std::optional<Tensor> ValueStore::tensor(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    if (value.constant)
        return *value.constant;
    if (value.residence == Residence::Input && !m_replaced.contains(index))
        return m_tensors[index];
    if (value.residence != Residence::Host)
        return dense(index);
    HostValue& host = m_host[index];
    if (!host.own.defined() && isHostTensor(index) && sizeOf(host.wide->dtype) != 0)
        host.own = host.wide->toTensor();
    return host.own.defined() ? std::optional(host.own) : std::nullopt;
}

std::optional<Tensor> ValueStore::lent(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    const bool isInMemory = value.residence == Residence::Arena ||
                            value.residence == Residence::Output ||
                            value.residence == Residence::Alias;
    if (value.constant || !isInMemory || m_replaced.contains(index) ||
        !isRowMajor(value.extents, value.strides))
        return tensor(index);
    const size_t bytes =
        static_cast<size_t>(elementCount(value.extents).value_or(0)) * sizeOf(value.dtype);
    return Tensor(value.dtype, value.extents, std::make_shared<LentMemory>(data(index), bytes));
}

std::optional<std::vector<Tensor>> ValueStore::lent(const std::vector<uint32_t>& values) {
    std::vector<Tensor> out;
    for (uint32_t value : values) {
        auto one = lent(value);
        if (!one || sizeOf(one->dtype()) == 0)
            return std::nullopt;
        out.push_back(std::move(*one));
    }
    return out;
}

Result<void> ValueStore::store(uint32_t index, Tensor from) {
    const PlanValue& value = m_plan->values[index];
    if (value.residence == Residence::Host) {
        m_host[index] = {{}, std::move(from)};
        return {};
    }
    if (from.dtype() != value.dtype || from.extents() != value.extents)
        return store(index, ReferenceValue::from(from)); // which says what is wrong
    toStrided(value, from, data(index));
    return {};
}

void ValueStore::showOne(uint32_t index, RunShapes& shapes) {
    const PlanValue& value = m_plan->values[index];
    const bool host = value.residence == Residence::Host;
    if (sizeOf(value.dtype) == 0 || (host && !isHostTensor(index)))
        return;
    const Extents& extents = host ? hostExtents(index) : value.extents;
    if (host)
        shapes.extents[value.name] = extents;
    if (elementCount(extents).value_or(maxShapeElements + 1) <= maxShapeElements)
        shapes.contents[value.name] =
            std::make_shared<const Tensor>(host ? tensor(index).value_or(Tensor()) : dense(index));
}

void ValueStore::show(uint32_t made, RunShapes& shapes) {
    if (m_views.empty())
        for (uint32_t i = 0; i < m_plan->values.size(); ++i)
            m_views.emplace(rootOf(*m_plan, i), i);
    const auto [first, last] = m_views.equal_range(rootOf(*m_plan, made));
    for (auto view = first; view != last; ++view)
        showOne(view->second, shapes);
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
            outputs.push_back(dense(index));
        else if (m_host[index].own.defined())
            outputs.push_back(m_host[index].own.clone()); // it may be the caller's input
        else if (isHostTensor(index))
            outputs.push_back(m_host[index].wide->toTensor());
        else
            return failure("run.outputs", "output `" + value.name + "` is not a tensor", value.name,
                           "use the interpreter for sequences and optionals");
    }
    for (Tensor& tensor : m_tensors)
        tensor = {};
    for (HostValue& value : m_host)
        value = {};
    return outputs;
}

} // namespace fuselage::cpu
