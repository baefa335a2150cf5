// SPDX-License-Identifier: Apache-2.0
// makePlan: wires the phases of planner_internal.h and holds the small ones (values and steps,
// views, concats, predictions).
#include "core/cost/time_model.h"
#include "core/kernel/product_element.h"
#include "core/plan/backend.h"
#include "core/plan/planner_internal.h"
#include "core/plan/reuse_distance.h"

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

namespace planner {

namespace {

/// From the traffic that the step has.
void predictStep(Step& step, const DeviceProfile& profile) {
    step.predicted =
        predictTime(step.program, workOf(step.program), step.traffic, profile, step.tf32);
}

/// True when the program only moves whole operands into disjoint parts of its one output.
const Copy* asConcat(const KernelProgram& program) {
    const auto* copy = std::get_if<Copy>(&program.code);
    if (!copy || program.outputs.size() != 1 || copy->pieces.size() < 2)
        return nullptr;
    for (const Copy::Piece& piece : copy->pieces) {
        if (!piece.read || piece.space != program.inputs[piece.read->operand].extents)
            return nullptr;
        for (size_t d = 0; d < piece.space.size(); ++d) {
            const DimIndex& read = piece.read->index[d];
            const DimIndex& write = piece.write.index[d];
            bool identity = read.offset == 0 && read.terms.size() == 1 &&
                            read.terms[0] == IndexTerm{static_cast<uint32_t>(d), 1};
            bool unitRead = read.terms.empty() && read.offset == 0 && piece.space[d] == 1;
            if (!(identity || unitRead) || (identity && write.terms != read.terms))
                return nullptr;
        }
    }
    return copy;
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

/// Takes the program.
Step stepOf(const Graph& graph, PlannedNode& planned, const std::vector<uint32_t>& index) {
    const Node& node = graph.node(planned.node);
    Step step;
    step.node = planned.node;
    step.name = node.name;
    step.program = std::move(*planned.program);
    for (ValueId id : planned.request.operands)
        step.inputs.push_back(index[id.index()]);
    for (ValueId id : planned.request.results)
        step.outputs.push_back(index[id.index()]);
    step.recomputed = std::move(planned.recomputed);
    step.rule = node.provenance.rule;
    step.sources = node.provenance.sources;
    if (step.sources.empty())
        step.sources.push_back(node.name);
    return step;
}

std::vector<uint32_t> indexByValue(const Plan& plan) {
    std::vector<uint32_t> index(plan.graph->valueBound(), 0);
    for (uint32_t i = 0; i < plan.values.size(); ++i)
        index[plan.values[i].value.index()] = i;
    return index;
}

} // namespace

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

namespace {

/// Elementwise and moving programs write in any order; others want theirs.
bool writesAnyOrder(const std::vector<Step>& steps, uint32_t value) {
    for (const Step& step : steps)
        if (std::find(step.outputs.begin(), step.outputs.end(), value) != step.outputs.end())
            return std::holds_alternative<Pointwise>(step.program.code) ||
                   std::holds_alternative<Copy>(step.program.code);
    return false;
}

/// Strides of an operand whose Transpose lies in memory as the result does.
std::optional<Extents> stridesBefore(const Graph& graph, const Node& node, const Extents& operand,
                                     const Extents& result) {
    // Where the Transpose puts each of the operand's dimensions.
    Extents places;
    for (size_t d = 0; d < operand.size(); ++d)
        places.push_back(static_cast<int64_t>(d));
    const auto view = viewOf(graph, node, 0, {0, operand, places}, ViewKinds::Strided);
    if (node.op != Op::Transpose || !view || view->strides.size() != result.size())
        return std::nullopt;
    Extents out(operand.size(), 0);
    for (size_t d = 0; d < result.size(); ++d)
        out[static_cast<size_t>(view->strides[d])] = result[d];
    return out;
}

/// Lets what makes the operand of a view write straight into the view, an output of the graph:
/// where the elements of both lie in the same order, or where it can write them in the view's.
bool writtenInPlace(Plan& plan, const Node& node, const std::vector<uint32_t>& index,
                    const std::vector<Step>& steps, ViewKinds kinds) {
    if (node.outputs.size() != 1)
        return false;
    const uint32_t operand = index[node.inputs[0].index()], result = index[node.outputs[0].index()];
    PlanValue& made = plan.values[operand];
    const PlanValue& whole = plan.values[result];
    if (made.residence != Residence::Arena || whole.residence != Residence::Output ||
        made.dtype != whole.dtype || made.bytes != whole.bytes)
        return false;
    if (kinds == ViewKinds::Strided && made.strides == rowMajorStrides(made.extents) &&
        plan.graph->value(node.inputs[0]).uses.size() == 1 && writesAnyOrder(steps, operand))
        if (auto strides = stridesBefore(*plan.graph, node, made.extents, whole.strides))
            made.strides = *strides;
    const auto view = viewOf(*plan.graph, node, 0, {0, made.extents, made.strides}, kinds);
    if (!view || view->offset != 0)
        return false;
    for (size_t d = 0; d < whole.extents.size(); ++d)
        if (whole.extents[d] > 1 && view->strides[d] != whole.strides[d])
            return false;
    made.residence = Residence::Alias;
    made.aliasOf = result;
    made.offset = 0;
    made.bytes = 0;
    return true;
}

} // namespace

Result<void> resolveViews(Plan& plan, std::vector<PlannedNode>& nodes, ViewKinds kinds) {
    const Graph& graph = *plan.graph;
    std::vector<uint32_t> index = indexByValue(plan);
    std::vector<Step> steps;
    size_t nextStep = 0;
    for (PlannedNode& planned : nodes) {
        if (planned.program) {
            steps.push_back(std::move(plan.steps[nextStep++]));
            continue;
        }
        const Node& node = graph.node(planned.node);
        uint32_t operand = index[node.inputs[0].index()];
        ViewOf base{0, plan.values[operand].extents, plan.values[operand].strides};
        bool all = plan.values[operand].residence != Residence::Host;
        std::vector<std::pair<uint32_t, ViewOf>> views;
        for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
            if (!node.outputs[slot].valid())
                continue;
            uint32_t result = index[node.outputs[slot].index()];
            auto view = all ? viewOf(graph, node, slot, base, kinds) : std::nullopt;
            all = all && view && plan.values[result].residence == Residence::Arena;
            if (all)
                views.emplace_back(result, *view);
        }
        if (all) {
            for (auto& [result, view] : views) {
                PlanValue& value = plan.values[result];
                value.residence = Residence::Alias;
                value.aliasOf = operand;
                value.offset = view.offset * static_cast<int64_t>(sizeOf(value.dtype));
                value.strides = view.strides;
                value.bytes = 0;
            }
            continue;
        }
        if (writtenInPlace(plan, node, index, steps, kinds))
            continue;
        LowerResult lowered = lower(planned.request);
        if (auto* program = std::get_if<KernelProgram>(&lowered))
            planned.program = std::move(*program);
        else
            planned.program = libraryProgram(planned.request);
        steps.push_back(stepOf(graph, planned, index));
    }
    plan.steps = std::move(steps);
    return {};
}

void aliasConcats(Plan& plan) {
    std::vector<uint32_t> makers(plan.values.size(), 0); // steps that write each value
    for (const Step& step : plan.steps)
        for (uint32_t output : step.outputs)
            ++makers[output];
    std::vector<bool> isBase(plan.values.size(), false);
    for (const PlanValue& value : plan.values)
        if (value.residence == Residence::Alias)
            isBase[value.aliasOf] = true;

    std::vector<Step> kept;
    for (Step& step : plan.steps) {
        const Copy* concat = asConcat(step.program);
        uint32_t result = step.outputs.empty() ? 0 : step.outputs[0];
        bool possible = concat != nullptr;
        if (possible)
            for (const Copy::Piece& piece : concat->pieces) {
                uint32_t operand = step.inputs[piece.read->operand];
                // A value that fills two parts has two places to be: it must be copied.
                auto parts = std::count_if(concat->pieces.begin(), concat->pieces.end(),
                                           [&](const Copy::Piece& other) {
                                               return step.inputs[other.read->operand] == operand;
                                           });
                possible = possible && plan.values[operand].residence == Residence::Arena &&
                           makers[operand] == 1 && !isBase[operand] && parts == 1;
            }
        if (!possible) {
            kept.push_back(std::move(step));
            continue;
        }
        const PlanValue& whole = plan.values[result];
        for (const Copy::Piece& piece : concat->pieces) {
            PlanValue& part = plan.values[step.inputs[piece.read->operand]];
            int64_t offset = 0;
            for (size_t d = 0; d < piece.write.index.size(); ++d)
                offset += piece.write.index[d].offset * whole.strides[d];
            part.residence = Residence::Alias;
            part.aliasOf = result;
            part.offset = offset * static_cast<int64_t>(sizeOf(part.dtype));
            part.strides = whole.strides;
            part.bytes = 0;
        }
        isBase[result] = true;
    }
    plan.steps = std::move(kept);
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
    std::vector<int64_t> producedAt(plan.values.size(), -1);
    ReuseDistances reuse(profile);
    for (const Step& step : plan.steps)
        reuse.add(logicalTraffic(step.program).logical());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        Step& step = plan.steps[i];
        std::vector<int64_t> distances;
        for (uint32_t input : step.inputs)
            distances.push_back(
                reuse.of(i, producedAt[rootOf(plan, input)], plan.values[input].bytes));
        step.traffic = predictTraffic(step.program, profile, distances);
        if (backend && backend->isForHost(plan, step))
            step.predicted = predictHostTime(step.program, step.traffic, profile);
        else
            predictStep(step, profile);
        for (uint32_t output : step.outputs)
            producedAt[rootOf(plan, output)] = static_cast<int64_t>(i);
    }
    for (const Sweep& sweep : plan.sweeps)
        for (uint32_t i = sweep.first; i <= sweep.last; ++i) {
            Step& step = plan.steps[i];
            step.traffic = sweep.traffic[i - sweep.first];
            predictStep(step, profile);
        }
}

} // namespace planner

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

