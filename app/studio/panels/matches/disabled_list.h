// SPDX-License-Identifier: Apache-2.0
// Matches that a person switched off, below the table of matches: Enter or a double-click switches
// one on again. Hidden while there are none.
#pragma once

#include "app/studio/workbench/workbench.h"

#include <QListWidget>

namespace fuselage::studio {

class DisabledList : public QWidget {
    Q_OBJECT

public:
    DisabledList(Workbench& workbench, QWidget* parent);

    QListWidget& list() { return *m_list; }

private:
    void show();
    void enable(int row);

    Workbench& m_workbench;
    QListWidget* m_list;
};

} // namespace fuselage::studio
