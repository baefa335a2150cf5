// SPDX-License-Identifier: Apache-2.0
// The commands of case files: each computes sections from the case's input sections.
#pragma once

#include "core/graph/graph.h"
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

/// Parses a section as ONNX textual syntax; the outcome is broken when it cannot.
Outcome readGraph(const CaseFile& file, const std::string& section, Graph& graph);

Outcome runInfer(const CaseFile& file);
Outcome runFold(const CaseFile& file);
Outcome runLower(const CaseFile& file);
Outcome runRewrite(const CaseFile& file);
Outcome runDiagnose(const CaseFile& file);
Outcome runParse(const CaseFile& file);
Outcome runNumerics(const CaseFile& file);

} // namespace fuselage::filetest
