// SPDX-License-Identifier: Apache-2.0
// The interpreter of core/plan/backend.h with somebody who looks on: which bodies of If, Loop and
// Scan a run enters, and every value that it computes on the way, those inside bodies too.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/reference_value.h"
#include "core/support/parallel.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <set>
#include <string>
#include <vector>

namespace fuselage {

class RunObserver {
public:
    RunObserver() = default;
    RunObserver(const RunObserver&) = delete;
    RunObserver& operator=(const RunObserver&) = delete;
    virtual ~RunObserver() = default;

    /// A body begins to run; once an iteration. `path` as core/graph/bodies.h spells it.
    virtual void entered(const std::string& path) { (void)path; }

    /// A value of that graph has been computed, or given to it; `path` is empty for the outermost.
    virtual void computed(const std::string& path, const Graph& graph, ValueId id,
                          const ReferenceValue& value) {
        (void)path, (void)graph, (void)id, (void)value;
    }
};

/// interpret() with an observer; bodies of fused nodes are not entered with a path.
Result<std::vector<ReferenceValue>> interpretObserved(const Graph& graph,
                                                      std::vector<ReferenceValue> inputs,
                                                      ThreadPool& threads, Progress& progress,
                                                      RunObserver& observer);

/// Paths of the bodies that a run on these inputs enters. Errors: those of interpret().
Result<std::set<std::string>> enteredBodies(const Graph& graph, const std::vector<Tensor>& inputs,
                                            ThreadPool& threads, Progress& progress);

} // namespace fuselage
