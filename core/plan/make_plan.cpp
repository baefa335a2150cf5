// SPDX-License-Identifier: Apache-2.0
// makePlan: wires the phases of planner_internal.h and holds the small ones (values and steps,
// classes, predictions).
#include "core/cost/time_model.h"
#include "core/kernel/product_element.h"
#include "core/plan/backend.h"
#include "core/plan/constant_steps.h"
#include "core/plan/memory_uses.h"
#include "core/plan/planner_internal.h"
#include "core/plan/reuse_distance.h"
#include "core/plan/step_work.h"

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

/// From the traffic that the step has.
void predictStep(const Plan& plan, Step& step, const DeviceProfile& profile,
                 const Backend* backend) {
    step.predicted = predictTime(step.program, fuselage::workOf(plan, step, backend), step.traffic,
                                 profile, step.tf32);
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
    for (const PlanValue& value : plan.values) {
        if (value.bytes > most || total > most - value.bytes)
            return failure("resource.memory",
                           "the values of the plan are larger than 8 TiB; `" + value.name +
                               "` has extents " + text(value.extents),
                           value.name, "give smaller dimensions, e.g. --dim N=1");
        total += value.bytes;
    }
    return {};
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

void predictSteps(Plan& plan, const DeviceProfile& profile, const Backend* backend) {
    std::vector<UseDistances> distances =
        profile.kind == DeviceKind::Cpu ? distancesByMemory(plan) : distancesByMaker(plan, profile);
    const std::map<uint32_t, int64_t> stored =
        backend ? backend->storedBytes(plan) : std::map<uint32_t, int64_t>();
    for (size_t i = 0; i < plan.steps.size(); ++i) {
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
        else {
            predictStep(plan, step, profile, backend);
        }
    }
    for (const Sweep& sweep : plan.sweeps)
        for (uint32_t i = sweep.first; i <= sweep.last; ++i) {
            Step& step = plan.steps[i];
            step.traffic = sweep.traffic[i - sweep.first];
            predictStep(plan, step, profile, backend);
        }
}

} // namespace planner

bool makesNothing(const KernelProgram& program) {
    return !program.outputs.empty() &&
           std::all_of(program.outputs.begin(), program.outputs.end(),
                       [](const OperandType& output) { return elementCount(output.extents) == 0; });
}

LaidWork workOf(const Plan& plan, const Step& step, const Backend* backend) {
    return plan.pricedLayouts ? laidWorkOf(step.program, planner::orderOf(plan, step, backend))
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

Result<std::shared_ptr<Plan>> planRound(std::shared_ptr<const Graph> graph,
                                        const planner::PlanRound& options, LowerCache& cache,
                                        Progress& progress) {
    auto plan = std::make_shared<Plan>();
    plan->form = options;
    plan->precision = options.precision;
    plan->strict = options.strict;
    auto nodes = planner::lowerNodes(graph, options, cache, plan->splits, progress);
    if (!nodes)
        return failure(nodes.error());
    if (options.recompute) {
        if (auto stored = planner::storeCasts(graph, *nodes, options, cache, progress); !stored)
            return failure(stored.error());
        auto recomputes = planner::recomputeShared(graph, *nodes, options, cache, progress);
        if (!recomputes)
            return failure(recomputes.error());
        plan->recomputes = std::move(*recomputes);
    }
    if (options.groupSmall && options.stridedViews && !options.strict) {
        auto joined = planner::joinProducts(graph, *nodes, options, cache, progress);
        if (!joined)
            return failure(joined.error());
        plan->groups = std::move(*joined);
    }
    plan->graph = graph;
    planner::orderLate(*graph, *nodes);
    planner::orderFixedFirst(*graph, *nodes, options);
    planner::makeValuesAndSteps(*plan, *nodes);
    if (auto sized = planner::checkSizes(*plan); !sized)
        return failure(sized.error());
    if (options.backend && options.backend->pricesLayouts(*plan))
        planner::chooseLayouts(*plan, *nodes, options, cache);
    else if (options.backend)
        options.backend->chooseLayouts(*plan);
    ViewKinds kinds = options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous;
    if (auto resolved = planner::resolveViews(*plan, *nodes, kinds); !resolved)
        return failure(resolved.error());
    planner::findFixed(*plan, options);
    if (options.stridedViews) {
        planner::aliasConcats(*plan);
        planner::findFixed(*plan, options);
    }
    planner::classifySteps(*plan, options);
    if (options.groupSmall) {
        planner::chainSteps(*plan, options);
        planner::groupSteps(*plan, options);
    }
    if (options.sweeps && !options.strict)
        planner::findSweeps(*plan, options);
    planner::placeBuffers(*plan, options,
                          options.backend ? options.backend->storedBytes(*plan)
                                          : std::map<uint32_t, int64_t>());
    planner::predictSteps(*plan, *options.profile, options.backend);
    return plan;
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
                           "", "give its dimensions, e.g. --dim N=1");

    constexpr int mostRounds = 3;
    LowerCache cache;
    planner::PlanRound round{options};
    auto best = planRound(graph, round, cache, progress);
    // What lies otherwise may be fused otherwise, which may let it lie otherwise.
    for (int i = 1; best && !isSettled(**best) && i < mostRounds; ++i) {
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
