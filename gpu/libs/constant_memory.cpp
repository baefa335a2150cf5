// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/constant_memory.h"

namespace fuselage::gpu {

Result<void> ConstantMemory::load(Device& device) {
    const std::lock_guard lock(m_mutex);
    while (m_memory.size() < m_recipes.size()) {
        auto bytes = pack(m_recipes[m_memory.size()], m_constants);
        if (!bytes)
            return failure(bytes.error());
        auto memory = device.allocate(static_cast<int64_t>(bytes->size()));
        if (!memory)
            return failure(memory.error());
        if (auto done = device.upload(memory->address(), bytes->data(), bytes->size()); !done)
            return done;
        m_memory.push_back(std::move(*memory));
    }
    return {};
}

} // namespace fuselage::gpu
