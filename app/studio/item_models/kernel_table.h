// SPDX-License-Identifier: Apache-2.0
// The kernels of the fused plan as a table, in plan order.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/item_models/row_table.h"

namespace fuselage::studio {

using KernelTable = RowTable<app::KernelReport>;

KernelTable* makeKernelTable(QObject* parent);

} // namespace fuselage::studio
