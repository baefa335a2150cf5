// SPDX-License-Identifier: Apache-2.0
// What the files of evaluate() share.
#pragma once

#include "core/kernel/program.h"

#include <vector>

namespace fuselage {

/// A whole operand in double precision, row-major.
struct WideTensor {
    std::vector<double> values;
    Extents extents;
};

/// Row-major walk over all indices of an iteration space.
template <typename Body> void forEach(const Extents& space, Body&& body) {
    Extents index(space.size(), 0);
    const int64_t count = *elementCount(space);
    for (int64_t i = 0; i < count; ++i) {
        body(index);
        for (size_t d = space.size(); d-- > 0;) {
            if (++index[d] < space[d])
                break;
            index[d] = 0;
        }
    }
}

/// Sums of a convolution over code.space; operands after their prologues.
std::vector<double> evaluateConv(const Contraction& code, const WideTensor& left,
                                 const WideTensor& right);
std::vector<double> evaluateConvTranspose(const Contraction& code, const WideTensor& left,
                                          const WideTensor& right);

/// Pooled values over `space`; padding takes part only where `kind` says so.
std::vector<double> evaluatePool(const WideTensor& input, const SlidingWindow& window,
                                 PoolKind kind, int64_t p, const Extents& space);

} // namespace fuselage
