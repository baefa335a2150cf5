// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/tensor_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr int64_t lookEvery = 65536; ///< elements between two looks at `stop`

/// Calls `each` with every element as a number; false when stopped.
bool forEach(const Tensor& tensor, FunctionRef<bool()> stop, FunctionRef<void(double)> each) {
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        if (i % lookEvery == 0 && stop())
            return false;
        each(tensor.at(i));
    }
    return true;
}

} // namespace

std::optional<TensorFacts> factsOf(const Tensor& tensor, FunctionRef<bool()> stop) {
    TensorFacts out;
    out.count = tensor.elementCount();
    if (tensor.dtype() == DType::String || !tensor.defined())
        return out;
    double sum = 0, squares = 0;
    const bool first = forEach(tensor, stop, [&](double value) {
        out.zeros += value == 0;
        if (!std::isfinite(value)) {
            ++out.notFinite;
            return;
        }
        out.least = out.finite == 0 ? value : std::min(out.least, value);
        out.most = out.finite == 0 ? value : std::max(out.most, value);
        sum += value;
        squares += value * value;
        ++out.finite;
    });
    if (!first)
        return std::nullopt;
    if (out.finite > 0) {
        out.mean = sum / static_cast<double>(out.finite);
        out.deviation = std::sqrt(
            std::max(0.0, squares / static_cast<double>(out.finite) - out.mean * out.mean));
    }
    const double width = (out.most - out.least) / TensorFacts::bins;
    const bool second = forEach(tensor, stop, [&](double value) {
        if (!std::isfinite(value))
            return;
        const double at = width > 0 ? (value - out.least) / width : 0;
        ++out.histogram[std::min(static_cast<size_t>(at), TensorFacts::bins - 1)];
    });
    return second ? std::optional(out) : std::nullopt;
}

std::string factsText(const TensorFacts& facts) {
    std::string out;
    if (facts.finite > 0)
        out = fmt::format("{:.5g} .. {:.5g}, mean {:.5g}, deviation {:.5g}", facts.least,
                          facts.most, facts.mean, facts.deviation);
    const auto append = [&](const std::string& words) { out += (out.empty() ? "" : ", ") + words; };
    if (facts.zeros > 0)
        append(fmt::format("{:.1f} % zero", 100.0 * static_cast<double>(facts.zeros) /
                                                static_cast<double>(facts.count)));
    if (facts.notFinite > 0)
        append(fmt::format("{} not finite", facts.notFinite));
    return out;
}

} // namespace fuselage::app
