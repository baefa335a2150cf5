// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/body_step.h"

#include "core/graph/bodies.h"
#include "core/graph/subgraph.h"
#include "core/ops/evaluate.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// Where a value of the node stands among the body's inputs.
std::optional<size_t> positionOf(const Graph& body, ValueId value) {
    const auto& inputs = body.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found == inputs.end())
        return std::nullopt;
    return static_cast<size_t>(found - inputs.begin());
}

/// None when something is no tensor of a fixed element size.
std::optional<std::vector<std::pair<DType, Extents>>>
shapesOf(const std::vector<ReferenceValue>& inputs, const std::vector<Tensor>& given) {
    std::vector<std::pair<DType, Extents>> out;
    for (const ReferenceValue& input : inputs) {
        if (input.kind != TypeKind::Tensor || sizeOf(input.dtype) == 0)
            return std::nullopt;
        out.emplace_back(input.dtype, input.extents);
    }
    for (const Tensor& tensor : given)
        out.emplace_back(tensor.dtype(), tensor.extents());
    return out;
}

std::vector<std::pair<DType, Extents>> shapesOf(const Plan& plan) {
    std::vector<std::pair<DType, Extents>> out;
    for (uint32_t input : plan.inputs)
        out.emplace_back(plan.values[input].dtype, plan.values[input].extents);
    return out;
}

} // namespace

/// What the operator's reference function asks for while it runs.
class BodyStep::Context final : public ReferenceContext {
public:
    Context(BodyStep& step, ThreadPool& threads, Progress& progress)
        : m_step(step), m_threads(threads), m_progress(progress) {}

    ThreadPool& threads() override { return m_threads; }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string& attribute,
                                                    std::vector<ReferenceValue> inputs) override {
        return m_step.runBody(attribute, std::move(inputs), m_threads, m_progress);
    }

    uint64_t seed() override { return Hasher().text(m_step.m_node.name).value(); }

private:
    BodyStep& m_step;
    ThreadPool& m_threads;
    Progress& m_progress;
};

bool BodyStep::fits(const Graph& body) {
    if (body.nodeCount() != 1)
        return false;
    const Node& node = body.node(body.nodes().front());
    if ((node.op != Op::If && node.op != Op::Loop && node.op != Op::Scan) ||
        node.outputs != body.outputs())
        return false;
    for (const SubgraphRef& ref : subgraphsOf(node))
        if (node.op == Op::If && !ref.graph->inputs().empty()) // ONNX has none; a file may
            return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return !input.valid() || positionOf(body, input) || body.isConstant(input);
    });
}

BodyStep::BodyStep(std::shared_ptr<const Plan> plan, const Step& step, const CpuOptions& options)
    : m_plan(std::move(plan)), m_step(step),
      m_node(step.program.body->node(step.program.body->nodes().front())), m_options(options),
      m_backend(makeCpuBackend(options)) {
    const Graph& outer = *step.program.body;
    for (ValueId input : m_node.inputs)
        m_inputs.push_back(input.valid() ? positionOf(outer, input) : std::nullopt);
    for (const SubgraphRef& ref : subgraphsOf(m_node)) {
        Body body{ref, nullptr, {}, {}, {}, {}, {}};
        for (const BodyPlan& planned : step.bodies)
            if (planned.attribute == ref.attribute)
                body.plan = planned.plan;
        for (size_t i = 0; i < ref.graph->captures().size(); ++i) {
            const size_t slot = ref.firstCapture + i;
            const auto position = m_inputs[slot];
            TensorPtr constant = position ? m_plan->values[step.inputs[*position]].constant
                                          : outer.value(m_node.inputs[slot]).constant;
            body.captured.push_back(constant ? std::nullopt : position);
            body.constants.push_back(std::move(constant));
        }
        m_bodies.push_back(std::move(body));
    }
}

BodyStep::~BodyStep() = default;

BodyStep::Body* BodyStep::bodyOf(const std::string& attribute) {
    for (Body& body : m_bodies)
        if (body.ref.attribute == attribute)
            return &body;
    return nullptr;
}

/// The body as a graph of its own: what it captures is given or constant.
Graph BodyStep::standalone(const Body& body, const std::vector<ReferenceValue>& inputs) const {
    std::vector<Type> types, captured;
    for (size_t i = 0; i < inputs.size(); ++i)
        types.push_back(inputs[i].kind == TypeKind::Tensor
                            ? tensorType(inputs[i].dtype, toShape(inputs[i].extents))
                            : body.ref.graph->value(body.ref.graph->inputs()[i]).type);
    size_t given = 0;
    for (const auto& position : body.captured)
        captured.push_back(position ? body.given[given++].type() : Type());
    return standaloneBody(*body.ref.graph, types, captured, body.constants);
}

std::unique_ptr<Executable> BodyStep::executableOf(const Graph& graph, Progress& progress) const {
    for (ValueId output : graph.outputs())
        if (graph.value(output).type.kind != TypeKind::Tensor)
            return nullptr;
    auto profile = deviceProfile("cpu");
    Graph prepared = graph.clone();
    if (!profile || !prepareGraph(prepared, progress))
        return nullptr;
    PlanOptions planning;
    static_cast<PlanForm&>(planning) = m_plan->form;
    planning.profile = &*profile;
    planning.backend = m_backend.get();
    planning.precision = m_plan->precision;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(prepared)), planning, progress);
    return plan ? executableOf(*plan, progress) : nullptr;
}

std::unique_ptr<Executable> BodyStep::executableOf(const std::shared_ptr<const Plan>& plan,
                                                   Progress& progress) const {
    auto executable = m_backend->prepare(plan, progress);
    return executable ? std::move(*executable) : nullptr;
}

