// SPDX-License-Identifier: Apache-2.0
// The phases of makePlan, in the order in which make_plan.cpp runs them. Each takes the Plan as the
// phases before left it.
#pragma once

#include "core/kernel/layout_work.h"
#include "core/kernel/lower_cache.h"
#include "core/plan/backend.h"
#include "core/plan/make_plan.h"
#include "core/plan/views.h"

#include <string>
#include <unordered_map>

namespace fuselage::planner {

/// Strides by name of value, as the plan of an earlier round chose them.
using ValueOrders = std::unordered_map<std::string, Extents>;

/// Who chooses the orders of memory of a round whose backend has prices for them.
enum class LayoutChoiceBy : uint8_t {
    Search, ///< chooseLayouts()
    Votes,  ///< the backend's rules
    Nobody, ///< all lies as in the model
};

/// What phases that predict are asked with: layouts and what is one kernel depend on each other.
struct PlanRound : PlanOptions {
    LayoutChoiceBy choice = LayoutChoiceBy::Search;
    const ValueOrders* orders = nullptr; ///< null: every operand lies as its reader wants it
};

/// Nodes of the planned graph in execution order, with what computes each.
struct PlannedNode {
    NodeId node;
    LowerRequest request;
    std::optional<KernelProgram> program;     ///< none: perhaps a view, lowered only if it is not
    std::vector<std::string> recomputed = {}; ///< of Step
    bool isCopied = false; ///< it could be a view, but what reads it is faster if it is copied
};

/// Phase 1: lowers every node; where fused nodes do not lower, or are faster in parts, `graph`
/// becomes a copy in which the parts of least predicted time stand for them (split.cpp).
Result<std::vector<PlannedNode>> lowerNodes(std::shared_ptr<const Graph>& graph,
                                            const PlanRound& options, LowerCache& cache,
                                            std::vector<SplitRecord>& splits, Progress& progress);

/// Phase 1a, which predicts: a Cast whose operand nobody else reads is how the step that makes this
/// operand stores it (store_casts.cpp).
Result<void> storeCasts(std::shared_ptr<const Graph>& graph, std::vector<PlannedNode>& nodes,
                        const PlanRound& options, LowerCache& cache, Progress& progress);

/// Phase 1b, which predicts: readers of cheap work compute it themselves; they become fused nodes
/// of a copy of `graph`, and what nobody reads any more is gone (recompute.cpp).
Result<std::vector<RecomputeRecord>> recomputeShared(std::shared_ptr<const Graph>& graph,
                                                     std::vector<PlannedNode>& nodes,
                                                     const PlanRound& options, LowerCache& cache,
                                                     Progress& progress);

/// Phase 1c, which predicts: products of one operand with constant weights become one, whose
/// columns are theirs side by side and whose epilogue is each of theirs on its own columns
/// (join_products.cpp).
Result<std::vector<GroupRecord>> joinProducts(std::shared_ptr<const Graph>& graph,
                                              std::vector<PlannedNode>& nodes,
                                              const PlanRound& options, LowerCache& cache,
                                              Progress& progress);

/// Phase 1d: nodes that make more than they are the last to read run just before their first reader
/// (order_late.cpp).
void orderLate(const Graph& graph, std::vector<PlannedNode>& nodes);

/// And those that constants alone decide stand in front of all others, between which they would
/// stand in the way of sweeps (constant_steps.cpp).
void orderFixedFirst(const Graph& graph, std::vector<PlannedNode>& nodes,
                     const PlanOptions& options);

/// Nodes of the graph as one body, without fused nodes in it.
LowerRequest requestFor(const Graph& graph, const std::vector<NodeId>& nodes,
                        const std::vector<ValueId>& outputs);

/// Whether a node that only regroups elements (Reshape) reads this view of a value, sees its
/// elements neither in place nor by a copy that has a kernel, and would if it were dense: then
/// what makes the view is better a copy.
bool isRegrouped(const Graph& graph, ValueId value, const ViewOf& view);

/// The node reads the request's operands and has its body; its outputs stay.
void becomeFused(Graph& graph, NodeId id, const LowerRequest& request);

/// The end of a phase that changes nodes: where it made a graph of its own, `graph` becomes that,
/// and `nodes` are those of its live nodes, in its order.
void adopt(std::shared_ptr<const Graph>& graph, std::shared_ptr<const Graph> changed,
           std::vector<PlannedNode>& nodes);

/// The worst class that the rule of a node and the options allow.
NumericClass allowedClass(const Node& node, const PlanOptions& options);

/// Phase 2: one plan value for each live value of the graph, row-major; one step for each planned
/// node with a program.
void makeValuesAndSteps(Plan& plan, std::vector<PlannedNode>& nodes);

/// Phase 2b: refuses sizes whose sums or operation counts could overflow: "resource.memory".
Result<void> checkSizes(const Plan& plan);

/// Phase 2c, which predicts: other strides for values that steps make (choose_layouts.cpp).
/// `offered`: of each value of the plan strides that it may have besides; or empty.
Result<void> chooseLayouts(Plan& plan, std::vector<PlannedNode>& nodes, const PlanOptions& options,
                           const LowerCache& cache, const std::vector<Extents>& offered,
                           const Progress& progress);

/// Of a whole plan that was taken in place of the one by search, whose records say nothing of it;
/// `name` says how its values lie.
LayoutRecord beatenSearch(const Plan& taken, const Plan& searched, const char* name);

/// What times are predicted by.
struct Pricing {
    const DeviceProfile& profile;
    const Backend* backend; ///< may be null
};

/// Of a step whose operands lie in this order.
TimeEstimate predictLaid(const Plan& plan, const Step& step, const OperandStrides& order,
                         const Traffic& traffic, const Pricing& by);

/// Of a step whose operands lie as they do in the plan, as predictSteps() gives it.
TimeEstimate predictStep(const Plan& plan, const Step& step, const Traffic& traffic,
                         const Pricing& by);

/// The step of a planned node, whose program it takes.
Step stepOf(const Graph& graph, PlannedNode& planned, const std::vector<uint32_t>& index);

/// Plan values by ValueId.
std::vector<uint32_t> indexByValue(const Plan& plan);

/// The program where it only moves whole operands into disjoint parts of its one output.
const Copy* asConcat(const KernelProgram& program);

/// Phase 3, after layouts: views become aliases; those that cannot get a copying step.
Result<void> resolveViews(Plan& plan, std::vector<PlannedNode>& nodes, ViewKinds kinds);

/// Phase 4: operands of a Concat are written straight into their part of its result.
void aliasConcats(Plan& plan);

/// Phase 5: the class of every step.
void classifySteps(Plan& plan, const PlanOptions& options);

/// Phase 5b, which predicts: a product and the only step that reads its result, as the rows of a
/// product of its own, become a Chain; so does a Row with each of the products that read it, all or
/// none (chain_steps.cpp).
void chainSteps(Plan& plan, const PlanOptions& options, const Progress& progress);

/// Of each step on a GPU: bytes moved since what it reads was made.
std::vector<UseDistances> distancesByMaker(const Plan& plan, const DeviceProfile& profile);

/// Phase 6, which predicts: small independent steps become Group programs (group_steps.cpp).
void groupSteps(Plan& plan, const PlanOptions& options, const Progress& progress);

/// Phase 6b, which predicts: steps that run for a few images at a time (sweeps.cpp).
void findSweeps(Plan& plan, const PlanOptions& options);

/// Bytes from the first to one past the last element of a layout with gaps or padding; of the
/// images of one pass where it is given.
int64_t spanBytes(const PlanValue& value, const Sweep* sweep = nullptr);

/// Phase 7: lifetimes, in-place reuse, offsets in the arena, exact peak (buffers.cpp). `stored`: of
/// Backend::storedBytes().
void placeBuffers(Plan& plan, const PlanOptions& options,
                  const std::map<uint32_t, int64_t>& stored);

/// Whether the backend computes it by a routine that writes in the order of what it reads.
bool followsOrder(const KernelProgram& program, const Backend* backend);

/// Phase 8: traffic and predicted time of every step; of those before `progress`, if there is any,
/// is cancelled, as prices may take long.
void predictSteps(Plan& plan, const DeviceProfile& profile, const Backend* backend,
                  const Progress* progress = nullptr);

/// Phase 9: plans of the bodies of If, Loop and Scan, and figures of their steps from them
/// (body_plans.cpp).
void planBodies(Plan& plan, const PlanOptions& options, Progress& progress);

} // namespace fuselage::planner
