// SPDX-License-Identifier: Apache-2.0
// What differs between the models of two runs, as `fuselage compare` shows it. Judges nothing: that
// is gates/evaluate.h.
#pragma once

#include "app/batch/pairing.h"
#include "app/report/comparison.h"

namespace fuselage::batch {

/// Models of B in their order, then those that only A has.
app::Comparison compareRuns(const app::RunReport& a, const app::RunReport& b, const Pairs& pairs);

} // namespace fuselage::batch
