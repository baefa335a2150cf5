// SPDX-License-Identifier: Apache-2.0
// The parts of deriving a rule: words, the sites that it is derived from, the pattern that they
// share. Stays in this room.
#pragma once

#include "app/pipeline/derive.h"

#include <optional>
#include <set>

namespace fuselage::app {

/// The operator as rules write it; empty when they cannot.
std::string ruleNameOf(Op op);

/// As an expression of the language; none for tensors, graphs and long lists.
std::optional<std::string> attributeText(const AttributeValue& value);

/// What a person would call this operand: "w", "bias", "res", "x".
std::string roleOf(Op op, size_t slot, bool isConst);

/// A lower-case name that begins like the wish, is no keyword and not taken yet; takes it.
std::string freshName(const std::string& wish, std::set<std::string>& taken);

/// The nodes of one site, producers first.
using SiteNodes = std::vector<NodeId>;

/// Errors "derive.nodes" (none, unknown ones with the nearest names, one in two sites),
/// "derive.operator" and "derive.convex" (a node lies between them).
Result<std::vector<SiteNodes>> resolveSites(const Graph& graph,
                                            const std::vector<std::vector<std::string>>& sites);

/// The statements and escapes of the least general pattern that covers all sites.
struct SharedPattern {
    std::string statements; ///< lines, indented by four
    std::string escapes;    ///< lines, indented by two
    std::string operators;  ///< "ConvAddRelu": of the first site
};

/// Error "derive.differ" names the first nodes that have nothing in common.
Result<SharedPattern> sharedPattern(const Graph& graph, const std::vector<SiteNodes>& sites);

/// The whole text of a rule.
std::string ruleText(const SharedPattern& pattern, const std::string& name,
                     const DeriveOptions& options, const std::string& note,
                     const std::string& tests);

} // namespace fuselage::app
