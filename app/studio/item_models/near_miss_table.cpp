// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/near_miss_table.h"

#include "app/studio/item_models/words.h"

namespace fuselage::studio {

double nearness(const app::NearMissReport& miss) {
    return miss.steps ? double(miss.step) / miss.steps : 0;
}

NearMissTable* makeNearMissTable(QObject* parent) {
    using Row = const app::NearMissReport&;
    std::vector<Column<app::NearMissReport>> columns = {
        {"matched", "nodes of the pattern that matched", Qt::AlignRight,
         [](Row row) { return QObject::tr("%1 of %2").arg(row.step).arg(row.steps); },
         [](Row row) { return QVariant(nearness(row)); }},
        {"rule", "that nearly matched", Qt::AlignLeft, [](Row row) { return words(row.rule); }},
        {"stopped at", "node or value where the match ended", Qt::AlignLeft,
         [](Row row) { return words(row.node); }},
        {"code", "listed in the language's manual", Qt::AlignLeft,
         [](Row row) { return words(row.reason.code); }},
        {"why", "with the values on both sides", Qt::AlignLeft,
         [](Row row) { return words(row.reason.message); }},
        {"would change it", "the smallest change that makes it match", Qt::AlignLeft,
         [](Row row) { return words(row.reason.flip); }},
    };
    return new NearMissTable(
        std::move(columns),
        [](Row row) {
            QStringList nodes{words(row.anchor)};
            if (row.node != row.anchor)
                nodes.append(words(row.node));
            return nodes;
        },
        parent);
}

} // namespace fuselage::studio
