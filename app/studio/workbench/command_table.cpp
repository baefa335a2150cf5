// SPDX-License-Identifier: Apache-2.0
#include "app/studio/workbench/command_table.h"

#include "app/studio/workbench/drawn_icon.h"

#include <QCursor>
#include <QPointer>
#include <QToolTip>

namespace fuselage::studio {

namespace {

/// What a button without words says: the command and its keys, and why it is greyed.
QString tipOf(const QAction& action, const QString& reason = {}) {
    const QString keys = action.shortcut().toString(QKeySequence::NativeText);
    QString tip =
        keys.isEmpty() ? action.text() : QStringLiteral("%1 (%2)").arg(action.text(), keys);
    return reason.isEmpty() ? tip : tip + '\n' + reason;
}

} // namespace

QAction* CommandTable::add(const CommandRow& row, std::function<void()> run) {
    Q_ASSERT_X(!find(row.id), "CommandTable::add", "two commands with one id");
    auto* action = new QAction(iconOf(row.id), row.title, this);
    action->setObjectName(row.id);
    action->setShortcuts(row.keys);
    action->setShortcutContext(row.scope == KeyScope::Window ? Qt::WindowShortcut
                                                             : Qt::WidgetShortcut);
    action->setToolTip(tipOf(*action));
    connect(action, &QAction::triggered, this,
            [run = std::move(run), here = QPointer<CommandTable>(this)] {
                run();
                if (here) // closing the window is a command, too
                    here->refresh();
            });
    m_entries.push_back({row, action});
    return action;
}

CommandTable::Entry* CommandTable::entry(const QString& id) {
    for (Entry& entry : m_entries)
        if (entry.row.id == id)
            return &entry;
    return nullptr;
}

QAction* CommandTable::find(const QString& id) const {
    for (const Entry& entry : m_entries)
        if (entry.row.id == id)
            return entry.action;
    return nullptr;
}

void CommandTable::showState(const QString& id, std::function<bool()> on) {
    if (Entry* at = entry(id)) {
        at->action->setCheckable(true);
        at->action->setIconVisibleInMenu(false); // the mark stands there
        at->on = std::move(on);
        at->action->setChecked(at->on());
    }
}

void CommandTable::setReason(const QString& id, std::function<QString()> reason) {
    Entry* at = entry(id);
    if (!at)
        return;
    at->reason = std::move(reason);
    if (at->refusal)
        return;
    at->refusal = new QAction(this);
    at->refusal->setShortcuts(at->row.keys);
    at->refusal->setShortcutContext(at->action->shortcutContext());
    at->refusal->setEnabled(false);
    connect(at->refusal, &QAction::triggered, this, [this, id] {
        if (const Entry* refused = entry(id))
            Q_EMIT this->refused(refused->action->text(), refused->reason());
    });
}

void CommandTable::refresh() {
    for (const Entry& each : m_entries) {
        if (each.on)
            each.action->setChecked(each.on());
        if (!each.reason)
            continue;
        const QString reason = each.reason();
        const bool possible = reason.isEmpty();
        // Never both: a key of two is ambiguous.
        (possible ? each.refusal : each.action)->setEnabled(false);
        (possible ? each.action : each.refusal)->setEnabled(true);
        each.action->setToolTip(tipOf(*each.action, reason));
        each.action->setStatusTip(reason);
    }
}

void showReasons(QMenu& menu) {
    QObject::connect(&menu, &QMenu::hovered, &menu, [&menu](const QAction* action) {
        const QString reason = action->isEnabled() ? QString() : action->statusTip();
        QToolTip::showText(QCursor::pos(), reason, &menu); // of no words: away with it
    });
}

} // namespace fuselage::studio
