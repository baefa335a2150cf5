// SPDX-License-Identifier: Apache-2.0
// Exceptions of a precision that name a rule: the nodes of the model that its matches take.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"

namespace fuselage::app {

bool namesRules(const PrecisionExceptions& exceptions);

/// Looks them up in the model as it is fused in its own precision. Errors "precision.rule" for a
/// rule that is not there or takes no node, those of fusing.
Result<void> lookUpRules(const LoadedModel& model, const RuleLibrary& library, FuseOptions& options,
                         Progress& progress);

} // namespace fuselage::app
