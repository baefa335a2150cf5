// SPDX-License-Identifier: Apache-2.0
// What CLI11 says of a wrong command line, in the words of all other errors.
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

} // namespace fuselage::cli
