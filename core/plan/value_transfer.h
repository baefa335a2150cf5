// SPDX-License-Identifier: Apache-2.0
// Between the caller's dense tensors and values as a Plan laid them out: checks and copies that
// every backend needs.
#pragma once

#include "core/ops/reference_value.h"
#include "core/plan/plan.h"

#include <span>

namespace fuselage {

/// Elements from the first to one past the last; 0 when there are none.
int64_t spanOf(const Extents& extents, const Extents& strides);

/// Dense in row-major order; dims of one element may have any stride.
bool isRowMajor(const Extents& extents, const Extents& strides);

/// Number, types and extents of the caller's tensors. Error "run.inputs".
Result<void> checkInputs(const Plan& plan, std::span<const Tensor> inputs);

/// Error "run.shape": the computed value is not of the planned type. Shapes that depend on data are
/// planned as the file declares them, and files may lie.
Result<void> checkComputed(const PlanValue& value, const ReferenceValue& computed);

/// The value whose first element is at `from`, dense.
Tensor fromStrided(const PlanValue& value, const std::byte* from);

/// Elements of a dense tensor to their places.
void toStrided(const PlanValue& value, const Tensor& tensor, std::byte* to);

} // namespace fuselage
