// SPDX-License-Identifier: Apache-2.0
// Matches that failed at one step, nearest first: where, why, what would change it.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

using NearMissTable = RowTable<app::NearMissReport>;

NearMissTable* makeNearMissTable(QObject* parent);

/// Share of the pattern's nodes that matched, 0 to 1.
double nearness(const app::NearMissReport& miss);

} // namespace fuselage::studio
