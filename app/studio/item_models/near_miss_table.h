// SPDX-License-Identifier: Apache-2.0
// Matches that failed at one step, and those that were complete and not applied: where, why, what
// might change it, and what the nodes concerned cost. Misses for one reason are one row.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

#include <optional>

namespace fuselage::studio {

struct NearMissRow {
    app::NearMissReport miss; ///< the first of them
    QStringList nodes;        ///< of all: where they began and ended
    size_t count = 1;         ///< of misses for this reason
    double seconds = 0;       ///< of the nodes that matched or ended a match, unfused
    /// Seconds that matches could save at most: one kernel takes as long as the dearest of its
    /// nodes, so of each place the others' times; places that share a node count once.
    double gain = 0;
    std::optional<size_t> first = {}; ///< place of `miss` in the report; none: it was complete
    std::optional<double> tried = {}; ///< seconds that the change gains, found by making it
};

using NearMissTable = RowTable<NearMissRow>;

NearMissTable* makeNearMissTable(QObject* parent);

/// Column of the reason, which needs the most room.
constexpr int whyColumn = 5;

/// Of a rule, reason and code one row, those that could gain most first; of equal ones what
/// concerns dear nodes and had nearly matched.
std::vector<NearMissRow> nearMissRows(const app::Report& report);

/// Complete matches that were refused, lost their nodes to another one or are switched off: all of
/// their nodes matched, and `bound` has them.
std::vector<app::NearMissReport> refusedMatches(const app::Report& report);

/// Share of the pattern's nodes that matched, 0 to 1.
double nearness(const app::NearMissReport& miss);

} // namespace fuselage::studio
