// SPDX-License-Identifier: Apache-2.0
// A table of plain rows described by columns, so that a table of Studio is a list of columns and
// nothing else. Sorting uses the column's number, display the words that reports use.
#pragma once

#include "app/studio/item_models/plain_tip.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <functional>
#include <vector>

namespace fuselage::studio {

/// Beyond Qt::DisplayRole and Qt::ToolTipRole.
enum RowRole {
    SortRole = Qt::UserRole, ///< number or text to sort by
    RawRole,                 ///< exact value for exports: an unrounded number or the text
    TokenRole,               ///< of the theme, for the colour of the text; may be empty
};

template <typename Row> struct Column {
    QString title;
    QString help; ///< one line, the header's tool tip
    Qt::Alignment alignment = Qt::AlignLeft;
    std::function<QString(const Row&)> text;
    std::function<QVariant(const Row&)> raw = {};    ///< none: the text
    std::function<QString(const Row&)> toolTip = {}; ///< none: the text
    /// Token of the theme for the text; "": the palette's. Words say the same.
    std::function<const char*(const Row&)> token = {};
    /// Whether its box is checked; none: there is no box.
    std::function<bool(const Row&)> checked = {};
    std::function<void(const Row&, bool)> check = {}; ///< a person did
};

/// The part that does not depend on the row's type.
class RowTableBase : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Names of nodes of the graph before that the row is about.
    virtual QStringList nodesBefore(int row) const = 0;
};

template <typename Row> class RowTable : public RowTableBase {
public:
    using NodesOf = std::function<QStringList(const Row&)>;

    RowTable(std::vector<Column<Row>> columns, NodesOf nodesOf, QObject* parent = nullptr)
        : RowTableBase(parent), m_columns(std::move(columns)), m_nodesOf(std::move(nodesOf)) {}

    void setRows(std::vector<Row> rows) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }

    const Row& row(int number) const { return m_rows[static_cast<size_t>(number)]; }

    QStringList nodesBefore(int number) const override {
        return m_nodesOf ? m_nodesOf(row(number)) : QStringList();
    }

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
    }

    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(m_columns.size());
    }

    QVariant data(const QModelIndex& index, int role) const override {
        if (!checkIndex(index, CheckIndexOption::IndexIsValid))
            return {};
        const Column<Row>& column = m_columns[static_cast<size_t>(index.column())];
        const Row& at = row(index.row());
        switch (role) {
        case Qt::DisplayRole:
            return column.text(at);
        case Qt::ToolTipRole:
            return plainTip(column.toolTip ? column.toolTip(at) : column.text(at));
        case Qt::TextAlignmentRole:
            return int(column.alignment | Qt::AlignVCenter);
        case SortRole:
        case RawRole:
            return column.raw ? column.raw(at) : QVariant(column.text(at));
        case Qt::CheckStateRole:
            return column.checked ? QVariant(column.checked(at) ? Qt::Checked : Qt::Unchecked)
                                  : QVariant();
        case TokenRole:
            return column.token ? QVariant(QString::fromLatin1(column.token(at))) : QVariant();
        default:
            return {};
        }
    }

    Qt::ItemFlags flags(const QModelIndex& index) const override {
        const Qt::ItemFlags usual = QAbstractTableModel::flags(index);
        return index.isValid() && m_columns[static_cast<size_t>(index.column())].check
                   ? usual | Qt::ItemIsUserCheckable
                   : usual;
    }

    bool setData(const QModelIndex& index, const QVariant& value, int role) override {
        if (!index.isValid() || role != Qt::CheckStateRole)
            return false;
        const Column<Row>& column = m_columns[static_cast<size_t>(index.column())];
        if (!column.check)
            return false;
        column.check(row(index.row()), value.toInt() == Qt::Checked);
        return true;
    }

    QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
        if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
            return {};
        const Column<Row>& column = m_columns[static_cast<size_t>(section)];
        switch (role) {
        case Qt::DisplayRole:
            return column.title;
        case Qt::ToolTipRole:
            return column.help;
        case Qt::TextAlignmentRole:
            return int(column.alignment | Qt::AlignVCenter);
        default:
            return {};
        }
    }

private:
    std::vector<Column<Row>> m_columns;
    NodesOf m_nodesOf;
    std::vector<Row> m_rows;
};

} // namespace fuselage::studio
