// SPDX-License-Identifier: Apache-2.0
// The sliding windows of evaluate(): convolutions and pools as the plainest loops there are.
#include "core/kernel/evaluate_internal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

/// Index of the input along one spatial dim, or -1 in the padding.
int64_t inputIndex(const SlidingWindow& window, size_t d, int64_t out, int64_t tap,
                   int64_t extent) {
    const int64_t in = out * window.strides[d] - window.padsBegin[d] + tap * window.dilations[d];
    return in >= 0 && in < extent ? in : -1;
}

} // namespace

std::vector<double> evaluateConv(const Contraction& code, const WideTensor& left,
                                 const WideTensor& right) {
    const std::vector<double>& x = left.values;
    const Extents& xe = left.extents;
    const std::vector<double>& w = right.values;
    const Extents& we = right.extents;
    const Extents xs = rowMajorStrides(xe), ws = rowMajorStrides(we);
    const int64_t perGroup = we[0] / code.groups;
    std::vector<double> out;
    forEach(code.space, [&](const Extents& o) {
        const int64_t group = o[1] / perGroup;
        double sum = 0;
        forEach(Extents(we.begin() + 1, we.end()), [&](const Extents& tap) {
            int64_t xi = o[0] * xs[0] + (group * we[1] + tap[0]) * xs[1];
            int64_t wi = o[1] * ws[0] + tap[0] * ws[1];
            for (size_t d = 0; d + 2 < xe.size(); ++d) {
                const int64_t in = inputIndex(code.window, d, o[d + 2], tap[d + 1], xe[d + 2]);
                if (in < 0)
                    return;
                xi += in * xs[d + 2];
                wi += tap[d + 1] * ws[d + 2];
            }
            sum += x[static_cast<size_t>(xi)] * w[static_cast<size_t>(wi)];
        });
        out.push_back(sum);
    });
    return out;
}

std::vector<double> evaluateConvTranspose(const Contraction& code, const WideTensor& left,
                                          const WideTensor& right) {
    const std::vector<double>& x = left.values;
    const Extents& xe = left.extents;
    const std::vector<double>& w = right.values;
    const Extents& we = right.extents; // [C, K / groups, ...]
    const Extents ws = rowMajorStrides(we), os = rowMajorStrides(code.space);
    const int64_t perGroup = xe[1] / code.groups;
    std::vector<double> out(static_cast<size_t>(*elementCount(code.space)), 0);
    size_t xi = 0;
    forEach(xe, [&](const Extents& i) {
        const double value = x[xi++];
        forEach(Extents(we.begin() + 1, we.end()), [&](const Extents& tap) {
            int64_t oi = i[0] * os[0] + (i[1] / perGroup * we[1] + tap[0]) * os[1];
            int64_t wi = i[1] * ws[0] + tap[0] * ws[1];
            for (size_t d = 0; d + 2 < xe.size(); ++d) {
                const int64_t at = i[d + 2] * code.window.strides[d] - code.window.padsBegin[d] +
                                   tap[d + 1] * code.window.dilations[d];
                if (at < 0 || at >= code.space[d + 2])
                    return;
                oi += at * os[d + 2];
                wi += tap[d + 1] * ws[d + 2];
            }
            out[static_cast<size_t>(oi)] += value * w[static_cast<size_t>(wi)];
        });
    });
    return out;
}

std::vector<double> evaluatePool(const WideTensor& input, const SlidingWindow& window,
                                 PoolKind kind, int64_t p, const Extents& space) {
    const std::vector<double>& x = input.values;
    const Extents& extents = input.extents;
    std::vector<double> out;
    const Extents strides = rowMajorStrides(extents);
    forEach(space, [&](const Extents& o) {
        double best = -std::numeric_limits<double>::infinity(), sum = 0;
        int64_t inside = 0, padded = 0;
        bool sawNan = false;
        forEach(window.kernel, [&](const Extents& tap) {
            int64_t offset = o[0] * strides[0] + o[1] * strides[1];
            bool in = true, inPadded = true;
            for (size_t d = 0; d < tap.size(); ++d) {
                const int64_t raw = o[d + 2] * window.strides[d] - window.padsBegin[d] +
                                    tap[d] * window.dilations[d];
                in = in && raw >= 0 && raw < extents[d + 2];
                inPadded = inPadded && raw < extents[d + 2] + window.padsEnd[d];
                offset += raw * strides[d + 2];
            }
            padded += inPadded ? 1 : 0;
            if (!in)
                return;
            const double value = x[static_cast<size_t>(offset)];
            ++inside;
            sawNan = sawNan || std::isnan(value);
            best = std::max(best, value);
            sum +=
                kind == PoolKind::Lp ? std::pow(std::fabs(value), static_cast<double>(p)) : value;
        });
        switch (kind) {
        case PoolKind::Max:
            out.push_back(sawNan ? std::nan("") : best);
            break;
        case PoolKind::Average:
            out.push_back(sum / static_cast<double>(inside));
            break;
        case PoolKind::AverageIncludingPad:
            out.push_back(sum / static_cast<double>(padded));
            break;
        case PoolKind::Lp:
            out.push_back(std::pow(sum, 1.0 / static_cast<double>(p)));
            break;
        }
    });
    return out;
}

} // namespace fuselage
