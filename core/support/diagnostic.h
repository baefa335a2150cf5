// SPDX-License-Identifier: Apache-2.0
// What a phase says about a person's text: code, place, what was found, what was expected, one fix.
// A phase reports all it finds and still returns what it could build.
#pragma once

#include "core/support/source.h"

#include <string>
#include <vector>

namespace fuselage {

enum class Severity { Error, Warning, Note };

/// A second place that belongs to a diagnostic, with its own words.
struct Label {
    Span span;
    std::string text;
};

struct Diagnostic {
    Severity severity = Severity::Error;
    std::string code; ///< "E0214"; stable, listed in dsl/README.md
    std::string message;
    Span span;
    std::string found;    ///< empty when the message says it
    std::string expected; ///< empty when the message says it
    std::string fix;      ///< one concrete change, may be empty
    std::vector<Label> labels;
    std::vector<std::string> notes;
};

/// The diagnostics of one run, in the order in which they were found.
class Diagnostics {
public:
    Diagnostic& add(Severity severity, std::string code, Span span, std::string message);

    Diagnostic& error(std::string code, Span span, std::string message) {
        return add(Severity::Error, std::move(code), span, std::move(message));
    }

    Diagnostic& warning(std::string code, Span span, std::string message) {
        return add(Severity::Warning, std::move(code), span, std::move(message));
    }

    bool hasErrors() const;

    const std::vector<Diagnostic>& all() const { return m_all; }

    bool empty() const { return m_all.empty(); }

    void append(const Diagnostics& other);

    /// Sorts by source, then offset, then code; equal entries are kept once.
    void sort();

private:
    std::vector<Diagnostic> m_all;
};

/// The form printed on a terminal: header with place, the line with carets, notes, fix.
std::string render(const Diagnostic& diagnostic, const SourceSet& sources);
std::string render(const Diagnostics& diagnostics, const SourceSet& sources);

/// "error", "warning" or "note".
const char* nameOf(Severity severity);

} // namespace fuselage
