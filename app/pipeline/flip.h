// SPDX-License-Identifier: Apache-2.0
// What a near miss would gain: the change that the matcher suggests is made in the rule's text, the
// rules are loaded again and the rule is tried. Writes no file.
#pragma once

#include "app/pipeline/explanation.h"
#include "app/pipeline/fuse.h"

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
    double us = 0;          ///< their gains together, then minus now
    size_t nodes = 0;       ///< of the whole model then
    double bytes = 0;       ///< that its nodes read and write then, minus now; 0: not known
    bool isUnsound = false; ///< the proof blames the rewrite then, and does not now
};

/// Error when the changed rules do not load; the first message of what is wrong. Rewrites that fire
/// then are put to the proof. `bytesNow`: that the nodes of the model as it is fused now read and
/// write.
Result<FlipGain> tryFlip(const Graph& graph, const RuleLibrary& library, const RuleOptions& rules,
                         const FuseOptions& options, const std::string& rule, const Trace& now,
                         std::optional<double> bytesNow, const RuleEdit& edit, Progress& progress);

} // namespace fuselage::app
