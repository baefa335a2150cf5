// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data: what one run showed of them, and what a graph then takes for granted.
#pragma once

#include "core/graph/tensor.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage {

/// Values that give shapes (lengths, starts, sizes) have at most this many elements.
constexpr int64_t maxShapeElements = 64;

/// What one run of a graph showed, by name of the value.
struct RunShapes {
    std::map<std::string, Extents> extents;    ///< of tensors whose shape the graph leaves open
    std::map<std::string, TensorPtr> contents; ///< of small tensors that are computed
};

/// What a graph takes for granted after specialise() (core/passes/specialise.h). Good for runs in
/// which it holds: makeSpecialised (core/plan/specialised.h) checks each.
struct AssumedShapes {
    struct Contents {
        std::string value;
        size_t output = 0; ///< of the graph, where the value can be looked at
        TensorPtr expected;
    };

    size_t outputs = 0;              ///< of the graph itself; those behind them are for checks only
    std::vector<Contents> contents;  ///< values that give shapes
    std::vector<std::string> values; ///< whose extents are taken: their nodes find others at once

    bool empty() const { return contents.empty() && values.empty(); }
};

} // namespace fuselage
