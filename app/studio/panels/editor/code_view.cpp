// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/code_view.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/panels/editor/utf8_map.h"

#include <QAbstractItemView>
#include <QFontDatabase>
#include <QHelpEvent>
#include <QPointer>
#include <QStyledItemDelegate>
#include <QTextBlock>
#include <QToolTip>

namespace fuselage::studio {

namespace {

class Gutter : public QWidget {
public:
    explicit Gutter(CodeView* view) : QWidget(view), m_view(view) {}

protected:
    void paintEvent(QPaintEvent* event) override { m_view->paintGutter(event, this); }

    void mousePressEvent(QMouseEvent* event) override { m_view->pressGutter(event); }

private:
    CodeView* m_view;
};

/// A column of names and one of what they are.
class CompletionDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        option->text = index.data(CodeView::ShownRole).toString();
    }
};

} // namespace

CodeView::CodeView(Language& language, const QString& file, QWidget* parent)
    : QPlainTextEdit(parent), m_language(language), m_file(file),
      m_highlighter(new FuseHighlighter(document(), palette())), m_gutter(new Gutter(this)),
      m_items(new QStandardItemModel(this)), m_completer(new QCompleter(m_items, this)) {
    setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    setLineWrapMode(NoWrap);
    setAccessibleName(tr("rules in %1").arg(file));
    m_completer->setWidget(this);
    m_completer->setCompletionMode(QCompleter::PopupCompletion);
    m_completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_completer->popup()->setAccessibleName(tr("completions"));
    m_completer->popup()->setFont(font()); // letters of one width make columns
    m_completer->popup()->setItemDelegate(new CompletionDelegate(m_completer->popup()));
    connect(
        m_completer, qOverload<const QModelIndex&>(&QCompleter::activated), this,
        [this](const QModelIndex& index) { insertCompletion(index.data(Qt::UserRole).toInt()); });
    connect(this, &QPlainTextEdit::blockCountChanged, this, &CodeView::placeGutter);
    connect(this, &QPlainTextEdit::updateRequest, m_gutter,
            [this](const QRect&, int) { m_gutter->update(); });
    connect(this, &QPlainTextEdit::cursorPositionChanged, this, &CodeView::underline);
    placeGutter();
}

void CodeView::replaceText(const QString& text) {
    if (text == toPlainText())
        return;
    int at = textCursor().position();
    QTextCursor cursor(document());
    cursor.select(QTextCursor::Document);
    cursor.insertText(text);
    select(at, at);
}

void CodeView::setFacts(const TextFactsPtr& facts) {
    if (!facts || facts->text != toPlainText())
        return; // the text moved on; newer facts are on their way
    m_facts = facts;
    m_highlighter->setColours(facts->colours);
    underline();
    m_gutter->update();
    Q_EMIT factsChanged();
}

const Mistake* CodeView::mistakeAt(int position) const {
    const Mistake* found = nullptr;
    if (m_facts)
        for (const Mistake& each : m_facts->mistakes)
            if (position >= each.begin && position <= std::max(each.end, each.begin + 1) && !found)
                found = &each;
    return found;
}

void CodeView::goToLine(int line) {
    QTextBlock block = document()->findBlockByNumber(std::max(line, 1) - 1);
    if (block.isValid())
        select(block.position(), block.position());
    centerCursor();
}

void CodeView::select(int begin, int end) {
    int last = document()->characterCount() - 1;
    QTextCursor cursor(document());
    cursor.setPosition(std::clamp(begin, 0, last));
    cursor.setPosition(std::clamp(end, 0, last), QTextCursor::KeepAnchor);
    unfoldAround(cursor.block());
    setTextCursor(cursor);
}

void CodeView::nextMistake(int direction) {
    if (!m_facts || m_facts->mistakes.empty())
        return;
    std::vector<int> places;
    for (const Mistake& each : m_facts->mistakes)
        places.push_back(each.begin);
    std::sort(places.begin(), places.end());
    int here = textCursor().selectionStart();
    auto next = std::upper_bound(places.begin(), places.end(), here);
    if (direction > 0) {
        here = next == places.end() ? places.front() : *next;
    } else {
        next = std::lower_bound(places.begin(), places.end(), here);
        here = next == places.begin() ? places.back() : *(next - 1);
    }
    select(here, here);
}

void CodeView::underline() {
    Colours colours(palette());
    QList<QTextEdit::ExtraSelection> all;
    QTextEdit::ExtraSelection line;
    line.format.setBackground(colours["surface"]);
    line.format.setProperty(QTextFormat::FullWidthSelection, true);
    line.cursor = textCursor();
    line.cursor.clearSelection();
    all.append(line);
    int last = document()->characterCount() - 1;
    if (m_facts && m_facts->text == toPlainText())
        for (const Mistake& each : m_facts->mistakes) {
            QTextEdit::ExtraSelection wave;
            wave.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
            wave.format.setUnderlineColor(
                colours[each.severity == Severity::Error ? "loss" : "tunnel.line"]);
            wave.cursor = QTextCursor(document());
            int end = std::min(std::max(each.end, each.begin + 1), last);
            wave.cursor.setPosition(std::min(each.begin, std::max(end - 1, 0)));
            wave.cursor.setPosition(end, QTextCursor::KeepAnchor);
            all.append(wave);
        }
    setExtraSelections(all);
}

void CodeView::toolTip(const QPoint& place, const QPoint& global) {
    int at = cursorForPosition(place).position();
    if (const Mistake* mistake = mistakeAt(at)) {
        QString text = mistake->code + QStringLiteral(": ") + mistake->message;
        if (!mistake->fix.isEmpty())
            text += QStringLiteral("\n") + mistake->fix;
        QToolTip::showText(global, text.toHtmlEscaped().replace('\n', "<br>"), this);
        return;
    }
    std::string name = m_file.toStdString();
    uint32_t offset = Utf8Map(toPlainText()).bytes(at);
    QPointer<CodeView> self(this);
    m_language.ask([self, name, offset, global](dsl::LanguageService& service) -> Language::Answer {
        auto hover = service.hover(name, offset);
        if (!hover)
            return {};
        QTextDocument words;
        words.setMarkdown(QString::fromStdString(hover->markdown));
        return [self, html = words.toHtml(), global] {
            if (self)
                QToolTip::showText(global, html, self);
        };
    });
}

bool CodeView::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        toolTip(viewport()->mapFrom(this, help->pos()), help->globalPos());
        return true;
    }
    return QPlainTextEdit::event(event);
}

void CodeView::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        m_highlighter->setPalette(palette());
        underline();
    } else if (event->type() == QEvent::FontChange) {
        placeGutter();
    }
}

} // namespace fuselage::studio
