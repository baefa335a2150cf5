// SPDX-License-Identifier: Apache-2.0
// One line below the editor that asks for words: what to find, the new name. Escape closes it.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QWidget>
#include <functional>

namespace fuselage::studio {

class InputBar : public QWidget {
    Q_OBJECT

public:
    explicit InputBar(QWidget* parent);

    /// `typed` hears every change, `accepted` Enter (+1) and Shift+Enter (-1). The words of the
    /// last time are selected, so that typing replaces them.
    void ask(const QString& title, const QString& words, std::function<void(const QString&)> typed,
             std::function<void(const QString&, int)> accepted);

    void say(const QString& message) { m_message->setText(message); }

    void dismiss();

    QLineEdit& line() { return *m_line; }

Q_SIGNALS:
    void dismissed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QLabel *m_title, *m_message;
    QLineEdit* m_line;
    std::function<void(const QString&)> m_typed;
    std::function<void(const QString&, int)> m_accepted;
};

} // namespace fuselage::studio
