// SPDX-License-Identifier: Apache-2.0
// Matches that failed at one step: where, why, what would change it, and what the nodes concerned
// cost. Misses for one reason are one row.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

struct NearMissRow {
    app::NearMissReport miss; ///< the first of them
    QStringList nodes;        ///< of all: where they began and ended
    size_t count = 1;         ///< of misses for this reason
    double seconds = 0;       ///< of the nodes that matched or ended a match, unfused
    double gain = 0;          ///< seconds at most, predicted: see gainAtMost()
};

using NearMissTable = RowTable<NearMissRow>;

NearMissTable* makeNearMissTable(QObject* parent);

/// Of a rule, reason and code one row, those that could gain most first; of equal ones what
/// concerns dear nodes and had nearly matched.
std::vector<NearMissRow> nearMissRows(const app::Report& report);

/// Predicted seconds that go when these nodes become one kernel: their times unfused, less the least
/// time in which one kernel can read and write what passes their border and do their work. Nodes of
/// one place: `of` is 0 for fewer than two that have a kernel.
class GainAtMost {
public:
    explicit GainAtMost(const app::Report& report);

    double of(const std::vector<std::string_view>& nodes) const;

private:
    struct Node {
        double seconds = 0;  ///< of its kernels
        double roofline = 0; ///< least time of its kernels by themselves
        double between = 0;  ///< bytes of its outputs
    };

    std::unordered_map<std::string_view, Node> m_nodes;
};

/// Share of the pattern's nodes that matched, 0 to 1.
double nearness(const app::NearMissReport& miss);

} // namespace fuselage::studio
