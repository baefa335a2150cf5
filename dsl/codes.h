// SPDX-License-Identifier: Apache-2.0
// Every code that a message about rules may carry, in one table: what it means, how to mend it, and
// a text that shows it. `fuselage check --explain` and dsl/README.md print it; tests hold that no
// code is used that has no row, that every row is used, and that every example shows its code.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fuselage::dsl {

/// E: an error, W: a warning, M: why a rule did not fire.
struct CodeRow {
    const char* code;
    const char* meaning; ///< one line, lower-case
    const char* mend;    ///< one line: what to do about it
    /// A file that shows it, in one line, without `fuse 1;`. Empty: too long for a line, the case
    /// of that name shows it.
    const char* example;
    const char* graph = ""; ///< M: the graph that the rule was tried on, in ONNX's textual syntax
};

/// All rows, by kind and number.
std::span<const CodeRow> codeTable();

/// The row of that code; null when there is none.
const CodeRow* codeNamed(std::string_view code);

/// As a person reads it: the code, its meaning, the remedy and the example.
std::string explanation(const CodeRow& row);

/// The rows as a table in Markdown, as it stands in dsl/README.md.
std::string codesAsMarkdown();

} // namespace fuselage::dsl
