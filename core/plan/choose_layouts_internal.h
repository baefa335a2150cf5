// SPDX-License-Identifier: Apache-2.0
// The memory orders of least predicted time over all steps of a plan. Exact where few values with
// several orders live at once, as in most models; else the best that a bounded search finds.
#pragma once

#include "core/plan/layout_items_internal.h"

namespace fuselage::planner {

/// By value of the plan, an index in LayoutItems::ordersOf().
using OrderLabels = std::vector<uint8_t>;

struct PricedOrders {
    OrderLabels labels;
    double seconds = 0;
};

/// Values that `fixed` labels with something else than `anyOrder` keep that label; where it is
/// null, all that are free are chosen.
constexpr uint8_t anyOrder = 0xff;
/// Cancelled work gives orders that mean nothing: a caller that can be cancelled asks behind it.
PricedOrders cheapestOrders(LayoutItems& items, size_t values, const Progress& progress,
                            const OrderLabels* fixed = nullptr);

/// Free values joined by items, by whether their order is the model's; each with two or more
/// orders.
std::vector<std::vector<uint32_t>> layoutGroups(const LayoutItems& items,
                                                const OrderLabels& labels);

} // namespace fuselage::planner
