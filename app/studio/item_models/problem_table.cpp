// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/problem_table.h"

namespace fuselage::studio {

ProblemTable* makeProblemTable(QObject* parent) {
    using Row = const Problem&;
    std::vector<Column<Problem>> columns = {
        {"", "error, warning or note", Qt::AlignLeft,
         [](Row row) { return QString(nameOf(row.severity)); },
         [](Row row) { return QVariant(static_cast<int>(row.severity)); }},
        {"code", "listed in the language's manual", Qt::AlignLeft,
         [](Row row) { return row.code; }},
        {"place", "file, line and column", Qt::AlignLeft,
         [](Row row) {
             return row.line
                        ? QStringLiteral("%1:%2:%3").arg(row.file).arg(row.line).arg(row.column)
                        : row.file;
         }},
        {"message", "what is wrong, or should be known", Qt::AlignLeft,
         [](Row row) { return row.message; }},
        {"fix", "one change that mends it", Qt::AlignLeft, [](Row row) { return row.fix; }},
    };
    return new ProblemTable(std::move(columns), {}, parent);
}

} // namespace fuselage::studio
