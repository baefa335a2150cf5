// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/loops.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace fuselage {

void mergeNeighbours(std::vector<Loop>& loops) {
    for (size_t i = loops.size(); i-- > 1;) {
        Loop& inner = loops[i];
        Loop& outer = loops[i - 1];
        bool merges = true;
        for (size_t k = 0; k < inner.strides.size(); ++k)
            merges = merges && outer.strides[k] == inner.strides[k] * inner.extent;
        if (!merges)
            continue;
        outer.extent *= inner.extent;
        outer.strides = inner.strides;
        loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
    }
}

Access identityAccess(uint32_t operand, size_t dims) {
    Access out{operand, {}};
    for (uint32_t d = 0; d < dims; ++d)
        out.index.push_back({0, {{d, 1}}});
    return out;
}

std::vector<Loop> mergedLoops(const Extents& space, const std::vector<StridedAccess>& operands) {
    std::vector<Loop> loops;
    for (size_t d = 0; d < space.size(); ++d) {
        if (space[d] == 1)
            continue;
        Loop loop{space[d], {}};
        for (const StridedAccess& operand : operands)
            loop.strides.push_back(operand.strides[d]);
        loops.push_back(std::move(loop));
    }
    mergeNeighbours(loops);
    return loops;
}

void sortByStrides(std::vector<Loop>& loops, size_t leader) {
    std::stable_sort(loops.begin(), loops.end(), [leader](const Loop& a, const Loop& b) {
        return std::abs(a.strides[leader]) > std::abs(b.strides[leader]);
    });
}

size_t leaderOf(const std::vector<Loop>& loops) {
    if (loops.empty())
        return 0;
    std::vector<size_t> first(loops.size()), count(loops.size());
    std::optional<size_t> own, most;
    for (size_t k = 0; k < loops[0].strides.size(); ++k) {
        const auto moves = [k](const Loop& loop) { return loop.strides[k] != 0; };
        const auto along = std::find_if(loops.begin(), loops.end(),
                                        [k](const Loop& loop) { return loop.strides[k] == 1; });
        if (along == loops.end() || !std::all_of(loops.begin(), loops.end(), moves))
            continue;
        const auto at = static_cast<size_t>(along - loops.begin());
        if (k == 0)
            own = at;
        if (count[at]++ == 0)
            first[at] = k;
        if (!most || count[at] > count[*most])
            most = at;
    }
    return own && count[*most] > count[*own] ? first[*most] : 0;
}

} // namespace fuselage
