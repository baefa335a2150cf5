// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/input_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>

namespace fuselage::studio {

InputBar::InputBar(QWidget* parent)
    : QWidget(parent), m_title(new QLabel(this)), m_message(new QLabel(this)),
      m_line(new QLineEdit(this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(6, 2, 6, 2);
    layout->addWidget(m_title);
    layout->addWidget(m_line, 1);
    layout->addWidget(m_message, 1);
    m_title->setBuddy(m_line);
    m_message->setTextFormat(Qt::PlainText);
    m_line->installEventFilter(this);
    m_line->setAccessibleName(tr("words"));
    connect(m_line, &QLineEdit::textChanged, this, [this](const QString& words) {
        if (m_typed)
            m_typed(words);
    });
    hide();
}

void InputBar::ask(const QString& title, const QString& words,
                   std::function<void(const QString&)> typed,
                   std::function<void(const QString&, int)> accepted) {
    m_typed = nullptr;
    m_title->setText(title);
    m_line->setAccessibleName(title);
    m_message->clear();
    m_line->setText(words);
    m_typed = std::move(typed);
    m_accepted = std::move(accepted);
    show();
    m_line->selectAll();
    m_line->setFocus();
}

void InputBar::dismiss() {
    hide();
    Q_EMIT dismissed();
}

bool InputBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_line && event->type() == QEvent::KeyPress) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Escape) {
            dismiss();
            return true;
        }
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            if (m_accepted)
                m_accepted(m_line->text(), key->modifiers() & Qt::ShiftModifier ? -1 : 1);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace fuselage::studio
