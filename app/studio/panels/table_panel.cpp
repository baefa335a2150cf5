// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/table_panel.h"

#include "app/studio/graph_view/colours.h"
#include "app/studio/item_models/table_export.h"

#include <QAbstractItemView>
#include <QClipboard>
#include <QCompleter>
#include <QGuiApplication>
#include <QHeaderView>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSet>
#include <QShortcut>
#include <QStringListModel>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace fuselage::studio {

namespace {

/// Verdicts in their colour; the words say the same.
class TokenDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        const QString token = index.data(TokenRole).toString();
        if (token.isEmpty())
            return;
        option->palette.setColor(QPalette::Text, Colours(option->palette)[token.toStdString()]);
        option->font.setBold(true);
    }
};

/// Titles of columns as keys of a query.
QStringList keysOf(const QAbstractItemModel& model) {
    QStringList out;
    for (int column = 0; column < model.columnCount(); ++column) {
        const QString title = model.headerData(column, Qt::Horizontal).toString();
        if (const QString key = title.section(' ', 0, 0).toLower();
            !key.isEmpty() && !out.contains(key))
            out << key;
    }
    return out;
}

QString keysText(const QAbstractItemModel& model) {
    return TablePanel::tr("words, or one of %1 with : = < > and a value; `none` for empty, - in "
                          "front for not")
        .arg(keysOf(model).join(QStringLiteral(", ")));
}

/// Keys that this table has.
QString placeholderOf(const QAbstractItemModel& model) {
    const QStringList keys = keysOf(model);
    QStringList out;
    for (const char* example : {"rule:NAME", "rule:none", "time>10", "bytes>1M", "verdict:slower",
                                "op:Conv", "code:load"})
        if (const QString key = QString(example).section(QRegularExpression("[:>]"), 0, 0);
            keys.contains(key) || (key == "op" && keys.contains("operator")))
            out << QString(example).replace("time>", "us>");
    return TablePanel::tr("filter: words, %1-word")
        .arg(out.isEmpty() ? QString() : out.join(", ") + ", ");
}

/// Keys, and after a key the values that its column has.
QStringList proposals(const QAbstractItemModel& model, const QString& word) {
    constexpr int mostValues = 40, mostRows = 5000;
    const bool negated = word.startsWith('-');
    const QString sign = negated ? QStringLiteral("-") : QString();
    const QString key = word.section(':', 0, 0).mid(negated ? 1 : 0);
    QStringList out;
    if (!word.contains(':')) {
        for (const QString& each : keysOf(model))
            out << sign + each + ':';
        if (keysOf(model).contains("rule"))
            out << QStringLiteral("not fused");
        if (keysOf(model).contains("time"))
            out << QStringLiteral("us>");
        return out;
    }
    const qsizetype column = [&] {
        for (int at = 0; at < model.columnCount(); ++at)
            if (model.headerData(at, Qt::Horizontal)
                    .toString()
                    .startsWith(key == "op" ? "operator" : key, Qt::CaseInsensitive))
                return at;
        return -1;
    }();
    QSet<QString> seen;
    for (int row = 0; column >= 0 && row < std::min(model.rowCount(), mostRows); ++row) {
        const QString value = model.index(row, static_cast<int>(column)).data().toString();
        if (value.isEmpty() || value.contains(' ') || seen.contains(value))
            continue;
        seen.insert(value);
        out << sign + key + ':' + value;
        if (out.size() >= mostValues)
            break;
    }
    out.sort();
    out << sign + key + QStringLiteral(":none");
    return out;
}

/// Where the word at the cursor begins.
qsizetype wordStart(const QLineEdit& line) {
    return line.text().left(line.cursorPosition()).lastIndexOf(' ') + 1;
}

} // namespace

