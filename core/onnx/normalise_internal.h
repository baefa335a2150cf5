// SPDX-License-Identifier: Apache-2.0
// Rewrites a node of any opset into the one form that the rest of Fuselage knows (opset 17 where
// it has the operator): attributes that became inputs, old broadcasting, renamed operators.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>

namespace fuselage::model_io {

/// Changes `spec`, a node of opset `version` of `domain` that is about to be added to `graph`; may
/// add constants and nodes before it.
Result<void> normalise(Graph& graph, NodeSpec& spec, const std::string& domain, int64_t version,
                       const std::string& where);

} // namespace fuselage::model_io
