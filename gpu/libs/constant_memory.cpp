// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/constant_memory.h"

namespace fuselage::gpu {

Result<void> ConstantMemory::pack() {
    const std::lock_guard lock(m_mutex);
    return packLocked();
}

Result<void> ConstantMemory::packLocked() {
    while (!m_loaded && m_packed.size() < m_recipes.size()) {
        auto bytes = gpu::pack(m_recipes[m_packed.size()], m_constants);
        if (!bytes)
            return failure(bytes.error());
        m_packed.push_back(std::move(*bytes));
    }
    return {};
}

Result<void> ConstantMemory::load(Device& device) {
    const std::lock_guard lock(m_mutex);
    if (auto packed = packLocked(); !packed)
        return packed;
    while (m_memory.size() < m_packed.size()) {
        const std::vector<std::byte>& bytes = m_packed[m_memory.size()];
        auto memory = device.allocate(static_cast<int64_t>(bytes.size()));
        if (!memory)
            return failure(memory.error());
        if (auto done = device.upload(memory->address(), bytes.data(), bytes.size()); !done)
            return done;
        m_memory.push_back(std::move(*memory));
    }
    m_loaded = true;
    m_packed = {};
    return {};
}

} // namespace fuselage::gpu
