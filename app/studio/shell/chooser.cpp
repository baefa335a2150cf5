// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/chooser.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

namespace fuselage::studio {

namespace {

enum ChoiceRole { IdRole = Qt::UserRole, DetailRole, CompletionRole };

/// A title, and its detail where the widest title ends.
class TwoColumns final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    int titleWidth = 0;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyleOptionViewItem row = option;
        initStyleOption(&row, index);
        const int second = std::min(titleWidth + gap, row.rect.width() * 2 / 3);
        const QString detail = index.data(DetailRole).toString();
        if (!detail.isEmpty())
            row.text = row.fontMetrics.elidedText(row.text, Qt::ElideMiddle, second - gap);
        QStyle* style = row.widget ? row.widget->style() : QApplication::style();
        style->drawControl(QStyle::CE_ItemViewItem, &row, painter, row.widget);
        const bool selected = row.state & QStyle::State_Selected;
        painter->setPen(
            row.palette.color(selected ? QPalette::HighlightedText : QPalette::PlaceholderText));
        const QRect room = row.rect.adjusted(second, 0, -gap / 2, 0);
        painter->drawText(room, Qt::AlignVCenter | Qt::AlignLeft,
                          row.fontMetrics.elidedText(detail, Qt::ElideRight, room.width()));
    }

private:
    static constexpr int gap = 20;
};

} // namespace

bool fuzzyMatch(const QString& text, const QString& pattern) {
    qsizetype at = 0;
    for (QChar c : pattern) {
        if (c.isSpace())
            continue;
        at = text.indexOf(c, at, Qt::CaseInsensitive);
        if (at < 0)
            return false;
        ++at;
    }
    return true;
}

Chooser::Chooser(const QString& title, const QString& placeholder, Find find, Chosen chosen,
                 QWidget* parent)
    : QDialog(parent), m_find(std::move(find)), m_chosen(std::move(chosen)),
      m_line(new QLineEdit(this)), m_list(new QListWidget(this)),
      m_count(new SaidLabel(tr("how many were found"), this)) {
    setWindowTitle(title);
    setWindowFlags(Qt::Dialog | Qt::FramelessWindowHint);
    setAttribute(Qt::WA_DeleteOnClose);
    resize(760, 440);
    m_line->setPlaceholderText(placeholder);
    m_line->setAccessibleName(title);
    m_list->setAccessibleName(tr("what was found"));
    m_list->setUniformItemSizes(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setItemDelegate(new TwoColumns(m_list));
    auto* frame = new QFrame(this); // what the window manager does not draw
    frame->setFrameShape(QFrame::StyledPanel);
    auto* around = new QVBoxLayout(this);
    around->setContentsMargins(0, 0, 0, 0);
    around->addWidget(frame);
    auto* layout = new QVBoxLayout(frame);
    layout->addWidget(m_line);
    layout->addWidget(m_list);
    layout->addWidget(m_count);
    m_line->installEventFilter(this);
    connect(m_line, &QLineEdit::textChanged, this, &Chooser::refresh);
    connect(m_line, &QLineEdit::returnPressed, this, &Chooser::choose);
    connect(m_list, &QListWidget::itemActivated, this, &Chooser::choose);
    refresh();
    m_line->setFocus();
}

/// Up and Down move in the list while the text keeps the focus.
bool Chooser::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_line && event->type() == QEvent::KeyPress) {
        int key = static_cast<QKeyEvent*>(event)->key();
        int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
        if (step != 0 && m_list->count() > 0) {
            m_list->setCurrentRow((m_list->currentRow() + step + m_list->count()) %
                                  m_list->count());
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void Chooser::showEvent(QShowEvent* event) {
    QDialog::showEvent(event);
    if (const QWidget* below = parentWidget() ? parentWidget()->window() : nullptr) {
        const int most = std::max(320, below->width() - 40);
        resize(std::min(width(), most), height());
        move(below->mapToGlobal(QPoint((below->width() - width()) / 2, below->height() / 12)));
    }
}

void Chooser::refresh() {
    const Found found = m_find(m_line->text());
    m_list->clear();
    int widest = 0;
    for (const Choice& choice : found.rows.mid(0, mostRows)) {
        auto* item = new QListWidgetItem(choice.title, m_list);
        item->setData(IdRole, choice.id);
        item->setData(DetailRole, choice.detail);
        item->setData(CompletionRole, choice.completion);
        item->setData(Qt::AccessibleTextRole,
                      choice.detail.isEmpty() ? choice.title : choice.title + ", " + choice.detail);
        widest = std::max(widest, m_list->fontMetrics().horizontalAdvance(choice.title));
    }
    constexpr int margins = 12; // of an item
    static_cast<TwoColumns*>(m_list->itemDelegate())->titleWidth = widest + margins;
    m_list->setCurrentRow(0);
    m_count->setText(
        !found.words.isEmpty() ? found.words
        : found.count > found.rows.size()
            ? tr("%1 found, the first %2 are shown").arg(found.count).arg(found.rows.size())
            : tr("%1 found").arg(found.count));
}

void Chooser::choose() {
    const QListWidgetItem* item = m_list->currentItem();
    if (!item)
        return;
    if (const QString completion = item->data(CompletionRole).toString(); !completion.isEmpty())
        return m_line->setText(completion);
    int id = item->data(IdRole).toInt();
    Chosen chosen = m_chosen;
    accept(); // what was typed was for this
    deleteLater();
    chosen(id);
}

} // namespace fuselage::studio