/// Makes the body ready for what it is given: by the plan inside the step's where that is for such
/// shapes, else by one made now. A plan pays when it is used again: a branch is taken
/// once in a run and in the next run again, an iteration is followed by others where its shapes
/// come a second time.
void BodyStep::prepare(Body& body, const std::vector<ReferenceValue>& inputs, Progress& progress) {
    auto shapes = shapesOf(inputs, body.given);
    if (shapes && body.prepared && body.prepared->shapes == *shapes &&
        (body.prepared->executable || m_node.op == Op::If))
        return;
    const bool known = shapes && body.prepared && body.prepared->shapes == *shapes;
    const bool again = shapes && *shapes == body.seen;
    if (!known)
        body.prepared = Prepared{shapes.value_or(std::vector<std::pair<DType, Extents>>()),
                                 std::make_shared<const Graph>(standalone(body, inputs)), nullptr};
    if (shapes && body.plan && *shapes == shapesOf(*body.plan))
        body.prepared->executable = executableOf(body.plan, progress);
    else if (shapes && (again || m_node.op == Op::If))
        body.prepared->executable = executableOf(*body.prepared->graph, progress);
    if (!again)
        body.seen = shapes.value_or(std::vector<std::pair<DType, Extents>>());
}

std::optional<Result<std::vector<Tensor>>>
BodyStep::runPlanned(Body& body, const std::vector<ReferenceValue>& inputs, Progress& progress) {
    prepare(body, inputs, progress);
    if (!body.prepared->executable)
        return std::nullopt;
    std::vector<Tensor> given;
    for (const ReferenceValue& input : inputs)
        given.push_back(input.toTensor());
    given.insert(given.end(), body.given.begin(), body.given.end());
    return body.prepared->executable->outputs(given, progress);
}

Result<std::vector<ReferenceValue>> BodyStep::runBody(const std::string& attribute,
                                                      std::vector<ReferenceValue> inputs,
                                                      ThreadPool& threads, Progress& progress) {
    Body* body = bodyOf(attribute);
    if (!body || inputs.size() != body->ref.graph->inputs().size())
        return failure("reference.inputs", fmt::format("`{}` has other inputs", attribute),
                       m_node.name);
    if (progress.cancelled())
        return cancelledFailure("run");
    std::vector<ReferenceValue> out;
    if (auto outputs = runPlanned(*body, inputs, progress)) {
        ++m_plannedRuns;
        if (!*outputs)
            return failure(outputs->error());
        for (const Tensor& output : **outputs)
            out.push_back(ReferenceValue::from(output));
        return out;
    }
    ++m_otherRuns;
    for (const Tensor& tensor : body->given)
        inputs.push_back(ReferenceValue::from(tensor));
    return interpret(*body->prepared->graph, std::move(inputs), threads, progress);
}

/// Gets what the bodies capture; false when something is no tensor.
bool BodyStep::capture(ValueStore& values) {
    for (Body& body : m_bodies) {
        body.given.clear();
        for (const auto& position : body.captured) {
            if (!position)
                continue;
            auto tensor = values.tensor(m_step.inputs[*position]);
            if (!tensor || sizeOf(tensor->dtype()) == 0)
                return false;
            body.given.push_back(std::move(*tensor));
        }
    }
    return true;
}

/// A branch of If gives tensors as they are, without the way through the reference's values.
std::optional<Result<void>> BodyStep::runBranch(ValueStore& values, Progress& progress) {
    const ReferenceValue condition =
        m_inputs[0] ? values.reference(m_step.inputs[*m_inputs[0]])
                    : ReferenceValue::from(*m_step.program.body->value(m_node.inputs[0]).constant);
    if (condition.count() != 1)
        return std::nullopt;
    const bool taken = condition.intAt(0) != 0;
    Body* body = bodyOf(taken ? "then_branch" : "else_branch");
    auto outputs = body ? runPlanned(*body, {}, progress) : std::nullopt;
    if (!outputs)
        return std::nullopt;
    if (!*outputs)
        return Result<void>(failure(outputs->error()));
    m_tactic = std::string(taken ? "then" : "else") + " branch by a plan of its own";
    for (size_t i = 0; i < m_step.outputs.size(); ++i)
        if (auto stored = values.store(m_step.outputs[i], (**outputs)[i]); !stored)
            return Result<void>(failure(stored.error()));
    return Result<void>();
}

std::optional<Result<void>> BodyStep::run(ValueStore& values, ThreadPool& threads,
                                          Progress& progress) {
    m_tactic.clear();
    if (!capture(values))
        return std::nullopt;
    if (m_node.op == Op::If)
        return runBranch(values, progress);
    m_plannedRuns = m_otherRuns = 0;
    std::vector<ReferenceValue> inputs(m_node.explicitInputs);
    std::vector<const ReferenceValue*> operands(m_node.explicitInputs, nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!m_node.inputs[i].valid())
            continue;
        inputs[i] =
            m_inputs[i]
                ? values.reference(m_step.inputs[*m_inputs[i]])
                : ReferenceValue::from(*m_step.program.body->value(m_node.inputs[i]).constant);
        operands[i] = &inputs[i];
    }
    Context context(*this, threads, progress);
    auto results = evaluateNode(m_node, operands, context);
    if (!results)
        return Result<void>(failure(results.error()));
    for (size_t i = 0; i < m_step.outputs.size(); ++i)
        if (auto stored = values.store(m_step.outputs[i], std::move((*results)[i])); !stored)
            return Result<void>(failure(stored.error()));
    if (m_plannedRuns > 0)
        m_tactic = fmt::format("{} of {} iterations by a plan of their own", m_plannedRuns,
                               m_plannedRuns + m_otherRuns);
    return Result<void>();
}

} // namespace fuselage::cpu
