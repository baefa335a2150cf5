// SPDX-License-Identifier: Apache-2.0
// Lints that need graphs: rules that can never fire beside others, alternatives that nothing
// reaches, overlaps that only the order of rules decides, rewrites that change types or may not
// end, and rules that never fire on given models. Graphs come from the rules' own patterns and go
// through the real matcher. Deterministic; silent where too few graphs could be made.
#pragma once

#include "app/pipeline/rules.h"
#include "core/support/progress.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::app {

/// A model that the rules are meant for.
struct LintModel {
    std::string name;
    const Graph* graph = nullptr;        ///< prepared, as loadModel leaves it
    std::map<std::string, int64_t> dims; ///< LoadedModel::dims
};

struct LintOptions {
    bool strict = true;               ///< everything; false: only what the models say
    std::vector<LintModel> models;    ///< for W0313
    std::string pipeline = "default"; ///< that W0313 runs on them
    std::string profile = "cpu";      ///< whose costs the gates see there
};

/// The lints of dsl/lint.h and of this folder, sorted. Error "cancelled", or an unknown profile.
Result<Diagnostics> lintRules(const RuleLibrary& library, const LintOptions& options,
                              Progress& progress);

} // namespace fuselage::app
