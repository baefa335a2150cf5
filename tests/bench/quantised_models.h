// SPDX-License-Identifier: Apache-2.0
// Quantised models of the comparison, each beside the float one that it was made of, as files.
// Times nothing.
#pragma once

#include "app/pipeline/rules.h"

#include <string>
#include <vector>

namespace fuselage::bench {

/// One model that is judged.
struct QuantisedModel {
    std::string name;   ///< "resnet50 int8"
    std::string file;   ///< quantised
    std::string floats; ///< the same in float
    /// At most so much of the float model's time, and of ONNX Runtime's; 0: no aim.
    double ofFloat = 0, ofRuntime = 0;
    /// Bytes of weights and scales that one run reads, and the share of the pace of a loop that
    /// only reads as much that is aimed at; 0: not asked.
    int64_t reads = 0;
    double ofReading = 0;
};

std::vector<std::string> quantisedNames();

/// Writes both files to `folder`. Errors: those of loading, quantising and saving; "bench.name".
Result<QuantisedModel> makeQuantised(const std::string& name, const app::RuleLibrary& library,
                                     const std::string& folder);

} // namespace fuselage::bench
