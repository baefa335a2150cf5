// SPDX-License-Identifier: Apache-2.0
// Fusing a model with a rule library: which pipeline, which decisions; by a plan, which matches.
#pragma once

#include "app/pipeline/fuse_plan.h"
#include "app/pipeline/measured_gain.h"
#include "app/pipeline/model.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/rules.h"
#include "core/cost/cost.h"
#include "core/ops/precision.h"
#include "core/rewrite/rewrite_memo.h"

#include <map>
#include <optional>
#include <string>

namespace fuselage::app {

struct FuseOptions {
    std::string pipeline = "default";
    Decide decide = Decide::Cost;
    MeasureGainOptions measuring = {};        ///< of Decide::Measure and of `gate measured`
    std::string profile = "cpu";              ///< for gains
    std::optional<DeviceProfile> device = {}; ///< in place of the named profile
    std::map<std::string, int64_t> dims;
    bool explain = false;                             ///< keep near misses
    uint32_t searchSteps = MatcherOptions().budget;   ///< from one node; then M0307
    uint64_t ruleSteps = MatcherOptions().ruleBudget; ///< of one rule in one graph; then M0307
    Precision precision = Precision::Fp32; ///< the graph is converted before the rules see it
    PrecisionExceptions precisionOf = {};  ///< of single nodes
    std::vector<MatchKey> disabled = {};   ///< single matches that a person switched off
    bool strict = false; ///< plans are exact; of the rewrite rules only those that are exact run
    std::shared_ptr<KnownGains> gains = {}; ///< of runs before with these options; none: this run's
    std::optional<FusePlan> plan = {};      ///< its matches and no others, or an error
};

/// Gives nodes of operators that the rules declare their bodies, so that the graph runs and is
/// priced unfused too.
void enterDeclared(Graph& graph, const RuleLibrary& library);
/// The same; the model's notes say which nodes a body does not fit, and why.
void enterDeclared(LoadedModel& model, const RuleLibrary& library);

/// With matches timed on what then runs the model: its backend and its threads.
FuseOptions timedAs(FuseOptions options, const CompileOptions& run);

/// Whether a strict run asks the rule: fuse rules keep the bits, since plans hold them to their
/// class, rewrites only where they are exact.
bool keepsBits(const Rule& rule);

/// Of the options all but `dims`, `precision` and `precisionOf`, which prepare() took. The memo may
/// have served this graph with these options. Errors: "usage.pipeline", unknown profile,
/// "cancelled", with Decide::Measure those of gainMeasurer(). With a plan: "plan.precision" when it
/// was written for another one, "plan.strict" when `strict` leaves a rule of its out, those of
/// fuselage::replay.
Result<Rewritten> fuse(const Prepared& prepared, const RuleLibrary& library,
                       const FuseOptions& options, RewriteMemo& memo, Progress& progress);

/// prepare() and fuse(), once. Errors: those of both.
Result<Rewritten> fuseGraph(const Graph& graph, const RuleLibrary& library,
                            const FuseOptions& options, Progress& progress);

} // namespace fuselage::app
