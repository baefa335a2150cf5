// SPDX-License-Identifier: Apache-2.0
// Why rules do not fire in a model: the rules are run with near misses kept, reasons that are the
// same are put together and ranked, and the changes that they suggest are tried. Prints nothing.
#pragma once

#include "app/pipeline/analysis.h"
#include "app/pipeline/explanation.h"

#include <functional>

namespace fuselage::app {

struct ExplainOptions {
    FuseOptions fuse;  ///< `profile` is what gains are predicted for
    RuleOptions rules; ///< those that the library was loaded from, to try changes of their text
    std::string rule;  ///< only this rule; empty: all
    /// Only what concerns this node of the loaded model, also by a value that it makes; empty: all.
    std::string node;
    std::string with = {}; ///< and this one too: what keeps the two apart
    size_t tries = 5;      ///< changes to try, from the first finding on; each runs all rules
    /// Says what is amiss with the pairs of a model, given it and the fused one; may be empty.
    std::function<std::vector<PairRemark>(const Graph& model, const Graph& fused)> lintPairs = {};
};

/// Errors: "usage.rule" and "usage.node" for unknown names, those of analyse().
Result<Explanation> explainModel(const LoadedModel& model, const RuleLibrary& library,
                                 const ExplainOptions& options, Progress& progress);

} // namespace fuselage::app
