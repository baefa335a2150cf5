// SPDX-License-Identifier: Apache-2.0
#include "app/studio/workbench/command_table.h"

namespace fuselage::studio {

QAction* CommandTable::add(const CommandRow& row, std::function<void()> run) {
    Q_ASSERT_X(!find(row.id), "CommandTable::add", "two commands with one id");
    auto* action = new QAction(row.title, this);
    action->setObjectName(row.id);
    action->setShortcuts(row.keys);
    action->setShortcutContext(row.scope == KeyScope::Window ? Qt::WindowShortcut
                                                             : Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, std::move(run));
    m_entries.push_back({row, action});
    return action;
}

QAction* CommandTable::find(const QString& id) const {
    for (const Entry& entry : m_entries)
        if (entry.row.id == id)
            return entry.action;
    return nullptr;
}

} // namespace fuselage::studio
