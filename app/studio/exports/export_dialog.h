// SPDX-License-Identifier: Apache-2.0
// The dialog "Export": every format, every table that is open, and the command that shows the same.
// Chooses; writes nothing.
#pragma once

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

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
    /// `tables` are id and title of panels with tables.
    ExportDialog(const QList<QPair<QString, QString>>& tables, const QString& command,
                 QWidget* parent);

    ExportChoice choice() const;

private:
    QListWidget* m_list;
    QLineEdit* m_command;
    std::vector<ExportChoice> m_choices;
};

} // namespace fuselage::studio
