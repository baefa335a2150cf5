// SPDX-License-Identifier: Apache-2.0
// Every command of the window, once: menus, tool bar, palette and cheat sheet are made from it.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QMenu>
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
    QString id;    ///< stable: settings, tests and icons use it, "file.open"
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

    /// The command has a check mark while `on` says so.
    void showState(const QString& id, std::function<bool()> on);

    /// The command is greyed while `reason` says why it is not possible; its keys are then refused
    /// with these words.
    void setReason(const QString& id, std::function<QString()> reason);

    /// Asks all states and reasons anew; commands do so when they are done.
    void refresh();

    struct Entry {
        CommandRow row;
        QAction* action = nullptr;
        QAction* refusal = nullptr; ///< has the keys while `action` is greyed; null: never is
        std::function<bool()> on = {};
        std::function<QString()> reason = {};
    };

    /// In the order of adding.
    const std::vector<Entry>& all() const { return m_entries; }

    /// Null when there is none.
    QAction* find(const QString& id) const;

Q_SIGNALS:
    void refused(const QString& title, const QString& reason);

private:
    Entry* entry(const QString& id);

    std::vector<Entry> m_entries;
};

/// Says at the pointer why a row of the menu is greyed.
void showReasons(QMenu& menu);

} // namespace fuselage::studio
