// SPDX-License-Identifier: Apache-2.0
// makePlan: wires the phases of planner_internal.h and holds the small ones (values and steps,
// classes, predictions).
#include "core/cost/time_model.h"
#include "core/kernel/product_element.h"
#include "core/plan/backend.h"
#include "core/plan/constant_steps.h"
#include "core/plan/memory_uses.h"
#include "core/plan/order_pricing.h"
#include "core/plan/planner_internal.h"
#include "core/plan/reuse_distance.h"
#include "core/plan/step_work.h"
#include "core/support/checked.h"

#include <algorithm>
#include <numeric>

namespace fuselage {

RootPlace placeOf(const Plan& plan, uint32_t value) {
    RootPlace out{value, 0};
    while (plan.values[out.root].residence == Residence::Alias) {
        out.offset += plan.values[out.root].offset;
        out.root = plan.values[out.root].aliasOf;
    }
    return out;
}

const Sweep* sweepOf(const Plan& plan, size_t step) {
    for (const Sweep& sweep : plan.sweeps)
        if (sweep.first <= step && step <= sweep.last)
            return &sweep;
    return nullptr;
}

namespace planner {

bool followsOrder(const KernelProgram& program, const Backend* backend) {
    return std::holds_alternative<Library>(program.code) && backend &&
           backend->followsOrder(program);
}

namespace {

/// Strides of what the step reads and writes; weights lie as its kernel wants them.
OperandStrides orderOf(const Plan& plan, const Step& step, const Backend* backend) {
    OperandStrides out;
    auto strides = [&](uint32_t index) {
        const PlanValue& value = plan.values[index];
        return value.isFixed || value.residence == Residence::Host ? nullptr : &value.strides;
    };
    for (uint32_t input : step.inputs)
        out.inputs.push_back(strides(input));
    for (uint32_t output : step.outputs)
        out.outputs.push_back(strides(output));
    out.follows = followsOrder(step.program, backend);
    return out;
}

/// Of the bytes of each operand what the step reads; none where that is all of them.
std::vector<double> readShares(const Plan& plan, const Step& step,
                               const std::map<uint32_t, int64_t>& stored) {
    std::vector<double> out(stored.empty() ? 0 : step.inputs.size(), 1);
    for (size_t i = 0; i < out.size(); ++i)
        if (const auto found = stored.find(step.inputs[i]); found != stored.end())
            out[i] = static_cast<double>(found->second) /
                     static_cast<double>(plan.values[rootOf(plan, found->first)].bytes);
    return out;
}

/// Since the memory of what it reads and writes was last used.
std::vector<UseDistances> distancesByMemory(const Plan& plan) {
    MemoryUses uses(plan);
    std::vector<UseDistances> out;
    for (size_t i = 0; i < plan.steps.size(); ++i)
        out.push_back(uses.next());
    return out;
}

PlanValue planValueOf(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    PlanValue out;
    out.name = value.name;
    out.value = id;
    out.dtype = value.type.dtype;
    out.constant = value.constant;
    auto bytes = value.type.byteCount();
    bool fixed = value.type.kind == TypeKind::Tensor && bytes;
    if (value.constant)
        out.residence = Residence::Constant;
    else if (!fixed)
        out.residence = Residence::Host;
    if (fixed || value.constant) {
        out.extents = value.constant ? value.constant->extents() : *value.type.extents();
        out.strides = rowMajorStrides(out.extents);
        out.bytes = bytes.value_or(0);
    }
    return out;
}

} // namespace

TimeEstimate predictLaid(const Plan& plan, const Step& step, const OperandStrides& order,
                         const Traffic& traffic, const Pricing& by) {
    const KernelProgram& program = step.program;
    const OrderPricing* kernels = orderPricingOf(by.backend);
    const LaidWork work =
        kernels ? LaidWork{fuselage::workOf(program)} : laidWorkOf(program, order);
    TimeEstimate out = predictTime(program, work, traffic, by.profile, step.tf32);
    const auto isHost = [&](uint32_t value) {
        return plan.values[value].residence == Residence::Host;
    };
    if (!kernels || std::any_of(step.inputs.begin(), step.inputs.end(), isHost) ||
        std::any_of(step.outputs.begin(), step.outputs.end(), isHost))
        return out;
    LaidProgram laid{&program, order, {}, step.allowed, step.strict, step.tf32};
    for (uint32_t input : step.inputs)
        laid.constants.push_back(plan.values[input].constant);
    const double loss = kernels->orderLoss(laid, out);
    for (double* seconds : {&out.seconds, &out.low, &out.high})
        *seconds = out.launch + (*seconds - out.launch) * loss;
    return out;
}

TimeEstimate predictStep(const Plan& plan, const Step& step, const Traffic& traffic,
                         const Pricing& by) {
    return plan.pricedLayouts || orderPricingOf(by.backend)
               ? predictLaid(plan, step, orderOf(plan, step, by.backend), traffic, by)
               : predictTime(step.program, fuselage::workOf(plan, step, by.backend), traffic,
                             by.profile, step.tf32);
}

std::vector<UseDistances> distancesByMaker(const Plan& plan, const DeviceProfile& profile) {
    std::vector<int64_t> producedAt(plan.values.size(), -1);
    ReuseDistances reuse(profile);
    for (const Step& step : plan.steps)
        reuse.add(plan.isOnce(step) ? 0 : logicalTraffic(step.program).logical());
    std::vector<UseDistances> out(plan.steps.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        for (uint32_t input : plan.steps[i].inputs)
            out[i].read.push_back(
                reuse.of(i, producedAt[rootOf(plan, input)], plan.values[input].bytes));
        for (uint32_t output : plan.steps[i].outputs)
            if (!plan.isOnce(plan.steps[i]))
                producedAt[rootOf(plan, output)] = static_cast<int64_t>(i);
    }
    return out;
}

/// Sums of sizes, and the operations of kernels that read them, are 64-bit numbers.
Result<void> checkSizes(const Plan& plan) {
    constexpr int64_t most = int64_t(1) << 43;
    int64_t total = 0;
    const PlanValue* largest = nullptr;
    for (const PlanValue& value : plan.values) {
        const Value& given = plan.graph->value(value.value);
        const Type& type = given.type;
        const auto extents = type.kind == TypeKind::Tensor ? type.extents() : std::nullopt;
        const auto each = static_cast<int64_t>(std::max<size_t>(sizeOf(type.dtype), 1));
        // Of what a node makes the run says which constants or inputs decided its size.
        if (extents && !given.producer.valid() &&
            !checkedMultiply(elementCount(*extents).value_or(-1), each))
            return failure("resource.memory",
                           "`" + value.name + "` with extents " + text(*extents) +
                               " has more bytes than a 64-bit number counts",
                           value.name, "give smaller dimensions with --dim");
        if (!largest || value.bytes > largest->bytes)
            largest = &value;
        total = value.bytes > most - total ? most + 1 : total + value.bytes;
    }
    if (total <= most)
        return {};
    return failure("resource.memory",
                   "the values of the plan are larger than 8 TiB; `" + largest->name +
                       "` has extents " + text(largest->extents),
                   largest->name, "give smaller dimensions with --dim");
}

void makeValuesAndSteps(Plan& plan, std::vector<PlannedNode>& nodes) {
    const Graph& graph = *plan.graph;
    for (ValueId id : graph.values())
        plan.values.push_back(planValueOf(graph, id));
    plan.steps.reserve(nodes.size());
    std::vector<uint32_t> index = indexByValue(plan);
    for (ValueId id : graph.inputs()) {
        plan.inputs.push_back(index[id.index()]);
        PlanValue& value = plan.values[plan.inputs.back()];
        if (value.residence == Residence::Arena)
            value.residence = Residence::Input;
    }
    for (ValueId id : graph.outputs()) {
        plan.outputs.push_back(index[id.index()]);
        PlanValue& value = plan.values[plan.outputs.back()];
        if (value.residence == Residence::Arena)
            value.residence = Residence::Output;
    }
    for (PlannedNode& planned : nodes)
        if (planned.program)
            plan.steps.push_back(stepOf(graph, planned, index));
}

void classifySteps(Plan& plan, const PlanOptions& options) {
    for (Step& step : plan.steps) {
        const Node& node = plan.graph->node(step.node);
        step.allowed = allowedClass(node, options);
        // A node by itself is what it is compared with.
        step.numeric = node.op == Op::Fused ? step.program.numeric : NumericClass::Exact;
        step.strict = step.allowed == NumericClass::Exact;
        step.tf32 = options.precision == Precision::Tf32 &&
                    productElement(step.program) == DType::Float32 &&
                    step.allowed >= NumericClass::Reassociated;
        if (step.tf32)
            step.numeric = NumericClass::Approximate; // opted in by the option, for this alone
    }
}

void predictSteps(Plan& plan, const DeviceProfile& profile, const Backend* backend,
                  const Progress* progress) {
    std::vector<UseDistances> distances =
        profile.kind == DeviceKind::Cpu ? distancesByMemory(plan) : distancesByMaker(plan, profile);
    const std::map<uint32_t, int64_t> stored =
        backend ? backend->storedBytes(plan) : std::map<uint32_t, int64_t>();
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        if (progress && progress->cancelled())
            return;
        Step& step = plan.steps[i];
        if (makesNothing(step.program) || plan.isOnce(step)) {
            step.traffic = {};
            step.predicted = {};
            continue;
        }
        distances[i].share = readShares(plan, step, stored);
        step.traffic = predictTraffic(step.program, profile, distances[i]);
        if (backend && backend->isForHost(plan, step))
            step.predicted = predictHostTime(step.program, step.traffic, profile);
        else
            step.predicted = predictStep(plan, step, step.traffic, {profile, backend});
    }
    for (const Sweep& sweep : plan.sweeps)
        for (uint32_t i = sweep.first; i <= sweep.last; ++i) {
            Step& step = plan.steps[i];
            step.traffic = sweep.traffic[i - sweep.first];
            step.predicted = predictStep(plan, step, step.traffic, {profile, backend});
        }
}

} // namespace planner

