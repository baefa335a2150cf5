// SPDX-License-Identifier: Apache-2.0
// What a file that was given as a model is instead, by its first bytes: a person took the wrong one
// of several, or a download brought something else under the right name.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::model_io {

struct FileKind {
    const char* what; ///< "a page of a web server"
    const char* fix;  ///< what gets a model
};

/// Null: it looks like nothing that is known here.
const FileKind* kindOf(std::string_view bytes);

/// For a folder that was given as a model: "give one of its files: a.onnx, b.onnx".
std::string adviceForFolder(const std::string& path);

} // namespace fuselage::model_io
