// SPDX-License-Identifier: Apache-2.0
// What a tensor holds, for people: range, mean, zeros, a histogram, its first values; and the file
// that numpy reads.
#pragma once

#include "core/graph/tensor.h"

#include <QByteArray>
#include <QString>
#include <array>
#include <functional>
#include <optional>

namespace fuselage::studio {

struct TensorFacts {
    static constexpr size_t bins = 48;

    int64_t count = 0; ///< elements; of texts nothing else is known
    int64_t zeros = 0, notFinite = 0;
    double least = 0, most = 0, mean = 0, deviation = 0; ///< of the finite ones
    std::array<int64_t, bins> histogram{};               ///< from `least` to `most`, even steps
};

/// Looks at every element twice. Null when `stop` says so.
std::optional<TensorFacts> factsOf(const Tensor& tensor, const std::function<bool()>& stop);

/// The first elements in rows as numpy prints them, at most `most`.
QString valuesText(const Tensor& tensor, int64_t most);

/// A .npy file, version 1.0; empty for element types that numpy has no name for.
QByteArray npyOf(const Tensor& tensor);

} // namespace fuselage::studio
