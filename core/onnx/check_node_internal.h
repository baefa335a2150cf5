// SPDX-License-Identifier: Apache-2.0
// Checks one normalised node against the op table, so that later phases may index its inputs; and
// before that its attributes against what is published for the opset of the file.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/op_schema.h"
#include "core/support/result.h"

#include <string>
#include <string_view>

namespace fuselage::model_io {

/// load.arity or load.attribute when the node does not fit its operator. Inputs that the operator
/// declares optional may be missing; the node has a slot for each that its row counts.
Result<void> checkNode(NodeSpec& spec, const std::string& where);

/// load.attribute when an attribute of `op` is of kind `found`, spelt as schemas spell kinds, and
/// its schema says another.
Result<void> checkKind(std::string_view op, const AttributeSchema& schema, std::string_view found,
                       const std::string& where);

/// load.attribute when an attribute is not of the kind that is published (null: nothing is), or
/// else that the row says.
Result<void> checkKinds(const NodeSpec& spec, const OpSchema* published, const std::string& where);

/// Attributes hold single precision in files: rounds all numbers, so that a default and the same
/// value written out are equal.
void roundNumbers(Node& node);

} // namespace fuselage::model_io
