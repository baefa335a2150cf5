// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/export_dialog.h"

#include "app/studio/exports/export_format.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace fuselage::studio {

ExportDialog::ExportDialog(const QList<QPair<QString, QString>>& tables, CommandOf commandOf,
                           QWidget* parent)
    : QDialog(parent), m_list(new QListWidget(this)), m_command(new QLineEdit(this)),
      m_copy(new QPushButton(tr("Copy command"), this)), m_commandOf(std::move(commandOf)) {
    setWindowTitle(tr("Export"));
    setObjectName("export");
    resize(560, 480);
    for (size_t i = 0; i < exportFormats().size(); ++i)
        m_choices.push_back(
            {exportFormats()[i].title, exportFormats()[i].ending, static_cast<int>(i), {}});
    for (const auto& [id, title] : tables)
        for (const char* ending : {".csv", ".md"})
            m_choices.push_back({titled(tr("Table %1 as shown").arg(title), ending),
                                 QStringLiteral(".%1%2").arg(id, ending), -1, id});
    for (const ExportChoice& choice : m_choices)
        m_list->addItem(choice.title);
    m_list->setCurrentRow(0);
    m_list->setAccessibleName(tr("what is exported"));
    m_command->setReadOnly(true);
    m_command->setAccessibleName(tr("command that writes the same"));
    m_command->setPlaceholderText(tr("none: only the window writes this"));
    m_copy->setObjectName("copyCommand");
    connect(m_list, &QListWidget::currentRowChanged, this, &ExportDialog::showCommand);
    showCommand();
    connect(m_copy, &QPushButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(m_command->text()); });
    auto* line = new QHBoxLayout;
    line->addWidget(m_command);
    line->addWidget(m_copy);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Save | QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_list, &QListWidget::itemActivated, this, &QDialog::accept);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(m_list);
    layout->addWidget(new QLabel(tr("The same on the command line:"), this));
    layout->addLayout(line);
    layout->addWidget(buttons);
}

void ExportDialog::showCommand() {
    m_command->setText(m_commandOf ? m_commandOf(choice()) : QString());
    m_command->setCursorPosition(0);
    m_copy->setEnabled(!m_command->text().isEmpty());
}

ExportChoice ExportDialog::choice() const {
    int row = m_list->currentRow();
    return row < 0 ? ExportChoice() : m_choices[static_cast<size_t>(row)];
}

} // namespace fuselage::studio
