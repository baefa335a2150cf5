// SPDX-License-Identifier: Apache-2.0
// The elementwise operators that also take strings, which tapes do not know.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

void inferEqual(InferContext& context);
void inferWhere(InferContext& context);
void inferCast(InferContext& context);
void inferCastLike(InferContext& context);

Result<std::vector<ReferenceValue>> runEqual(const Node& node, ReferenceInputs inputs,
                                             ReferenceContext& context);
Result<std::vector<ReferenceValue>> runWhere(const Node& node, ReferenceInputs inputs,
                                             ReferenceContext& context);
Result<std::vector<ReferenceValue>> runCast(const Node& node, ReferenceInputs inputs,
                                            ReferenceContext& context);
Result<std::vector<ReferenceValue>> runCastLike(const Node& node, ReferenceInputs inputs,
                                                ReferenceContext& context);

} // namespace fuselage
