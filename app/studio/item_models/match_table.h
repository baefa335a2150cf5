// SPDX-License-Identifier: Apache-2.0
// The fused nodes of a report: rule, what they saved, their nodes.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

using MatchTable = RowTable<app::MatchReport>;

/// "slower 17.42x", "faster 1.64x", "no difference" where the interval of the ratio holds 1; empty
/// before a measurement.
QString judgedText(const app::MatchReport& match);

/// Its colour: "loss", "gain" or none.
const char* judgedToken(const app::MatchReport& match);

MatchTable* makeMatchTable(QObject* parent);

} // namespace fuselage::studio
