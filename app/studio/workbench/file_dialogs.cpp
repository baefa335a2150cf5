// SPDX-License-Identifier: Apache-2.0
#include "app/studio/workbench/file_dialogs.h"

#include <QFileDialog>

namespace fuselage::studio {

namespace {

QFileDialog* made(QWidget* parent, const QString& title, const QString& filter) {
    auto* dialog = new QFileDialog(parent, title, {}, filter);
    dialog->setObjectName("fileDialog");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    return dialog;
}

} // namespace

void askOpenFiles(QWidget* parent, const QString& title, const QString& filter,
                  std::function<void(const QStringList& paths)> chosen) {
    QFileDialog* dialog = made(parent, title, filter);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    QObject::connect(dialog, &QFileDialog::filesSelected, parent, std::move(chosen));
    dialog->open();
}

void askSaveFile(QWidget* parent, const QString& title, const QString& proposed,
                 const QString& filter, std::function<void(const QString& path)> chosen) {
    QFileDialog* dialog = made(parent, title, filter);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setFileMode(QFileDialog::AnyFile);
    dialog->selectFile(proposed);
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, std::move(chosen));
    dialog->open();
}

} // namespace fuselage::studio
