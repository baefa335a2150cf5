// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/window.h"

#include "core/cpu/contraction.h"
#include "core/cpu/layout.h"
#include "core/cpu/tile_code.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <cmath>
#include <limits>

namespace fuselage::cpu {

namespace {

/// Pooling of float data by plain loops, one result at a time.
class LoopPool final : public PoolEngine {
public:
    LoopPool(const Window& program, Extents inExtents, Extents inStrides, Extents outStrides,
             Threads& threads)
        : m_kind(program.kind), m_p(program.p), m_window(program.window), m_space(program.space),
          m_inExtents(std::move(inExtents)), m_inStrides(std::move(inStrides)),
          m_outStrides(std::move(outStrides)), m_threads(threads) {
        implementation = "plain loops";
    }

    void run(const std::byte* source, std::byte* target, std::byte*) override {
        const auto* in = reinterpret_cast<const float*>(source);
        auto* out = reinterpret_cast<float*>(target);
        auto count = static_cast<size_t>(elementCount(m_space).value_or(0));
        m_threads.forRange(count, 256, [&](size_t, size_t begin, size_t end) {
            Extents index(m_space.size());
            for (size_t i = begin; i < end; ++i) {
                auto rest = static_cast<int64_t>(i);
                int64_t to = 0;
                for (size_t d = m_space.size(); d-- > 0;) {
                    index[d] = rest % m_space[d];
                    rest /= m_space[d];
                    to += index[d] * m_outStrides[d];
                }
                out[to] = pooled(in, index);
            }
        });
    }

private:
    float pooled(const float* in, const Extents& index) const {
        int64_t base = index[0] * m_inStrides[0] + index[1] * m_inStrides[1];
        Extents tap(m_window.kernel.size(), 0);
        float best = -std::numeric_limits<float>::infinity();
        double sum = 0;
        int64_t inside = 0, padded = 0;
        for (;;) {
            int64_t from = base;
            bool isInside = true, isPadded = true;
            for (size_t d = 0; d < tap.size(); ++d) {
                int64_t at = index[d + 2] * m_window.strides[d] - m_window.padsBegin[d] +
                             tap[d] * m_window.dilations[d];
                isInside = isInside && at >= 0 && at < m_inExtents[d + 2];
                isPadded = isPadded && at < m_inExtents[d + 2] + m_window.padsEnd[d];
                from += at * m_inStrides[d + 2];
            }
            padded += isPadded ? 1 : 0;
            if (isInside) {
                float value = in[from];
                best = value > best || value != value ? value : best;
                sum += m_kind == PoolKind::Lp
                           ? std::pow(std::abs(double{value}), static_cast<double>(m_p))
                           : double{value};
                ++inside;
            }
            size_t d = tap.size();
            while (d-- > 0) {
                if (++tap[d] < m_window.kernel[d])
                    break;
                tap[d] = 0;
            }
            if (d == static_cast<size_t>(-1))
                break;
        }
        switch (m_kind) {
        case PoolKind::Max:
            return best;
        case PoolKind::Average:
            return static_cast<float>(sum / static_cast<double>(inside));
        case PoolKind::AverageIncludingPad:
            return static_cast<float>(sum / static_cast<double>(padded));
        case PoolKind::Lp:
            return static_cast<float>(std::pow(sum, 1.0 / static_cast<double>(m_p)));
        }
        return best;
    }

    PoolKind m_kind;
    int64_t m_p;
    SlidingWindow m_window;
    Extents m_space, m_inExtents, m_inStrides, m_outStrides;
    Threads& m_threads;
};

class WindowKernel final : public Kernel {
public:
    WindowKernel(const Window& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    size_t reserve(size_t bytes) {
        size_t at = m_scratchBytes;
        m_scratchBytes += (bytes + 63) / 64 * 64;
        return at;
    }

    uint32_t m_operand = 0, m_output = 0;
    std::unique_ptr<Kernel> m_before, m_after;
    std::unique_ptr<PoolEngine> m_pool;
    size_t m_beforeAt = 0, m_pooledAt = 0, m_poolScratchAt = 0, m_scratchBytes = 0;
};

WindowKernel::WindowKernel(const Window& program, const PrepareContext& context)
    : m_operand(program.operand), m_output(program.epilogue.writes[0].operand) {
    size_t dims = program.space.size();
    OperandLayout source = context.inputs[program.operand];
    if (program.prologue || source.dtype != DType::Float32) {
        OperandLayout staged{DType::Float32, source.extents,
                             denseLike(source.extents, source.strides), nullptr};
        Pointwise before{source.extents, {identityAccess(program.operand, dims)}, {}, {}};
        before.writes = {identityAccess(0, dims)};
        if (program.prologue) {
            before.reads.insert(before.reads.end(), program.prologue->reads.begin(),
                                program.prologue->reads.end());
            before.tape = program.prologue->tape;
        } else {
            TapeBuilder builder;
            Scalar x = cast(builder.input(source.dtype), DType::Float32);
            before.tape = builder.finish({x});
        }
        m_before = preparePointwise(
            before, {context.inputs, {staged}, context.table, context.threads, context.strict});
        m_beforeAt = reserve(static_cast<size_t>(staged.span()) * sizeof(float));
        source = staged;
    }
    // A tape of one instruction hands the pooled value on as it is.
    const Epilogue& epilogue = program.epilogue;
    const OperandLayout& result = context.outputs[m_output];
    bool plain = epilogue.tape.code.size() == 1 && epilogue.writes.size() == 1 &&
                 result.dtype == DType::Float32;
    StridedAccess target = stridedFor(epilogue.writes[0], result, dims);
    plain = plain && target.offset == 0;
    OperandLayout pooled{DType::Float32, program.space, channelsLast(program.space), nullptr};
    if (source.rowMajor())
        pooled.strides = rowMajorStrides(program.space);
    const Extents& outStrides = plain ? target.strides : pooled.strides;
    m_pool = makePoolEngine(program.kind, program.window, source.extents, source.strides,
                            program.space, outStrides);
    if (m_pool) {
        tactic = "onednn " + m_pool->implementation;
    } else {
        m_pool = std::make_unique<LoopPool>(program, source.extents, source.strides, outStrides,
                                            context.threads);
        tactic = m_pool->implementation;
        fallbacks.push_back({"support", "oneDNN has no such pooling", {}, {}});
    }
    if (!plain) {
        m_pooledAt = reserve(static_cast<size_t>(pooled.span()) * sizeof(float));
        auto operand = static_cast<uint32_t>(context.inputs.size());
        Pointwise after{
            program.space, {identityAccess(operand, dims)}, epilogue.tape, epilogue.writes};
        after.reads.insert(after.reads.end(), epilogue.reads.begin(), epilogue.reads.end());
        PrepareContext inner{context.inputs, context.outputs, context.table, context.threads,
                             context.strict};
        inner.inputs.push_back(pooled);
        m_after = preparePointwise(after, inner);
        tactic += " + tile interpreter";
    }
    m_poolScratchAt = reserve(m_pool->scratchBytes);
}

void WindowKernel::run(const Operands& operands, RunContext& context) {
    std::byte* scratch = context.threads.stepScratch().reserve(m_scratchBytes);
    const std::byte* source = operands.inputs[m_operand];
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
    return std::unique_ptr<Kernel>(std::make_unique<WindowKernel>(program, context));
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
