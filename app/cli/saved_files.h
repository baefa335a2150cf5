// SPDX-License-Identifier: Apache-2.0
// What a command notes of the files that a model was written to besides the one that was named.
#pragma once

#include "core/onnx/model_file.h"

#include <string>
#include <vector>

namespace fuselage::cli {

/// Of its data file, and of the one that the model before had, which stays; empty: neither.
std::vector<std::string> dataFileNotes(const model_io::SavedFiles& saved);

} // namespace fuselage::cli
