// SPDX-License-Identifier: Apache-2.0
// What steps that read nothing but constants have made while a plan is prepared: constants as well
// for what reads them, themselves or a view of them. Dequantised weights, mostly.
#pragma once

#include "core/plan/plan.h"

#include <map>
#include <vector>

namespace fuselage::cpu {

class ConstantValues {
public:
    explicit ConstantValues(std::shared_ptr<const Plan> plan);

    /// Row-major, in the value's own extents; null for what a run computes, and for views in
    /// another order.
    TensorPtr of(uint32_t value) const;

    /// Whether nothing that the step reads can change, and what it makes is read by steps alone.
    bool areAllThat(const Step& step) const;

    /// In the order of the step's inputs.
    std::vector<TensorPtr> readBy(const Step& step) const;

    /// The results of a step, which then need not run.
    void add(const Step& step, const std::vector<TensorPtr>& made);

    /// What the step reads stays: it runs.
    void keepFor(const Step& step);

    /// Forgets those values that step `index`, which need not run, was the last to read, and says
    /// which.
    std::vector<uint32_t> dropReadBy(size_t index);

private:
    std::shared_ptr<const Plan> m_plan;
    std::map<uint32_t, TensorPtr> m_made; ///< by plan value
    std::vector<bool> m_isKept;           ///< by plan value: a step that runs reads it or a view
};

} // namespace fuselage::cpu
