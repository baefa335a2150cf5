// SPDX-License-Identifier: Apache-2.0
// The dialog "Export": every format, every table that is open, and the command that shows the same.
// Chooses; writes nothing.
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <functional>

namespace fuselage::studio {

struct ExportChoice {
    QString title;
    QString ending;
    int format = -1; ///< of exportFormats(); -1: a table
    QString panel;   ///< id of the table's panel
};

class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// The command that writes the same file; empty: there is none.
    using CommandOf = std::function<QString(const ExportChoice&)>;

    /// `tables` are id and title of panels with tables.
    ExportDialog(const QList<QPair<QString, QString>>& tables, CommandOf commandOf,
                 QWidget* parent);

    ExportChoice choice() const;

private:
    void showCommand();

    QListWidget* m_list;
    QLineEdit* m_command;
    QPushButton* m_copy;
    CommandOf m_commandOf;
    std::vector<ExportChoice> m_choices;
};

} // namespace fuselage::studio
