// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/fuse_highlighter.h"

#include "app/studio/graph_view/colours.h"

#include <QTextDocument>

namespace fuselage::studio {

namespace {

struct Look {
    const char* token;
    bool bold = false, italic = false;
};

/// In the order of dsl::Colour.
constexpr Look looks[] = {
    {"code.keyword", true}, {"code.operator"},
    {"code.pattern"},       {"code.rule", true},
    {"code.function"},      {"code.value"},
    {"code.value", true},   {"code.dimension"},
    {"code.attribute"},     {"code.word"},
    {"code.number"},        {"code.string"},
    {"code.comment"},       {"code.comment", false, true},
    {"text.dim"},           {"loss"},
};

} // namespace

FuseHighlighter::FuseHighlighter(QTextDocument* document, const QPalette& palette)
    : QSyntaxHighlighter(static_cast<QObject*>(document)) {
    static_assert(std::size(looks) == static_cast<size_t>(dsl::Colour::Wrong) + 1);
    // Before the base class paints the change.
    connect(document, &QTextDocument::contentsChange, this, &FuseHighlighter::shift);
    setDocument(document);
    setPalette(palette);
}

void FuseHighlighter::setPalette(const QPalette& palette) {
    Colours colours(palette);
    m_formats.clear();
    for (const Look& look : looks) {
        QTextCharFormat format;
        format.setForeground(colours[look.token]);
        format.setFontItalic(look.italic);
        if (look.bold)
            format.setFontWeight(QFont::Bold);
        m_formats.push_back(format);
    }
    rehighlight();
}

void FuseHighlighter::setColours(std::vector<Coloured> colours) {
    m_colours = std::move(colours);
    rehighlight();
}

void FuseHighlighter::shift(int position, int removed, int added) {
    auto moved = [&](int at) {
        if (at >= position + removed)
            return at + added - removed;
        return std::min(at, position);
    };
    for (Coloured& each : m_colours) {
        each.begin = moved(each.begin);
        // What is typed at the end of a word belongs to it.
        each.end = each.end == position && removed == 0 ? each.end + added : moved(each.end);
    }
}

void FuseHighlighter::highlightBlock(const QString& text) {
    int start = currentBlock().position(), end = start + static_cast<int>(text.size());
    auto at = std::lower_bound(m_colours.begin(), m_colours.end(), start,
                               [](const Coloured& each, int place) { return each.end <= place; });
    for (; at != m_colours.end() && at->begin < end; ++at) {
        int from = std::max(at->begin, start), to = std::min(at->end, end);
        if (to > from)
            setFormat(from - start, to - from, m_formats[static_cast<size_t>(at->colour)]);
    }
}

} // namespace fuselage::studio
