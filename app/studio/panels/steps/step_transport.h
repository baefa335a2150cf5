// SPDX-License-Identifier: Apache-2.0
// Replays the rewriting: a slider over the fusions and rewrites of the report, shown on the canvas
// of the graph after on places that stay; what each step saved is written beside it.
#pragma once

#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QSlider>
#include <QTimer>
#include <QWidget>

namespace fuselage::studio {

class StepTransport : public QWidget {
    Q_OBJECT

public:
    StepTransport(Workbench& workbench, QWidget* parent);

    /// Steps that changed the graph.
    int count() const { return static_cast<int>(m_applied.size()); }

    /// Of them, how many are done; all when nothing is replayed.
    int done() const { return m_slider->value(); }

    void show(int done);
    void play();
    void leave(); ///< shows the graph after again

    QString text() const { return m_text->text(); }

Q_SIGNALS:
    void reached(int step); ///< of the report's steps: the last that is done; -1: none

private:
    void take();
    void tell();

    Workbench& m_workbench;
    QSlider* m_slider;
    SaidLabel* m_text;
    QTimer m_timer;
    std::vector<int> m_applied; ///< positions in Report::steps
    bool m_moving = false;
};

} // namespace fuselage::studio
