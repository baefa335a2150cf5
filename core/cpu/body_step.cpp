// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/body_step.h"

#include "core/cpu/pages.h"
#include "core/ops/evaluate.h"
#include "core/ops/iterate.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fuselage::cpu {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Where a value of the node stands among the body's inputs.
std::optional<size_t> positionOf(const Graph& body, ValueId value) {
    const auto& inputs = body.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found == inputs.end())
        return std::nullopt;
    return static_cast<size_t>(found - inputs.begin());
}

/// Plans of bodies for many shapes have the same weights.
CpuOptions withSharedPages(CpuOptions options) {
    if (!options.shared)
        options.shared = std::make_shared<SharedPages>();
    return options;
}

/// Tensors of elements of a fixed size.
bool isPlain(const Type& type) {
    return type.kind == TypeKind::Tensor && sizeOf(type.dtype) != 0;
}

/// Values of iterations as the backend has them.
struct TensorValues {
    using Value = Tensor;

    static const Extents& extents(const Value& value) { return value.extents(); }

    static DType dtype(const Value& value) { return value.dtype(); }

    static bool isTensor(const Value& value) { return value.defined(); }

    static int64_t intAt(const Value& value, int64_t i) { return value.intAt(i); }

    static Value ofInt(DType dtype, int64_t number) {
        Value out(dtype, {});
        out.setInt(0, number);
        return out;
    }

    static Result<Value> allocate(const Node& node, DType dtype, Extents extents) {
        const auto count = elementCount(extents);
        if (!count || *count > maxReferenceElements || sizeOf(dtype) == 0)
            return badInput(
                node, fmt::format("{}{} is too large", nameOf(dtype), fuselage::text(extents)));
        return Value(dtype, std::move(extents));
    }

    static void copyRuns(const Value& from, Value& to, const RunCopy& runs) {
        const auto size = static_cast<int64_t>(sizeOf(from.dtype()));
        for (int64_t run = 0; run < runs.count && runs.length > 0; ++run)
            std::memcpy(to.bytes() + (runs.to + run * runs.toStep) * size,
                        from.bytes() + (runs.from + run * runs.fromStep) * size,
                        static_cast<size_t>(runs.length * size));
    }
};

} // namespace

/// What the operator's reference function asks for while it runs.
class BodyStep::Context final : public ReferenceContext {
public:
    Context(BodyStep& step, ThreadPool& threads, Progress& progress)
        : m_step(step), m_threads(threads), m_progress(progress) {}

