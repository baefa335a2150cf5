// SPDX-License-Identifier: Apache-2.0
// The profile that ONNX Runtime writes (enable_profiling) -> time by node of the model.
#pragma once

#include "core/support/result.h"

#include <map>
#include <string>

namespace fuselage::app {

/// Median seconds of each node that ran, by its name; what has no name is not in it. Errors
/// "profile.json" (no such file of events) and "profile.empty" (no event of a node).
Result<std::map<std::string, double>> readOrtProfile(const std::string& text);

} // namespace fuselage::app
