// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan as steps of the cpu backend: what Loop and Scan do is core/ops/iterate.h over
// tensors; bodies run by plans of their own, with kernels. A plan is made for the shapes that a
// body is given when they come a second time, and kept while there is room: a cache of
// keys that grows by a token in each iteration has the same shapes in the next run.
#pragma once

#include "core/cpu/value_store.h"
#include "core/graph/captures.h"
#include "core/plan/backend.h"

#include <map>
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

    using Shapes = std::vector<std::pair<DType, Extents>>;

    /// A body for the shapes of what it is given.
    struct Prepared {
        Shapes shapes;
        std::shared_ptr<const Graph> graph; ///< explicit inputs, then what is captured and varies
        std::unique_ptr<Executable> executable; ///< null: it has no plan
        bool isTried = false;                   ///< to make one
        size_t bytes = 0;                       ///< that the executable may hold
    };

    struct Body {
        SubgraphRef ref;
        std::shared_ptr<const Plan> plan;            ///< of the step; may be null
        std::vector<std::optional<size_t>> captured; ///< inputs of the step; none: constant
        std::vector<TensorPtr> constants;            ///< parallel to `captured`
        size_t weights = 0;                          ///< bytes; plans pack their own
        std::vector<std::unique_ptr<Prepared>> kept; ///< the last one is asked for now
        std::map<Shapes, double> seen; ///< without a plan: seconds that they ran so far
        std::vector<Tensor> given;     ///< of this run: what is captured and varies

        const Prepared& prepared() const { return *kept.back(); }

        size_t keptBytes() const {
            size_t out = 0;
            for (const auto& each : kept)
                out += each->executable ? each->bytes : 0;
            return out;
        }
    };

    Body* bodyOf(const std::string& attribute);
    static Graph standalone(const Body& body, const std::vector<Type>& inputs);
    std::shared_ptr<const Plan> planOf(const Graph& graph, Progress& progress) const;
    std::unique_ptr<Executable> executableOf(const std::shared_ptr<const Plan>& plan,
                                             Progress& progress) const;
    Prepared& ask(Body& body, const std::vector<Tensor>& inputs, const Shapes& shapes) const;
    bool isWorthAPlan(Body& body, const Shapes& shapes) const;
    void makeRoom(Body& body) const;
    void prepare(Body& body, const std::vector<Tensor>& inputs, Progress& progress);
    std::optional<Result<std::vector<Tensor>>>
    runPlanned(Body& body, const std::vector<Tensor>& inputs, Progress& progress);
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
    CpuOptions m_options;
    std::unique_ptr<Backend> m_backend;
    std::vector<Body> m_bodies;
    double m_planSeconds = 0;  ///< that the last plan took to make
    size_t m_planBytes = 0;    ///< that it may hold
    bool m_isOfTensors = true; ///< what goes around, as far as was seen
    std::string m_tactic;
    size_t m_plannedRuns = 0, m_otherRuns = 0; ///< of bodies, in this run
};

} // namespace fuselage::cpu
