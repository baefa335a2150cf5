// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/query_filter.h"

#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

namespace {

struct Alias {
    const char* key;
    const char* title; ///< of the column
    double scale;      ///< of its raw number
};

constexpr Alias aliases[] = {
    {"op", "operator", 1}, {"us", "time", 1e6}, {"shape", "result", 1}, {"dtype", "result", 1}};

} // namespace

void QueryFilter::setQuery(const QString& text) {
    m_query = Query(text);
    invalidateFilter();
}

/// The first column whose title begins so; -1: none.
int QueryFilter::columnOf(const QString& title) const {
    const QAbstractItemModel& model = *sourceModel();
    for (int column = 0; column < model.columnCount(); ++column)
        if (model.headerData(column, Qt::Horizontal)
                .toString()
                .startsWith(title, Qt::CaseInsensitive))
            return column;
    return -1;
}

QStringList QueryFilter::unknownKeys() const {
    QStringList out;
    for (const QString& key : m_query.keys()) {
        bool known = columnOf(key) >= 0;
        for (const Alias& alias : aliases)
            known = known || (key == alias.key && columnOf(alias.title) >= 0);
        if (!known)
            out << key;
    }
    return out;
}

bool QueryFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const QAbstractItemModel& model = *sourceModel();
    auto valueOf = [&](const QString& title, double scale) -> QVariant {
        const int column = columnOf(title);
        if (column < 0)
            return {};
        const QVariant raw = model.index(row, column, parent).data(SortRole);
        return !raw.isValid() || raw.userType() == QMetaType::QString
                   ? raw
                   : QVariant(raw.toDouble() * scale);
    };
    return m_query.matches([&](const QString& key) -> QVariant {
        if (key.isEmpty()) {
            QStringList all;
            for (int column = 0; column < model.columnCount(parent); ++column)
                all << model.index(row, column, parent).data().toString();
            return all.join('\n');
        }
        for (const Alias& alias : aliases)
            if (key == alias.key)
                if (QVariant value = valueOf(alias.title, alias.scale); value.isValid())
                    return value;
        return valueOf(key, 1);
    });
}

} // namespace fuselage::studio
