// SPDX-License-Identifier: Apache-2.0
// Mean and variance of rows and the affine step after them: what the normalisations share.
#pragma once

#include "core/ops/reduction_plan.h"
#include "core/ops/reference_value.h"

#include <optional>
#include <vector>

namespace fuselage {

struct Moments {
    std::vector<double> mean, variance; ///< one of each a row; variance is divided by the count
};

Moments momentsOf(const ReferenceValue& x, const ReductionPlan& plan, ThreadPool& threads);

/// Mean of squares of each row.
std::vector<double> meanSquares(const ReferenceValue& x, const ReductionPlan& plan,
                                ThreadPool& threads);

/// (x - shift) * factor for every row; an empty shift is none.
void scaleRows(ReferenceValue& x, const ReductionPlan& plan, const std::vector<double>& shift,
               const std::vector<double>& factor, ThreadPool& threads);

/// 1 / sqrt(variance + epsilon)
std::vector<double> inverseDeviations(const std::vector<double>& variance, double epsilon);

/// x * scale + bias, both broadcast from the extents `as` and either null; false when their
/// element counts or types do not fit.
bool applyAffine(ReferenceValue& x, const ReferenceValue* scale, const ReferenceValue* bias,
                 const Extents& as);

/// [1, count, 1, 1 ...] for a tensor of that rank: a parameter for each channel.
Extents channelExtents(size_t rank, int64_t count);

/// A float tensor of the plan's kept extents.
ReferenceValue rowValues(DType dtype, const ReductionPlan& plan, std::vector<double> values);

} // namespace fuselage
