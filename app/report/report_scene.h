// SPDX-License-Identifier: Apache-2.0
// The scene of a report: its graphs with the figures of its kernels.
#pragma once

#include "app/pipeline/report.h"
#include "app/report/scene/build.h"

namespace fuselage::app {

/// Sums of the kernels of each node, on both sides.
scene::SideFigures figuresOf(const Report& report);

/// The drawing of the report's graphs. Cannot fail: reports are not cancelled.
scene::Scene sceneOf(const Report& report, const scene::Options& options);

} // namespace fuselage::app
