// SPDX-License-Identifier: Apache-2.0
// Packed constants on the device, shared by all tactics of one request: packed and uploaded by the
// first that is loaded.
#pragma once

#include "gpu/emit/packed_constant.h"
#include "gpu/runtime/device.h"

#include <mutex>

namespace fuselage::gpu {

class ConstantMemory {
public:
    ConstantMemory(std::vector<PackedConstant> recipes, std::vector<TensorPtr> constants)
        : m_recipes(std::move(recipes)), m_constants(std::move(constants)) {}

    /// On the host; may run beside other constants'.
    Result<void> pack();

    /// Once, whoever asks first.
    Result<void> load(Device& device);

    /// Address of packed constant `index`; after load().
    DevicePointer address(size_t index) const { return m_memory[index].address(); }

private:
    std::vector<PackedConstant> m_recipes;
    std::vector<TensorPtr> m_constants;
    std::vector<std::vector<std::byte>> m_packed; ///< until they are on the device
    std::vector<DeviceMemory> m_memory;
    bool m_loaded = false;
    std::mutex m_mutex;

    Result<void> packLocked();
};

} // namespace fuselage::gpu
