// SPDX-License-Identifier: Apache-2.0
// Nodes of a graph -> the text of a rule that matches exactly this structure, or what several
// places have in common: the beginning of a rule that a person goes on with. Knows no files and no
// windows.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct DeriveOptions {
    std::string name;       ///< of the rule; empty: made from the operators
    int64_t priority = 100; ///< above the standard library, which may match the same nodes
};

/// A whole .fuse text with one fuse rule: operators, constants as `const` (single numbers as
/// numbers), attributes without their default. Errors "derive.nodes" (none, or unknown names),
/// "derive.operator" (one that rules cannot name) and "derive.convex" (a node lies between them).
Result<std::string> deriveRule(const Graph& graph, const std::vector<std::string>& nodes,
                               const DeriveOptions& options = {});

struct DerivedRule {
    std::string text;    ///< a .fuse file that checks clean, with tests inside
    std::string name;    ///< of the rule
    uint32_t sites = 0;  ///< where it was derived from; it fires on each
    uint32_t others = 0; ///< of the same graph where it fires as well
    uint32_t tests = 0;  ///< inside
};

/// The least general rule that covers all these sites, each a list of names: attributes that differ
/// become `in {...}`, operators that differ alternatives, nodes that only some have optional steps,
/// constants that differ `const`. The rule was compiled and run: it fires on every site. Errors as
/// above, "derive.differ" where the sites have nothing in common, "derive.verify" when what was
/// found in common does not match one of them.
Result<DerivedRule> deriveShared(const Graph& graph,
                                 const std::vector<std::vector<std::string>>& sites,
                                 const DeriveOptions& options, Progress& progress);

} // namespace fuselage::app
