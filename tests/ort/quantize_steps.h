// SPDX-License-Identifier: Apache-2.0
// Integers against integers: what every QuantizeLinear of a model stores, ours and ONNX Runtime's,
// layer by layer. Each of our layers reads the integers that ONNX Runtime stored before it, so that
// a step of difference stays in the layer that made it.
#pragma once

#include "app/pipeline/rules.h"
#include "tests/ort/onnx_runtime.h"

namespace fuselage::ort {

/// How many integers are how many steps apart.
struct StepCounts {
    int64_t same = 0, one = 0, more = 0;
    std::string worst; ///< the value with the largest share of those that are not the same

    int64_t all() const { return same + one + more; }
};

/// `quantised`: with pairs of 8 or 16 bits; `job`: its inputs and the level, the model and outputs
/// are set here. None of its layers stores integers: all counts are 0.
Result<StepCounts> compareSteps(const Graph& quantised, const app::RuleLibrary& library, Job job,
                                const OnnxRuntime& runtime, const std::string& folder);

} // namespace fuselage::ort
