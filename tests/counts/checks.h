// SPDX-License-Identifier: Apache-2.0
// The checks of the program `counts`, one file each. Each prints what it finds and returns how many
// things are wrong.
#pragma once

#include "app/pipeline/fuse.h"
#include "core/graph/graph.h"

#include <map>
#include <optional>
#include <string>

namespace fuselage::counts {

/// How often each rule of the fuse phases applied, by name; rules that never did are absent.
using CountTable = std::map<std::string, int64_t>;

struct Counted {
    CountTable rules;
    int64_t before = 0, after = 0; ///< nodes
};

/// Prepares the graph, fuses it and counts; nothing, with a printed error, when that fails.
std::optional<Counted> countModel(Graph graph, const app::RuleLibrary& library);

/// The rules of it; empty when that fails.
CountTable countsOf(Graph graph, const app::RuleLibrary& library);

/// The built-in library, or the files of patterns/std as a person's own.
app::RuleLibrary builtinRules();
app::RuleLibrary rulesFromFiles();
/// The built-in library without the rule of this name.
app::RuleLibrary rulesWithout(const std::string& rule);

/// Rows that differ, as "ConvBN: 4, expected 5"; empty when the tables are equal.
std::string differences(const CountTable& expected, const CountTable& found);

int checkZoo(const std::string& tables);
/// -1 when there is no such folder.
int checkExports(const std::string& tables, const std::string& folder);
/// Reads that a quantiser puts pairs on.
int checkPoints(const std::string& tables);
/// Prints the table that checkExports reads, for every .onnx file of the folder.
int writeExports(const std::string& folder);
/// Prints the table of nodes as Markdown; with a `page`, checks that it holds this table instead.
int writeCoverage(const std::string& tables, const std::string& page);
/// The same nodes are fused in fp16 and bf16 as in fp32.
int checkPrecision();
/// Fused plans and plans of less precision are predicted to be faster.
int checkPredictions();
/// A file whose nodes stand in another order gives the same graph.
int checkShuffled();
/// A model of 10,000 nodes: load, match with the whole library, rewrite.
int checkSynthetic();

} // namespace fuselage::counts
