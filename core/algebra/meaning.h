// SPDX-License-Identifier: Apache-2.0
// What an operator makes of symbolic operands. Elementwise ones: what their tape says. Reductions,
// softmaxes and normalisations: a row each. All others are functions of which nothing is known but
// that the same operands and attributes give the same result.
#pragma once

#include "core/algebra/algebra.h"
#include "core/algebra/known.h"
#include "core/graph/op.h"

namespace fuselage::algebra {

struct Application {
    Op op = Op::Unknown;
    std::vector<std::optional<SymbolicValue>> operands; ///< absent ones are none
    std::map<std::string, Known> attributes;            ///< all of the schema, by name
    size_t output = 0;
    size_t outputs = 1; ///< that have a name
};

/// One element of the result.
Expr meaningOf(Algebra& algebra, const Application& application);

/// Axes as they count from the back; none where that is not known.
std::optional<std::string> axesFromBack(const Known& axes, std::optional<size_t> rank);

} // namespace fuselage::algebra
