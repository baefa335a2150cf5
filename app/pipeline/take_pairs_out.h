// SPDX-License-Identifier: Apache-2.0
// The way back: a quantised model as the float model that it was made from, but for what its
// weights lost, and where its pairs were. To compare a file with a plan, and to quantise it anew.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// A read of a DequantizeLinear's result, as a file has it.
struct FoundPair {
    std::string node;
    uint32_t operand = 0;
    DType type = DType::Undefined; ///< that is stored
    std::optional<int64_t> axis;   ///< where there are several scales
    bool constant = false;

    friend bool operator==(const FoundPair&, const FoundPair&) = default;
};

/// Removes every DequantizeLinear of a constant, which becomes a float constant, and every one
/// behind a QuantizeLinear, whose float operand is read instead. Others stay: of what comes in as
/// integers. Sorted by node and operand. Errors: those of computing a constant.
Result<std::vector<FoundPair>> takePairsOut(Graph& graph);

} // namespace fuselage::app
