// SPDX-License-Identifier: Apache-2.0
// Options of fuselage.toml as words of the command line, as far as the person did not give them.
#pragma once

#include "app/batch/project_file.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fuselage::cli {

/// Words to parse, and which of them came from where.
struct ProjectWords {
    std::vector<std::string> words;  ///< all that follows the program's name
    std::vector<std::string> models; ///< for commands that take them, when none are given
    std::vector<batch::ProjectOption> used;
    std::vector<std::string> written; ///< by the person
    std::string path;                 ///< of the file; empty: none
    bool print = false;               ///< --print-config: show the settings, run nothing
};

/// `words` is what the person wrote. --config FILE names a file, "none" none; else the nearest is
/// taken. Errors "usage.project": an option that no command has, with its line.
Result<ProjectWords> withProject(const CLI::App& app, std::vector<std::string> words);

/// The settings of the command that was parsed, each with where it comes from.
std::string settingsText(const CLI::App& app, const ProjectWords& project);

/// "fuselage.toml:3" when the text is about an option of the file, else "".
std::string placeOf(const std::string& text, const ProjectWords& project);

} // namespace fuselage::cli
