// SPDX-License-Identifier: Apache-2.0
#include "app/batch/reduce/minimize.h"

#include <algorithm>
#include <numeric>

namespace fuselage::batch {

namespace {

Kept without(const Kept& kept, size_t first, size_t size) {
    Kept out(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(first));
    const size_t end = std::min(kept.size(), first + size);
    out.insert(out.end(), kept.begin() + static_cast<ptrdiff_t>(end), kept.end());
    return out;
}

Kept part(const Kept& kept, size_t first, size_t size) {
    const size_t end = std::min(kept.size(), first + size);
    return {kept.begin() + static_cast<ptrdiff_t>(first),
            kept.begin() + static_cast<ptrdiff_t>(end)};
}

/// One piece alone is the quickest way down; leaving one out is the surest.
bool shrink(Kept& kept, size_t size, FunctionRef<bool(const Kept&)> holds) {
    for (size_t first = 0; size > 1 && first < kept.size(); first += size) {
        Kept alone = part(kept, first, size);
        if (alone.size() < kept.size() && holds(alone)) {
            kept = std::move(alone);
            return true;
        }
    }
    bool changed = false;
    // From the end: what comes late depends on what comes early.
    for (size_t end = kept.size(); end > 0;) {
        const size_t first = end > size ? end - size : 0;
        Kept rest = without(kept, first, end - first);
        end = first;
        if (rest.size() < kept.size() && holds(rest)) {
            kept = std::move(rest);
            changed = true;
        }
    }
    return changed;
}

} // namespace

Kept minimize(size_t count, FunctionRef<bool(const Kept&)> holds) {
    Kept kept(count);
    std::iota(kept.begin(), kept.end(), size_t{0});
    size_t size = (count + 1) / 2;
    while (size > 0 && !kept.empty()) {
        const bool changed = shrink(kept, size, holds);
        if (changed)
            size = std::min(size, (kept.size() + 1) / 2);
        else if (size == 1)
            break;
        else
            size = (size + 1) / 2;
    }
    return kept;
}

} // namespace fuselage::batch
