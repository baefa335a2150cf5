// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/uploads_internal.h"

#include <algorithm>
#include <cstring>

namespace fuselage::gpu {

namespace {

constexpr size_t bufferBytes = size_t{8} << 20;

} // namespace

Result<Device::Uploads> Device::Uploads::create(const Device& device) {
    Uploads out;
    auto stream = device.stream();
    if (!stream)
        return failure(stream.error());
    out.m_stream = std::move(*stream);
    for (Buffer& buffer : out.m_buffers) {
        auto memory = device.allocatePinned(static_cast<int64_t>(bufferBytes));
        if (!memory)
            return failure(memory.error());
        buffer.memory = std::move(*memory);
        auto event = Event::create(device.context());
        if (!event)
            return failure(event.error());
        buffer.read = std::move(*event);
    }
    return out;
}

Result<void> Device::Uploads::add(DevicePointer to, const std::byte* from, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        Buffer& buffer = m_buffers[m_next++ % m_buffers.size()];
        if (buffer.busy)
            if (auto waited = buffer.read.synchronize(); !waited)
                return waited;
        const size_t count = std::min(bytes - at, bufferBytes);
        std::memcpy(buffer.memory.data(), from + at, count);
        if (auto copied = m_stream.copyIn(to + at, buffer.memory.data(), count); !copied)
            return copied;
        if (auto recorded = m_stream.record(buffer.read); !recorded)
            return recorded;
        buffer.busy = true;
        at += count;
    }
    return {};
}

Result<void> Device::Uploads::finish() {
    return m_stream.synchronize();
}

} // namespace fuselage::gpu
