// SPDX-License-Identifier: Apache-2.0
// Operators that one rule names, for whoever reads a graph for it alone.
#pragma once

#include "core/rewrite/pattern.h"

#include <set>
#include <string>

namespace fuselage::app {

/// "Conv", "com.microsoft.MoE": what the rule's pattern names, but declared operators with a body.
/// A graph is read with them as they are (LoadOptions::whole), for else the rule could not match.
std::set<std::string> namedOperators(const Rule& rule);

} // namespace fuselage::app
