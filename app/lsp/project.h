// SPDX-License-Identifier: Apache-2.0
// What `fuselage.toml` of a folder says to an editor: where rules lie and which model to count
// matches on. Reads three keys and leaves the others to who knows them.
#pragma once

#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::lsp {

struct Project {
    std::vector<std::string> patterns;   ///< folders and files of rules, absolute
    std::vector<std::string> importPath; ///< folders where imports are looked up last, absolute
    std::string model;                   ///< absolute; empty: none named
};

/// `patterns = ["rules/"]`, `import-path = ["shared/"]` and `[lsp] model = "model.onnx"`, relative
/// to the file. A folder without the file is an empty project. Error "project.read".
Result<Project> readProject(const std::string& folder);

/// The path of a file:// URI; empty for others.
std::string pathOfUri(const std::string& uri);

std::string uriOfPath(const std::string& path);

} // namespace fuselage::lsp