/// A list below the filter while a word is typed.
void TablePanel::addCompletion() {
    auto* completer = new QCompleter(new QStringListModel(this), this);
    completer->setWidget(m_filter);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setCompletionMode(QCompleter::PopupCompletion);
    connect(m_filter, &QLineEdit::textEdited, this, [this, completer] {
        const qsizetype start = wordStart(*m_filter);
        const QString word = m_filter->text().mid(start, m_filter->cursorPosition() - start);
        static_cast<QStringListModel*>(completer->model())
            ->setStringList(proposals(*m_model, word));
        completer->setCompletionPrefix(word);
        const bool exact =
            completer->completionCount() == 1 && completer->currentCompletion() == word;
        if (word.isEmpty() || exact || completer->completionCount() == 0)
            completer->popup()->hide();
        else
            completer->complete();
    });
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this,
            [this](const QString& text) {
                const qsizetype start = wordStart(*m_filter);
                QString all = m_filter->text();
                all.replace(start, m_filter->cursorPosition() - start, text);
                m_filter->setText(all);
                m_filter->setCursorPosition(static_cast<int>(start + text.size()));
            });
}

TablePanel::TablePanel(RowTableBase* model, const QString& name, Workbench& workbench,
                       QWidget* parent)
    : QWidget(parent), m_model(model), m_selection(workbench.selection),
      m_session(workbench.session), m_proxy(new QueryFilter(this)), m_filter(new QLineEdit(this)),
      m_table(new QTableView(this)), m_words(new QLabel(this)),
      m_columns(new QMenu(tr("Columns"), this)) {
    model->setParent(this);
    m_proxy->setSourceModel(model);
    m_proxy->setSortRole(SortRole);
    m_filter->setPlaceholderText(placeholderOf(*model));
    m_filter->setToolTip(keysText(*model));
    m_filter->setClearButtonEnabled(true);
    m_filter->setAccessibleName(tr("filter of %1").arg(name));
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_following = true; // rows that go take no choice of a person's with them
        m_proxy->setQuery(text);
        m_following = false;
        saySomething();
    });
    addCompletion();
    m_words->setObjectName("tableWords");
    m_words->setWordWrap(true);
    m_words->setContentsMargins(4, 2, 4, 2);
    m_words->setTextFormat(Qt::PlainText);
    m_words->hide();

    m_table->setModel(m_proxy);
    m_table->setAccessibleName(name);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->verticalHeader()->hide();
    m_table->setWordWrap(false);
    m_table->setTextElideMode(Qt::ElideMiddle); // paths differ at their ends
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setAlternatingRowColors(true);
    m_table->setItemDelegate(new TokenDelegate(m_table));
    m_table->setTabKeyNavigation(false); // Tab leaves the table: no keyboard trap
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &TablePanel::selectNodes);
    connect(&m_selection, &SelectionHub::changed, this, &TablePanel::follow);
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) {
        Q_EMIT activated(m_proxy->mapToSource(index).row());
    });
    connect(model, &QAbstractItemModel::modelAboutToBeReset, this, &TablePanel::rememberRows);
    connect(m_proxy, &QAbstractItemModel::modelReset, this, &TablePanel::restoreRows);
    connect(m_table->horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column) {
        if (!m_sizing && m_table->isVisible())
            m_sizedByHand.insert(column);
    });
    m_table->horizontalHeader()->setResizeContentsPrecision(60); // rows that are looked at
    m_table->horizontalHeader()->setHighlightSections(false);    // bold titles would cut themselves
    auto* copyAction = new QAction(tr("Copy rows"), m_table);
    connect(copyAction, &QAction::triggered, this, &TablePanel::copy);
    auto* goAction = new QAction(tr("Show on the graph"), m_table);
    connect(goAction, &QAction::triggered, this, [&workbench] {
        if (QAction* fit = workbench.commands.find("view.fitSelection"))
            fit->trigger();
    });
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_table->addActions({goAction, copyAction});
    addColumnMenu();
    auto* copying = new QShortcut(QKeySequence::Copy, m_table);
    copying->setContext(Qt::WidgetShortcut);
    connect(copying, &QShortcut::activated, this, &TablePanel::copy);

    setFocusProxy(m_table);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->addWidget(m_filter);
    layout->addWidget(m_words);
    layout->addWidget(m_table);
    connect(&m_session, &Session::busyChanged, this, &TablePanel::saySomething);
    sizeColumns();
    saySomething();
}

QString TablePanel::titleOf(int column) const {
    return m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
}

