// SPDX-License-Identifier: Apache-2.0
// Rotary position embeddings of ONNX and of com.microsoft.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> rotaryRows();

} // namespace fuselage
