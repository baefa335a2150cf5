// SPDX-License-Identifier: Apache-2.0
// What keys do in a CodeView: completions, indentation.
#include "app/studio/item_models/plain_tip.h"
#include "app/studio/panels/editor/code_view.h"
#include "app/studio/panels/editor/utf8_map.h"

#include <QAbstractItemView>
#include <QKeyEvent>
#include <QPointer>
#include <QScrollBar>
#include <QTextBlock>

namespace fuselage::studio {

namespace {

constexpr int indentation = 2;

bool isWord(QChar c) {
    return c.isLetterOrNumber() || c == '_';
}

} // namespace

QString CodeView::wordBeforeCursor() const {
    QString text = textCursor().block().text();
    int end = textCursor().positionInBlock(), begin = end;
    while (begin > 0 && isWord(text[begin - 1]))
        --begin;
    return text.mid(begin, end - begin);
}

void CodeView::showCompletions() {
    if (isReadOnly())
        return;
    std::string name = m_file.toStdString();
    int position = textCursor().position();
    uint32_t offset = Utf8Map(toPlainText()).bytes(position);
    QPointer<CodeView> self(this);
    m_language.ask([self, name, offset, position](dsl::LanguageService& service) {
        auto found = service.complete(name, offset);
        return Language::Answer([self, found, position] {
            if (self && self->textCursor().position() == position)
                self->offer(found);
        });
    });
}

void CodeView::offer(std::vector<dsl::Completion> found) {
    m_items->clear();
    std::stable_sort(found.begin(), found.end(), [this](const auto& a, const auto& b) {
        return m_usual.value(QString::fromStdString(a.label)) >
               m_usual.value(QString::fromStdString(b.label));
    });
    constexpr qsizetype widest = 32, longest = 70; // letters of the two columns
    qsizetype letters = 0;
    for (const dsl::Completion& each : found)
        letters = std::max(letters, QString::fromStdString(each.label).size());
    for (const dsl::Completion& each : found) {
        auto* item = new QStandardItem(QString::fromStdString(each.label));
        item->setData(m_items->rowCount(), Qt::UserRole);
        item->setData(QString::fromStdString(each.insert), Qt::UserRole + 1);
        QString words = QString::fromStdString(each.kind);
        if (!each.detail.empty())
            words += QStringLiteral(": ") + QString::fromStdString(each.detail);
        item->setToolTip(plainTip(words));
        const QString first = words.section('\n', 0, 0);
        item->setData(
            item->text().leftJustified(std::min(letters, widest) + 2) +
                (first.size() > longest ? first.left(longest) + QStringLiteral("…") : first),
            ShownRole);
        item->setData(item->text() + QStringLiteral(", ") + words, Qt::AccessibleTextRole);
        m_items->appendRow(item);
    }
    QString word = wordBeforeCursor();
    m_completer->setCompletionPrefix(word);
    bool nothing =
        m_completer->completionCount() == 0 ||
        (m_completer->completionCount() == 1 && m_completer->currentCompletion() == word);
    if (nothing) {
        m_completer->popup()->hide();
        return;
    }
    QAbstractItemView* popup = m_completer->popup();
    popup->setCurrentIndex(m_completer->completionModel()->index(0, 0));
    QRect place = cursorRect().translated(gutterWidth(), 0);
    place.setWidth(popup->sizeHintForColumn(0) + popup->verticalScrollBar()->sizeHint().width() +
                   12);
    m_completer->complete(place);
}

void CodeView::insertCompletion(int row) {
    QStandardItem* item = m_items->item(row);
    if (!item)
        return;
    QTextCursor cursor = textCursor();
    QString text = cursor.block().text();
    int end = cursor.positionInBlock();
    while (end < text.size() && isWord(text[end]))
        ++end;
    int begin = cursor.positionInBlock() - static_cast<int>(wordBeforeCursor().size());
    cursor.setPosition(cursor.block().position() + begin);
    cursor.setPosition(cursor.block().position() + end, QTextCursor::KeepAnchor);
    cursor.insertText(item->data(Qt::UserRole + 1).toString());
    setTextCursor(cursor);
    m_completer->popup()->hide();
}

/// The popup handles these keys itself; true when the editor must not.
bool CodeView::completionKey(QKeyEvent* event) {
    if (!m_completer->popup()->isVisible())
        return false;
    switch (event->key()) {
    case Qt::Key_Enter:
    case Qt::Key_Return:
    case Qt::Key_Escape:
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
        event->ignore();
        return true;
    default:
        return false;
    }
}

/// As deep as the line above, deeper after an opening brace.
void CodeView::newLine() {
    QTextCursor cursor = textCursor();
    QString before = cursor.block().text().left(cursor.positionInBlock());
    int depth = 0;
    while (depth < before.size() && before[depth] == ' ')
        ++depth;
    if (before.trimmed().endsWith('{'))
        depth += indentation;
    cursor.insertText(QStringLiteral("\n") + QString(depth, ' '));
    setTextCursor(cursor);
    ensureCursorVisible();
}

void CodeView::keyPressEvent(QKeyEvent* event) {
    if (completionKey(event))
        return;
    bool writes = !isReadOnly();
    bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (writes && enter && !event->modifiers()) {
        newLine();
        return;
    }
    if (writes && event->key() == Qt::Key_Tab && !event->modifiers()) {
        textCursor().insertText(QString(indentation, ' '));
        return;
    }
    QTextCursor cursor = textCursor();
    if (writes && event->text() == "}" &&
        cursor.block().text().left(cursor.positionInBlock()).trimmed().isEmpty())
        for (int i = 0; i < indentation && cursor.positionInBlock() > 0; ++i)
            cursor.deletePreviousChar();
    QPlainTextEdit::keyPressEvent(event);
    QString typed = event->text();
    bool letter = typed.size() == 1 && isWord(typed[0]);
    if (writes && letter && (wordBeforeCursor().size() >= 2 || m_completer->popup()->isVisible()))
        showCompletions();
    else if (!typed.isEmpty() && !letter && event->key() != Qt::Key_Backspace)
        m_completer->popup()->hide();
    else if (m_completer->popup()->isVisible())
        showCompletions();
}

} // namespace fuselage::studio
