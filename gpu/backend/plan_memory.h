// SPDX-License-Identifier: Apache-2.0
// The values of a Plan on a device: one allocation for the arena, one for the graph's inputs and
// outputs, one for constants; and values without a fixed size, which stay on the host.
#pragma once

#include "core/ops/reference_value.h"
#include "core/plan/plan.h"
#include "gpu/kernels/parts.h"
#include "gpu/runtime/device.h"

#include <memory>
#include <span>
#include <vector>

namespace fuselage::gpu {

/// With what follows a value, so that any kernel may begin to read behind it.
constexpr int64_t paddedBytes(int64_t bytes) {
    return roundUp(bytes, 256);
}

/// How a value of the plan lies in memory, as kernels see it.
OperandLayout layoutOf(const Plan& plan, uint32_t value);

class PlanMemory {
public:
    /// Error "device.memory" says what the plan needs and what is free.
    static Result<std::unique_ptr<PlanMemory>> create(std::shared_ptr<const Plan> plan,
                                                      Device& device);

    /// Copies the constants that some step reads in the plan's form; the others cost no memory.
    Result<void> uploadConstants(const std::vector<bool>& wanted);

    /// Memory of its own for a value of the arena: no other step writes there.
    Result<void> keep(uint32_t value);

    /// Of the first element; 0 for values on the host and constants that were not uploaded.
    DevicePointer address(uint32_t value) const;

    Result<void> copyInputs(std::span<const Tensor> inputs, Stream& stream);
    /// For trials of the plan: random inputs, and ones (NaN, -1) in all that its steps write. Error
    /// "run.inputs": an input has no fixed size.
    Result<void> fillForTrial(Stream& stream);
    /// Bytes of all that its steps write, but for what keep() gave memory. Waits for the stream.
    Result<std::vector<std::byte>> written(Stream& stream);
    /// Waits for the stream.
    Result<std::vector<Tensor>> outputs(Stream& stream);

    /// A value for the host's functions and back; both wait for the stream.
    Result<ReferenceValue> read(uint32_t value, Stream& stream);
    Result<void> write(uint32_t value, ReferenceValue from, Stream& stream);

private:
    PlanMemory(std::shared_ptr<const Plan> plan, Device& device)
        : m_plan(std::move(plan)), m_device(device), m_offsets(m_plan->values.size(), 0),
          m_kept(m_plan->values.size()), m_host(m_plan->values.size()) {}

    Result<void> allocate();
    Result<Tensor> download(uint32_t value, Stream& stream);

    std::shared_ptr<const Plan> m_plan;
    Device& m_device;
    DeviceMemory m_arena, m_interface, m_constants;
    HostMemory m_staging;             ///< of inputs
    std::vector<int64_t> m_offsets;   ///< in m_interface or m_constants; -1: constant not uploaded
    std::vector<DeviceMemory> m_kept; ///< by value; empty: it lies in the arena
    std::vector<ReferenceValue> m_host;
};

} // namespace fuselage::gpu
