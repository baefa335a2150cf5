// SPDX-License-Identifier: Apache-2.0
// Sets of tensor elements that affine accesses touch, counted exactly without walking the tensor:
// an access touches a product of index sets, one a dimension, and unions are counted by inclusion
// and exclusion. A dim that moves along two dimensions at once (a diagonal) would be counted as a
// box; lower() makes no such access.
#pragma once

#include "core/kernel/program.h"

#include <vector>

namespace fuselage {

class TouchedSet {
public:
    explicit TouchedSet(Extents extents) : m_extents(std::move(extents)) {}

    void addWhole() { m_whole = true; }

    /// So many elements wherever they lie: data decides.
    void addSome(int64_t count) { m_some += count; }

    /// The access moves over `space`; `index` must outlive this.
    void add(const std::vector<DimIndex>& index, const Extents& space);

    /// Distinct elements touched.
    int64_t count() const;

private:
    /// One access.
    struct Box {
        const std::vector<DimIndex>* index;
        Extents space;
    };

    static bool alike(const Box& a, const Box& b);

    Extents m_extents;
    std::vector<Box> m_boxes;
    bool m_whole = false;
    int64_t m_some = 0;
};

} // namespace fuselage
