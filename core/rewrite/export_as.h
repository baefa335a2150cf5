// SPDX-License-Identifier: Apache-2.0
// The operator that a fused node goes by, as its rule's `as` says: operands and attributes.
#pragma once

#include "core/graph/subgraph.h"
#include "core/rewrite/match.h"
#include "core/support/reason.h"

#include <variant>

namespace fuselage {

/// Attributes of the operator; none for a rule without `as`.
Result<Attributes> exportedAttributes(const Graph& graph, const Match& match);

/// Operands of the operator for what `cut` would take out of the graph: those that `as` lists, or
/// in the order of the rule's names. Add(x, b) takes x first also where the model has Add(b, x),
/// and x twice where it is both. Constants that the body holds are operands where they are listed,
/// or where the operator needs as many. None: as the cut has them, since one has no name. M0206
/// where the list lacks a value that the nodes read, or holds one that they make or that is absent.
std::variant<std::vector<ValueId>, Reason> exportedOperands(const Graph& graph, const Match& match,
                                                            const Cut& cut);

} // namespace fuselage
