// SPDX-License-Identifier: Apache-2.0
// What bench_language works on: graphs of any size in the forms that exporters write, and sets of
// many rules.
#pragma once

#include "core/graph/graph.h"
#include "dsl/load.h"

#include <string>

namespace fuselage::bench {

/// A layer of a transformer and a residual block of convolutions, 18 nodes, again and again;
/// prepared for matching.
Graph layeredGraph(size_t nodes);

/// The standard library and rules unlike it and each other, `count` in all (at least as many as
/// the library has): two operators, or three. `version` changes the last rule only.
std::vector<dsl::RuleInput> ruleTexts(size_t count, size_t version = 0);

dsl::LoadedRules loadTexts(SourceSet& sources, const std::vector<dsl::RuleInput>& texts);

} // namespace fuselage::bench
