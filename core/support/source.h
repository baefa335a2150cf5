// SPDX-License-Identifier: Apache-2.0
// Text that a person wrote, and places in it. Spans are byte offsets; line and column are
// computed only when something is printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage {

/// A half-open byte range of one source; `source` indexes a SourceSet.
struct Span {
    uint32_t source = 0;
    uint32_t begin = 0;
    uint32_t end = 0;

    bool empty() const { return begin == end; }

    friend bool operator==(const Span&, const Span&) = default;
};

/// One-based line and column (columns count bytes).
struct LineColumn {
    uint32_t line = 1;
    uint32_t column = 1;
};

/// A named text. The text never moves once it is in a SourceSet.
class Source {
public:
    Source(std::string name, std::string text);

    const std::string& name() const { return m_name; }

    const std::string& text() const { return m_text; }

    LineColumn position(uint32_t offset) const;

    /// The line (one-based) without its line break; empty when there is no such line.
    std::string_view line(uint32_t number) const;

private:
    std::string m_name;
    std::string m_text;
    std::vector<uint32_t> m_lineStarts;
};

/// All texts of one run. Index 0 is an unnamed empty text, so that a default Span is harmless.
class SourceSet {
public:
    SourceSet();

    /// Adds a text and returns its index for Span::source.
    uint32_t add(std::string name, std::string text);

    const Source& operator[](uint32_t index) const { return m_sources[index]; }

    uint32_t size() const { return static_cast<uint32_t>(m_sources.size()); }

    /// "name:line:column" of where a span begins.
    std::string where(const Span& span) const;

    /// The text a span covers.
    std::string_view text(const Span& span) const;

private:
    std::vector<Source> m_sources;
};

} // namespace fuselage