Result<std::shared_ptr<const Plan>> makePlan(std::shared_ptr<const Graph> graph,
                                             const PlanOptions& options, Progress& progress) {
    assert(options.profile && "a plan needs a device profile");
    for (ValueId id : graph->inputs())
        if (graph->value(id).type.kind == TypeKind::Tensor && !graph->value(id).type.elementCount())
            return failure("plan.dynamic",
                           "shape " + graph->value(id).type.text() + " of input `" +
                               graph->value(id).name + "` is not known",
                           "", "give its dimensions, e.g. --dim N=1");

    auto plan = std::make_shared<Plan>();
    plan->precision = options.precision;
    plan->strict = options.strict;
    LowerCache cache;
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
    planner::makeValuesAndSteps(*plan, *nodes);
    if (auto sized = planner::checkSizes(*plan); !sized)
        return failure(sized.error());
    if (options.backend)
        options.backend->chooseLayouts(*plan);
    ViewKinds kinds = options.stridedViews ? ViewKinds::Strided : ViewKinds::Contiguous;
    if (auto resolved = planner::resolveViews(*plan, *nodes, kinds); !resolved)
        return failure(resolved.error());
    if (options.stridedViews)
        planner::aliasConcats(*plan);
    planner::classifySteps(*plan, options);
    if (options.groupSmall)
        planner::groupSteps(*plan, options);
    if (options.sweeps && !options.strict)
        planner::findSweeps(*plan, options);
    planner::placeBuffers(*plan, options.reuseMemory);
    planner::predictSteps(*plan, *options.profile, options.backend);
    return std::shared_ptr<const Plan>(std::move(plan));
}

} // namespace fuselage
