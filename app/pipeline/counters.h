// SPDX-License-Identifier: Apache-2.0
// Bytes by hardware counters, into a report that has everything else already.
#pragma once

#include "app/pipeline/report.h"
#include "core/plan/backend.h"

#include <span>

namespace fuselage::app {

/// Runs both sides again under counters and puts the bytes beside the predicted ones. What forbids
/// counting is a note of the report; the only error is "cancelled".
Result<void> addCounters(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         Report& report, Progress& progress);

/// For `doctor`: whether the cuda backend could count here, with what, or why not.
std::string countersText();

} // namespace fuselage::app
