// SPDX-License-Identifier: Apache-2.0
// Every command of the window, once: menus, tool bar, palette and cheat sheet are made from it.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QObject>
#include <QString>
#include <functional>
#include <vector>

namespace fuselage::studio {

/// Where a key works.
enum class KeyScope {
    Window, ///< wherever the focus is
    Canvas, ///< single keys: only where no text is typed
};

struct CommandRow {
    QString id;    ///< stable: settings and tests use it, "file.open"
    QString menu;  ///< "File"; empty: only in palette and cheat sheet
    QString title; ///< "Open model ..."
    QList<QKeySequence> keys;
    KeyScope scope = KeyScope::Window;
};

class CommandTable : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;

    /// A command with what it does. The action carries title, keys and enabled state.
    QAction* add(const CommandRow& row, std::function<void()> run);

    struct Entry {
        CommandRow row;
        QAction* action = nullptr;
    };

    /// In the order of adding.
    const std::vector<Entry>& all() const { return m_entries; }

    /// Null when there is none.
    QAction* find(const QString& id) const;

private:
    std::vector<Entry> m_entries;
};

} // namespace fuselage::studio
