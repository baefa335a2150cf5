// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/dynamic_step.h"

#include "core/cpu/prepare_kernel.h"
#include "core/kernel/lower.h"
#include "core/passes/passes.h"
#include "core/plan/step_work.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// Below this preparing a kernel costs more than the reference function does.
constexpr int64_t worthwhileFlops = int64_t(1) << 22;

/// The body with these input shapes; none when a type is not fixed by them.
std::shared_ptr<const Graph> specialised(const Graph& body,
                                         const std::vector<ReferenceValue>& inputs) {
    Graph graph = body.clone();
    for (size_t i = 0; i < inputs.size(); ++i)
        graph.setType(graph.inputs()[i], tensorType(inputs[i].dtype, toShape(inputs[i].extents)));
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return nullptr;
    for (ValueId id : graph.values())
        if (graph.value(id).type.kind != TypeKind::Tensor || !graph.value(id).type.byteCount())
            return nullptr;
    return std::make_shared<const Graph>(std::move(graph));
}

std::vector<OperandType> typesOfValues(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<OperandType> out;
    for (ValueId id : values) {
        const Type& type = graph.value(id).type;
        out.push_back({type.dtype, type.extents().value_or(Extents())});
    }
    return out;
}

/// Of a body all of whose results have no elements; none for another one.
std::optional<KernelProgram> programOfNothing(const Graph& body) {
    KernelProgram out;
    out.inputs = typesOfValues(body, body.inputs());
    out.outputs = typesOfValues(body, body.outputs());
    return makesNothing(out) ? std::optional(std::move(out)) : std::nullopt;
}

OperandLayout rowMajorLayout(const OperandType& type, TensorPtr constant) {
    return {type.dtype, type.extents, rowMajorStrides(type.extents), std::move(constant)};
}

} // namespace

DynamicStep::DynamicStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants)
    : m_body(std::move(body)), m_constants(std::move(constants)) {}

PrepareContext DynamicStep::contextOf(const KernelProgram& program, Threads& threads,
                                      NumericClass allowed) const {
    PrepareContext out{{}, {}, vectorTable(), threads, allowed};
    for (size_t i = 0; i < program.inputs.size(); ++i)
        out.inputs.push_back(rowMajorLayout(program.inputs[i], m_constants[i]));
    for (const OperandType& type : program.outputs)
        out.outputs.push_back(rowMajorLayout(type, nullptr));
    return out;
}

bool DynamicStep::prepare(const std::vector<ReferenceValue>& inputs, Threads& threads,
                          NumericClass allowed) {
    m_kernel.reset();
    m_program.reset();
    auto body = specialised(*m_body, inputs);
    if (!body)
        return false;
    if (auto empty = programOfNothing(*body)) {
        KernelResult kernel = prepareKernel(*empty, contextOf(*empty, threads, allowed));
        if (!kernel)
            return false;
        m_program = std::move(*empty);
        m_kernel = std::move(*kernel);
        return true;
    }
    LowerRequest request{body, m_constants, {}, {}};
    request.strict = allowed == NumericClass::Exact;
    LowerResult lowered = lower(request);
    auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program || std::holds_alternative<Library>(program->code) || unsupported(*program) ||
        workOf(*program).flops < worthwhileFlops)
        return false;
    KernelResult kernel = prepareKernel(*program, contextOf(*program, threads, allowed));
    if (!kernel)
        return false;
    m_program = std::move(*program);
    m_kernel = std::move(*kernel);
    return true;
}

std::optional<Result<std::vector<ReferenceValue>>>
DynamicStep::run(const std::vector<ReferenceValue>& inputs, Threads& threads,
                 NumericClass allowed) {
    std::vector<std::pair<DType, Extents>> shapes;
    for (const ReferenceValue& input : inputs) {
        if (input.kind != TypeKind::Tensor || sizeOf(input.dtype) == 0) {
            m_shapes.clear();
            m_kernel.reset(); // it does not compute this run
            return std::nullopt;
        }
        shapes.emplace_back(input.dtype, input.extents);
    }
    if (shapes != m_shapes || m_shapes.empty()) {
        m_shapes = shapes;
        prepare(inputs, threads, allowed);
    }
    if (!m_kernel)
        return std::nullopt;
    std::vector<Tensor> memory, results;
    Operands operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
        memory.push_back(m_constants[i] ? *m_constants[i] : inputs[i].toTensor());
        operands.inputs.push_back(memory.back().bytes());
    }
    for (const OperandType& type : m_program->outputs) {
        results.emplace_back(type.dtype, type.extents);
        operands.outputs.push_back(results.back().bytes());
    }
    RunContext context{threads, nullptr, false, {}};
    m_kernel->run(operands, context);
    if (context.error)
        return Result<std::vector<ReferenceValue>>(failure(*context.error));
    std::vector<ReferenceValue> out;
    for (const Tensor& result : results)
        out.push_back(ReferenceValue::from(result));
    return Result<std::vector<ReferenceValue>>(std::move(out));
}

} // namespace fuselage::cpu
