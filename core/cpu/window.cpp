// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/window.h"

#include "core/cpu/layout.h"
#include "core/cpu/pool.h"
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>
#include <cmath>
#include <memory>

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

    bool poolsStored(const PrepareContext& context) const;
    Tape tapeAfter(DType pooled) const;
    bool handsOn(const Tape& tape, DType pooled, const PrepareContext& context) const;
    OperandLayout stage(const PrepareContext& context, const Extents& strides);
    std::unique_ptr<PoolEngine> poolTo(const OperandLayout& source, const Extents& outStrides,
                                       const PrepareContext& context) const;
    bool poolsInto(const OperandLayout& source, const PrepareContext& context);
    bool walksShortRows(const PrepareContext& context) const;
    void poolsChannels(const PrepareContext& context);
    void addAfter(const PrepareContext& context, const OperandLayout& pooled);

    Window m_program;
    uint32_t m_output = 0;
    bool m_isStored = false; ///< 8-bit integers are pooled as they are
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

bool isPooledByte(DType type) {
    return type == DType::Int8 || type == DType::UInt8;
}

/// What a tape of one input makes of each number of an 8-bit type, from the least on; nothing where
/// it makes neither floats nor integers.
std::vector<double> ofEachByte(const Tape& tape, const PrepareContext& context) {
    constexpr size_t count = 256, alignment = 64;
    const TileCode code(tape, {false}, context.table, context.strict());
    size_t bytes = code.frameBytes(count) + alignment;
    std::vector<std::byte> memory(bytes);
    void* start = memory.data();
    std::align(alignment, bytes - alignment, start, bytes);
    const TileCode::Frame frame = code.bind(static_cast<std::byte*>(start), count);
    const int64_t first = tape.inputs[0] == DType::Int8 ? -128 : 0;
    for (size_t i = 0; i < count; ++i)
        static_cast<int64_t*>(frame.slots[0])[i] = first + static_cast<int64_t>(i);
    TileCode::Frame running = frame;
    code.run(running, count);
    const void* results = code.output(running, 0);
    if (code.outputLane(0) == Lane::F32)
        return {static_cast<const float*>(results), static_cast<const float*>(results) + count};
    if (code.outputLane(0) == Lane::I64)
        return {static_cast<const int64_t*>(results), static_cast<const int64_t*>(results) + count};
    return {};
}

