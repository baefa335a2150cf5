// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/dynamic_step.h"

#include "core/cpu/prepare_kernel.h"
#include "core/cpu/value_store.h"
#include "core/kernel/lower.h"
#include "core/ops/move_tensor.h"
#include "core/ops/op_table.h"
#include "core/passes/open_shapes.h"
#include "core/passes/passes.h"
#include "core/passes/shape_inputs.h"
#include "core/plan/step_work.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// Below these preparing a kernel costs more than the reference function does, which widens all
/// that it reads.
constexpr int64_t worthwhileFlops = int64_t(1) << 22;
constexpr size_t worthwhileBytes = size_t{1} << 18;

/// Of operands, below which not even that is found out when shapes are new.
constexpr size_t worthAsking = size_t{1} << 16;

/// Kernels for other shapes are kept up to so many; then all begin anew.
constexpr size_t mostKernels = 256;

bool maySayShape(const Tensor& tensor) {
    return isFewIntegers(tensor.dtype(), tensor.elementCount());
}

std::vector<size_t> giversOf(const Graph& body) {
    std::vector<size_t> out;
    for (size_t i = 0; i < body.inputs().size(); ++i) {
        const auto& uses = body.value(body.inputs()[i]).uses;
        if (std::any_of(uses.begin(), uses.end(),
                        [&](const Use& use) { return givesShape(body.node(use.node), use.slot); }))
            out.push_back(i);
    }
    return out;
}

std::vector<OperandType> typesOfValues(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<OperandType> out;
    for (ValueId id : values) {
        const Type& type = graph.value(id).type;
        out.push_back({type.dtype, type.extents().value_or(Extents())});
    }
    return out;
}

/// Whether the result is the first input under other extents.
bool isViewOfFirst(const Graph& body) {
    if (body.nodeCount() != 1 || body.inputs().empty() || body.outputs().size() != 1)
        return false;
    const Node& node = body.node(body.nodes().front());
    return hasTrait(node.op, View) && node.inputs[0] == body.inputs()[0] &&
           node.outputs[0] == body.outputs()[0];
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

/// For inputs of certain shapes.
struct DynamicStep::Prepared {
    std::optional<Extents> view;          ///< of the first input, which is the result
    std::optional<KernelProgram> program; ///< none: the reference function
    std::unique_ptr<Kernel> kernel;
    bool isSettled = false;    ///< what computes it
    bool isWorthwhile = false; ///< at once, not only when the shapes come again
    bool isTried = false;      ///< to prepare a kernel
};

DynamicStep::DynamicStep(std::shared_ptr<const Graph> body, std::vector<TensorPtr> constants,
                         int threads)
    : m_body(std::move(body)), m_constants(std::move(constants)), m_threadCount(threads),
      m_weights(std::make_shared<SharedPages>()), m_givers(giversOf(*m_body)) {}

DynamicStep::~DynamicStep() = default;

PrepareContext DynamicStep::contextOf(const KernelProgram& program, NumericClass allowed) const {
    PrepareContext out{{}, {}, vectorTable(), *m_threads, allowed};
    for (size_t i = 0; i < program.inputs.size(); ++i)
        out.inputs.push_back(rowMajorLayout(program.inputs[i], m_constants[i]));
    for (const OperandType& type : program.outputs)
        out.outputs.push_back(rowMajorLayout(type, nullptr));
    return out;
}

/// The body with these inputs' shapes and what elements say shapes; none when a type is not fixed
/// by them.
std::shared_ptr<const Graph> DynamicStep::specialised(const std::vector<Tensor>& inputs) const {
    Graph graph = m_body->clone();
    for (size_t i = 0; i < inputs.size(); ++i)
        graph.setType(graph.inputs()[i], inputs[i].type());
    for (size_t giver : m_givers)
        if (maySayShape(inputs[giver]))
            assumeInput(graph, giver, inputs[giver]);
    for (const InferProblem& problem : inferShapes(graph))
        if (!problem.warning())
            return nullptr;
    for (ValueId id : graph.values())
        if (graph.value(id).type.kind != TypeKind::Tensor || !graph.value(id).type.byteCount())
            return nullptr;
    return std::make_shared<const Graph>(std::move(graph));
}

/// The elements that a Slice or Transpose takes, wherever; none for other nodes and operands that
/// do not fit.
std::optional<Tensor> DynamicStep::taken(const std::vector<Tensor>& inputs) const {
    if (m_body->nodeCount() != 1)
        return std::nullopt;
    const Node& node = m_body->node(m_body->nodes().front());
    if ((node.op != Op::Slice && node.op != Op::Transpose) || inputs.empty() ||
        sizeOf(inputs[0].dtype()) > sizeof(uint64_t) || node.inputs[0] != m_body->inputs()[0])
        return std::nullopt;
    std::vector<ReferenceValue> small(node.inputs.size());
    std::vector<const ReferenceValue*> operands(node.inputs.size(), nullptr);
    small[0] = headOf(inputs[0]);
    operands[0] = &small[0];
    for (size_t i = 1; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid())
            continue;
        const auto& all = m_body->inputs();
        const auto at = std::find(all.begin(), all.end(), node.inputs[i]);
        const Tensor* tensor = m_body->isConstant(node.inputs[i])
                                   ? m_body->value(node.inputs[i]).constant.get()
                                   : &inputs[static_cast<size_t>(at - all.begin())];
        if (!maySayShape(*tensor))
            return std::nullopt;
        small[i] = ReferenceValue::from(*tensor);
        operands[i] = &small[i];
    }
    const auto windows = windowsOf(node, inputs[0].extents(), operands);
    return windows ? std::optional(copyWindow(inputs[0], windows->front())) : std::nullopt;
}

