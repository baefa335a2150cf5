// SPDX-License-Identifier: Apache-2.0
// Whether a node of the file can be brought into the form that the rest of Fuselage knows without
// losing what it says. A node with an attribute that its operator's row does not know would compute
// something else, so it stays as it is.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>

namespace fuselage::model_io {

/// Normalises `spec`, a node of opset `version` of `domain` with a row, before it is added to
/// `graph`. Where that cannot be done it becomes Op::Unknown, unchanged, and the reason is
/// returned; else nothing is. Error "load.attribute": an attribute of another kind than its
/// operator's.
Result<std::string> understand(Graph& graph, NodeSpec& spec, const std::string& domain,
                               int64_t version, const std::string& where);

} // namespace fuselage::model_io
