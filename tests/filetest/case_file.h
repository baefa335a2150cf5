// SPDX-License-Identifier: Apache-2.0
// A .case file: what it proves, the command that checks it, named sections of text. One behaviour a
// file, readable top-down; sections that the command computes are rewritten by --bless.
#pragma once

#include "core/support/result.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::filetest {

struct Section {
    std::string name;
    std::string text; ///< without the line break at its end
};

struct CaseFile {
    std::string path;
    std::string proves;                         ///< the comment of line one
    std::string command;                        ///< "rewrite"
    std::map<std::string, std::string> options; ///< rules=..., pipeline=...
    std::vector<Section> sections;              ///< in file order

    /// The section's text, or nothing.
    const std::string* find(const std::string& name) const;
    std::string option(const std::string& name, const std::string& fallback = {}) const;
};

Result<CaseFile> readCase(const std::string& path);

/// The file's text with these sections replaced.
std::string render(const CaseFile& file, const std::map<std::string, std::string>& actual);

/// Lines that differ, "-" expected and "+" actual, with a little context.
std::string difference(const std::string& expected, const std::string& actual);

} // namespace fuselage::filetest
