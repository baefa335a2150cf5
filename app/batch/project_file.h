// SPDX-License-Identifier: Apache-2.0
// fuselage.toml: options of a project, written down once. Found in the current folder or above it;
// knows TOML, and nothing of which options there are.
#pragma once

#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::batch {

struct ProjectOption {
    std::string command; ///< table it stands in ("batch"); empty: for every command that has it
    std::string name;    ///< of the option without its dashes: "baseline"
    std::vector<std::string> values; ///< "true" and "false" of a flag
    std::string where;               ///< "fuselage.toml:3"
    std::string model = {};          ///< of a table [model."PATTERN"]: the models that it is for
};

/// Options in the order of their lines. Names of files are relative to the file's folder and come
/// back as the current folder sees them. `dim = { N = 4 }` gives "N=4". Errors "usage.project" with
/// file and line.
Result<std::vector<ProjectOption>> readProject(const std::string& text, const std::string& path);

/// Path of the nearest fuselage.toml at or above the current folder; empty: none.
std::string findProject();

} // namespace fuselage::batch
