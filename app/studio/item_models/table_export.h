// SPDX-License-Identifier: Apache-2.0
// Any table as text: for files and the clipboard, in the order and selection that a person sees.
#pragma once

#include <QAbstractItemModel>
#include <QString>

namespace fuselage::studio {

enum class TableFormat {
    Csv,      ///< RFC 4180, raw values
    Tsv,      ///< raw values; tabs and line breaks in cells become spaces
    Markdown, ///< display text
};

/// Header and the given rows; all rows when the list is empty.
QString exportTable(const QAbstractItemModel& model, TableFormat format,
                    const QList<int>& rows = {});

} // namespace fuselage::studio
