// SPDX-License-Identifier: Apache-2.0
// The pooling operators whose windows come from data: MaxUnpool and MaxRoiPool.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

void inferMaxUnpool(InferContext& context);
void inferMaxRoiPool(InferContext& context);
Result<std::vector<ReferenceValue>> runMaxUnpool(const Node& node, ReferenceInputs inputs,
                                                 ReferenceContext& context);
Result<std::vector<ReferenceValue>> runMaxRoiPool(const Node& node, ReferenceInputs inputs,
                                                  ReferenceContext& context);

} // namespace fuselage
