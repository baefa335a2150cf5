// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data, looked up in one run of each side, so that both sides of a comparison
// can be planned for them.
#pragma once

#include "app/pipeline/analysis.h"
#include "core/graph/run_shapes.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <vector>

namespace fuselage::app {

/// Runs the graph, whose inputs have static shapes, once on the cpu backend, whatever the request's
/// profile and backend. Errors: those of planning and running.
Result<RunShapes> shapesOfRun(std::shared_ptr<const Graph> graph, Form form, PlanRequest request,
                              const std::vector<Tensor>& inputs, int threads, Progress& progress);

/// analyse(); where shapes depend on data, each side is planned for those of its own run with these
/// inputs, and a note of the model says so: where roundings made the sides differ, at which value.
/// Error "run.assumed" where a run and its plan do not go together: analyse() plans for any data.
Result<Analysis> analyseForData(const LoadedModel& model, const RuleLibrary& library,
                                AnalysisOptions options, const std::vector<Tensor>& inputs,
                                int threads, Progress& progress);

} // namespace fuselage::app
