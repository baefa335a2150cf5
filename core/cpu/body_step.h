// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan as steps of the cpu backend: what Loop and Scan do is core/ops/iterate.h over
// tensors; bodies run by plans of their own.
#pragma once

#include "core/cpu/planned_body.h"
#include "core/cpu/value_store.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::cpu {

class BodyStep {
public:
    /// Whether the step is one such node and nothing else.
    static bool fits(const Graph& body);

    /// `step` is of the plan, and fits.
    BodyStep(std::shared_ptr<const Plan> plan, const Step& step, const CpuOptions& options);
    ~BodyStep();

    /// Computes the step's outputs from its inputs. None when it cannot, since a body captures what
    /// is no tensor: then the reference functions do.
    std::optional<Result<void>> run(ValueStore& values, ThreadPool& threads, Progress& progress);

    /// What computed the last run; empty: the reference functions.
    const std::string& tactic() const { return m_tactic; }

private:
    class Context;

    /// A body, with where it gets what it captures.
    struct Body {
        PlannedBody planned;
        std::vector<size_t> captured; ///< inputs of the step that vary, in its order
    };

    BodyPlanning planning() const;
    Body* bodyOf(const std::string& attribute);
    Result<std::vector<Tensor>> runBody(std::vector<Tensor> inputs, ThreadPool& threads,
                                        Progress& progress);
    Result<std::vector<ReferenceValue>> interpretBody(const std::string& attribute,
                                                      std::vector<ReferenceValue> inputs,
                                                      ThreadPool& threads, Progress& progress);
    Failure noTensors();
    Failure otherInputs(const std::string& attribute) const;
    std::optional<Result<void>> runBranch(ValueStore& values, Progress& progress);
    bool mayBeOfTensors() const;
    std::optional<Result<std::vector<Tensor>>> iterate(ValueStore& values, ThreadPool& threads,
                                                       Progress& progress);
    template <typename Value> Result<void> stored(ValueStore& values, std::vector<Value>& results);
    bool capture(ValueStore& values);

    std::shared_ptr<const Plan> m_plan;
    const Step& m_step;
    const Node& m_node;
    std::vector<std::optional<size_t>> m_inputs; ///< of the node among the step's; none: constant
    std::unique_ptr<Backend> m_backend;
    std::vector<Body> m_bodies;
    bool m_isOfTensors = true; ///< what goes around, as far as was seen
    std::string m_tactic;
    size_t m_plannedRuns = 0, m_otherRuns = 0; ///< of bodies, in this run
};

} // namespace fuselage::cpu
