// SPDX-License-Identifier: Apache-2.0
#include "core/support/diagnostic.h"

#include <algorithm>
#include <tuple>

namespace fuselage {

namespace {

/// At most this much of a line is shown.
constexpr size_t shownWidth = 160;

/// The part of a line around a column (from 0), which is moved with it; nothing that a terminal
/// would obey.
std::string shownLine(std::string_view line, size_t& column) {
    constexpr size_t before = 60;
    if (line.size() > shownWidth) {
        const size_t start = std::min(column > before ? column - before : 0, line.size());
        line = line.substr(start, shownWidth);
        column -= std::min(start, column);
    }
    std::string out(line);
    for (char& c : out)
        if (static_cast<unsigned char>(c) < ' ' && c != '\t')
            c = '?';
    return out;
}

/// Bytes of UTF-8 behind the first one of a character take no column on a screen.
bool continuesCharacter(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// "  40 | rule ConvRelu ..." and the caret line below it.
std::string excerpt(const Span& span, const std::string& label, const SourceSet& sources) {
    if (span.source == 0)
        return {};
    const Source& source = sources[span.source];
    LineColumn from = source.position(span.begin);
    size_t column = from.column - 1;
    const std::string line = shownLine(source.line(from.line), column);
    size_t room = line.size() + 1 - std::min(column, line.size());
    size_t width = std::clamp<size_t>(span.end - span.begin, 1, std::max<size_t>(room, 1));
    std::string number = std::to_string(from.line);
    std::string margin(number.size(), ' ');
    std::string pad;
    for (size_t i = 0; i < column && i < line.size(); ++i)
        if (!continuesCharacter(line[i]))
            pad += line[i] == '\t' ? '\t' : ' ';
    const std::string marked = line.substr(std::min(column, line.size()), width);
    const auto behind = std::count_if(marked.begin(), marked.end(), continuesCharacter);
    width = std::max<size_t>(1, width - static_cast<size_t>(behind));
    std::string out =
        "  " + number + " | " + line + "\n  " + margin + " | " + pad + std::string(width, '^');
    if (!label.empty())
        out += " " + label;
    return out + "\n";
}

} // namespace

const char* nameOf(Severity severity) {
    switch (severity) {
    case Severity::Error:
        return "error";
    case Severity::Warning:
        return "warning";
    case Severity::Note:
        return "note";
    }
    return "";
}

Diagnostic& Diagnostics::add(Severity severity, std::string code, Span span, std::string message) {
    Diagnostic& added = m_all.emplace_back();
    added.severity = severity;
    added.code = std::move(code);
    added.span = span;
    added.message = std::move(message);
    return added;
}

bool Diagnostics::hasErrors() const {
    return std::any_of(m_all.begin(), m_all.end(),
                       [](const Diagnostic& d) { return d.severity == Severity::Error; });
}

void Diagnostics::append(const Diagnostics& other) {
    m_all.insert(m_all.end(), other.m_all.begin(), other.m_all.end());
}

void Diagnostics::sort() {
    auto key = [](const Diagnostic& d) {
        return std::tie(d.span.source, d.span.begin, d.span.end, d.code, d.message);
    };
    std::stable_sort(m_all.begin(), m_all.end(),
                     [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
    auto same = [&](const Diagnostic& a, const Diagnostic& b) { return key(a) == key(b); };
    m_all.erase(std::unique(m_all.begin(), m_all.end(), same), m_all.end());
}

std::string render(const Diagnostic& d, const SourceSet& sources) {
    std::string out;
    if (d.span.source != 0)
        out += sources.where(d.span) + ": ";
    out += std::string(nameOf(d.severity)) + "[" + d.code + "]: " + d.message + "\n";
    std::string label = d.expected.empty() ? "" : "expected: " + d.expected;
    if (!d.found.empty())
        label += (label.empty() ? "found: " : "; found: ") + d.found;
    out += excerpt(d.span, label, sources);
    if (d.span.source == 0 && !label.empty())
        out += "  " + label + "\n";
    for (const Label& extra : d.labels)
        out += excerpt(extra.span, extra.text, sources);
    for (const std::string& note : d.notes)
        out += "  note: " + note + "\n";
    if (!d.fix.empty())
        out += "  fix: " + d.fix + "\n";
    return out;
}

std::string render(const Diagnostics& diagnostics, const SourceSet& sources) {
    std::string out;
    for (const Diagnostic& d : diagnostics.all())
        out += render(d, sources);
    return out;
}

} // namespace fuselage
