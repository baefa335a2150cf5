// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/plan_memory.h"

#include "core/plan/value_transfer.h"
#include "gpu/runtime/host_tactic.h"
#include "gpu/runtime/random_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace fuselage::gpu {

namespace {

/// The largest power of two up to 16 that divides the offset in bytes.
int64_t alignmentOf(int64_t offset) {
    int64_t out = 16;
    while (offset % out != 0)
        out /= 2;
    return out;
}

} // namespace

OperandLayout layoutOf(const Plan& plan, uint32_t index) {
    const PlanValue& value = plan.values[index];
    // The root's address is a multiple of 64.
    return {value.dtype, value.extents, value.strides, alignmentOf(placeOf(plan, index).offset)};
}

Result<std::unique_ptr<PlanMemory>> PlanMemory::create(std::shared_ptr<const Plan> plan,
                                                       Device& device) {
    std::unique_ptr<PlanMemory> out(new PlanMemory(std::move(plan), device));
    if (auto allocated = out->allocate(); !allocated) {
        auto free = device.freeBytes();
        return failure(allocated.error().code,
                       fmt::format("{}; the plan needs {:.1f} MiB for its values, {:.1f} MiB are "
                                   "free",
                                   allocated.error().message,
                                   static_cast<double>(out->m_plan->peakBytes) / (1 << 20),
                                   free ? static_cast<double>(*free) / (1 << 20) : 0.0),
                       out->m_plan->graph->name(), allocated.error().fix);
    }
    return out;
}

Result<void> PlanMemory::allocate() {
    int64_t interface = 0, staging = 0;
    for (size_t i = 0; i < m_plan->values.size(); ++i) {
        const PlanValue& value = m_plan->values[i];
        if (value.residence == Residence::Constant)
            m_offsets[i] = -1;
        if (value.residence != Residence::Input && value.residence != Residence::Output)
            continue;
        m_offsets[i] = interface;
        interface += paddedBytes(value.bytes);
        if (value.residence == Residence::Input)
            staging = std::max(staging, interface);
    }
    auto arena = m_device.allocate(m_plan->arenaBytes);
    if (!arena)
        return failure(arena.error());
    m_arena = std::move(*arena);
    auto memory = m_device.allocate(interface);
    if (!memory)
        return failure(memory.error());
    m_interface = std::move(*memory);
    auto pinned = m_device.allocatePinned(staging);
    if (!pinned)
        return failure(pinned.error());
    m_staging = std::move(*pinned);
    return {};
}

Result<void> PlanMemory::uploadConstants(const std::vector<bool>& wanted) {
    int64_t bytes = 0;
    for (size_t i = 0; i < m_plan->values.size(); ++i)
        if (wanted[i] && m_plan->values[i].residence == Residence::Constant) {
            m_offsets[i] = bytes;
            bytes += paddedBytes(m_plan->values[i].bytes);
        }
    auto memory = m_device.allocate(bytes);
    if (!memory)
        return failure(memory.error());
    m_constants = std::move(*memory);
    for (size_t i = 0; i < m_plan->values.size(); ++i) {
        const PlanValue& value = m_plan->values[i];
        if (value.residence != Residence::Constant || m_offsets[i] < 0)
            continue;
        if (auto sent = m_device.upload(address(static_cast<uint32_t>(i)), value.constant->bytes(),
                                        value.constant->byteCount());
            !sent)
            return sent;
    }
    return {};
}

Result<void> PlanMemory::keep(uint32_t index) {
    const PlanValue& value = m_plan->values[index];
    auto memory = m_device.allocate(spanOf(value.extents, value.strides) *
                                    static_cast<int64_t>(sizeOf(value.dtype)));
    if (!memory)
        return failure(memory.error());
    m_kept[index] = std::move(*memory);
    return {};
}

DevicePointer PlanMemory::address(uint32_t index) const {
    const PlanValue& value = m_plan->values[index];
    switch (value.residence) {
    case Residence::Input:
    case Residence::Output:
        return m_interface.address() + static_cast<DevicePointer>(m_offsets[index]);
    case Residence::Constant:
        return m_offsets[index] < 0
                   ? 0
                   : m_constants.address() + static_cast<DevicePointer>(m_offsets[index]);
    case Residence::Arena:
        if (m_kept[index].address() != 0)
            return m_kept[index].address();
        return m_arena.address() + static_cast<DevicePointer>(value.offset);
    case Residence::Alias: {
        const DevicePointer base = address(value.aliasOf);
        return base == 0 ? 0 : base + static_cast<DevicePointer>(value.offset);
    }
    case Residence::Host:
        return 0;
    }
    return 0;
}

