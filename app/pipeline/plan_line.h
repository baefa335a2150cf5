// SPDX-License-Identifier: Apache-2.0
// The words of a plan's line: what .fuseplan files are made of, written and read in one place. A
// first line names the format, `#` begins a comment, names of models stand in quotes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::app {

/// Names come from models and may hold anything: "a \"b\" \x0a".
std::string quotedName(const std::string& name);

/// With commas between.
std::string quotedNames(const std::vector<std::string>& names);

/// Without their ends, CR LF too.
std::vector<std::string_view> linesOf(std::string_view text);

/// Reads one line from left to right; spaces between words do not count.
class PlanLine {
public:
    explicit PlanLine(std::string_view line) : m_rest(line) {}

    bool atEnd();
    /// The text, if it comes next.
    bool take(std::string_view text);
    /// A run of letters, digits and underscores; empty when there is none.
    std::string word();
    /// In quotes.
    std::optional<std::string> name();
    /// One name or more, with commas.
    std::optional<std::vector<std::string>> names();
    std::optional<int64_t> integer();
    /// A finite number.
    std::optional<double> number();

private:
    void skipSpaces();
    std::optional<char> escape();

    std::string_view m_rest;
};

} // namespace fuselage::app