/// Columns are chosen by the header's menu, or by the table's, which a key opens.
void TablePanel::addColumnMenu() {
    m_columns->setObjectName("columns");
    connect(m_columns, &QMenu::aboutToShow, this, &TablePanel::fillColumnMenu);
    m_table->addAction(m_columns->menuAction());
    QHeaderView* header = m_table->horizontalHeader();
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(header, &QWidget::customContextMenuRequested, this,
            [this, header](const QPoint& at) { m_columns->popup(header->mapToGlobal(at)); });
}

void TablePanel::fillColumnMenu() {
    m_columns->clear();
    int shown = 0;
    for (int column = 0; column < m_model->columnCount(); ++column)
        shown += m_table->isColumnHidden(column) ? 0 : 1;
    for (int column = 0; column < m_model->columnCount(); ++column) {
        if (m_nothing.contains(column))
            continue;
        QAction* action = m_columns->addAction(titleOf(column));
        action->setCheckable(true);
        action->setChecked(!m_away.contains(column));
        action->setEnabled(shown > 1 || !action->isChecked()); // the last one stays
        connect(action, &QAction::toggled, this, [this, column](bool on) {
            if (on)
                m_away.remove(column);
            else
                m_away.insert(column);
            showColumns();
            Q_EMIT columnsChosen();
        });
    }
}

void TablePanel::showColumns() {
    for (int column = 0; column < m_model->columnCount(); ++column)
        m_table->setColumnHidden(column, m_away.contains(column) || m_nothing.contains(column));
    sizeColumns();
}

void TablePanel::offerColumn(int column, bool offered) {
    if (offered)
        m_nothing.remove(column);
    else
        m_nothing.insert(column);
    showColumns();
}

QStringList TablePanel::putAway() const {
    QStringList out;
    for (int column = 0; column < m_model->columnCount(); ++column)
        if (m_away.contains(column))
            out << titleOf(column);
    return out;
}

void TablePanel::setPutAway(const QStringList& titles) {
    m_away.clear();
    for (int column = 0; column < m_model->columnCount(); ++column)
        if (titles.contains(titleOf(column)) && m_away.size() + 1 < m_model->columnCount())
            m_away.insert(column);
    showColumns();
}

void TablePanel::stretch(int column) {
    m_stretched = column;
    m_table->horizontalHeader()->setStretchLastSection(false);
    sizeColumns();
}

/// What the others leave, if that is more than its words need.
void TablePanel::stretchColumn() {
    if (m_stretched < 0 || m_table->isColumnHidden(m_stretched) ||
        m_sizedByHand.contains(m_stretched))
        return;
    int left = m_table->viewport()->width();
    for (int column = 0; column < m_proxy->columnCount(); ++column)
        if (column != m_stretched && !m_table->isColumnHidden(column))
            left -= m_table->columnWidth(column);
    if (left > m_table->columnWidth(m_stretched))
        m_table->setColumnWidth(m_stretched, left);
}

void TablePanel::sayWhenEmpty(const QString& text) {
    m_empty = text;
    saySomething();
}

QString TablePanel::whyEmpty() const {
    if (!m_ofReport || (m_session.report() && !m_session.sketch()))
        return m_empty;
    if (m_session.sketch() && !m_session.previewing())
        return tr("this model cannot be analysed as it is: see the notice above the graph");
    return m_session.busy() ? tr("the model is being analysed ...")
                            : tr("nothing is analysed yet: open a model, Ctrl+O");
}

/// A row as a person knows it again after a new analysis or measurement.
QString TablePanel::keyOf(int row) const {
    const QStringList nodes = m_model->nodesBefore(row);
    return nodes.isEmpty() ? m_model->index(row, 0).data().toString() : nodes.join('\n');
}

void TablePanel::rememberRows() {
    m_selectedRows.clear();
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        m_selectedRows << keyOf(m_proxy->mapToSource(index).row());
    m_scrolled = m_table->verticalScrollBar()->value();
}

