// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace fuselage::cpu {

Extents denseLike(const Extents& extents, const Extents& strides) {
    std::vector<size_t> order(extents.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::abs(strides[a]) > std::abs(strides[b]);
    });
    Extents out(extents.size(), 1);
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
        out[order[i]] = step;
        step *= std::max<int64_t>(extents[order[i]], 1);
    }
    return out;
}

bool areAll(const Extents& extents, int64_t value) {
    return std::all_of(extents.begin(), extents.end(), [=](int64_t x) { return x == value; });
}

std::vector<int64_t> offsetsOf(const Extents& extents, const Extents& strides, size_t first) {
    std::vector<int64_t> out{0};
    for (size_t d = 0; d < extents.size(); ++d) {
        std::vector<int64_t> more;
        more.reserve(out.size() * static_cast<size_t>(extents[d]));
        for (int64_t offset : out)
            for (int64_t i = 0; i < extents[d]; ++i)
                more.push_back(offset + i * strides[first + d]);
        out = std::move(more);
    }
    return out;
}

} // namespace fuselage::cpu
