// SPDX-License-Identifier: Apache-2.0
// Phases 3 and 4 of planning: which nodes are views of their operand's memory, which write into
// their reader's, and which need a step after all.
#include "core/kernel/layout_work.h"
#include "core/plan/planner_internal.h"

#include <algorithm>

namespace fuselage::planner {

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

namespace {

/// Elementwise and moving programs write in any order; others want theirs.
bool writesAnyOrder(const std::vector<Step>& steps, uint32_t value) {
    for (const Step& step : steps)
        if (std::find(step.outputs.begin(), step.outputs.end(), value) != step.outputs.end())
            return std::holds_alternative<Pointwise>(step.program.code) ||
                   std::holds_alternative<Copy>(step.program.code);
    return false;
}

/// Lets what makes the operand of a view write straight into the view, an output of the graph:
/// where the elements of both lie in the same order, or where it can write them in the view's.
/// Views between them are of all that was made. Prices have chosen its order, where there are any.
bool writtenInPlace(Plan& plan, const Node& node, const std::vector<uint32_t>& index,
                    const std::vector<Step>& steps, ViewKinds kinds) {
    if (node.outputs.size() != 1)
        return false;
    const uint32_t operand = index[node.inputs[0].index()], result = index[node.outputs[0].index()];
    const RootPlace root = placeOf(plan, operand);
    PlanValue& made = plan.values[root.root];
    PlanValue& last = plan.values[operand];
    const PlanValue& whole = plan.values[result];
    if (made.residence != Residence::Arena || whole.residence != Residence::Output ||
        made.dtype != whole.dtype || made.bytes != whole.bytes || root.offset != 0 ||
        elementCount(last.extents) != elementCount(whole.extents))
        return false;
    if (!plan.pricedLayouts && kinds == ViewKinds::Strided && root.root == operand &&
        made.strides == rowMajorStrides(made.extents) &&
        plan.graph->value(node.inputs[0]).uses.size() == 1 && writesAnyOrder(steps, operand))
        if (auto strides = stridesBefore(*plan.graph, node, made.extents, whole.extents,
                                         whole.strides, ViewKinds::Strided);
            strides && node.op == Op::Transpose)
            made.strides = *strides;
    const auto view = viewOf(*plan.graph, node, 0, {0, last.extents, last.strides}, kinds);
    if (!view || view->offset != 0 || !sameOrder(whole.extents, view->strides, whole.strides))
        return false;
    made.residence = Residence::Alias;
    made.aliasOf = result;
    made.offset = 0;
    made.bytes = 0;
    return true;
}

bool copiesByKernel(const Graph& graph, NodeId id) {
    const LowerResult lowered = lower(requestFor(graph, {id}, graph.node(id).outputs));
    const auto* program = std::get_if<KernelProgram>(&lowered);
    return program && !std::holds_alternative<Library>(program->code);
}

bool isRegroupedFrom(const Graph& graph, ValueId value, const ViewOf& view, const ViewOf& dense) {
    for (const Use& use : graph.value(value).uses) {
        const Node& reader = graph.node(use.node);
        if (use.slot != 0 || !hasTrait(reader.op, Trait::View) || reader.outputs.size() != 1)
            continue;
        const auto asDense = viewOf(graph, reader, 0, dense, ViewKinds::Strided);
        if (!asDense)
            continue;
        const auto asView = viewOf(graph, reader, 0, view, ViewKinds::Strided);
        const ValueId result = reader.outputs[0];
        const bool isSeen = asView && (!graph.isGraphOutput(result) ||
                                       asView->strides == rowMajorStrides(asView->extents));
        if ((!isSeen && !copiesByKernel(graph, use.node)) ||
            (asView && isRegroupedFrom(graph, result, *asView, *asDense)))
            return true;
    }
    return false;
}

} // namespace

bool isRegrouped(const Graph& graph, ValueId value, const ViewOf& view) {
    const Extents dense = rowMajorStrides(view.extents);
    return view.strides != dense && isRegroupedFrom(graph, value, view, {0, view.extents, dense});
}

Result<void> resolveViews(Plan& plan, std::vector<PlannedNode>& nodes, ViewKinds kinds) {
    const Graph& graph = *plan.graph;
    std::vector<uint32_t> index = indexByValue(plan);
    std::vector<Step> steps;
    steps.reserve(plan.steps.size()); // they are large, and what a vector grows by stays
    size_t nextStep = 0;
    for (PlannedNode& planned : nodes) {
        if (planned.program) {
            steps.push_back(std::move(plan.steps[nextStep++]));
            continue;
        }
        const Node& node = graph.node(planned.node);
        uint32_t operand = index[node.inputs[0].index()];
        ViewOf base{0, plan.values[operand].extents, plan.values[operand].strides};
        bool all = plan.values[operand].residence != Residence::Host && !planned.isCopied;
        std::vector<std::pair<uint32_t, ViewOf>> views;
        for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
            if (!node.outputs[slot].valid())
                continue;
            uint32_t result = index[node.outputs[slot].index()];
            auto view = all ? viewOf(graph, node, slot, base, kinds) : std::nullopt;
            all =
                all && view && plan.values[result].residence == Residence::Arena &&
                (hasTrait(node.op, Trait::View) || !isRegrouped(graph, node.outputs[slot], *view));
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
        if (!planned.isCopied && writtenInPlace(plan, node, index, steps, kinds))
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
    kept.reserve(plan.steps.size());
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
                // What is computed before a run has a place of its own, as constants have.
                possible = possible && plan.values[operand].residence == Residence::Arena &&
                           !plan.values[operand].isFixed && makers[operand] == 1 &&
                           !isBase[operand] && parts == 1 &&
                           (!plan.pricedLayouts ||
                            nestAlike(plan.values[result].extents, plan.values[result].strides,
                                      plan.values[operand].strides));
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

} // namespace fuselage::planner
