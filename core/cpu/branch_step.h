// SPDX-License-Identifier: Apache-2.0
// If as a step of the cpu backend: each branch becomes a plan of its own when it is first taken,
// with kernels, instead of running through the reference functions. Like every step whose shapes
// depend on data it is planned anew for inputs of other shapes.
#pragma once

#include "core/graph/captures.h"
#include "core/ops/reference_value.h"
#include "core/plan/backend.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::cpu {

class BranchStep {
public:
    /// Whether the body is one If and nothing else, with branches that return tensors.
    static bool fits(const Graph& body);

    /// `body` is the step's; `constants` are parallel to its inputs, null where they vary.
    BranchStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants,
               const CpuOptions& options);
    ~BranchStep();

    /// Inputs parallel to the body's, without data where they are constant. None when the branch
    /// cannot be planned: then the reference functions compute it.
    std::optional<Result<std::vector<ReferenceValue>>>
    run(const std::vector<ReferenceValue>& inputs, Progress& progress);

    /// What computed the last run; empty: the reference functions.
    const std::string& tactic() const { return m_tactic; }

private:
    /// One branch for the shapes of its captures.
    struct Branch {
        std::vector<std::pair<DType, Extents>> shapes;
        std::vector<size_t> inputs;             ///< of the body, one for each of the plan's
        std::unique_ptr<Executable> executable; ///< null: it has no plan
    };

    Graph graphOf(const SubgraphRef& branch, const std::vector<ReferenceValue>& inputs,
                  std::vector<size_t>& given) const;
    TensorPtr constantOf(ValueId value) const; ///< of the body; null where it varies
    std::unique_ptr<Executable> executableOf(Graph graph, Progress& progress) const;

    std::shared_ptr<const Graph> m_body;
    std::vector<TensorPtr> m_constants;
    CpuOptions m_options;
    std::unique_ptr<Backend> m_backend;
    Branch m_branches[2];
    std::string m_tactic;
};

} // namespace fuselage::cpu
