// SPDX-License-Identifier: Apache-2.0
// Bodies of declared operators: a node of an operator that an `op` item says in full becomes a
// fused node (Op::Fused) with that body, so that it runs, is priced and is exported as a function
// under its own domain and name.
#pragma once

#include "core/rewrite/draft.h"
#include "core/rewrite/pattern.h"
#include "core/support/result.h"

namespace fuselage {

/// Makes a node that operator, without a body.
void name(Node& node, const CustomOperator& custom);

/// Fills in the defaults of its attributes and, where the operator has a body, gives it to the
/// node; the types of its outputs are for the caller to infer. A node that the body does not fit
/// (an operand or output left out, an attribute that is not declared, or is missing) stays as it is,
/// with the error.
Result<void> enterBody(Graph& graph, NodeId node, const CustomOperator& custom,
                       const InferenceFunction& infer);

/// The same for all nodes of declared operators, also in bodies of If, Loop and Scan, and infers
/// types where any has changed. Why a node stays without a body is in its Node::notComputed.
void enterBodies(Graph& graph, const std::vector<CustomOperatorPtr>& operators,
                 const InferenceFunction& infer);

} // namespace fuselage
