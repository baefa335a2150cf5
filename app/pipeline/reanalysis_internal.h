// SPDX-License-Identifier: Apache-2.0
// What analyse() takes from a cache, and leaves in it.
#pragma once

#include "app/pipeline/reanalysis.h"
#include "core/rewrite/rewrite_memo.h"

#include <memory>
#include <string>

namespace fuselage::app {

/// What one analysis leaves to the next one of the same model; good for one key. An empty one is
/// fine.
struct AnalysisCache {
    struct Side {
        Planned planned;
        SideReport report;
    };

    std::string key; ///< of all options that the rest depends on
    std::shared_ptr<const Prepared> prepared;
    RewriteMemo rewriting;
    std::shared_ptr<const Side> before, after;
    RewriteMemo::State afterState = 0; ///< of the graph that `after` is about
};

/// As the function without one.
Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, AnalysisCache& cache, Progress& progress);

} // namespace fuselage::app
