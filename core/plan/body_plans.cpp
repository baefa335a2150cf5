// SPDX-License-Identifier: Apache-2.0
// Bodies of If, Loop and Scan as plans inside the plan of the graph around them.
#include "core/graph/bodies.h"
#include "core/plan/planner_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

/// Sums over the steps; bodies with plans count as often as their step says.
template <typename OfStep, typename OfPlan>
int64_t sumOver(const Plan& plan, OfStep ofStep, OfPlan ofPlan) {
    double sum = 0;
    for (const Step& step : plan.steps) {
        if (!step.hasBodyPlans() && !plan.isOnce(step))
            sum += static_cast<double>(ofStep(step));
        for (const BodyPlan& body : step.bodies)
            if (step.hasBodyPlans())
                sum += body.times * static_cast<double>(ofPlan(*body.plan));
    }
    return static_cast<int64_t>(std::min(sum, 9e18));
}

/// Trip counts come from files: sums of what is scaled stay 64-bit numbers.
int64_t scaled(int64_t value, double times) {
    constexpr double most = static_cast<double>(int64_t(1) << 50);
    return static_cast<int64_t>(std::min(static_cast<double>(value) * times, most));
}

Traffic scaled(const Traffic& traffic, double times) {
    return {scaled(traffic.logicalRead, times), scaled(traffic.logicalWritten, times),
            scaled(traffic.l2, times), scaled(traffic.dram, times)};
}

TimeEstimate scaled(TimeEstimate time, double times) {
    for (double* part : {&time.seconds, &time.low, &time.high, &time.launch, &time.dram, &time.l2,
                         &time.issue, &time.matrix})
        *part *= times;
    return time;
}

} // namespace

bool Step::hasBodyPlans() const {
    return !bodies.empty() && std::all_of(bodies.begin(), bodies.end(), [](const BodyPlan& body) {
        return body.plan != nullptr;
    });
}

int64_t Plan::totalLaunches() const {
    return sumOver(
        *this, [](const Step&) { return 1; },
        [](const Plan& body) { return body.totalLaunches(); });
}

int64_t Plan::totalFlops() const {
    return sumOver(
        *this, [](const Step& step) { return workOf(step.program).flops; },
        [](const Plan& body) { return body.totalFlops(); });
}

