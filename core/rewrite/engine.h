// SPDX-License-Identifier: Apache-2.0
// Runs a pipeline of rules over a graph: phases in order, to a fixpoint where asked, matches found,
// selected and applied, everything logged. Knows neither files nor costs: gains come from outside.
#pragma once

#include "core/rewrite/engine_options.h"
#include "core/support/progress.h"

#include <memory>
#include <string_view>

namespace fuselage {

class RewriteMemo;
class RuleIndex;

/// Errors: "cancelled"; "rewrite.gain" when costs decide and there is no gain function.
Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const Pipeline& pipeline,
                          const EngineOptions& options, Progress& progress);

/// The same for one of many graphs: `index` is of these rules.
Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const RuleIndex& index,
                          const Pipeline& pipeline, const EngineOptions& options,
                          Progress& progress);

/// The same with what earlier runs found (rewrite_memo.h): the memo has served this graph with
/// these options, or nothing yet. The graph is copied only where something is made of it.
Result<Rewritten> rewrite(std::shared_ptr<const Graph> graph, const RuleSet& rules,
                          const Pipeline& pipeline, const EngineOptions& options, RewriteMemo& memo,
                          Progress& progress);

/// The pipeline of that name; null when there is none.
const Pipeline* findPipeline(const RuleSet& rules, std::string_view name);

} // namespace fuselage
