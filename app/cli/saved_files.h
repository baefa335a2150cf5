// SPDX-License-Identifier: Apache-2.0
// Writing a model: what must be there before, and what a command notes of the files besides the one
// that was named.
#pragma once

#include "core/onnx/model_file.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::cli {

/// Error "load.external_missing": some of the model's weights were in a file that is not there, so
/// that the one written would refer to nothing.
Result<void> requireData(const Graph& graph);

/// Of its data file, and of the one that the model before had, which stays; empty: neither.
std::vector<std::string> dataFileNotes(const model_io::SavedFiles& saved);

} // namespace fuselage::cli
