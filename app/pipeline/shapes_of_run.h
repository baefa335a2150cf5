// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data, looked up in one run, so that both sides of a comparison can be
// planned for them.
#pragma once

#include "app/pipeline/analysis.h"
#include "core/graph/run_shapes.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <vector>

namespace fuselage::app {

/// Runs the graph, whose inputs have static shapes, once on the cpu backend. Errors: those of
/// planning and running.
Result<RunShapes> shapesOfRun(std::shared_ptr<const Graph> graph, const std::vector<Tensor>& inputs,
                              int threads, Progress& progress);

/// analyse(); where shapes depend on data, both sides are planned for those of a run with these
/// inputs, which a note of the model says. Error "run.assumed" where the two do not go together:
/// analyse() plans for any data.
Result<Analysis> analyseForData(const LoadedModel& model, const RuleLibrary& library,
                                AnalysisOptions options, const std::vector<Tensor>& inputs,
                                int threads, Progress& progress);

} // namespace fuselage::app
