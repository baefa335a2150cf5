// SPDX-License-Identifier: Apache-2.0
// Asking for file names without waiting for the answer: the window goes on, keys work as anywhere.
// Opens and writes nothing.
#pragma once

#include <QStringList>
#include <QWidget>
#include <functional>

namespace fuselage::studio {

/// Existing files; `chosen` is not called when the dialog is shut.
void askOpenFiles(QWidget* parent, const QString& title, const QString& filter,
                  std::function<void(const QStringList& paths)> chosen);

/// One file to be written; asks before it replaces one. `proposed` is a name or a path.
void askSaveFile(QWidget* parent, const QString& title, const QString& proposed,
                 const QString& filter, std::function<void(const QString& path)> chosen);

} // namespace fuselage::studio