Result<void> PlanMemory::copyInputs(std::span<const Tensor> inputs, Stream& stream) {
    if (auto checked = checkInputs(*m_plan, inputs); !checked)
        return checked;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const uint32_t index = m_plan->inputs[i];
        if (m_plan->values[index].residence == Residence::Host) {
            m_host[index] = ReferenceValue::from(inputs[i]);
            continue;
        }
        if (inputs[i].byteCount() == 0)
            continue;
        std::byte* staged = m_staging.data() + m_offsets[index];
        std::memcpy(staged, inputs[i].bytes(), inputs[i].byteCount());
        if (auto copied = stream.copyIn(address(index), staged, inputs[i].byteCount()); !copied)
            return copied;
    }
    return {};
}

Result<void> PlanMemory::fillForTrial(Stream& stream) {
    for (const DeviceMemory* memory : {&m_arena, &m_interface})
        if (auto filled =
                stream.fill(memory->address(), 0xff, static_cast<size_t>(memory->bytes()));
            !filled)
            return filled;
    for (uint32_t index : m_plan->inputs) {
        const PlanValue& value = m_plan->values[index];
        if (value.residence == Residence::Host)
            return failure("run.inputs", "input `" + value.name + "` has no fixed size",
                           value.name);
        if (value.residence != Residence::Input || sizeOf(value.dtype) == 0)
            continue;
        if (auto filled = fillRandom(stream, address(index), value.dtype, value.bytes); !filled)
            return filled;
    }
    return {};
}

Result<std::vector<std::byte>> PlanMemory::written(Stream& stream) {
    constexpr size_t most = size_t{2} << 30; // two of them are held beside each other
    const auto arena = static_cast<size_t>(m_arena.bytes());
    const size_t bytes = arena + static_cast<size_t>(m_interface.bytes());
    if (bytes > most)
        return failure("device.compare",
                       fmt::format("its values take {:.1f} GB, too many to compare",
                                   static_cast<double>(bytes) / 1e9));
    std::vector<std::byte> out(bytes);
    auto copied = stream.copyOut(out.data(), m_arena.address(), arena);
    if (copied)
        copied = stream.copyOut(out.data() + arena, m_interface.address(), out.size() - arena);
    if (copied)
        copied = stream.synchronize();
    return copied ? Result<std::vector<std::byte>>(std::move(out)) : failure(copied.error());
}

Result<Tensor> PlanMemory::download(uint32_t index, Stream& stream) {
    const PlanValue& value = m_plan->values[index];
    const auto span = static_cast<size_t>(spanOf(value.extents, value.strides));
    std::vector<std::byte> bytes(span * sizeOf(value.dtype));
    if (auto copied = stream.copyOut(bytes.data(), address(index), bytes.size()); !copied)
        return failure(copied.error());
    if (auto done = stream.synchronize(); !done)
        return failure(done.error());
    return fromStrided(value, bytes.data());
}

Result<std::vector<Tensor>> PlanMemory::outputs(Stream& stream) {
    std::vector<Tensor> out;
    for (uint32_t index : m_plan->outputs) {
        const PlanValue& value = m_plan->values[index];
        if (value.residence == Residence::Output) {
            out.emplace_back(value.dtype, value.extents);
            if (auto copied =
                    stream.copyOut(out.back().bytes(), address(index), out.back().byteCount());
                !copied)
                return failure(copied.error());
        } else if (value.constant) {
            out.push_back(value.constant->clone());
        } else if (value.residence != Residence::Host) {
            auto read = download(index, stream);
            if (!read)
                return failure(read.error());
            out.push_back(std::move(*read));
        } else if (m_host[index].kind == TypeKind::Tensor) {
            out.push_back(m_host[index].toTensor());
        } else {
            return failure("run.outputs", "output `" + value.name + "` is not a tensor", value.name,
                           "use the interpreter for sequences and optionals");
        }
    }
    if (auto done = stream.synchronize(); !done)
        return failure(done.error());
    return out;
}

Result<ReferenceValue> PlanMemory::read(uint32_t index, Stream& stream) {
    const PlanValue& value = m_plan->values[index];
    if (value.constant)
        return ReferenceValue::from(*value.constant);
    if (value.residence == Residence::Host)
        return m_host[index];
    auto tensor = download(index, stream);
    if (!tensor)
        return failure(tensor.error());
    return ReferenceValue::from(*tensor);
}

Result<void> PlanMemory::write(uint32_t index, ReferenceValue from, Stream& stream) {
    const PlanValue& value = m_plan->values[index];
    if (value.residence == Residence::Host) {
        m_host[index] = std::move(from);
        return {};
    }
    if (auto fits = checkComputed(value, from); !fits)
        return fits;
    return writeStrided(value, from.toTensor(), address(index), stream);
}

} // namespace fuselage::gpu
