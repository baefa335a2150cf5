// SPDX-License-Identifier: Apache-2.0
// Running a plan that takes shapes for granted which depend on data (core/passes/specialise.h):
// each run is checked.
#pragma once

#include "core/graph/run_shapes.h"
#include "core/plan/backend.h"

#include <memory>

namespace fuselage {

/// Runs `inner` and checks what was assumed; outputs for checks are taken away. run() gives error
/// "run.assumed" where the data ask for other shapes: nothing else is wrong then, and a plan
/// without assumptions computes them.
std::unique_ptr<Executable> makeSpecialised(std::unique_ptr<Executable> inner,
                                            AssumedShapes assumed);

} // namespace fuselage
