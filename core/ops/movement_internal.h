// SPDX-License-Identifier: Apache-2.0
// Functions of the movement family that live in other files than its rows.
#pragma once

#include "core/ops/move_tensor.h"
#include "core/ops/op_table.h"

namespace fuselage::movement {

using Results = Result<std::vector<ReferenceValue>>;

/// The window's elements of x.
Results windowElements(const Node& node, const ReferenceValue& x, const ElementWindow& window);

void inferSlice(InferContext& context);
Results runSlice(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

void inferPad(InferContext& context);
Results runPad(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferCenterCropPad(InferContext& context);
Results runCenterCropPad(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

void inferDepthToSpace(InferContext& context);
Results runDepthToSpace(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferSpaceToDepth(InferContext& context);
Results runSpaceToDepth(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferReverseSequence(InferContext& context);
Results runReverseSequence(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferCol2Im(InferContext& context);
Results runCol2Im(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

} // namespace fuselage::movement
