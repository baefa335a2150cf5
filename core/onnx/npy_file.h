// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array with its element type and extents.
#pragma once

#include "core/graph/tensor.h"
#include "core/support/result.h"

#include <optional>
#include <string>

namespace fuselage::model_io {

/// Reads versions 1 to 3 of the format, rows or columns first. Objects are never unpickled. Error
/// "load.npy": no such file, truncated, or of a type that no tensor has.
Result<Tensor> loadNpy(const std::string& path);

/// Whether NumPy has this element type.
bool isNumpyType(DType type);

/// The bytes of such a file; none for a type that NumPy lacks.
std::optional<std::string> npyOf(const Tensor& tensor);

} // namespace fuselage::model_io
