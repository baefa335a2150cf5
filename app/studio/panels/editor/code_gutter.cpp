// SPDX-License-Identifier: Apache-2.0
// The margin of a CodeView: line numbers, mistakes as letters, and folding.
#include "app/studio/graph_view/colours.h"
#include "app/studio/panels/editor/code_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <QTextBlock>

namespace fuselage::studio {

int CodeView::gutterWidth() const {
    int digits = static_cast<int>(QString::number(std::max(blockCount(), 99)).size());
    return fontMetrics().horizontalAdvance('9') * (digits + 4);
}

void CodeView::placeGutter() {
    setViewportMargins(gutterWidth(), 0, 0, 0);
    QRect inside = contentsRect();
    m_gutter->setGeometry(inside.left(), inside.top(), gutterWidth(), inside.height());
}

void CodeView::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    placeGutter();
}

void CodeView::paintGutter(QPaintEvent* event, QWidget* gutter) {
    QPainter painter(gutter);
    Colours colours(palette());
    painter.fillRect(event->rect(), colours["surface"]);
    painter.setFont(font());
    int letter = fontMetrics().horizontalAdvance('9'), width = gutter->width();
    for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
        QRectF rect = blockBoundingGeometry(block).translated(contentOffset());
        if (rect.top() > gutter->height())
            break;
        if (!block.isVisible())
            continue;
        QRectF line(0, rect.top(), width - 2 * letter - 4, fontMetrics().height());
        bool here = block == textCursor().block();
        painter.setPen(colours[here ? "text" : "text.dim"]);
        painter.drawText(line, Qt::AlignRight, QString::number(block.blockNumber() + 1));
        bool mistake = false;
        if (m_facts)
            for (const Mistake& each : m_facts->mistakes)
                mistake = mistake || (each.begin >= block.position() &&
                                      each.begin < block.position() + block.length());
        if (mistake) {
            painter.setPen(colours["loss"]);
            painter.drawText(QPointF(2, line.top() + fontMetrics().ascent()), QStringLiteral("!"));
        }
        if (foldable(block)) {
            painter.setPen(colours["text.dim"]);
            QRectF mark(width - 2 * letter, rect.top(), 2 * letter, fontMetrics().height());
            painter.drawText(mark, Qt::AlignCenter,
                             folded(block) ? QStringLiteral("▸") : QStringLiteral("▾"));
        }
    }
}

void CodeView::pressGutter(QMouseEvent* event) {
    QTextBlock block = cursorForPosition(QPoint(0, event->pos().y())).block();
    if (foldable(block))
        toggleFold(block);
}

int CodeView::endOfFold(const QTextBlock& first) const {
    if (!m_facts || m_facts->text.size() != document()->characterCount() - 1)
        return -1;
    for (const Foldable& each : m_facts->folds)
        if (document()->findBlock(each.begin) == first)
            return document()->findBlock(each.end - 1).blockNumber();
    return -1;
}

bool CodeView::foldable(const QTextBlock& block) const {
    return folded(block) || endOfFold(block) > block.blockNumber();
}

bool CodeView::folded(const QTextBlock& block) const {
    return block.isVisible() && block.next().isValid() && !block.next().isVisible();
}

void CodeView::toggleFold(const QTextBlock& first) {
    bool open = folded(first);
    int end = endOfFold(first);
    QTextBlock last = first.next();
    for (; last.isValid() && (open ? !last.isVisible() : last.blockNumber() <= end);
         last = last.next())
        last.setVisible(open);
    // A hidden cursor would be lost to its person.
    if (!textCursor().block().isVisible())
        select(first.position(), first.position());
    document()->markContentsDirty(first.position(), document()->characterCount() - 1);
    viewport()->update();
    m_gutter->update();
}

void CodeView::unfoldAround(const QTextBlock& block) {
    if (block.isVisible())
        return;
    QTextBlock first = block;
    while (first.isValid() && !first.isVisible())
        first = first.previous();
    if (first.isValid())
        toggleFold(first);
}

} // namespace fuselage::studio
