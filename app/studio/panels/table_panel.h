// SPDX-License-Identifier: Apache-2.0
// What every panel with a table shares: a filter line above a sortable table, rows that select
// nodes and follow the selection, columns that a person chooses, a sentence where there is nothing,
// copying as text. A panel gives it a model and fills that.
#pragma once

#include "app/studio/item_models/query_filter.h"
#include "app/studio/item_models/row_table.h"
#include "app/studio/workbench/workbench.h"

#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSet>
#include <QTableView>
#include <QWidget>
#include <functional>

namespace fuselage::studio {

class TablePanel : public QWidget {
    Q_OBJECT

public:
    /// Takes the model. `name` is what a screen reader says of the table.
    TablePanel(RowTableBase* model, const QString& name, Workbench& workbench, QWidget* parent);

    /// Calls `fill` with the session's report when the panel is seen or its rows are asked for, and
    /// again when there is another one: what nobody looks at costs an edit nothing.
    void showReport(Session& session, std::function<void(const app::Report&)> fill);

    /// What is said in place of rows when there is nothing to list.
    void sayWhenEmpty(const QString& text);

    /// That column takes the width that the others leave, in place of the last one.
    void stretch(int column);

    /// Whether the column has anything to say at present; one that has is shown unless a person
    /// put it away.
    void offerColumn(int column, bool offered);

    /// Titles of the columns that a person put away: to keep from one start to the next.
    QStringList putAway() const;
    void setPutAway(const QStringList& titles);

    QTableView& table() { return *m_table; }

    QLineEdit& filter() { return *m_filter; }

    /// Selects the next row as it is sorted and filtered, around the end; -1: the previous one.
    void step(int direction);

    /// Selects that row of the model, without selecting its nodes.
    void showRow(int row);

    /// Rows as a person sees them: sorted and filtered.
    const QAbstractItemModel& visibleRows() {
        refresh();
        return *m_proxy;
    }

Q_SIGNALS:
    void activated(int row); ///< of the model: double-click or Enter
    /// The one row of the model that a person has chosen here; -1: none, several, or the selection
    /// was made elsewhere.
    void chosen(int row);
    void columnsChosen(); ///< a person put a column away, or brought it back

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void refresh();
    void addCompletion();
    void selectNodes();
    void follow(const Selection& selection);
    void copy();
    void rememberRows();
    void restoreRows();
    bool selectRows(const std::function<bool(int)>& holds);
    void sizeColumns();
    void stretchColumn();
    void saySomething();
    QString whyEmpty() const;
    void addColumnMenu();
    void fillColumnMenu();
    void showColumns();
    QString titleOf(int column) const;
    QString keyOf(int row) const;

    RowTableBase* m_model;
    SelectionHub& m_selection;
    Session& m_session;
    QueryFilter* m_proxy;
    QLineEdit* m_filter;
    QTableView* m_table;
    QLabel* m_words; ///< why the table is empty
    QMenu* m_columns;
    QString m_empty; ///< said when there is nothing to list
    bool m_ofReport = false;
    std::function<void()> m_fill;
    bool m_outdated = false;        ///< what the session has is not in the rows yet
    bool m_missedSelection = false; ///< while it was
    bool m_following = false, m_choosing = false;
    bool m_sizing = false;
    QSet<int> m_sizedByHand; ///< columns
    QSet<int> m_away;        ///< columns that a person put away
    QSet<int> m_nothing;     ///< columns that have nothing to say
    int m_stretched = -1;    ///< column; -1: the last one
    QStringList m_selectedRows;
    int m_scrolled = 0;
};

} // namespace fuselage::studio
