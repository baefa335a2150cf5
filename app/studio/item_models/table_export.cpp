// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/table_export.h"

#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

namespace {

QString csvCell(const QString& text) {
    if (!text.contains('"') && !text.contains(',') && !text.contains('\n') && !text.contains('\r'))
        return text;
    return '"' + QString(text).replace('"', "\"\"") + '"';
}

QString plainCell(QString text) {
    return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
}

QString markdownCell(const QString& text) {
    return plainCell(text).replace('\\', "\\\\").replace('|', "\\|");
}

QString line(const QStringList& cells, TableFormat format) {
    QStringList out;
    for (const QString& cell : cells)
        out.append(format == TableFormat::Csv        ? csvCell(cell)
                   : format == TableFormat::Markdown ? markdownCell(cell)
                                                     : plainCell(cell));
    switch (format) {
    case TableFormat::Csv:
        return out.join(',') + "\r\n";
    case TableFormat::Tsv:
    case TableFormat::Words:
        return out.join('\t') + '\n';
    case TableFormat::Markdown:
        break;
    }
    return "| " + out.join(" | ") + " |\n";
}

/// "|---|--:|": numbers stand right.
QString markdownRule(const QAbstractItemModel& model, const QList<int>& columns) {
    QString out = "|";
    for (int column : columns) {
        int alignment = model.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
        out += alignment & Qt::AlignRight ? "--:|" : "---|";
    }
    return out + '\n';
}

} // namespace

QString exportTable(const QAbstractItemModel& model, TableFormat format, const QList<int>& rows,
                    const QList<int>& wanted) {
    QList<int> columns = wanted;
    for (int column = 0; wanted.isEmpty() && column < model.columnCount(); ++column)
        columns << column;
    QStringList titles;
    for (int column : columns)
        titles.append(model.headerData(column, Qt::Horizontal).toString());
    QString out = line(titles, format);
    if (format == TableFormat::Markdown)
        out += markdownRule(model, columns);
    const bool words = format == TableFormat::Markdown || format == TableFormat::Words;
    const int role = words ? int(Qt::DisplayRole) : int(RawRole);
    int count = rows.isEmpty() ? model.rowCount() : static_cast<int>(rows.size());
    for (int i = 0; i < count; ++i) {
        QStringList cells;
        for (int column : columns)
            cells.append(model.index(rows.isEmpty() ? i : rows[i], column).data(role).toString());
        out += line(cells, format);
    }
    return out;
}

} // namespace fuselage::studio
