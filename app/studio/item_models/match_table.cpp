// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/match_table.h"

#include "app/report/format.h"
#include "app/studio/item_models/words.h"

namespace fuselage::studio {

MatchTable* makeMatchTable(QObject* parent) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    using Row = const app::MatchReport&;
    auto nodesOf = [](Row row) { return wordList(row.nodes); };
    std::vector<Column<app::MatchReport>> columns = {
        {"rule", "that made the fused node", Qt::AlignLeft,
         [](Row row) { return words(row.rule); }},
        {"fused node", "its name in the fused model", Qt::AlignLeft,
         [](Row row) { return words(row.fusedNode); }},
        {"launches saved", "kernel launches before minus after", right,
         [](Row row) { return QString::number(row.launchesSaved()); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.launchesSaved()); }},
        {"bytes saved", "logical traffic before minus after", right,
         [](Row row) { return words(app::bytesText(row.bytesSaved())); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.bytesSaved()); }},
        {"time saved", "predicted", right,
         [](Row row) { return words(app::secondsText(row.secondsBefore - row.secondsAfter)); },
         [](Row row) { return QVariant(row.secondsBefore - row.secondsAfter); }},
        {"alternatives", "labels of the alternatives that were taken", Qt::AlignLeft,
         [](Row row) { return wordList(row.labels).join(' '); }},
        {"nodes",
         "of the model, in order",
         Qt::AlignLeft,
         [nodesOf](Row row) { return nodesOf(row).join(' '); },
         {},
         [nodesOf](Row row) { return nodesOf(row).join('\n'); }},
    };
    return new MatchTable(std::move(columns), nodesOf, parent);
}

} // namespace fuselage::studio
