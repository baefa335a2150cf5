// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph -> the text of a rule that matches exactly this structure: the beginning of a
// rule that a person goes on with. Knows no files and no windows.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct DeriveOptions {
    std::string name;     ///< of the rule; empty: made from the operators
    int64_t priority = 100; ///< above the standard library, which may match the same nodes
};

/// A whole .fuse text with one fuse rule: operators, constants as `const` (single numbers as
/// numbers), attributes without their default. Errors "derive.nodes" (none, or unknown names) and
/// "derive.operator" (one that rules cannot name).
Result<std::string> deriveRule(const Graph& graph, const std::vector<std::string>& nodes,
                               const DeriveOptions& options = {});

} // namespace fuselage::app
