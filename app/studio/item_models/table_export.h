// SPDX-License-Identifier: Apache-2.0
// Any table as text: for files and the clipboard, in the order and selection that a person sees.
#pragma once

#include <QAbstractItemModel>
#include <QString>

namespace fuselage::studio {

enum class TableFormat {
    Csv,      ///< RFC 4180, raw values
    Tsv,      ///< raw values; tabs and line breaks in cells become spaces
    Words,    ///< the same with display text: numbers keep their units
    Markdown, ///< display text
};

/// Header and the given rows and columns; all of them where a list is empty.
QString exportTable(const QAbstractItemModel& model, TableFormat format,
                    const QList<int>& rows = {}, const QList<int>& columns = {});

} // namespace fuselage::studio
