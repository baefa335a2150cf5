// SPDX-License-Identifier: Apache-2.0
// The attention operators of com.microsoft.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

void inferMsAttention(InferContext& context);
void inferMultiHeadAttention(InferContext& context);
Result<std::vector<ReferenceValue>> runMsAttention(const Node& node, ReferenceInputs inputs,
                                                   ReferenceContext& context);
Result<std::vector<ReferenceValue>> runMultiHeadAttention(const Node& node, ReferenceInputs inputs,
                                                          ReferenceContext& context);

} // namespace fuselage
