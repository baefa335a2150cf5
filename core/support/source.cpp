// SPDX-License-Identifier: Apache-2.0
#include "core/support/source.h"

#include <algorithm>
#include <utility>

namespace fuselage {

Source::Source(std::string name, std::string text)
    : m_name(std::move(name)), m_text(std::move(text)), m_lineStarts{0} {
    for (uint32_t i = 0; i < m_text.size(); ++i)
        if (m_text[i] == '\n')
            m_lineStarts.push_back(i + 1);
}

LineColumn Source::position(uint32_t offset) const {
    auto after = std::upper_bound(m_lineStarts.begin(), m_lineStarts.end(), offset);
    auto line = static_cast<uint32_t>(after - m_lineStarts.begin());
    return {line, offset - m_lineStarts[line - 1] + 1};
}

std::string_view Source::line(uint32_t number) const {
    if (number == 0 || number > m_lineStarts.size())
        return {};
    uint32_t begin = m_lineStarts[number - 1];
    size_t end = m_text.find('\n', begin);
    if (end == std::string::npos)
        end = m_text.size();
    return std::string_view(m_text).substr(begin, end - begin);
}

SourceSet::SourceSet() {
    m_sources.emplace_back("", "");
}

uint32_t SourceSet::add(std::string name, std::string text) {
    m_sources.emplace_back(std::move(name), std::move(text));
    return size() - 1;
}

std::string SourceSet::where(const Span& span) const {
    const Source& source = m_sources[span.source];
    LineColumn at = source.position(span.begin);
    return source.name() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string_view SourceSet::text(const Span& span) const {
    return std::string_view(m_sources[span.source].text())
        .substr(span.begin, span.end - span.begin);
}

} // namespace fuselage
