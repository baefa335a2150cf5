// SPDX-License-Identifier: Apache-2.0
// What the rewriter did, in order, with what it refused.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

using StepTable = RowTable<app::StepReport>;

StepTable* makeStepTable(QObject* parent);

} // namespace fuselage::studio
