// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/empty_window.h"

#include <algorithm>

namespace fuselage::cpu {

bool hasEmptyWindow(const Contraction& code, const Extents& image) {
    if (code.kind == Contraction::Kind::MatMul)
        return false;
    const bool isTransposed = code.kind == Contraction::Kind::ConvTranspose;
    const SlidingWindow& window = code.window;
    for (size_t d = 0; d < window.kernel.size(); ++d) {
        // Along one dim: elements of the long side are steps apart on the short one.
        const int64_t inputs = image[2 + d], results = code.space[2 + d];
        std::vector<bool> reached(static_cast<size_t>(results));
        const int64_t steps = isTransposed ? inputs : results;
        for (int64_t step = 0; step < steps; ++step)
            for (int64_t tap = 0; tap < window.kernel[d]; ++tap) {
                const int64_t at =
                    step * window.strides[d] - window.padsBegin[d] + tap * window.dilations[d];
                if (at >= 0 && at < (isTransposed ? results : inputs))
                    reached[static_cast<size_t>(isTransposed ? at : step)] = true;
            }
        if (std::find(reached.begin(), reached.end(), false) != reached.end())
            return true;
    }
    return false;
}

} // namespace fuselage::cpu
