// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/branch_step.h"

#include "core/graph/subgraph.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

const Node& onlyNode(const Graph& body) {
    return body.node(body.nodes().front());
}

/// Where a value of the node stands among the body's inputs.
std::optional<size_t> positionOf(const Graph& body, ValueId value) {
    const auto& inputs = body.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), value);
    if (found == inputs.end())
        return std::nullopt;
    return static_cast<size_t>(found - inputs.begin());
}

} // namespace

bool BranchStep::fits(const Graph& body) {
    if (body.nodeCount() != 1)
        return false;
    const Node& node = onlyNode(body);
    if (node.op != Op::If || node.explicitInputs != 1 || node.outputs != body.outputs())
        return false;
    const auto isTensor = [](const Graph& graph, ValueId id) {
        return id.valid() && graph.value(id).type.kind == TypeKind::Tensor;
    };
    for (ValueId output : body.outputs())
        if (!isTensor(body, output))
            return false;
    for (const SubgraphRef& branch : subgraphsOf(node)) {
        if (!branch.graph->inputs().empty()) // ONNX has none; a file may
            return false;
        for (const auto* values : {&branch.graph->outputs(), &branch.graph->captures()})
            for (ValueId value : *values)
                if (!isTensor(*branch.graph, value))
                    return false;
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return positionOf(body, input) || body.isConstant(input);
    });
}

BranchStep::BranchStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants,
                       const CpuOptions& options)
    : m_body(std::move(body)), m_constants(std::move(constants)), m_options(options),
      m_backend(makeCpuBackend(options)) {}

BranchStep::~BranchStep() = default;

/// The branch as a graph of its own: what it captures is given or constant. `given` gets the
/// positions among the body's inputs of what is given.
Graph BranchStep::graphOf(const SubgraphRef& branch, const std::vector<ReferenceValue>& inputs,
                          std::vector<size_t>& given) const {
    const Node& node = onlyNode(*m_body);
    Graph out("branch");
    std::vector<ValueId> captures;
    for (size_t i = 0; i < branch.graph->captures().size(); ++i) {
        const ValueId outer = node.inputs[branch.firstCapture + i];
        const std::string& name = m_body->value(outer).name;
        if (const TensorPtr constant = constantOf(outer)) {
            captures.push_back(out.addConstant(name, constant));
            continue;
        }
        given.push_back(*positionOf(*m_body, outer));
        const ReferenceValue& value = inputs[given.back()];
        captures.push_back(out.addInput(name, tensorType(value.dtype, toShape(value.extents))));
    }
    for (ValueId output : inlineBody(out, *branch.graph, {}, captures))
        out.addOutput(output);
    out.opsetImports = branch.graph->opsetImports;
    return out;
}

TensorPtr BranchStep::constantOf(ValueId value) const {
    const auto position = positionOf(*m_body, value);
    return position ? m_constants[*position] : m_body->value(value).constant;
}

std::unique_ptr<Executable> BranchStep::executableOf(Graph graph, Progress& progress) const {
    auto profile = deviceProfile("cpu");
    if (!profile || !prepareGraph(graph, progress))
        return nullptr;
    PlanOptions planning;
    planning.profile = &*profile;
    planning.backend = m_backend.get();
    auto plan = makePlan(std::make_shared<const Graph>(std::move(graph)), planning, progress);
    if (!plan)
        return nullptr;
    auto executable = m_backend->prepare(*plan, progress);
    return executable ? std::move(*executable) : nullptr;
}

std::optional<Result<std::vector<ReferenceValue>>>
BranchStep::run(const std::vector<ReferenceValue>& inputs, Progress& progress) {
    const ValueId condition = onlyNode(*m_body).inputs[0];
    const TensorPtr constant = constantOf(condition);
    const ReferenceValue decides =
        constant ? ReferenceValue::from(*constant) : inputs[*positionOf(*m_body, condition)];
    if (decides.count() != 1)
        return std::nullopt;
    const bool taken = decides.intAt(0) != 0;
    Branch& branch = m_branches[taken ? 1 : 0];
    std::vector<std::pair<DType, Extents>> shapes;
    for (const ReferenceValue& input : inputs) {
        if (input.kind != TypeKind::Tensor || sizeOf(input.dtype) == 0)
            return std::nullopt;
        shapes.emplace_back(input.dtype, input.extents);
    }
    if (shapes != branch.shapes) {
        branch = {std::move(shapes), {}, nullptr};
        for (const SubgraphRef& ref : subgraphsOf(onlyNode(*m_body)))
            if (ref.attribute == (taken ? "then_branch" : "else_branch"))
                branch.executable = executableOf(graphOf(ref, inputs, branch.inputs), progress);
    }
    m_tactic.clear();
    if (!branch.executable)
        return std::nullopt;
    m_tactic = std::string(taken ? "then" : "else") + " branch by a plan of its own";
    std::vector<Tensor> given;
    for (size_t input : branch.inputs)
        given.push_back(inputs[input].toTensor());
    auto outputs = branch.executable->outputs(given, progress);
    if (!outputs)
        return Result<std::vector<ReferenceValue>>(failure(outputs.error()));
    std::vector<ReferenceValue> out;
    for (const Tensor& output : *outputs)
        out.push_back(ReferenceValue::from(output));
    return Result<std::vector<ReferenceValue>>(std::move(out));
}

} // namespace fuselage::cpu
