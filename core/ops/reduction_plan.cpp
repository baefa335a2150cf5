// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reduction_plan.h"

#include "core/ops/tensor_index.h"

#include <algorithm>

namespace fuselage {

namespace {

bool contains(const std::vector<size_t>& axes, size_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Linear offsets of all indices of some of the axes.
std::vector<int64_t> offsetsOf(const Extents& extents, const std::vector<size_t>& axes,
                               bool selected) {
    Extents some, strides, all = rowMajorStrides(extents);
    for (size_t axis = 0; axis < extents.size(); ++axis)
        if (contains(axes, axis) == selected) {
            some.push_back(extents[axis]);
            strides.push_back(all[axis]);
        }
    std::vector<int64_t> out;
    for (StridedWalk walk(some, {strides}); walk.valid(); walk.next())
        out.push_back(walk.offset(0));
    return out;
}

} // namespace

ReductionPlan planReduction(const Extents& extents, const std::vector<size_t>& axes) {
    // Nothing to visit, however long the axes beside the empty one are.
    if (elementCount(extents).value_or(0) == 0 &&
        elementCount(reducedExtents(extents, axes, false)).value_or(0) == 0)
        return {{}, {}, reducedExtents(extents, axes, true)};
    return {offsetsOf(extents, axes, false), offsetsOf(extents, axes, true),
            reducedExtents(extents, axes, true)};
}

Extents reducedExtents(const Extents& extents, const std::vector<size_t>& axes, bool keep) {
    Extents out;
    for (size_t axis = 0; axis < extents.size(); ++axis)
        if (!contains(axes, axis))
            out.push_back(extents[axis]);
        else if (keep)
            out.push_back(1);
    return out;
}

} // namespace fuselage
