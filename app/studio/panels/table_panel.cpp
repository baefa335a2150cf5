// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/table_panel.h"

#include "app/studio/item_models/table_export.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QSet>
#include <QShortcut>
#include <QVBoxLayout>

namespace fuselage::studio {

TablePanel::TablePanel(RowTableBase* model, const QString& name, Workbench& workbench,
                       QWidget* parent)
    : QWidget(parent), m_model(model), m_selection(workbench.selection),
      m_proxy(new QueryFilter(this)), m_filter(new QLineEdit(this)), m_table(new QTableView(this)) {
    model->setParent(this);
    m_proxy->setSourceModel(model);
    m_proxy->setSortRole(SortRole);
    m_filter->setPlaceholderText(tr("filter: words, rule:NAME, us>10, bytes>1M, -word"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setAccessibleName(tr("filter of %1").arg(name));
    connect(m_filter, &QLineEdit::textChanged, m_proxy, &QueryFilter::setQuery);

    m_table->setModel(m_proxy);
    m_table->setAccessibleName(name);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->verticalHeader()->hide();
    m_table->setWordWrap(false);
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setAlternatingRowColors(true);
    m_table->setTabKeyNavigation(false); // Tab leaves the table: no keyboard trap
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &TablePanel::selectNodes);
    connect(&m_selection, &SelectionHub::changed, this, &TablePanel::follow);
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) {
        Q_EMIT activated(m_proxy->mapToSource(index).row());
    });
    auto* copying = new QShortcut(QKeySequence::Copy, m_table);
    copying->setContext(Qt::WidgetShortcut);
    connect(copying, &QShortcut::activated, this, &TablePanel::copy);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->addWidget(m_filter);
    layout->addWidget(m_table);
}

void TablePanel::showReport(Session& session, std::function<void(const app::Report&)> fill) {
    auto show = [&session, fill = std::move(fill)] {
        if (const app::Report* report = session.report())
            fill(*report);
    };
    connect(&session, &Session::reportChanged, this, show);
    show();
}

void TablePanel::selectNodes() {
    if (m_following)
        return;
    QStringList nodes;
    QModelIndexList rows = m_table->selectionModel()->selectedRows();
    for (const QModelIndex& index : rows)
        nodes += m_model->nodesBefore(m_proxy->mapToSource(index).row());
    m_choosing = true;
    if (!nodes.isEmpty())
        m_selection.selectBefore(nodes);
    m_choosing = false;
    Q_EMIT chosen(rows.size() == 1 ? m_proxy->mapToSource(rows[0]).row() : -1);
}

void TablePanel::step(int direction) {
    int count = m_proxy->rowCount();
    if (count == 0)
        return;
    QModelIndexList rows = m_table->selectionModel()->selectedRows();
    int row = rows.isEmpty() ? (direction > 0 ? 0 : count - 1)
                             : (rows.first().row() + direction + count) % count;
    m_table->selectRow(row);
    m_table->scrollTo(m_proxy->index(row, 0));
}

void TablePanel::follow(const Selection& selection) {
    if (m_choosing || m_table->hasFocus()) // the table made it
        return;
    QSet<QString> wanted(selection.before.begin(), selection.before.end());
    QItemSelection rows;
    QModelIndex first;
    for (int row = 0; row < m_proxy->rowCount(); ++row) {
        QModelIndex index = m_proxy->index(row, 0);
        bool hit = false;
        for (const QString& node : m_model->nodesBefore(m_proxy->mapToSource(index).row()))
            hit = hit || wanted.contains(node);
        if (!hit)
            continue;
        rows.select(index, index);
        if (!first.isValid())
            first = index;
    }
    m_following = true;
    m_table->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect |
                                                QItemSelectionModel::Rows);
    m_following = false;
    if (first.isValid())
        m_table->scrollTo(first);
    Q_EMIT chosen(-1);
}

void TablePanel::copy() {
    QList<int> rows;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        rows.append(index.row());
    std::sort(rows.begin(), rows.end());
    QGuiApplication::clipboard()->setText(exportTable(*m_proxy, TableFormat::Tsv, rows));
}

} // namespace fuselage::studio
