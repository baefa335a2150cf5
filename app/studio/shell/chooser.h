// SPDX-License-Identifier: Apache-2.0
// One line to type and a list below it: the command palette, and finding nodes. Knows neither.
#pragma once

#include "app/studio/workbench/said_label.h"

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <functional>

namespace fuselage::studio {

struct Choice {
    QString title;
    QString detail; ///< in a column of its own: keys, an operator
    int id = 0;
    QString completion; ///< not empty: choosing puts this into the line and goes on
};

struct Found {
    QList<Choice> rows;  ///< at most Chooser::mostRows are shown
    qsizetype count = 0; ///< of all, also those without a row
    QString words;       ///< instead of how many
};

class Chooser : public QDialog {
    Q_OBJECT

public:
    static constexpr qsizetype mostRows = 200;

    using Find = std::function<Found(const QString& text)>;
    using Chosen = std::function<void(int id)>;

    /// Asks `find` with every text; Enter calls `chosen` and shuts the list. It hangs below the
    /// head of `parent`'s window and has no frame of its own.
    Chooser(const QString& title, const QString& placeholder, Find find, Chosen chosen,
            QWidget* parent);

    QLineEdit& line() { return *m_line; }

    QListWidget& list() { return *m_list; }

    QLabel& words() { return *m_count; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void refresh();
    void choose();

    Find m_find;
    Chosen m_chosen;
    QLineEdit* m_line;
    QListWidget* m_list;
    SaidLabel* m_count;
};

/// All characters of `pattern` stand in `text` in their order, whatever the case.
bool fuzzyMatch(const QString& text, const QString& pattern);

} // namespace fuselage::studio