DynamicStep::Key DynamicStep::keyOf(const std::vector<Tensor>& inputs) const {
    Key out;
    for (const Tensor& input : inputs)
        out.shapes.emplace_back(input.dtype(), input.extents());
    for (size_t giver : m_givers)
        if (maySayShape(inputs[giver])) {
            const std::vector<int64_t> elements = inputs[giver].toInts();
            out.elements.insert(out.elements.end(), elements.begin(), elements.end());
        }
    return out;
}

std::optional<KernelProgram> DynamicStep::programFor(std::shared_ptr<const Graph> body,
                                                     NumericClass allowed) const {
    if (auto empty = programOfNothing(*body))
        return empty;
    LowerRequest request{std::move(body), m_constants, {}, {}};
    request.strict = allowed == NumericClass::Exact;
    LowerResult lowered = lower(request);
    auto* program = std::get_if<KernelProgram>(&lowered);
    return program && !unsupported(*program) ? std::optional(std::move(*program)) : std::nullopt;
}

/// What computes the body, and whether it pays at once.
void DynamicStep::settle(Prepared& out, const std::vector<Tensor>& inputs, size_t bytes,
                         NumericClass allowed) const {
    out.isSettled = true;
    const auto body = specialised(inputs);
    if (!body)
        return;
    if (isViewOfFirst(*body)) {
        const auto extents = body->value(body->outputs()[0]).type.extents();
        if (extents && elementCount(*extents) == inputs[0].elementCount())
            out.view = extents;
        return; // what does not fit is for the reference function to say
    }
    out.program = programFor(body, allowed);
    out.isWorthwhile = out.program && (makesNothing(*out.program) || bytes >= worthwhileBytes ||
                                       workOf(*out.program).flops >= worthwhileFlops);
}

DynamicStep::Prepared& DynamicStep::preparedFor(const std::vector<Tensor>& inputs,
                                                NumericClass allowed) {
    Key key = keyOf(inputs);
    auto found = m_prepared.find(key);
    const bool isNew = found == m_prepared.end();
    if (isNew) {
        if (m_prepared.size() == mostKernels || !m_threads) {
            m_prepared.clear();
            m_threads = std::make_unique<Threads>(m_threadCount, m_weights);
        }
        found = m_prepared.try_emplace(std::move(key)).first;
    }
    Prepared& out = found->second;
    size_t bytes = 0;
    for (const Tensor& input : inputs)
        bytes += input.byteCount();
    if (!out.isSettled && (!isNew || bytes >= worthAsking))
        settle(out, inputs, bytes, allowed);
    if (out.program && !out.isTried && (out.isWorthwhile || !isNew)) {
        out.isTried = true;
        KernelResult kernel = prepareKernel(*out.program, contextOf(*out.program, allowed));
        if (kernel)
            out.kernel = std::move(*kernel);
    }
    return out;
}

std::optional<Result<std::vector<Tensor>>> DynamicStep::run(const std::vector<Tensor>& inputs,
                                                            NumericClass allowed) {
    using Results = std::vector<Tensor>;
    m_kernel = nullptr;
    if (auto elements = taken(inputs))
        return Result<Results>(Results{std::move(*elements)});
    const Prepared& prepared = preparedFor(inputs, allowed);
    if (prepared.view)
        return Result<Results>(Results{inputs[0].reshaped(*prepared.view).clone()});
    if (!prepared.kernel)
        return std::nullopt;
    m_kernel = prepared.kernel.get();
    Results results;
    Operands operands;
    for (size_t i = 0; i < inputs.size(); ++i)
        operands.inputs.push_back((m_constants[i] ? *m_constants[i] : inputs[i]).bytes());
    for (const OperandType& type : prepared.program->outputs) {
        results.emplace_back(type.dtype, type.extents);
        operands.outputs.push_back(results.back().bytes());
    }
    RunContext context{*m_threads, nullptr, false, {}};
    prepared.kernel->run(operands, context);
    if (context.error)
        return Result<Results>(failure(*context.error));
    return Result<Results>(std::move(results));
}

} // namespace fuselage::cpu
