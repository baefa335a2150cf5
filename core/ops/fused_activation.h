// SPDX-License-Identifier: Apache-2.0
// The activation that com.microsoft's FusedConv and FusedGemm carry as attributes.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

/// Applies the node's `activation`; the value itself when there is none. Error when the name is
/// not an elementwise operator.
Result<ReferenceValue> withActivation(const Node& node, ReferenceValue value,
                                      ReferenceContext& context);

} // namespace fuselage
