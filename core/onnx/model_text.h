// SPDX-License-Identifier: Apache-2.0
// A graph in ONNX's textual syntax, read with options; model_file.h has the form without.
#pragma once

#include "core/onnx/model_file.h"

namespace fuselage::model_io {

/// Of the options those about files say nothing here. Errors as of loadText(text).
Result<Graph> loadText(std::string_view text, const LoadOptions& options);

} // namespace fuselage::model_io
