// SPDX-License-Identifier: Apache-2.0
// In which precision a person wants a graph, and which of its nodes in another one.
#pragma once

#include "core/ops/precision.h"
#include "core/passes/node_choice.h"

#include <string>
#include <vector>

namespace fuselage {

/// What a person asks of some nodes: float32, or the 16-bit type.
struct PrecisionOf {
    NodeChoice nodes;
    bool wide = true;
    std::string rule = {}; ///< the nodes of this rule's matches, not yet looked up
};

struct PrecisionExceptions {
    std::vector<PrecisionOf> of; ///< the last one that names a node counts
    bool restIsWide = false;     ///< nodes that none names stay in float32
};

struct PrecisionChoice {
    Precision precision = Precision::Fp32;
    PrecisionExceptions except = {};
};

/// From "NODES=PRECISION" (node_choice.h says what NODES are; "rule:NAME" too), one each, or
/// "@FILE" with one a line and comments behind `#`; PRECISION is fp32 or the 16-bit type of all.
/// Where `base` stores float32, the 16-bit type that is named becomes the precision and all other
/// nodes stay in float32. Errors "usage.precision", also where nothing is stored in 16 bits and
/// exceptions say nothing; "usage.nodes"; those of reading. Each says the text, and of a file the
/// line.
Result<PrecisionChoice> parsePrecisionChoice(Precision base, const std::vector<std::string>& texts);

} // namespace fuselage
