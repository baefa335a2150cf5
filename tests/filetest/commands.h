// SPDX-License-Identifier: Apache-2.0
// The commands of case files: each computes sections from the case's input sections.
#pragma once

#include "app/pipeline/rules.h"
#include "core/graph/graph.h"
#include "core/rewrite/engine.h"
#include "tests/filetest/case_file.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::filetest {

struct Outcome {
    std::map<std::string, std::string> sections; ///< computed text by section name
    std::optional<std::string> skipped;          ///< why it could not run here
    std::optional<std::string> broken;           ///< the case itself is wrong
};

using Command = Outcome (*)(const CaseFile&);

/// All commands by name.
const std::map<std::string, Command>& commands();

/// "a,b" of an option as its items.
std::vector<std::string> listOption(const CaseFile& file, const std::string& name);

/// Parses a section as ONNX textual syntax; the outcome is broken when it cannot.
Outcome readGraph(const CaseFile& file, const std::string& section, Graph& graph);

/// Generated data for the inputs named in the option `constants`, null for the others; parallel to
/// the graph's inputs. Those named in `positive` too are at least 0.5 (variances).
Result<std::vector<TensorPtr>> seededConstants(const CaseFile& file, const Graph& graph);

/// The same inputs made initializers: weights need not be written out.
Result<void> makeConstants(const CaseFile& file, Graph& graph);

/// A rule library: the option `rules` (std, or a path in the repository), else the section.
Result<app::RuleLibrary> readRules(const CaseFile& file);

/// The option `decide`: rules where it is absent.
Result<Decide> decideOption(const CaseFile& file);

/// The section `input` with its constants, prepared as loading does.
Outcome readPrepared(const CaseFile& file, const std::string& section, Graph& graph);

Outcome runInfer(const CaseFile& file);
Outcome runFold(const CaseFile& file);
Outcome runFlip(const CaseFile& file);
Outcome runLower(const CaseFile& file);
Outcome runRewrite(const CaseFile& file);
Outcome runDiagnose(const CaseFile& file);
Outcome runParse(const CaseFile& file);
Outcome runProve(const CaseFile& file);
Outcome runNumerics(const CaseFile& file);
Outcome runSame(const CaseFile& file);

} // namespace fuselage::filetest
