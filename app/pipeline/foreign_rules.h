// SPDX-License-Identifier: Apache-2.0
// Rules of the built-in library for networks of another kind: near misses of a quantised
// convolution in a model that quantises nothing help nobody.
#pragma once

#include "core/graph/graph.h"
#include "core/rewrite/matcher_index.h"
#include "core/rewrite/trace.h"

#include <string>

namespace fuselage::app {

/// Of the built-in library, by the file of a rule.
bool isBuiltIn(const std::string& file);

/// Of all nodes, those in bodies of If, Loop and Scan too.
OpSet operatorsIn(const Graph& graph);

/// A rule of the library that wants an operator which is not among these. A person's own rule is
/// never foreign: why it found nothing is what was asked.
bool isForeign(const Rule& rule, const OpSet& operators);

/// Takes the near misses of foreign rules out.
void dropForeign(const RuleSet& rules, const OpSet& operators, Trace& trace);

} // namespace fuselage::app
