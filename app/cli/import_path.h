// SPDX-License-Identifier: Apache-2.0
// The option -I of every subcommand that reads rules.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fuselage::cli {

/// -I; `before`: what is looked through first, in words.
void addImportPath(CLI::App& app, std::vector<std::string>& folders, const std::string& before);

} // namespace fuselage::cli
