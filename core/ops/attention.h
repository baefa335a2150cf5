// SPDX-License-Identifier: Apache-2.0
// Attention of ONNX and of com.microsoft, and MultiHeadAttention.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> attentionRows();

} // namespace fuselage
