// SPDX-License-Identifier: Apache-2.0
// What steps that read nothing but constants have made while a plan is prepared: constants as well
// for what reads them, themselves or a view of them. Dequantised weights, mostly.
#pragma once

#include "core/cpu/value_store.h"
#include "core/plan/plan.h"

#include <map>
#include <vector>

namespace fuselage::cpu {

class ConstantValues {
public:
    /// `store`: where they are read; must outlive it.
    ConstantValues(std::shared_ptr<const Plan> plan, ValueStore& store);

    /// Row-major, in the value's own extents; null for what a run computes. A view in another
    /// order, a transposed one say, is copied and read there from then on.
    TensorPtr of(uint32_t value);

    /// The value is no view any more.
    bool isCopied(uint32_t value) const { return m_copies.contains(value); }

    /// Whether nothing that the step reads can change, and what it makes is read by steps alone.
    bool areAllThat(const Step& step);

    /// In the order of the step's inputs.
    std::vector<TensorPtr> readBy(const Step& step);

    /// The results of a step, which then need not run.
    void add(const Step& step, const std::vector<TensorPtr>& made);

    /// What the step reads stays: it runs.
    void keepFor(const Step& step);

    /// Before anything is prepared: views that the step reads stay views, by which it reads them.
    void leaveFor(const Step& step);

    /// Forgets those values that step `index`, which need not run, was the last to read.
    void dropReadBy(size_t index);

    /// Once all steps are prepared: forgets what only copies were made of.
    void dropCopied();

private:
    void drop(uint32_t root);

    std::shared_ptr<const Plan> m_plan;
    ValueStore& m_store;
    std::map<uint32_t, TensorPtr> m_made;   ///< by plan value
    std::map<uint32_t, TensorPtr> m_copies; ///< of views in another order
    std::vector<bool> m_isLeft;             ///< by plan value: stays a view
    std::vector<bool> m_isKept;             ///< by plan value: a step that runs reads it or a view
};

} // namespace fuselage::cpu
