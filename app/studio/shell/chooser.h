// SPDX-License-Identifier: Apache-2.0
// One line to type and a list below it: the command palette, and finding nodes. Knows neither.
#pragma once

#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <functional>

namespace fuselage::studio {

struct Choice {
    QString title;
    QString detail; ///< shown right of it: keys, an operator
    int id = 0;
};

class Chooser : public QDialog {
    Q_OBJECT

public:
    using Find = std::function<QList<Choice>(const QString& text)>;
    using Chosen = std::function<void(int id)>;

    /// Asks `find` with every text; Enter calls `chosen` and shuts the dialog.
    Chooser(const QString& title, const QString& placeholder, Find find, Chosen chosen,
            QWidget* parent);

    QLineEdit& line() { return *m_line; }

    QListWidget& list() { return *m_list; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void refresh();
    void choose();

    Find m_find;
    Chosen m_chosen;
    QLineEdit* m_line;
    QListWidget* m_list;
    QLabel* m_count;
};

/// All characters of `pattern` stand in `text` in their order, whatever the case.
bool fuzzyMatch(const QString& text, const QString& pattern);

} // namespace fuselage::studio
