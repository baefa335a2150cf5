// SPDX-License-Identifier: Apache-2.0
// Do a graph and its rewritten form compute the same? Runs both on generated inputs, the reference
// interpreter on the first form judges. For rule tests and checks; `bench` verifies its own runs.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/report.h"
#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::app {

struct AgreementOptions {
    std::vector<BackendKind> backends = {BackendKind::Reference, BackendKind::Cpu};
    std::map<std::string, int64_t> dims; ///< symbols not named here become 1
    uint64_t seed = 1;
    int threads = 0;
    bool measureTactics = true; ///< cuda: false chooses kernels by prediction
    bool fallback = true;       ///< cuda: false makes a step that only the host computes an error
    /// Outputs of numbers that round: the fused ones against the unfused ones of the same backend
    /// in strict plans, bit by bit, instead of both against the judge.
    bool bits = false;
};

/// Compares each output of `after` on each backend, and of `before` on the backends other than the
/// judge, with `before` in the interpreter. OutputAgreement::side is "fused cpu" and so on.
/// `before` and `after` have the same inputs and outputs.
Result<std::vector<OutputAgreement>> compareForms(const Graph& before, const Graph& after,
                                                  const AgreementOptions& options,
                                                  Progress& progress);

} // namespace fuselage::app
