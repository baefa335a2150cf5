// SPDX-License-Identifier: Apache-2.0
// Checks one normalised node against the op table, so that later phases may index its inputs; and
// before that the attributes of other opsets, which no row has.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>
#include <string_view>

namespace fuselage::model_io {

/// load.arity or load.attribute when the node does not fit its operator.
Result<void> checkNode(const NodeSpec& spec, const std::string& where);

/// load.attribute when an attribute is not of the kind that `kinds` says: "axes:ints k:int".
Result<void> checkKinds(const NodeSpec& spec, std::string_view kinds, const std::string& where);

/// Attributes hold single precision in files: rounds all numbers, so that a default and the same
/// value written out are equal.
void roundNumbers(Node& node);

} // namespace fuselage::model_io
