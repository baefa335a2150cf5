// SPDX-License-Identifier: Apache-2.0
// lower(body): one kernel program that computes a whole subgraph, or a coded reason why there is
// none. Decides from operators, shapes and index maps only; never from a rule's name.
#pragma once

#include "core/kernel/program.h"

#include <memory>
#include <variant>

namespace fuselage {

/// A body to lower: static shapes throughout. Inputs whose data is constant in the surrounding
/// graph are marked, since programs may fold or pack them.
struct LowerRequest {
    std::shared_ptr<const Graph> body;
    std::vector<TensorPtr> constants; ///< per body input; null when it varies
    std::vector<ValueId> operands;    ///< per body input: the value of the surrounding graph
    std::vector<ValueId> results;     ///< per body output: the value of the surrounding graph
    /// Every inner edge is rounded to its type, so that nothing is wider than node by node.
    bool strict = false;
};

using LowerResult = std::variant<KernelProgram, Reason>;

/// Reason codes: kind, shape-mismatch, io-count, dynamic-dim, unsupported-op.
LowerResult lower(const LowerRequest& request);

/// The program of a body of one node that no other kind takes, or whose shapes depend on data.
KernelProgram libraryProgram(const LowerRequest& request);

/// lower() of what may differ from node by node by `allowed` at most: Exact asks for the strict
/// form. A body of one node is what it is. Reason "numeric-class" with need and allowed.
LowerResult lowerWithin(LowerRequest request, NumericClass allowed);

/// The body of a node: its fused body, fused nodes in it written out, or a new graph of just that
/// node (constants of the surrounding graph become inputs; LowerRequest::constants tells which).
/// Omitted optional inputs and outputs have no body input or output; a value read twice has one
/// body input.
LowerRequest bodyOf(const Graph& graph, NodeId node);

} // namespace fuselage
