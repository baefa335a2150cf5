// SPDX-License-Identifier: Apache-2.0
// Convolutions of any number of spatial dimensions.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> convRows();

/// X [N,C,...] with W [M,C/group,...] as the node's attributes say; both of one class, the result
/// of `dtype`; integers are not wrapped. `bias` may be null.
Result<ReferenceValue> convolve(const Node& node, const ReferenceValue& x, const ReferenceValue& w,
                                const ReferenceValue* bias, DType dtype, ThreadPool& threads);

} // namespace fuselage
