// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/window.h"

#include "core/cpu/layout.h"
#include "core/cpu/pool.h"
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

namespace fuselage::cpu {

namespace {

class WindowKernel final : public Kernel {
public:
    explicit WindowKernel(const Window& program)
        : m_program(program), m_output(program.epilogue.writes[0].operand) {}

    std::optional<Reason> prepare(const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    /// `isValue`: a result of full size passes through it.
    size_t reserve(size_t bytes, bool isValue = true) {
        size_t at = m_scratchBytes;
        m_scratchBytes += (bytes + 63) / 64 * 64;
        hidden.scratchBytes = static_cast<int64_t>(m_scratchBytes);
        hidden.values += isValue ? 1 : 0;
        hidden.passedBytes += isValue ? static_cast<int64_t>(bytes) : 0;
        return at;
    }

    OperandLayout stage(const PrepareContext& context, const Extents& strides);
    std::unique_ptr<PoolEngine> poolTo(const OperandLayout& source, const Extents& outStrides,
                                       const PrepareContext& context) const;
    bool poolsInto(const OperandLayout& source, const PrepareContext& context);
    void addAfter(const PrepareContext& context, const OperandLayout& pooled);

    Window m_program;
    uint32_t m_output = 0;
    std::unique_ptr<Kernel> m_before, m_after;
    std::unique_ptr<PoolEngine> m_pool;
    size_t m_beforeAt = 0, m_pooledAt = 0, m_poolScratchAt = 0, m_scratchBytes = 0;
};

/// |x| to the power that Lp pools sum.
Scalar powered(Scalar x, int64_t p) {
    Scalar size = x.tape().apply(TapeOp::Abs, x.type(), {x});
    return p == 1 ? size
                  : x.tape().apply(TapeOp::Pow, x.type(),
                                   {size, x.tape().constant(x.type(), static_cast<double>(p))});
}

/// The root of an Lp pool's sums before the epilogue.
Tape afterRoot(const Tape& epilogue, int64_t p) {
    TapeBuilder builder;
    std::vector<Scalar> inputs;
    for (DType type : epilogue.inputs)
        inputs.push_back(builder.input(type));
    const DType type = epilogue.inputs[0];
    if (p != 1)
        inputs[0] = builder.apply(
            TapeOp::Pow, type, {inputs[0], builder.constant(type, 1.0 / static_cast<double>(p))});
    return builder.finish(builder.append(epilogue, inputs));
}

/// The operand in float, its prologue applied, in dense memory with the order of `strides`.
OperandLayout WindowKernel::stage(const PrepareContext& context, const Extents& strides) {
    const OperandLayout& source = context.inputs[m_program.operand];
    const size_t dims = source.extents.size();
    OperandLayout staged{DType::Float32, source.extents, denseLike(source.extents, strides),
                         nullptr};
    Pointwise before{source.extents, {identityAccess(m_program.operand, dims)}, {}, {}};
    before.writes = {identityAccess(0, dims)};
    TapeBuilder builder;
    std::vector<Scalar> values;
    if (m_program.prologue) {
        before.reads.insert(before.reads.end(), m_program.prologue->reads.begin(),
                            m_program.prologue->reads.end());
        for (DType type : m_program.prologue->tape.inputs)
            values.push_back(builder.input(type));
        values = builder.append(m_program.prologue->tape, values);
    } else {
        values.push_back(builder.input(source.dtype));
    }
    Scalar x = values[0].type() == DType::Float32 ? values[0] : cast(values[0], DType::Float32);
    before.tape = builder.finish({m_program.kind == PoolKind::Lp ? powered(x, m_program.p) : x});
    m_before = preparePointwise(
        before, {context.inputs, {staged}, context.table, context.threads, context.strict});
    m_beforeAt = reserve(static_cast<size_t>(staged.span()) * sizeof(float));
    return staged;
}

std::unique_ptr<PoolEngine> WindowKernel::poolTo(const OperandLayout& source,
                                                 const Extents& outStrides,
                                                 const PrepareContext& context) const {
    return makePool(m_program.kind, m_program.window, source.extents, source.strides,
                    m_program.space, outStrides, context);
}

void WindowKernel::addAfter(const PrepareContext& context, const OperandLayout& pooled) {
    const Epilogue& epilogue = m_program.epilogue;
    m_pooledAt = reserve(static_cast<size_t>(pooled.span()) * sizeof(float));
    Pointwise after{
        m_program.space,
        {identityAccess(static_cast<uint32_t>(context.inputs.size()), m_program.space.size())},
        m_program.kind == PoolKind::Lp ? afterRoot(epilogue.tape, m_program.p) : epilogue.tape,
        epilogue.writes};
    after.reads.insert(after.reads.end(), epilogue.reads.begin(), epilogue.reads.end());
    PrepareContext inner{context.inputs, context.outputs, context.table, context.threads,
                         context.strict};
    inner.inputs.push_back(pooled);
    m_after = preparePointwise(after, inner);
}

/// Straight into the result where nothing is left to do, else through memory of its own in the
/// operand's order.
bool WindowKernel::poolsInto(const OperandLayout& source, const PrepareContext& context) {
    const Epilogue& epilogue = m_program.epilogue;
    const OperandLayout& result = context.outputs[m_output];
    // A tape of one instruction hands the pooled value on as it is.
    if (epilogue.tape.code.size() == 1 && epilogue.writes.size() == 1 &&
        m_program.kind != PoolKind::Lp && result.dtype == DType::Float32) {
        StridedAccess target = stridedFor(epilogue.writes[0], result, m_program.space.size());
        if (target.offset == 0)
            m_pool = poolTo(source, target.strides, context);
    }
    if (m_pool)
        return true;
    OperandLayout pooled{DType::Float32, m_program.space,
                         denseLike(m_program.space, source.strides), nullptr};
    m_pool = poolTo(source, pooled.strides, context);
    if (m_pool)
        addAfter(context, pooled);
    return m_pool != nullptr;
}

std::optional<Reason> WindowKernel::prepare(const PrepareContext& context) {
    OperandLayout source = context.inputs[m_program.operand];
    if (m_program.prologue || source.dtype != DType::Float32 || m_program.kind == PoolKind::Lp)
        source = stage(context, source.strides);
    if (!poolsInto(source, context)) {
        source = stage(context, channelsLast(source.extents));
        if (!poolsInto(source, context))
            return Reason{"support", "no kernel for such a window", {}, {}};
    }
    tactic = m_pool->implementation + (m_after ? " + tile interpreter" : "");
    m_poolScratchAt = reserve(m_pool->scratchBytes, false);
    return std::nullopt;
}

void WindowKernel::run(const Operands& operands, RunContext& context) {
    std::byte* scratch = context.threads.stepScratch().reserve(m_scratchBytes);
    const std::byte* source = operands.inputs[m_program.operand];
    RunContext inner{context.threads};
    if (m_before) {
        m_before->run({operands.inputs, {scratch + m_beforeAt}}, inner);
        source = scratch + m_beforeAt;
    }
    std::byte* target = m_after ? scratch + m_pooledAt : operands.outputs[m_output];
    m_pool->run(source, target, scratch + m_poolScratchAt);
    if (m_after) {
        Operands after = operands;
        after.inputs.push_back(target);
        m_after->run(after, inner);
    }
}

} // namespace

KernelResult prepareWindow(const Window& program, const PrepareContext& context) {
    auto kernel = std::make_unique<WindowKernel>(program);
    if (auto reason = kernel->prepare(context))
        return failure("cpu." + reason->code, reason->message);
    return std::unique_ptr<Kernel>(std::move(kernel));
}

std::optional<Reason> unsupportedWindow(const Window& program) {
    if (program.prologue)
        if (auto reason = TileCode::unsupported(program.prologue->tape))
            return reason;
    const Tape& tape = program.epilogue.tape;
    if (tape.inputs.empty() || tape.inputs[0] != DType::Float32)
        return Reason{"dtype", "the cpu backend pools float data only", {}, {}};
    return TileCode::unsupported(tape);
}

} // namespace fuselage::cpu
