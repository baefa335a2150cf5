// SPDX-License-Identifier: Apache-2.0
// A body of If, Loop or Scan by plans of its own, with kernels. A plan is made for what the body is
// given: shapes, and the elements that shapes inside depend on, as a table that is cut at the
// number of the iteration. It is made when the same comes a second time, in this run or the next,
// and kept while there is room: a cache of keys that grows by a token in each iteration has the
// same shapes in the next run.
#pragma once

#include "core/graph/captures.h"
#include "core/plan/backend.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::cpu {

/// What all bodies of a step plan with.
struct BodyPlanning {
    const Plan& outer;
    Backend& backend;      ///< whose plans share packed weights
    bool isAtOnce = false; ///< a branch, which is taken once in a run, is planned the first time
};

class PlannedBody {
public:
    using Shapes = std::vector<std::pair<DType, Extents>>;

    /// `constants` is parallel to what the body captures; null where that varies. `plan` is the
    /// step's own, for the shapes that were known while planning; may be null.
    PlannedBody(SubgraphRef ref, std::vector<TensorPtr> constants,
                std::shared_ptr<const Plan> plan);
    ~PlannedBody();
    PlannedBody(PlannedBody&&) noexcept;
    PlannedBody& operator=(PlannedBody&&) = delete;

    const std::string& attribute() const { return m_ref.attribute; }

    const Graph& graph() const { return *m_ref.graph; }

    /// What it captures and varies, in this run.
    void give(std::vector<Tensor> captured) { m_given = std::move(captured); }

    const std::vector<Tensor>& given() const { return m_given; }

    /// Its outputs by a plan; none where there is none yet.
    std::optional<Result<std::vector<Tensor>>>
    run(const std::vector<Tensor>& inputs, const BodyPlanning& planning, Progress& progress);

    /// The body as a graph of its own for what run() was asked for last: explicit inputs, then what
    /// is captured and varies.
    const Graph& asked() const;

    /// That took so long without a plan.
    void ranWithoutPlan(double seconds);

    /// The same for inputs of any types.
    Graph standalone(const std::vector<Type>& inputs) const;

private:
    struct Key;
    struct Kept;

    /// For what comes for the first time: steps behind open shapes run as dynamic_step.h says.
    struct General {
        std::shared_ptr<const Plan> plan;
        std::unique_ptr<Executable> executable; ///< null: not tried, or it cannot be had
        bool isTried = false;
    };

    Key keyOf(const std::vector<Tensor>& inputs);
    const Tensor& inputAt(size_t place, const std::vector<Tensor>& inputs) const;
    void assume(Graph& graph, const std::vector<size_t>& places,
                const std::vector<Tensor>& inputs) const;
    const std::vector<size_t>& decidersOf(const Shapes& shapes, const std::vector<Tensor>& inputs);
    Kept& ask(const Key& key, const std::vector<Tensor>& inputs);
    bool isWorthAPlan(const Kept& kept) const;
    size_t plannedBytes() const;
    void makeRoom();
    bool isPlannedFor(const Shapes& shapes) const;
    Executable* prepare(Kept& kept, const Key& key, const BodyPlanning& planning,
                        Progress& progress);
    Executable* general(const Key& key, const std::vector<Tensor>& inputs,
                        const BodyPlanning& planning, Progress& progress);
    bool readsMuch(const std::vector<Tensor>& inputs) const;

    SubgraphRef m_ref;
    std::vector<TensorPtr> m_constants;
    std::shared_ptr<const Plan> m_plan; ///< of the step
    size_t m_constantBytes = 0;
    std::vector<Tensor> m_given;
    std::map<Key, Kept> m_kept;
    Kept* m_asked = nullptr;
    uint64_t m_clock = 0; ///< of questions
    /// Inputs whose elements shapes depend on, by the shapes of all.
    std::map<Shapes, std::vector<size_t>> m_deciders;
    General m_own;            ///< of the step's plan, where shapes depend on elements
    General m_open;           ///< for inputs of all shapes
    double m_planSeconds = 0; ///< that the last plan took to make
    size_t m_planBytes = 0;   ///< that it may hold
};

} // namespace fuselage::cpu
