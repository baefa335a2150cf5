// SPDX-License-Identifier: Apache-2.0
// What is wrong with rules, models or the environment, and notes on the model, each with its place
// and one fix.
#pragma once

#include "app/studio/item_models/row_table.h"
#include "app/studio/session/session.h"

namespace fuselage::studio {

using ProblemTable = RowTable<Problem>;

ProblemTable* makeProblemTable(QObject* parent);

} // namespace fuselage::studio
