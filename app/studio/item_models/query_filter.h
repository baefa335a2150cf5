// SPDX-License-Identifier: Apache-2.0
// Sorting and filtering of a table by a Query: keys are the titles of columns, with "op", "us" and
// "bytes" understood everywhere.
#pragma once

#include "app/studio/item_models/query.h"

#include <QSortFilterProxyModel>

namespace fuselage::studio {

class QueryFilter : public QSortFilterProxyModel {
    Q_OBJECT

public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

    void setQuery(const QString& text);

    /// Keys of the query that no column has.
    QStringList unknownKeys() const;

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    int columnOf(const QString& title) const;

    Query m_query;
};

} // namespace fuselage::studio
