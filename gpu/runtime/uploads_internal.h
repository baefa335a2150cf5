// SPDX-License-Identifier: Apache-2.0
// Constants on their way to the device: two pinned buffers in turn, so that the processor fills one
// while the device reads the other.
#pragma once

#include "gpu/runtime/device.h"

#include <array>

namespace fuselage::gpu {

class Device::Uploads {
public:
    static Result<Uploads> create(const Device& device);
    Result<void> add(DevicePointer to, const std::byte* from, size_t bytes);
    Result<void> finish();

private:
    struct Buffer {
        HostMemory memory;
        Event read; ///< reached when the device has read the buffer
        bool busy = false;
    };

    Stream m_stream;
    std::array<Buffer, 2> m_buffers;
    size_t m_next = 0;
};

} // namespace fuselage::gpu
