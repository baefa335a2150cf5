// SPDX-License-Identifier: Apache-2.0
// Where the values of a Plan are during one run, and moving them between plan memory, tensors and
// reference values.
#pragma once

#include "core/cpu/kernel.h"
#include "core/graph/run_shapes.h"
#include "core/ops/reference_value.h"
#include "core/plan/plan.h"

#include <span>

namespace fuselage::cpu {

OperandLayout layoutOf(const PlanValue& value);

/// The value without its data.
ReferenceValue headOf(const Tensor& tensor);

/// Error "resource.memory": the plan's values do not fit into what is free.
Result<void> checkMemory(const Plan& plan);

class ValueStore {
public:
    /// Takes the arena from `pages`, which outlive this.
    ValueStore(std::shared_ptr<const Plan> plan, Pages& pages);

    /// Checks the caller's tensors and makes the outputs.
    Result<void> begin(std::span<const Tensor> inputs);

    /// First element of a value; null for Host values. Of an inner value: as if the memory of a
    /// sweep's workers began at the arena's start.
    std::byte* data(uint32_t value);

    /// From now on the value is there, row-major, and stays.
    void replace(uint32_t value, const std::byte* data) { m_replaced[value] = data; }

    /// Nobody reads what replaced the value any more.
    void forget(uint32_t value) { m_replaced.erase(value); }

    /// Gives the inner values of a sweep memory for all images, for running its steps one by one.
    void widen(const Sweep& sweep);

    /// A copy in row-major order. Not of Host values.
    Tensor dense(uint32_t value);
    ReferenceValue reference(uint32_t value);
    /// The same dense and in its own type; none when it is no tensor of elements of a fixed size.
    std::optional<Tensor> tensor(uint32_t value);
    /// As tensor(), but where it lies if it is dense there: for reading, within one step.
    std::optional<Tensor> lent(uint32_t value);
    std::optional<std::vector<Tensor>> lent(const std::vector<uint32_t>& values);
    /// Error "run.shape": the computed value is not of the planned type.
    Result<void> store(uint32_t value, ReferenceValue from);
    Result<void> store(uint32_t value, Tensor from);

    /// What a value that was just computed says of shapes, and its views with it.
    void show(uint32_t value, RunShapes& shapes);

    /// The outputs of the run; releases everything that belongs to it.
    Result<std::vector<Tensor>> finish();

private:
    /// In the form in which it was computed, or in both.
    struct HostValue {
        std::optional<ReferenceValue> wide;
        Tensor own; ///< undefined: not asked for, or no tensor of elements of a fixed size
    };

    bool isHostTensor(uint32_t value) const;
    const Extents& hostExtents(uint32_t value) const;
    void showOne(uint32_t value, RunShapes& shapes);
    std::byte* take(const PlanValue& value);

    std::shared_ptr<const Plan> m_plan;
    Pages& m_pages;
    std::byte* m_arena;
    std::map<uint32_t, std::byte*> m_widened; ///< by plan value
    std::map<uint32_t, std::byte*> m_fixed; ///< results of constants that a run computes, by value
    std::map<uint32_t, const std::byte*> m_replaced;
    std::vector<Tensor> m_tensors; ///< per plan value: inputs and outputs
    std::vector<HostValue> m_host;
    std::multimap<uint32_t, uint32_t> m_views; ///< by root; filled when first shown
};

} // namespace fuselage::cpu
