// SPDX-License-Identifier: Apache-2.0
// The way back from the normal form: what changed again after opset 17.
#pragma once

#include "core/onnx/writer_internal.h"

#include <functional>

namespace fuselage::model_io {

/// Adds a constant beside the node and returns its name.
using ConstantSink = std::function<std::string(Tensor, const char* suffix)>;

/// The node as opset `opset` writes it. Inputs that the node has are left empty, for the caller to
/// name; added ones have their names.
FileNode fileFormOf(const Node& node, int64_t opset, const ConstantSink& addConstant);

} // namespace fuselage::model_io
