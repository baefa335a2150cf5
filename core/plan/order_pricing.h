// SPDX-License-Identifier: Apache-2.0
// Backends whose own kernels say what an order of memory costs, since the time model does not: a
// GPU's. The planner asks a Backend whether it is one of these; others leave orders to the time
// model (Backend::pricesLayouts) or to rules (Backend::chooseLayouts).
#pragma once

#include "core/cost/cost.h"
#include "core/kernel/layout_work.h"
#include "core/plan/backend.h"

#include <vector>

namespace fuselage {

/// A step with its operands in an order of memory, as a backend's kernels meet it.
struct LaidProgram {
    const KernelProgram* program = nullptr;
    OperandStrides order;             ///< null: it lies as in the model
    std::vector<TensorPtr> constants; ///< parallel to the inputs; null: none
    NumericClass allowed = NumericClass::Reassociated;
    bool strict = false, tf32 = false; ///< as of Step
};

class OrderPricing {
public:
    virtual ~OrderPricing() = default;
    /// How many times longer the step takes in this order, launches apart, than `estimate`, in
    /// which the time model took operands as kernels like them; 1 or more.
    virtual double orderLoss(const LaidProgram& laid, const TimeEstimate& estimate) const = 0;
};

/// Null where the backend, which may be null, is none.
inline const OrderPricing* orderPricingOf(const Backend* backend) {
    return dynamic_cast<const OrderPricing*>(backend);
}

} // namespace fuselage
