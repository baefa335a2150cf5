// SPDX-License-Identifier: Apache-2.0
// How the body of a fused node is divided among kernels: a search over the ways to divide it into
// parts that lower, for the smallest sum of predicted times.
#pragma once

#include "core/kernel/lower_cache.h"
#include "core/plan/make_plan.h"
#include "core/plan/views.h"

#include <map>
#include <optional>
#include <vector>

namespace fuselage::planner {

/// Whether a cut at a place is looked at.
enum class CutPlaces : uint8_t {
    All,
    Extents, ///< only where the number of elements changes, and beside what is not elementwise
};

struct BodyCut {
    std::vector<NodeId> order; ///< the body's nodes, in an order in which they can run
    std::vector<size_t> ends;  ///< of the parts, ascending; the last one is the number of nodes
    double seconds = 0;        ///< predicted, all parts one after the other
    uint32_t kernels = 0;      ///< parts that are not mere views
};

class BodyCutter {
public:
    /// `whole` is the request of the fused node; both outlive the cutter.
    BodyCutter(const LowerRequest& whole, const PlanOptions& options, NumericClass allowed,
               LowerCache& cache);

    /// How values that the body reads and makes lie; others as their readers want them.
    void assume(std::map<ValueId, Extents> orders) { m_orders = std::move(orders); }

    /// The cheapest cut into two parts or more; infinite seconds: there is none. Of up to 7 nodes
    /// all partitions are looked at; of more, those into consecutive parts of two orders. Bodies of
    /// more than 96 nodes are cut into parts of at most 12.
    BodyCut cheapest(CutPlaces places);

    /// Predicted time of the whole body by this program, as the parts' times are predicted.
    double secondsOf(const KernelProgram& program) const;

    /// Of a part of these nodes; none: no one kernel computes them.
    std::optional<double> secondsOfPart(const std::vector<NodeId>& nodes);

    /// Whether the program computes values again that its nodes one by one compute once: what
    /// stands in front of a broadcast for every element behind it, a row's work for every pass.
    bool repeatsWork(const KernelProgram& program);

    /// Whether the program is predicted to be slower than its nodes one by one; of bodies with
    /// views nothing is said.
    bool isSlower(const KernelProgram& program);

private:
    /// The nodes one by one.
    struct Apart {
        double seconds = 0, instructions = 0;
    };

    struct Part {
        std::optional<KernelProgram> program = {}; ///< none: it does not lower
        double seconds = 0;                        ///< of a run
        bool isOnce = false;                       ///< computed while preparing
    };

    bool isView(NodeId node) const;
    const Apart& apart();
    BodyCut cheapestAlong(std::vector<NodeId> order, CutPlaces places);
    BodyCut cheapestOfAll(const std::vector<NodeId>& order);
    BodyCut counted(BodyCut cut) const;
    Part partOf(const std::vector<NodeId>& nodes);
    std::vector<NodeId> smallFirst() const;
    bool isElementwise(NodeId node) const;
    int64_t elementsOf(NodeId node) const;
    double seconds(const KernelProgram& program, const std::vector<ValueId>& inputs,
                   const std::vector<ValueId>& outputs) const;

    const LowerRequest& m_whole;
    const Graph& m_body;
    const PlanOptions& m_options;
    NumericClass m_allowed;
    LowerCache& m_cache;
    std::map<ValueId, Extents> m_orders;
    std::map<ValueId, TensorPtr> m_constants; ///< inputs of the body that do not vary
    std::vector<bool> m_isFixed;              ///< of fixedValues()
    std::optional<Apart> m_apart;             ///< once asked for
};

} // namespace fuselage::planner
