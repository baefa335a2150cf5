// SPDX-License-Identifier: Apache-2.0
// The order in which the rows of products lie in memory, where a kernel may write them in any: a
// part of the choice of layouts by votes (channels_last.h). A product whose operand and results
// have their rows in one order is one product; otherwise it is as many as one of the dimensions is
// long, since no one stride steps over all of its rows.
#pragma once

#include "core/plan/plan.h"

namespace fuselage {

/// Strides for values [rows..., columns] that steps write and products read or write: a Transpose
/// between them hands rows on in another order, and what cannot move (operands of callers, rows
/// that an access has merged) decides for all that are joined with it. Values that do not lie in
/// the model's order are taken as they are. Called before views and buffers are decided.
void orderRows(Plan& plan);

} // namespace fuselage
