// SPDX-License-Identifier: Apache-2.0
// What CLI11 says of a wrong command line, in the words of all other errors; and what it lets pass.
#pragma once

#include "core/support/result.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace fuselage::cli {

/// Error "usage.option"; `where` is the place in a project's file, or empty. The fix names the
/// nearest option that there is, else the command's help.
Error usageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& words, const std::string& where);

/// Error "usage.value": a word `--name=`, behind which CLI11 would take the next word for the
/// value.
Result<void> requireWords(const std::vector<std::string>& words);

/// The same of what was parsed: an option or a word holds an empty text, as of a variable that
/// nobody set. No option but `--commit`, which is then unknown, means anything by it, and to some
/// it would say that they were not given.
Result<void> requireValues(const CLI::App& app);

} // namespace fuselage::cli
