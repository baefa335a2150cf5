// SPDX-License-Identifier: Apache-2.0
// Below the near misses: tries what might change the chosen one, with progress and an end to it,
// and says what came out.
#pragma once

#include "app/studio/session/change_trial.h"
#include "app/studio/workbench/workbench.h"

#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

namespace fuselage::studio {

class ChangeBar : public QWidget {
    Q_OBJECT

public:
    /// Adds the command "miss.try".
    ChangeBar(Workbench& workbench, ChangeTrial& trial, QWidget* parent);

    /// The near miss that is chosen, by its place in the report; none: none.
    void choose(std::optional<size_t> miss);

private:
    void show();

    ChangeTrial& m_trial;
    std::optional<size_t> m_chosen;
    QAction* m_try;
    QToolButton* m_cancel;
    QProgressBar* m_progress;
    QLabel* m_text;
};

} // namespace fuselage::studio
