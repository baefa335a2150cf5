// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/matches/disabled_list.h"

#include "app/studio/session/match_keys.h"
#include "app/studio/workbench/match_commands.h"

#include <QLabel>
#include <QVBoxLayout>

namespace fuselage::studio {

DisabledList::DisabledList(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_list(new QListWidget(this)) {
    auto* title = new QLabel(tr("switched off; Enter switches one on again"), this);
    m_list->setAccessibleName(tr("matches that are switched off"));
    m_list->setMaximumHeight(4 * fontMetrics().height() + 12);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 0, 4, 4);
    layout->addWidget(title);
    layout->addWidget(m_list);
    connect(m_list, &QListWidget::itemActivated, this,
            [this](QListWidgetItem* item) { enable(m_list->row(item)); });
    connect(&workbench.session, &Session::staleChanged, this, &DisabledList::show);
    connect(&workbench.session, &Session::snapshotChanged, this, &DisabledList::show);
    show();
}

void DisabledList::show() {
    const auto& keys = m_workbench.session.options().fuse.disabled;
    m_list->clear();
    for (const MatchKey& key : keys)
        m_list->addItem(textOf(key));
    setVisible(!keys.empty());
}

void DisabledList::enable(int row) {
    auto keys = m_workbench.session.options().fuse.disabled;
    if (row < 0 || static_cast<size_t>(row) >= keys.size())
        return;
    QString text = tr("enable %1").arg(textOf(keys[static_cast<size_t>(row)]));
    keys.erase(keys.begin() + row);
    changeDisabled(m_workbench, text, keys);
}

} // namespace fuselage::studio