/// A larger number never becomes a smaller one: the largest of results is the result of the
/// largest.
bool keepsOrder(const std::vector<double>& values) {
    return !values.empty() && std::is_sorted(values.begin(), values.end()) &&
           std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

/// The largest of 8-bit integers, whose prologue keeps their order, before that prologue.
bool WindowKernel::poolsStored(const PrepareContext& context) const {
    const OperandLayout& operand = context.inputs[m_program.operand];
    if (m_program.kind != PoolKind::Max || !isPooledByte(operand.dtype) ||
        !canPoolBytes(m_program.window, operand.extents, m_program.space))
        return false;
    const auto& prologue = m_program.prologue;
    const size_t after = m_program.epilogue.tape.code.size();
    return !prologue || (prologue->tape.code.size() + after < TapeBuilder::maxInstructions - 1 &&
                         prologue->reads.empty() && prologue->tape.inputs.size() == 1 &&
                         keepsOrder(ofEachByte(prologue->tape, context)));
}

/// From the pooled value to the results.
Tape WindowKernel::tapeAfter(DType pooled) const {
    const Tape& epilogue = m_program.epilogue.tape;
    if (m_program.kind == PoolKind::Lp)
        return afterRoot(epilogue, m_program.p);
    if (!m_isStored)
        return epilogue;
    TapeBuilder builder;
    std::vector<Scalar> inputs = {builder.input(pooled)};
    for (size_t i = 1; i < epilogue.inputs.size(); ++i)
        inputs.push_back(builder.input(epilogue.inputs[i]));
    if (m_program.prologue)
        inputs[0] = builder.append(m_program.prologue->tape, {inputs[0]})[0];
    if (inputs[0].type() != epilogue.inputs[0])
        inputs[0] = cast(inputs[0], epilogue.inputs[0]);
    return builder.finish(builder.append(epilogue, inputs));
}

/// Whether the one result is the pooled value as it is.
bool WindowKernel::handsOn(const Tape& tape, DType pooled, const PrepareContext& context) const {
    if (m_program.epilogue.writes.size() != 1 || context.outputs[m_output].dtype != pooled)
        return false;
    if (!m_isStored)
        return tape.code.size() == 1; // the input
    if (tape.inputs.size() != 1)
        return false;
    const std::vector<double> values = ofEachByte(tape, context);
    double wanted = pooled == DType::Int8 ? -128 : 0;
    return !values.empty() && std::all_of(values.begin(), values.end(),
                                          [&](double value) { return value == wanted++; });
}

/// The operand in dense memory with the order of `strides`: as stored, or in float with its
/// prologue applied.
OperandLayout WindowKernel::stage(const PrepareContext& context, const Extents& strides) {
    const OperandLayout& source = context.inputs[m_program.operand];
    const size_t dims = source.extents.size();
    OperandLayout staged{m_isStored ? source.dtype : DType::Float32, source.extents,
                         denseLike(source.extents, strides), nullptr};
    Pointwise before{source.extents, {identityAccess(m_program.operand, dims)}, {}, {}};
    before.writes = {identityAccess(0, dims)};
    TapeBuilder builder;
    std::vector<Scalar> values;
    if (m_program.prologue && !m_isStored) {
        before.reads.insert(before.reads.end(), m_program.prologue->reads.begin(),
                            m_program.prologue->reads.end());
        for (DType type : m_program.prologue->tape.inputs)
            values.push_back(builder.input(type));
        values = builder.append(m_program.prologue->tape, values);
    } else {
        values.push_back(builder.input(source.dtype));
    }
    Scalar x = values[0].type() == staged.dtype ? values[0] : cast(values[0], staged.dtype);
    before.tape = builder.finish({m_program.kind == PoolKind::Lp ? powered(x, m_program.p) : x});
    m_before = preparePointwise(
        before, {context.inputs, {staged}, context.table, context.threads, context.allowed});
    m_beforeAt = reserve(static_cast<size_t>(staged.span()) * sizeOf(staged.dtype));
    return staged;
}

std::unique_ptr<PoolEngine> WindowKernel::poolTo(const OperandLayout& source,
                                                 const Extents& outStrides,
                                                 const PrepareContext& context) const {
    if (m_isStored)
        return canPoolVectors(source.strides, outStrides)
                   ? makeBytePool(source.dtype, m_program.window, source.extents, source.strides,
                                  m_program.space, outStrides, context)
                   : nullptr;
    return makePool(m_program.kind, m_program.window, source.extents, source.strides,
                    m_program.space, outStrides, context);
}

void WindowKernel::addAfter(const PrepareContext& context, const OperandLayout& pooled) {
    const Epilogue& epilogue = m_program.epilogue;
    m_pooledAt = reserve(static_cast<size_t>(pooled.span()) * sizeOf(pooled.dtype));
    Pointwise after{
        m_program.space,
        {identityAccess(static_cast<uint32_t>(context.inputs.size()), m_program.space.size())},
        tapeAfter(pooled.dtype),
        epilogue.writes};
    after.reads.insert(after.reads.end(), epilogue.reads.begin(), epilogue.reads.end());
    PrepareContext inner{context.inputs, context.outputs, context.table, context.threads,
                         context.allowed};
    inner.inputs.push_back(pooled);
    m_after = preparePointwise(after, inner);
}

/// Straight into the result where nothing is left to do, else through memory of its own in the
/// operand's order.
bool WindowKernel::poolsInto(const OperandLayout& source, const PrepareContext& context) {
    const Epilogue& epilogue = m_program.epilogue;
    if (handsOn(tapeAfter(source.dtype), source.dtype, context)) {
        StridedAccess target =
            stridedFor(epilogue.writes[0], context.outputs[m_output], m_program.space.size());
        if (target.offset == 0)
            m_pool = poolTo(source, target.strides, context);
    }
    if (m_pool)
        return true;
    OperandLayout pooled{source.dtype, m_program.space, denseLike(m_program.space, source.strides),
                         nullptr};
    m_pool = poolTo(source, pooled.strides, context);
    if (m_pool)
        addAfter(context, pooled);
    return m_pool != nullptr;
}

/// Whether a copy with its channels side by side, and a vector of them at once, is quicker than a
/// call for each row of few elements.
bool WindowKernel::walksShortRows(const PrepareContext& context) const {
    constexpr int64_t shortRow = 12, fewestChannels = 4; // measured
    // Sums of the same numbers in another order are others.
    if (m_isStored || (context.strict() && m_program.kind != PoolKind::Max))
        return false;
    return m_pool->rowLength > 0 && m_pool->rowLength < shortRow &&
           m_program.space[1] >= fewestChannels;
}

/// A copy whose channels are neighbours, whatever was decided before.
void WindowKernel::poolsChannels(const PrepareContext& context) {
    m_pool.reset();
    m_before.reset();
    m_after.reset();
    m_scratchBytes = 0;
    hidden = {};
    const Extents& extents = context.inputs[m_program.operand].extents;
    poolsInto(stage(context, channelsLast(extents)), context);
}

std::optional<Reason> WindowKernel::prepare(const PrepareContext& context) {
    OperandLayout source = context.inputs[m_program.operand];
    m_isStored = poolsStored(context);
    if (!m_isStored && m_program.epilogue.tape.inputs[0] != DType::Float32)
        return Reason{"support", "no kernel for such a window of integers", {}, {}};
    if (!m_isStored &&
        (m_program.prologue || source.dtype != DType::Float32 || m_program.kind == PoolKind::Lp))
        source = stage(context, source.strides);
    if (!poolsInto(source, context) || walksShortRows(context))
        poolsChannels(context);
    if (!m_pool)
        return Reason{"support", "no kernel for such a window", {}, {}};
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
    const bool isStored = !tape.inputs.empty() && program.kind == PoolKind::Max &&
                          !program.prologue && isPooledByte(tape.inputs[0]);
    if (tape.inputs.empty() || (tape.inputs[0] != DType::Float32 && !isStored))
        return Reason{
            "dtype", "the cpu backend pools floats, and the largest of 8-bit integers", {}, {}};
    return TileCode::unsupported(tape);
}

} // namespace fuselage::cpu
