// SPDX-License-Identifier: Apache-2.0
// What a step of a plan does, for callers that predict it for several profiles.
#pragma once

#include "core/kernel/layout_work.h"
#include "core/plan/backend.h"

namespace fuselage {

/// With its operands as they lie, where the plan chose that by price.
LaidWork workOf(const Plan& plan, const Step& step, const Backend* backend);

/// No result has an element: a product of no rows, say.
bool makesNothing(const KernelProgram& program);

} // namespace fuselage
