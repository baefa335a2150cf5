// SPDX-License-Identifier: Apache-2.0
// Values of the reference backend from files: the inputs and outputs of ONNX's backend tests, which
// may be tensors, sequences and optionals.
#pragma once

#include "core/graph/type.h"
#include "core/ops/reference_value.h"
#include "core/support/result.h"

#include <string>

namespace fuselage::model_io {

/// Reads a TensorProto, SequenceProto or OptionalProto file; `kind` says which, since the file does
/// not. Error codes start with "load.".
Result<ReferenceValue> loadValue(const std::string& path, TypeKind kind);

} // namespace fuselage::model_io
