// SPDX-License-Identifier: Apache-2.0
// Runtimes that a model can be written for: packs of rules (patterns/targets) that write the
// operators which a runtime computes at once. A pack is a file of rules; no code names one.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/rules.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// "ort-cpu" and so on, sorted.
std::vector<std::string> targetNames();

/// Loads the pack with the rules and takes its pipeline, which has the pack's name with `_` for
/// `-`. Error "usage.target" lists the names.
Result<void> writeFor(const std::string& target, RuleOptions& rules, FuseOptions& fuse);

/// Targets whose packs name the operator: a file written for them keeps it.
std::vector<std::string> targetsThatKeep(const std::string& operatorName);

} // namespace fuselage::app