    ThreadPool& threads() override { return m_threads; }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string& attribute,
                                                    std::vector<ReferenceValue> inputs) override {
        return m_step.interpretBody(attribute, std::move(inputs), m_threads, m_progress);
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
      m_node(step.program.body->node(step.program.body->nodes().front())),
      m_backend(makeCpuBackend(withSharedPages(options))) {
    const Graph& outer = *step.program.body;
    for (ValueId input : m_node.inputs)
        m_inputs.push_back(input.valid() ? positionOf(outer, input) : std::nullopt);
    for (const SubgraphRef& ref : subgraphsOf(m_node)) {
        std::shared_ptr<const Plan> own;
        for (const BodyPlan& planned : step.bodies)
            if (planned.attribute == ref.attribute)
                own = planned.plan;
        std::vector<TensorPtr> constants;
        std::vector<size_t> captured;
        for (size_t i = 0; i < ref.graph->captures().size(); ++i) {
            const size_t slot = ref.firstCapture + i;
            const auto position = m_inputs[slot];
            constants.push_back(position ? m_plan->values[step.inputs[*position]].constant
                                         : outer.value(m_node.inputs[slot]).constant);
            if (!constants.back())
                captured.push_back(*position);
        }
        m_bodies.push_back(
            {PlannedBody(ref, std::move(constants), std::move(own)), std::move(captured)});
    }
}

BodyStep::~BodyStep() = default;

BodyPlanning BodyStep::planning() const {
    return {*m_plan, *m_backend, m_node.op == Op::If};
}

BodyStep::Body* BodyStep::bodyOf(const std::string& attribute) {
    for (Body& body : m_bodies)
        if (body.planned.attribute() == attribute)
            return &body;
    return nullptr;
}

Result<std::vector<Tensor>> BodyStep::runBody(std::vector<Tensor> inputs, ThreadPool& threads,
                                              Progress& progress) {
    Body* body = bodyOf("body");
    if (!body || inputs.size() != body->planned.graph().inputs().size())
        return otherInputs("body");
    if (progress.cancelled())
        return cancelledFailure("run");
    if (auto outputs = body->planned.run(inputs, planning(), progress)) {
        ++m_plannedRuns;
        const auto isPlainTensor = [](const Tensor& each) { return isPlain(each.type()); };
        return !*outputs || std::all_of((*outputs)->begin(), (*outputs)->end(), isPlainTensor)
                   ? std::move(*outputs)
                   : noTensors();
    }
    ++m_otherRuns;
    std::vector<ReferenceValue> wide;
    for (const std::vector<Tensor>* tensors : {&std::as_const(inputs), &body->planned.given()})
        for (const Tensor& tensor : *tensors)
            wide.push_back(ReferenceValue::from(tensor));
    const Clock::time_point begin = Clock::now();
    auto results = interpret(body->planned.asked(), std::move(wide), threads, progress);
    body->planned.ranWithoutPlan(secondsSince(begin));
    if (!results)
        return failure(results.error());
    std::vector<Tensor> out;
    for (const ReferenceValue& result : *results) {
        if (result.kind != TypeKind::Tensor || sizeOf(result.dtype) == 0)
            return noTensors();
        out.push_back(result.toTensor());
    }
    return out;
}

/// From now on the reference functions iterate.
Failure BodyStep::noTensors() {
    m_isOfTensors = false;
    return failure("reference.type", "an iteration makes what is no tensor", m_node.name);
}

Failure BodyStep::otherInputs(const std::string& attribute) const {
    return failure("reference.inputs", fmt::format("`{}` has other inputs", attribute),
                   m_node.name);
}

/// By the reference functions: something that goes around is no tensor, so that there is no plan.
Result<std::vector<ReferenceValue>> BodyStep::interpretBody(const std::string& attribute,
                                                            std::vector<ReferenceValue> inputs,
                                                            ThreadPool& threads,
                                                            Progress& progress) {
    Body* body = bodyOf(attribute);
    if (!body || inputs.size() != body->planned.graph().inputs().size())
        return otherInputs(attribute);
    if (progress.cancelled())
        return cancelledFailure("run");
    const Graph& own = body->planned.graph();
    std::vector<Type> types;
    for (size_t i = 0; i < inputs.size(); ++i)
        types.push_back(inputs[i].kind == TypeKind::Tensor
                            ? tensorType(inputs[i].dtype, toShape(inputs[i].extents))
                            : own.value(own.inputs()[i]).type);
    const Graph graph = body->planned.standalone(types);
    for (const Tensor& tensor : body->planned.given())
        inputs.push_back(ReferenceValue::from(tensor));
    return interpret(graph, std::move(inputs), threads, progress);
}

/// Gets what the bodies capture; false when something is no tensor.
bool BodyStep::capture(ValueStore& values) {
    for (Body& body : m_bodies) {
        std::vector<Tensor> captured;
        for (size_t input : body.captured) {
            auto tensor = values.tensor(m_step.inputs[input]);
            if (!tensor || sizeOf(tensor->dtype()) == 0)
                return false;
            captured.push_back(std::move(*tensor));
        }
        body.planned.give(std::move(captured));
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
    auto outputs = body ? body->planned.run({}, planning(), progress) : std::nullopt;
    if (!outputs)
        return std::nullopt;
    if (!*outputs)
        return Result<void>(failure(outputs->error()));
    m_tactic = std::string(taken ? "then" : "else") + " branch by a plan of its own";
    return stored(values, **outputs);
}

/// The step's outputs; there are at least as many results.
template <typename Value>
Result<void> BodyStep::stored(ValueStore& values, std::vector<Value>& results) {
    for (size_t i = 0; i < m_step.outputs.size(); ++i)
        if (auto ok = values.store(m_step.outputs[i], std::move(results[i])); !ok)
            return failure(ok.error());
    return {};
}

/// Whether all that goes into an iteration or comes out of one may be tensors of elements of a
/// fixed size, as far as types are known.
bool BodyStep::mayBeOfTensors() const {
    const Graph& body = m_bodies.front().planned.graph();
    const auto plain = [&](ValueId id) {
        const Type& type = body.value(id).type;
        return isPlain(type) || (type.kind == TypeKind::Tensor && type.dtype == DType::Undefined);
    };
    return std::all_of(body.inputs().begin(), body.inputs().end(), plain) &&
           std::all_of(body.outputs().begin(), body.outputs().end(), plain);
}

/// Loop and Scan over tensors; none where an operand, or what an iteration makes, is none.
std::optional<Result<std::vector<Tensor>>>
BodyStep::iterate(ValueStore& values, ThreadPool& threads, Progress& progress) {
    std::vector<Tensor> inputs(m_node.explicitInputs);
    std::vector<const Tensor*> operands(m_node.explicitInputs, nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!m_node.inputs[i].valid())
            continue;
        auto tensor = m_inputs[i] ? values.tensor(m_step.inputs[*m_inputs[i]])
                                  : *m_step.program.body->value(m_node.inputs[i]).constant;
        if (!tensor || !isPlain(tensor->type()))
            return std::nullopt;
        inputs[i] = std::move(*tensor);
        operands[i] = &inputs[i];
    }
    m_plannedRuns = m_otherRuns = 0;
    const Iterations<TensorValues> iterations(m_node, [&](std::vector<Tensor> given) {
        return runBody(std::move(given), threads, progress);
    });
    auto results = m_node.op == Op::Loop ? iterations.loop(operands) : iterations.scan(operands);
    if (!m_isOfTensors)
        return std::nullopt;
    if (results && m_plannedRuns > 0)
        m_tactic = fmt::format("{} of {} iterations by a plan of their own", m_plannedRuns,
                               m_plannedRuns + m_otherRuns);
    return results;
}

std::optional<Result<void>> BodyStep::run(ValueStore& values, ThreadPool& threads,
                                          Progress& progress) {
    m_tactic.clear();
    if (!capture(values))
        return std::nullopt;
    if (m_node.op == Op::If)
        return runBranch(values, progress);
    m_isOfTensors = m_isOfTensors && mayBeOfTensors();
    if (m_isOfTensors)
        if (auto results = iterate(values, threads, progress))
            return *results ? stored(values, **results) : Result<void>(failure(results->error()));
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
    return results ? stored(values, *results) : Result<void>(failure(results.error()));
}

} // namespace fuselage::cpu