bool makesNothing(const KernelProgram& program) {
    return !program.outputs.empty() &&
           std::all_of(program.outputs.begin(), program.outputs.end(),
                       [](const OperandType& output) { return elementCount(output.extents) == 0; });
}

LaidWork workOf(const Plan& plan, const Step& step, const Backend* backend) {
    return plan.pricedLayouts && !orderPricingOf(backend)
               ? laidWorkOf(step.program, planner::orderOf(plan, step, backend))
               : LaidWork{workOf(step.program)};
}

Traffic Plan::totalTraffic() const {
    Traffic total;
    for (const Step& step : steps)
        total += step.traffic;
    return total;
}

TimeEstimate Plan::totalPredicted() const {
    TimeEstimate total;
    for (const Step& step : steps)
        total += step.predicted;
    return total;
}

namespace {

/// The strides that a plan's values have, for the next round.
planner::ValueOrders ordersOf(const Plan& plan) {
    planner::ValueOrders out;
    for (const PlanValue& value : plan.values)
        if (value.residence != Residence::Host && value.residence != Residence::Constant)
            out.emplace(value.name, value.strides);
    return out;
}

/// Layouts decided nothing else, or there was nothing to decide.
bool isSettled(const Plan& plan) {
    const bool decided = !plan.splits.empty() || !plan.recomputes.empty() || !plan.groups.empty();
    return !plan.pricedLayouts || !decided ||
           std::all_of(plan.values.begin(), plan.values.end(), [](const PlanValue& value) {
               return value.residence == Residence::Host ||
                      sameOrder(value.extents, value.strides, rowMajorStrides(value.extents));
           });
}

/// Of all values, as the backend's rules would have them. The plan keeps its own.
std::vector<Extents> votedOrders(Plan& plan, const Backend& backend) {
    std::vector<Extents> out;
    for (const PlanValue& value : plan.values)
        out.push_back(value.strides);
    backend.chooseLayouts(plan);
    for (size_t i = 0; i < out.size(); ++i)
        out[i].swap(plan.values[i].strides);
    return out;
}

/// Phase 2c.
Result<void> lay(Plan& plan, std::vector<planner::PlannedNode>& nodes,
                 const planner::PlanRound& round, const LowerCache& cache,
                 const Progress& progress) {
    using planner::LayoutChoiceBy;
    if (!round.backend)
        return {};
    if (round.backend->pricesLayouts(plan))
        return planner::chooseLayouts(plan, nodes, round, cache, {}, progress);
    if (!orderPricingOf(round.backend) || plan.strict || round.choice == LayoutChoiceBy::Votes)
        round.backend->chooseLayouts(plan);
    else if (round.choice == LayoutChoiceBy::Search)
        return planner::chooseLayouts(plan, nodes, round, cache, votedOrders(plan, *round.backend),
                                      progress);
    return {};
}

/// A plan in front of phase 2c, from where each choice of layouts goes on.
struct BeforeLayouts {
    Plan plan;
    std::vector<planner::PlannedNode> nodes;
};

Result<BeforeLayouts> beforeLayouts(std::shared_ptr<const Graph> graph,
                                    const planner::PlanRound& options, LowerCache& cache,
                                    Progress& progress) {
    BeforeLayouts out;
    out.plan.form = options;
    out.plan.precision = options.precision;
    out.plan.strict = options.strict;
    auto nodes = planner::lowerNodes(graph, options, cache, out.plan.splits, progress);
    if (!nodes)
        return failure(nodes.error());
    if (options.recompute) {
        if (auto stored = planner::storeCasts(graph, *nodes, options, cache, progress); !stored)
            return failure(stored.error());
        auto recomputes = planner::recomputeShared(graph, *nodes, options, cache, progress);
        if (!recomputes)
            return failure(recomputes.error());
        out.plan.recomputes = std::move(*recomputes);
    }
    if (options.groupSmall && options.stridedViews && !options.strict) {
        auto joined = planner::joinProducts(graph, *nodes, options, cache, progress);
        if (!joined)
            return failure(joined.error());
        out.plan.groups = std::move(*joined);
    }
    out.plan.graph = graph;
    planner::orderLate(*graph, *nodes);
    planner::orderFixedFirst(*graph, *nodes, options);
    planner::makeValuesAndSteps(out.plan, *nodes);
    if (auto sized = planner::checkSizes(out.plan); !sized)
        return failure(sized.error());
    planner::classifySteps(out.plan, options);
    out.nodes = std::move(*nodes);
    return out;
}

/// Phases 3 to 8.
Result<std::shared_ptr<Plan>> afterLayouts(BeforeLayouts from, const planner::PlanRound& options,
                                           Progress& progress) {
    auto plan = std::make_shared<Plan>(std::move(from.plan));
    ViewKinds kinds = options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous;
    if (auto resolved = planner::resolveViews(*plan, from.nodes, kinds); !resolved)
        return failure(resolved.error());
    planner::findFixed(*plan, options);
    if (options.stridedViews) {
        planner::aliasConcats(*plan);
        planner::findFixed(*plan, options);
    }
    planner::classifySteps(*plan, options);
    if (options.groupSmall) {
        planner::chainSteps(*plan, options, progress);
        planner::groupSteps(*plan, options, progress);
        if (progress.cancelled())
            return cancelledFailure("planning");
    }
    if (options.sweeps && !options.strict)
        planner::findSweeps(*plan, options);
    planner::placeBuffers(*plan, options,
                          options.backend ? options.backend->storedBytes(*plan)
                                          : std::map<uint32_t, int64_t>());
    planner::predictSteps(*plan, *options.profile, options.backend, &progress);
    if (progress.cancelled())
        return cancelledFailure("planning");
    return plan;
}

Result<std::shared_ptr<Plan>> planRound(std::shared_ptr<const Graph> graph,
                                        const planner::PlanRound& options, LowerCache& cache,
                                        Progress& progress) {
    auto from = beforeLayouts(std::move(graph), options, cache, progress);
    if (!from)
        return failure(from.error());
    if (auto laid = lay(from->plan, from->nodes, options, cache, progress); !laid)
        return failure(laid.error());
    return afterLayouts(std::move(*from), options, progress);
}

/// All that a choice of layouts decided.
std::vector<Extents> laidOf(const BeforeLayouts& from) {
    std::vector<Extents> out(1);
    for (const planner::PlannedNode& node : from.nodes)
        out[0].push_back(node.isCopied ? 1 : 0);
    for (const PlanValue& value : from.plan.values)
        out.push_back(value.strides);
    return out;
}

/// The search sees steps before they are grouped and Concats before they are views, and follows
/// some states alone: the plan is the one by search, by the backend's rules or in the model's order
/// that is predicted to be fastest as a whole.
Result<std::shared_ptr<Plan>> fastestRound(std::shared_ptr<const Graph> graph,
                                           planner::PlanRound round, LowerCache& cache,
                                           Progress& progress) {
    using planner::LayoutChoiceBy;
    constexpr double rounding = 1e-9; // sums in another order
    const auto from = beforeLayouts(std::move(graph), round, cache, progress);
    if (!from)
        return failure(from.error());
    std::vector<std::vector<Extents>> made;
    std::shared_ptr<Plan> searched, best;
    const char* name = nullptr;
    for (const LayoutChoiceBy choice :
         {LayoutChoiceBy::Search, LayoutChoiceBy::Votes, LayoutChoiceBy::Nobody}) {
        round.choice = choice;
        BeforeLayouts next = *from;
        if (auto laid = lay(next.plan, next.nodes, round, cache, progress); !laid)
            return failure(laid.error());
        made.push_back(laidOf(next));
        if (std::find(made.begin(), made.end(), made.back()) != made.end() - 1)
            continue; // the same plan again
        auto plan = afterLayouts(std::move(next), round, progress);
        if (!plan)
            return failure(plan.error());
        if (!searched)
            searched = *plan;
        if (best &&
            (*plan)->totalPredicted().seconds >= best->totalPredicted().seconds * (1 - rounding))
            continue;
        best = std::move(*plan);
        name = choice == LayoutChoiceBy::Votes ? "by rules" : "as in the model";
    }
    if (best != searched)
        best->layouts.push_back(planner::beatenSearch(*best, *searched, name));
    return best;
}

} // namespace

Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const Graph> graph,
                                             const PlanOptions& options, Progress& progress) {
    assert(options.profile && "a plan needs a device profile");
    for (ValueId id : graph->inputs())
        if (!options.openInputs && graph->value(id).type.kind == TypeKind::Tensor &&
            !graph->value(id).type.elementCount())
            return failure("plan.dynamic",
                           "shape " + graph->value(id).type.text() + " of input `" +
                               graph->value(id).name + "` is not known",
                           "",
                           graph->value(id).type.shape
                               ? "give its dimensions, e.g. --dim N=1"
                               : "the file does not say how many dimensions it has: `run` and "
                                 "`bench` take a tensor for it with --inputs");

    constexpr int mostRounds = 3;
    LowerCache cache;
    planner::PlanRound round{options};
    const bool hasPrices = orderPricingOf(options.backend) != nullptr;
    auto best = hasPrices && !options.strict ? fastestRound(graph, round, cache, progress)
                                             : planRound(graph, round, cache, progress);
    // What lies otherwise may be fused otherwise, which may let it lie otherwise. Cuts know what
    // orders cost from the time model alone.
    for (int i = 1; best && !hasPrices && !isSettled(**best) && i < mostRounds; ++i) {
        const planner::ValueOrders orders = ordersOf(**best);
        round.orders = &orders;
        auto next = planRound(graph, round, cache, progress);
        if (!next)
            return failure(next.error());
        if ((*next)->totalPredicted().seconds >= (*best)->totalPredicted().seconds)
            break;
        best = std::move(next);
    }
    if (!best)
        return failure(best.error());
    planner::planBodies(**best, options, progress);
    return std::shared_ptr<const Plan>(std::move(*best));
}

} // namespace fuselage
