// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/problems/problems_panel.h"

#include "app/studio/item_models/problem_table.h"
#include "app/studio/panels/table_panel.h"

namespace fuselage::studio {

QWidget* makeProblemsPanel(Workbench& workbench, QWidget* parent) {
    ProblemTable* table = makeProblemTable(nullptr);
    auto* panel = new TablePanel(table, QObject::tr("problems"), workbench, parent);
    panel->sayWhenEmpty(QObject::tr("nothing is wrong"));
    auto show = [table, &session = workbench.session] {
        const QList<Problem> rows = session.problems() + session.notes();
        table->setRows({rows.begin(), rows.end()});
    };
    QObject::connect(&workbench.session, &Session::problemsChanged, panel, show);
    QObject::connect(panel, &TablePanel::activated, panel, [table, &workbench](int row) {
        const Problem& problem = table->row(row);
        if (problem.line)
            Q_EMIT workbench.session.placeWanted(problem.file, problem.line);
    });
    show();
    return panel;
}

} // namespace fuselage::studio
