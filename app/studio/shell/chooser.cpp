// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/chooser.h"

#include <QKeyEvent>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

constexpr int mostShown = 200;

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
      m_line(new QLineEdit(this)), m_list(new QListWidget(this)), m_count(new QLabel(this)) {
    setWindowTitle(title);
    setAttribute(Qt::WA_DeleteOnClose);
    resize(620, 420);
    m_line->setPlaceholderText(placeholder);
    m_line->setAccessibleName(title);
    m_list->setAccessibleName(tr("what was found"));
    m_list->setUniformItemSizes(true);
    m_count->setAccessibleName(tr("how many were found"));
    auto* layout = new QVBoxLayout(this);
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

void Chooser::refresh() {
    QList<Choice> found = m_find(m_line->text());
    m_list->clear();
    for (const Choice& choice : found.mid(0, mostShown)) {
        auto* item = new QListWidgetItem(
            choice.detail.isEmpty() ? choice.title : choice.title + "    " + choice.detail, m_list);
        item->setData(Qt::UserRole, choice.id);
    }
    m_list->setCurrentRow(0);
    m_count->setText(found.size() > mostShown
                         ? tr("%1 found, the first %2 are shown").arg(found.size()).arg(mostShown)
                         : tr("%1 found").arg(found.size()));
}

void Chooser::choose() {
    const QListWidgetItem* item = m_list->currentItem();
    if (!item)
        return;
    int id = item->data(Qt::UserRole).toInt();
    Chosen chosen = m_chosen;
    accept(); // what was typed was for this
    deleteLater();
    chosen(id);
}

} // namespace fuselage::studio
