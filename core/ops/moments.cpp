// SPDX-License-Identifier: Apache-2.0
#include "core/ops/moments.h"

#include "core/ops/tensor_index.h"

#include <cmath>

namespace fuselage {

Moments momentsOf(const ReferenceValue& x, const ReductionPlan& plan, ThreadPool& threads) {
    Moments out;
    out.mean.resize(plan.bases.size());
    out.variance.resize(plan.bases.size());
    const auto count = static_cast<double>(plan.offsets.size());
    forEachRow(plan, threads, [&](size_t row) {
        const double* first = x.floats.data() + plan.bases[row];
        double sum = 0, squares = 0;
        for (int64_t offset : plan.offsets)
            sum += first[offset];
        const double mean = sum / count;
        for (int64_t offset : plan.offsets)
            squares += (first[offset] - mean) * (first[offset] - mean);
        out.mean[row] = mean;
        out.variance[row] = squares / count;
    });
    return out;
}

std::vector<double> meanSquares(const ReferenceValue& x, const ReductionPlan& plan,
                                ThreadPool& threads) {
    std::vector<double> out(plan.bases.size());
    forEachRow(plan, threads, [&](size_t row) {
        const double* first = x.floats.data() + plan.bases[row];
        double squares = 0;
        for (int64_t offset : plan.offsets)
            squares += first[offset] * first[offset];
        out[row] = squares / static_cast<double>(plan.offsets.size());
    });
    return out;
}

void scaleRows(ReferenceValue& x, const ReductionPlan& plan, const std::vector<double>& shift,
               const std::vector<double>& factor, ThreadPool& threads) {
    forEachRow(plan, threads, [&](size_t row) {
        double* first = x.floats.data() + plan.bases[row];
        const double by = shift.empty() ? 0 : shift[row];
        for (int64_t offset : plan.offsets)
            first[offset] = (first[offset] - by) * factor[row];
    });
}

std::vector<double> inverseDeviations(const std::vector<double>& variance, double epsilon) {
    std::vector<double> out;
    for (double value : variance)
        out.push_back(1 / std::sqrt(value + epsilon));
    return out;
}

bool applyAffine(ReferenceValue& x, const ReferenceValue* scale, const ReferenceValue* bias,
                 const Extents& as) {
    auto joined = broadcastExtents(as, x.extents);
    const auto count = elementCount(as);
    auto fits = [&](const ReferenceValue* p) {
        return !p || (isFloat(p->dtype) && count == p->count());
    };
    if (!joined || *joined != x.extents || !fits(scale) || !fits(bias))
        return false;
    for (StridedWalk walk(x.extents, {broadcastStrides(as, x.extents)}); walk.valid();
         walk.next()) {
        double& value = x.floats[static_cast<size_t>(walk.position())];
        const auto at = static_cast<size_t>(walk.offset(0));
        value = value * (scale ? scale->floats[at] : 1.0) + (bias ? bias->floats[at] : 0.0);
    }
    return true;
}

Extents channelExtents(size_t rank, int64_t count) {
    Extents out(rank, 1);
    if (rank > 1)
        out[1] = count;
    return out;
}

ReferenceValue rowValues(DType dtype, const ReductionPlan& plan, std::vector<double> values) {
    ReferenceValue out;
    out.dtype = dtype;
    out.extents = plan.kept;
    out.floats = std::move(values);
    return out;
}

} // namespace fuselage
