// SPDX-License-Identifier: Apache-2.0
// What a tensor holds, for people: range, mean, zeros, a histogram.
#pragma once

#include "core/graph/tensor.h"
#include "core/support/function_ref.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace fuselage::app {

struct TensorFacts {
    static constexpr size_t bins = 48;

    int64_t count = 0; ///< elements; of texts nothing else is known
    int64_t zeros = 0, finite = 0, notFinite = 0;
    double least = 0, most = 0, mean = 0, deviation = 0; ///< of the finite ones
    std::array<int64_t, bins> histogram{};               ///< from `least` to `most`, even steps
};

/// Looks at every element twice. Null when `stop` says so.
std::optional<TensorFacts> factsOf(const Tensor& tensor, FunctionRef<bool()> stop);

/// "-1.2 .. 3.4, mean 0.1, deviation 0.7, 12.5 % zero, 3 not finite"; empty for texts and for no
/// elements.
std::string factsText(const TensorFacts& facts);

} // namespace fuselage::app
