// SPDX-License-Identifier: Apache-2.0
// Measured runs as a table, newest last.
#pragma once

#include "app/studio/item_models/row_table.h"
#include "app/studio/session/measurements.h"

namespace fuselage::studio {

struct RunRow {
    Run run;
    bool baseline = false;
    std::optional<Verdict> verdict;
    std::optional<double> change; ///< of the fused median against the baseline's
};

using RunTable = RowTable<RunRow>;

RunTable* makeRunTable(QObject* parent);

std::vector<RunRow> runRows(const Measurements& measurements);

} // namespace fuselage::studio