/// All rows of the source for which it holds, without telling anybody; the first one is seen.
/// False when there is none.
bool TablePanel::selectRows(const std::function<bool(int)>& holds) {
    QItemSelection rows;
    QModelIndex first;
    for (int row = 0; row < m_proxy->rowCount(); ++row) {
        const QModelIndex index = m_proxy->index(row, 0);
        if (!holds(m_proxy->mapToSource(index).row()))
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
    return first.isValid();
}

/// The same rows are selected as before, and seen; without any the table stays where it was.
void TablePanel::restoreRows() {
    sizeColumns();
    saySomething();
    const QSet<QString> wanted(m_selectedRows.begin(), m_selectedRows.end());
    const bool any =
        !wanted.isEmpty() && selectRows([&](int row) { return wanted.contains(keyOf(row)); });
    if (!any)
        m_table->verticalScrollBar()->setValue(m_scrolled);
}

/// As wide as what is in them, up to a limit; the last one takes the rest, and what a person has
/// sized stays.
void TablePanel::sizeColumns() {
    constexpr int widestLetters = 46;
    // In a narrow panel no column hides the others.
    constexpr int least = 120;
    const int widest = std::min(widestLetters * m_table->fontMetrics().averageCharWidth(),
                                std::max(least, width() / 2));
    m_sizing = true;
    for (int column = 0; column < m_proxy->columnCount(); ++column)
        if (!m_table->isColumnHidden(column) && !m_sizedByHand.contains(column))
            m_table->setColumnWidth(
                column,
                std::min(
                    widest,
                    std::max(m_table->horizontalHeader()->sectionSizeHint(column),
                             static_cast<QAbstractItemView*>(m_table)->sizeHintForColumn(column)) +
                        8));
    stretchColumn();
    m_sizing = false;
}

void TablePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    sizeColumns();
}

void TablePanel::saySomething() {
    const QStringList unknown = m_proxy->unknownKeys();
    QString text;
    if (!unknown.isEmpty())
        text = tr("nothing here is called `%1`; %2").arg(unknown.first(), keysText(*m_model));
    else if (m_model->rowCount() == 0)
        text = m_outdated ? QString() : whyEmpty();
    else if (m_proxy->rowCount() == 0)
        text = tr("none of %1 rows fits this filter").arg(m_model->rowCount());
    m_words->setText(text);
    m_words->setVisible(!text.isEmpty());
}

void TablePanel::showReport(Session& session, std::function<void(const app::Report&)> fill) {
    m_ofReport = true;
    m_fill = [&session, fill = std::move(fill)] {
        if (const app::Report* report = session.report())
            fill(*report);
    };
    auto changed = [this] {
        m_outdated = true;
        if (isVisible())
            refresh();
    };
    connect(&session, &Session::reportChanged, this, changed);
    changed();
}

void TablePanel::refresh() {
    if (!m_outdated)
        return;
    m_outdated = false;
    m_fill();
    saySomething();
    if (std::exchange(m_missedSelection, false))
        follow(m_selection.selection());
}

void TablePanel::showEvent(QShowEvent* event) {
    refresh();
    QWidget::showEvent(event);
    sizeColumns();
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
    refresh();
    int count = m_proxy->rowCount();
    if (count == 0)
        return;
    QModelIndexList rows = m_table->selectionModel()->selectedRows();
    int row = rows.isEmpty() ? (direction > 0 ? 0 : count - 1)
                             : (rows.first().row() + direction + count) % count;
    m_table->selectRow(row);
    m_table->scrollTo(m_proxy->index(row, 0));
}

void TablePanel::showRow(int row) {
    refresh();
    selectRows([row](int each) { return each == row; });
}

void TablePanel::follow(const Selection& selection) {
    m_missedSelection = m_outdated;
    if (m_choosing || m_outdated || m_table->hasFocus()) // the table made it
        return;
    const QSet<QString> wanted(selection.before.begin(), selection.before.end());
    selectRows([&](int row) {
        const QStringList nodes = m_model->nodesBefore(row);
        return std::any_of(nodes.begin(), nodes.end(),
                           [&](const QString& node) { return wanted.contains(node); });
    });
    Q_EMIT chosen(-1);
}

void TablePanel::copy() {
    QList<int> rows;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        rows.append(index.row());
    std::sort(rows.begin(), rows.end());
    QList<int> columns;
    for (int column = 0; column < m_proxy->columnCount(); ++column)
        if (!m_table->isColumnHidden(column))
            columns << column;
    QGuiApplication::clipboard()->setText(exportTable(*m_proxy, TableFormat::Words, rows, columns));
}

} // namespace fuselage::studio
