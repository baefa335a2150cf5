// SPDX-License-Identifier: Apache-2.0
// What analyse() and fuseGraph() take from a memo, and leave in it.
#pragma once

#include "app/pipeline/reanalysis.h"
#include "core/rewrite/rewrite_memo.h"

#include <memory>
#include <string>

namespace fuselage::app {

/// What does not depend on rules, and what rewriting remembers; good for one key.
struct AnalysisMemo {
    std::string key; ///< of all options that the rest depends on
    RewriteMemo rewriting;
    /// With plan and report of one side; no trace. Null before the first one.
    std::unique_ptr<Analysis> before, after;
    RewriteMemo::State afterState = 0; ///< of the graph that `after` is about
};

/// As the function without one; the memo may be null.
Result<Rewritten> fuseGraph(const Graph& graph, const RuleLibrary& library,
                            const FuseOptions& options, RewriteMemo* memo, Progress& progress);
Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, AnalysisMemo* memo, Progress& progress);

} // namespace fuselage::app