namespace planner {

namespace {

/// The one node of the step that has bodies; null for other steps.
const Node* nodeWithBodies(const Step& step) {
    if (!step.program.body || step.program.body->nodeCount() != 1)
        return nullptr;
    const Node& node = step.program.body->node(step.program.body->nodes().front());
    return node.op == Op::If || node.op == Op::Loop || node.op == Op::Scan ? &node : nullptr;
}

/// The step's value that an operand of its node is; null: one of the body's own.
const PlanValue* valueOf(const Plan& plan, const Step& step, ValueId operand) {
    const auto& inputs = step.program.body->inputs();
    const auto at = std::find(inputs.begin(), inputs.end(), operand);
    return at == inputs.end() ? nullptr
                              : &plan.values[step.inputs[static_cast<size_t>(at - inputs.begin())]];
}

/// What an operand of the step's node is known to be before a run.
TensorPtr constantOf(const Plan& plan, const Step& step, ValueId operand) {
    if (const TensorPtr& own = step.program.body->value(operand).constant)
        return own;
    const PlanValue* value = valueOf(plan, step, operand);
    return value ? value->constant : nullptr;
}

/// The same, or what a run showed of it.
TensorPtr shownOf(const Plan& plan, const Step& step, ValueId operand, const RunShapes* shown) {
    if (TensorPtr constant = constantOf(plan, step, operand))
        return constant;
    const PlanValue* value = valueOf(plan, step, operand);
    if (!value || !shown)
        return nullptr;
    const auto found = shown->contents.find(value->name);
    return found == shown->contents.end() ? nullptr : found->second;
}

/// Iterations; 1 where their number is not known.
double timesOf(const Plan& plan, const Step& step, const Node& node, const RunShapes* shown) {
    const Graph& body = *step.program.body;
    if (node.op == Op::Loop && node.inputs[0].valid()) {
        const TensorPtr trips = shownOf(plan, step, node.inputs[0], shown);
        if (trips && trips->elementCount() == 1)
            return static_cast<double>(std::max<int64_t>(trips->intAt(0), 0));
    }
    const int64_t scanned = node.op == Op::Scan ? node.attributes.integer("num_scan_inputs") : 0;
    if (scanned < 1 || scanned > static_cast<int64_t>(node.explicitInputs))
        return 1;
    const auto first = static_cast<size_t>(static_cast<int64_t>(node.explicitInputs) - scanned);
    const auto axes = node.attributes.integers("scan_input_axes");
    const auto extents = body.value(node.inputs[first]).type.extents();
    if (!extents || extents->empty())
        return 1;
    const auto rank = static_cast<int64_t>(extents->size());
    int64_t axis = axes.empty() ? 0 : axes[0];
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return 1;
    return static_cast<double>((*extents)[static_cast<size_t>(axis)]);
}

BodyPlan planOf(const Plan& plan, const Step& step, const Node& node, const SubgraphRef& ref,
                const PlanOptions& options, Progress& progress) {
    BodyPlan out;
    out.attribute = ref.attribute;
    std::vector<Type> inputs, captured;
    std::vector<TensorPtr> constants;
    for (ValueId input : ref.graph->inputs())
        inputs.push_back(ref.graph->value(input).type);
    for (size_t i = 0; i < ref.graph->captures().size(); ++i) {
        const ValueId outside = node.inputs[ref.firstCapture + i];
        captured.push_back(step.program.body->value(outside).type);
        constants.push_back(constantOf(plan, step, outside));
    }
    Graph graph = standaloneBody(*ref.graph, inputs, captured, constants);
    for (ValueId input : graph.inputs())
        if (!graph.value(input).type.byteCount()) {
            out.whyNot = "shapes of what it is given show in a run";
            return out;
        }
    for (ValueId output : graph.outputs())
        if (graph.value(output).type.kind != TypeKind::Tensor) {
            out.whyNot = "it gives a sequence or an optional";
            return out;
        }
    PlanOptions inside = options;
    inside.shown = nullptr; // its values have names of their own
    auto made = makePlan(std::make_shared<const Graph>(std::move(graph)), inside, progress);
    if (made)
        out.plan = std::move(*made);
    else
        out.whyNot = made.error().message;
    return out;
}

void setFigures(Plan& plan, Step& step, const Node& node, const RunShapes* shown) {
    if (!step.hasBodyPlans())
        return;
    if (node.op == Op::If && step.bodies.size() == 2) {
        const bool first = step.bodies[0].plan->totalPredicted().seconds >=
                           step.bodies[1].plan->totalPredicted().seconds;
        step.bodies[0].times = first ? 1 : 0;
        step.bodies[1].times = first ? 0 : 1;
    } else {
        step.bodies[0].times = timesOf(plan, step, node, shown);
    }
    step.traffic = {};
    step.predicted = {};
    for (const BodyPlan& body : step.bodies) {
        step.traffic += scaled(body.plan->totalTraffic(), body.times);
        step.predicted += scaled(body.plan->totalPredicted(), body.times);
    }
}

} // namespace

/// Strict plans, and those for a device, leave such steps to the reference functions.
void planBodies(Plan& plan, const PlanOptions& options, Progress& progress) {
    if (options.strict)
        return;
    for (Step& step : plan.steps) {
        const Node* node = nodeWithBodies(step);
        if (!node || (options.backend && options.backend->isForHost(plan, step)))
            continue;
        for (const SubgraphRef& ref : subgraphsOf(*node))
            step.bodies.push_back(planOf(plan, step, *node, ref, options, progress));
        setFigures(plan, step, *node, options.shown);
    }
}

} // namespace planner

} // namespace fuselage
