// SPDX-License-Identifier: Apache-2.0
// What a near miss would gain: the change that the matcher suggests is made in the rule's text, the
// rules are loaded again and the rule is tried. Writes no file.
#pragma once

#include "app/pipeline/explanation.h"
#include "app/pipeline/fuse.h"
#include "core/plan/plan.h"

#include <optional>
#include <string>

namespace fuselage::app {

/// A rule file with a change of its text.
struct EditedRules {
    std::string file; ///< by its name in the library
    std::string text;
};

/// The edit as places and words; none when it does not fit the text.
std::optional<TextChange> changeOf(const RuleLibrary& library, const RuleEdit& edit);

/// The whole text with the edit made; none as above.
std::optional<EditedRules> applyEdit(const RuleLibrary& library, const RuleEdit& edit);

/// Whether the rules still load with the edit made.
bool loadsWith(const RuleLibrary& library, const RuleOptions& rules, const RuleEdit& edit);

struct FlipGain {
    uint32_t fires = 0;     ///< matches of the rule that are applied then
    uint32_t before = 0;    ///< and now
    double us = 0;          ///< predicted for the whole model as it runs now, minus then
    size_t nodes = 0;       ///< of the whole model then
    double bytes = 0;       ///< logical, of the whole model then, minus now
    bool isUnsound = false; ///< the proof blames the rewrite then, and does not now
};

/// A model as it is fused and planned for prediction.
struct FlipSide {
    const Trace& trace;
    const Plan& plan;
};

/// The plan of a fused graph that a change is judged by: for prediction, with options.dims and 1
/// for other open dimensions; on a GPU as its backend plans. Errors: those of withSizes and
/// planSide, unknown profile.
Result<std::shared_ptr<const Plan>> planToJudge(const Graph& fused, const RuleLibrary& library,
                                                const FuseOptions& options, Progress& progress);

/// Error when the changed rules do not load; the first message of what is wrong. What then fires is
/// judged as all is decided: the whole model planned with the change against `now`. Rewrites that
/// fire are put to the proof. Errors besides: those of planToJudge.
Result<FlipGain> tryFlip(const Graph& graph, const RuleLibrary& library, const RuleOptions& rules,
                         const FuseOptions& options, const std::string& rule, const FlipSide& now,
                         const RuleEdit& edit, Progress& progress);

} // namespace fuselage::app
