// SPDX-License-Identifier: Apache-2.0
// The fused nodes of a report: rule, what they saved, their nodes.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

using MatchTable = RowTable<app::MatchReport>;

MatchTable* makeMatchTable(QObject* parent);

} // namespace fuselage::studio
