// SPDX-License-Identifier: Apache-2.0
// Inputs that make a model run a body of If or Loop which its usual inputs leave out. Only where
// few nodes decide it: of a small input (a flag, a rate, a number of steps) other numbers are
// tried, of any floats their negatives, multiples and sums with a number. Runs nothing but those
// nodes.
#pragma once

#include "core/graph/bodies.h"
#include "core/support/parallel.h"
#include "core/support/progress.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct BranchInputs {
    std::string what; ///< "cond = true", "x negated": the input and what it holds
    std::vector<Tensor> inputs;
};

/// `place`: a body of `graph`, which has static input shapes; `inputs`: parallel to the graph's, of
/// a run that does not enter it. None: nothing that was tried leads there.
std::optional<BranchInputs> inputsEntering(const Graph& graph, const BodyPlace& place,
                                           const std::vector<Tensor>& inputs, ThreadPool& threads,
                                           Progress& progress);

} // namespace fuselage::app
