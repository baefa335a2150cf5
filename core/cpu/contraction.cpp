// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/contraction.h"

#include "core/cpu/contraction_engine.h"
#include "core/cpu/contraction_staging.h"
#include "core/cpu/empty_window.h"
#include "core/cpu/few_columns.h"
#include "core/cpu/layout.h"
#include "core/cpu/plain_contraction.h"
#include "core/cpu/pool.h"
#include "core/cpu/stored_weights.h"
#include "core/cpu/tile_pointwise.h"
#include "core/cpu/winograd.h"
#include "core/kernel/loops.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// A region of the step's scratch memory.
struct Region {
    size_t at = 0;
    size_t bytes = 0;
};

class ContractionKernel final : public Kernel {
public:
    /// By minimal filtering instead of oneDNN on request: needs canBeWinograd().
    /// By operands as they are stored on request: needs canBeNative().
    /// `stored`: B in place of its operand.
    ContractionKernel(const Contraction& program, const PrepareContext& context, bool winograd,
                      bool native, const StoredWeights* stored)
        : m_program(program), m_readA(program.a), m_readB(program.b), m_inputs(context.inputs),
          m_winograd(winograd), m_native(native), m_stored(stored) {}

    std::optional<Reason> prepare(const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    DType stagedType(const OperandLayout& layout, const std::optional<Prologue>& prologue) const;
    void stage(const PrepareContext& context, bool isA, bool packed = false);
    void findEngine(const PrepareContext& context);
    bool tryMatched(const PrepareContext& context, bool straight);
    void useBare(const PrepareContext& context, bool allowSlow);
    void usePlain(const PrepareContext& context);
    bool accept(EngineResult result, bool allowSlow);
    void addFallback(Reason reason);
    void addPass(const PrepareContext& context, const Tape& tape, const std::vector<Access>& reads,
                 const OperandLayout& accumulator);
    void addSumCopy(const PrepareContext& context, const OperandLayout& c);
    void addPool(const PrepareContext& context);
    EngineResult engineFor(const PrepareContext& context, const EngineTarget& c,
                           const MatchedEpilogue& epilogue) const;
    OperandLayout accumulatorLayout() const;
    bool liesAsOutput(const OperandLayout& c) const;
    bool isOutputFree(const Operands& operands) const;

    /// `isValue`: a result of full size passes through it.
    Region reserve(size_t bytes, bool isValue = true) {
        Region out{m_scratchBytes, bytes};
        m_scratchBytes += (bytes + 63) / 64 * 64;
        hidden.scratchBytes = static_cast<int64_t>(m_scratchBytes);
        hidden.values += isValue ? 1 : 0;
        hidden.passedBytes += isValue ? static_cast<int64_t>(bytes) : 0;
        return out;
    }

    Contraction m_program;   ///< its a and b read m_a and m_b
    Access m_readA, m_readB; ///< of the step's operands
    std::vector<OperandLayout> m_inputs;
    bool m_winograd, m_native;
    const StoredWeights* m_stored; ///< while preparing; null: B is an operand
    bool m_plain = false;          ///< of types that only the plain loops take
    OperandLayout m_a, m_b;        ///< as the engine sees them
    std::unique_ptr<Kernel> m_stageA, m_stageB;
    Region m_aRegion, m_bRegion, m_cRegion, m_resultRegion, m_engineRegion, m_pooledRegion;
    std::unique_ptr<ContractionEngine> m_engine;
    std::unique_ptr<PlainContraction> m_loops; ///< where there is no engine
    bool m_cIsOutput = false;
    bool m_cMayBeOutput = false; ///< the pass runs in place, unless an operand lies there
    std::unique_ptr<Kernel> m_sumCopy;
    bool m_sumInPlace = false; ///< the residual may already be where the result goes
    std::unique_ptr<Kernel> m_pass;
    std::unique_ptr<PoolEngine> m_pool;
    std::unique_ptr<Kernel> m_pooledStore; ///< to an output of another type or order
    size_t m_scratchBytes = 0;
    OperandLayout m_output; ///< what epilogue writes go to (before a pool: scratch)
};

/// The type of a staged operand's elements: plain loops take any.
DType ContractionKernel::stagedType(const OperandLayout& layout,
                                    const std::optional<Prologue>& prologue) const {
    if (!m_plain)
        return DType::Float32;
    return prologue ? prologue->tape.type(prologue->tape.outputs[0]) : layout.dtype;
}

/// The operand as the engine sees it; `packed` in an order that every engine takes.
void ContractionKernel::stage(const PrepareContext& context, bool isA, bool packed) {
    Access& access = isA ? m_program.a : m_program.b;
    const std::optional<Prologue>& prologue = isA ? m_program.prologueA : m_program.prologueB;
    OperandLayout& layout = isA ? m_a : m_b;
    access = isA ? m_readA : m_readB;
    layout = context.inputs[access.operand];
    (isA ? m_stageA : m_stageB).reset();
    if (!packed && !prologue && (layout.dtype == DType::Float32 || m_plain || m_native))
        return;
    StagedOperand staged =
        stageOperand(m_program, isA, stagedType(layout, prologue), packed, context);
    if (staged.kernel)
        (isA ? m_aRegion : m_bRegion) =
            reserve(static_cast<size_t>(staged.layout.span()) * sizeOf(staged.layout.dtype));
    (isA ? m_stageA : m_stageB) = std::move(staged.kernel);
    access = std::move(staged.access);
    layout = std::move(staged.layout);
}

EngineResult ContractionKernel::engineFor(const PrepareContext& context, const EngineTarget& c,
                                          const MatchedEpilogue& epilogue) const {
    if (m_winograd)
        return makeWinogradEngine(m_program, m_a, m_b, c.at, epilogue, context);
    if (m_stored)
        return makeStoredWeightsEngine(m_program, m_a, m_b, c, epilogue, *m_stored, context);
    return m_program.kind == Contraction::Kind::MatMul
               ? makeMatMulEngine(m_program, m_a, m_b, c, epilogue, context.threads.pages())
               : makeConvolutionEngine(m_program, m_a, m_b, c, epilogue, context.threads.pages());
}

/// Each once: packed operands may be refused for the same reason.
void ContractionKernel::addFallback(Reason reason) {
    for (const Reason& known : fallbacks)
        if (known.message == reason.message)
            return;
    fallbacks.push_back(std::move(reason));
}

bool ContractionKernel::accept(EngineResult result, bool allowSlow) {
    if (auto* reason = std::get_if<Reason>(&result)) {
        addFallback(std::move(*reason));
        return false;
    }
    auto& engine = std::get<std::unique_ptr<ContractionEngine>>(result);
    if (engine->slow && !allowSlow) {
        Reason slower{"split",
                      "runs as 2 passes, since oneDNN's only 1 here is slower: " +
                          engine->implementation,
                      {},
                      {}};
        addFallback(std::move(slower));
        return false;
    }
    m_engine = std::move(engine);
    return true;
}

/// Dense memory of the accumulator's own: channels last for convolutions.
OperandLayout ContractionKernel::accumulatorLayout() const {
    OperandLayout out{DType::Float32, m_program.space, rowMajorStrides(m_program.space), nullptr};
    if (m_program.kind != Contraction::Kind::MatMul)
        out.strides = channelsLast(m_program.space);
    return out;
}

/// Whether sums may be written where the epilogue's only result goes, to become it there.
bool ContractionKernel::liesAsOutput(const OperandLayout& c) const {
    if (m_program.poolWindow || m_program.epilogue.writes.size() != 1 ||
        m_output.dtype != c.dtype || m_output.span() != c.span())
        return false;
    const StridedAccess write =
        stridedFor(m_program.epilogue.writes[0], m_output, m_program.space.size());
    bool same = write.offset == 0;
    for (size_t d = 0; d < m_program.space.size(); ++d)
        same = same && (m_program.space[d] == 1 || write.strides[d] == c.strides[d]);
    return same;
}

/// The planner may put a result where an operand was that nothing reads later.
bool ContractionKernel::isOutputFree(const Operands& operands) const {
    const std::byte* out = operands.outputs[m_program.epilogue.writes[0].operand];
    const std::byte* end = out + m_output.span() * static_cast<int64_t>(sizeOf(m_output.dtype));
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        const std::byte* in = operands.inputs[i];
        if (in && in < end &&
            out < in + m_inputs[i].span() * static_cast<int64_t>(sizeOf(m_inputs[i].dtype)))
            return false;
    }
    return true;
}

void ContractionKernel::addPass(const PrepareContext& context, const Tape& tape,
                                const std::vector<Access>& reads,
                                const OperandLayout& accumulator) {
    Pointwise pass;
    pass.space = m_program.space;
    pass.tape = tape;
    auto operand = static_cast<uint32_t>(context.inputs.size());
    pass.reads.push_back(identityAccess(operand, m_program.space.size()));
    pass.reads.insert(pass.reads.end(), reads.begin(), reads.end());
    pass.writes = m_program.epilogue.writes;
    PrepareContext inner{context.inputs, context.outputs, context.table, context.threads,
                         context.allowed};
    inner.inputs.push_back(accumulator);
    if (m_program.poolWindow) {
        inner.outputs = {m_output};
        pass.writes = {identityAccess(0, m_program.space.size())};
    }
    m_pass = preparePointwise(pass, inner);
}

void ContractionKernel::addSumCopy(const PrepareContext& context, const OperandLayout& c) {
    if (!m_engine->sumRead)
        return;
    const Access& read = m_program.epilogue.reads[*m_engine->sumRead];
    const OperandLayout& from = context.inputs[read.operand];
    size_t dims = m_program.space.size();
    Pointwise copy{
        m_program.space, {read}, castTape(from.dtype, c.dtype), {identityAccess(0, dims)}};
    PrepareContext inner{context.inputs, {c}, context.table, context.threads, context.allowed};
    m_sumCopy = preparePointwise(copy, inner);
    StridedAccess at = stridedFor(read, from, dims);
    m_sumInPlace = from.dtype == c.dtype && at.offset == 0;
    for (size_t d = 0; d < dims; ++d)
        m_sumInPlace = m_sumInPlace && (m_program.space[d] == 1 || at.strides[d] == c.strides[d]);
}

/// `straight`: results may go where they belong, else first to memory where they lie together.
bool ContractionKernel::tryMatched(const PrepareContext& context, bool straight) {
    auto matched = matchEpilogue(m_program.epilogue.tape, context.epilogueInputs(m_program));
    if (auto* reason = std::get_if<Reason>(&matched)) {
        addFallback(std::move(*reason));
        return false;
    }
    const auto& epilogue = std::get<MatchedEpilogue>(matched);
    if (wastesLanes(m_program, epilogue))
        return false;
    if (epilogue.numeric > context.allowed) {
        addFallback({"numeric-class", "post-ops compute in another order", {}, {}});
        return false;
    }
    const bool sums = std::any_of(epilogue.postOps.begin(), epilogue.postOps.end(),
                                  [](const PostOp& op) { return op.kind == PostOp::Kind::Sum; });
    if (sums && hasEmptyWindow(m_program, m_a.extents)) {
        addFallback({"support", "oneDNN adds nothing where a window holds padding only", {}, {}});
        return false;
    }
    size_t dims = m_program.space.size();
    const Access& write =
        m_program.poolWindow ? identityAccess(0, dims) : m_program.epilogue.writes[0];
    StridedAccess direct = stridedFor(write, m_output, dims);
    const bool stores =
        m_output.dtype == DType::Float32 || (m_native && m_output.dtype == m_a.dtype);
    if (straight && stores && direct.offset == 0) {
        if (accept(engineFor(context, {direct, m_output.dtype}, epilogue), false)) {
            numeric = epilogue.numeric;
            m_cIsOutput = !m_program.poolWindow;
            addSumCopy(context, {m_output.dtype, m_program.space, direct.strides, nullptr});
            if (m_program.poolWindow)
                m_cRegion = m_resultRegion;
            return true;
        }
    }
    OperandLayout own = accumulatorLayout();
    if (!accept(engineFor(context, {{0, own.strides}}, epilogue), false))
        return false;
    numeric = epilogue.numeric;
    m_cRegion = reserve(static_cast<size_t>(own.span()) * sizeof(float));
    addSumCopy(context, own);
    DType result = m_program.epilogue.tape.type(m_program.epilogue.tape.outputs[0]);
    addPass(context, castTape(DType::Float32, result), {}, own);
    return true;
}

void ContractionKernel::useBare(const PrepareContext& context, bool allowSlow) {
    OperandLayout own = accumulatorLayout();
    if (!accept(engineFor(context, {{0, own.strides}}, {}), allowSlow))
        return;
    m_cRegion = reserve(static_cast<size_t>(own.span()) * sizeof(float));
    m_cMayBeOutput = liesAsOutput(own);
    addPass(context, m_program.epilogue.tape, m_program.epilogue.reads, own);
}

void ContractionKernel::usePlain(const PrepareContext& context) {
    m_loops = makePlainContraction(m_program, m_a, m_b, context);
    m_engineRegion = reserve(m_loops->scratchBytes, false);
    OperandLayout own{m_program.accumulate, m_program.space, rowMajorStrides(m_program.space),
                      nullptr};
    m_cRegion = reserve(static_cast<size_t>(own.span()) * sizeOf(own.dtype));
    addPass(context, m_program.epilogue.tape, m_program.epilogue.reads, own);
}

void ContractionKernel::addPool(const PrepareContext& context) {
    const OperandLayout& result = context.outputs[0];
    size_t dims = m_program.poolSpace.size();
    auto poolTo = [&](const Extents& strides) {
        return makePool(m_program.poolKind, *m_program.poolWindow, m_program.space,
                        m_output.strides, m_program.poolSpace, strides, context);
    };
    const StridedAccess direct = stridedFor(m_program.epilogue.writes[0], result, dims);
    if (result.dtype == DType::Float32 && direct.offset == 0)
        m_pool = poolTo(direct.strides);
    if (m_pool)
        return;
    OperandLayout pooled{DType::Float32, m_program.poolSpace,
                         denseLike(m_program.poolSpace, m_output.strides), nullptr};
    m_pool = poolTo(pooled.strides);
    Pointwise store{m_program.poolSpace,
                    {identityAccess(0, dims)},
                    castTape(DType::Float32, result.dtype),
                    m_program.epilogue.writes};
    m_pooledStore = preparePointwise(
        store, {{pooled}, {result}, context.table, context.threads, context.allowed});
    m_pooledRegion = reserve(static_cast<size_t>(pooled.span()) * sizeof(float));
}

/// Operands that no engine takes as they lie, or only oneDNN's reference loops, are packed: a copy
/// costs less than such loops. So are those of which an engine says that packed ones are faster,
/// after the results: where only they lie in small matrices, they are copied there in the end.
void ContractionKernel::findEngine(const PrepareContext& context) {
    auto attempt = [&](bool allowSlow, bool straight = true) {
        if (context.strict() || !tryMatched(context, straight))
            useBare(context, allowSlow);
        return m_engine != nullptr;
    };
    const size_t scratch = m_scratchBytes;
    const HiddenWork before = hidden;
    auto stageAnew = [&](bool packA, bool packB) {
        m_engine.reset();
        m_pass.reset();
        m_sumCopy.reset();
        m_cIsOutput = m_cMayBeOutput = m_sumInPlace = false;
        m_scratchBytes = scratch;
        hidden = before;
        numeric = NumericClass::Exact;
        stage(context, true, packA);
        stage(context, false, packB);
    };
    stageAnew(false, false);
    const bool found = attempt(false);
    if (m_native || m_winograd || m_stored || (found && !m_engine->wantsPacked))
        return;
    if (found) {
        stageAnew(false, false);
        if (attempt(false, false) && !m_engine->wantsPacked)
            return;
    }
    for (const auto& [packA, packB] :
         {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
        stageAnew(packA, packB);
        if (attempt(false) && !(found && m_engine->wantsPacked))
            return;
    }
    stageAnew(false, false);
    attempt(!found);
}

std::optional<Reason> ContractionKernel::prepare(const PrepareContext& context) {
    auto elementOf = [&](const Access& access, const std::optional<Prologue>& prologue) {
        return prologue ? prologue->tape.type(prologue->tape.outputs[0])
                        : context.inputs[access.operand].dtype;
    };
    const DType a = elementOf(m_program.a, m_program.prologueA);
    const DType b = elementOf(m_program.b, m_program.prologueB);
    bool narrow = m_program.accumulate == DType::Float32 && isFloat(a) && isFloat(b) &&
                  a != DType::Float64 && b != DType::Float64;
    m_plain = !narrow;
    m_output = m_program.poolWindow ? accumulatorLayout() : context.outputs[0];
    if (m_program.poolWindow) {
        DType result = m_program.epilogue.tape.type(m_program.epilogue.tape.outputs[0]);
        if (!narrow || laneOf(result) != Lane::F32 || laneOf(context.outputs[0].dtype) != Lane::F32)
            return Reason{"dtype", "pooling of this type", {}, {}};
        m_program.epilogue.tape = withFloatResult(std::move(m_program.epilogue.tape));
        m_resultRegion = reserve(static_cast<size_t>(m_output.span()) * sizeof(float));
        addPool(context);
        if (!m_pool)
            return Reason{"support", "no kernel for such a window", {}, {}};
    }
    if (narrow) {
        findEngine(context);
    } else {
        stage(context, true);
        stage(context, false);
    }
    if (!m_engine && (m_native || m_stored))
        return Reason{"support", "no such operands are multiplied as they are stored", {}, {}};
    if (!m_engine && m_winograd)
        return Reason{"support", "no minimal filtering for these layouts", {}, {}};
    if (!m_engine) {
        usePlain(context);
        isFallback = m_loops->isFallback;
        tactic = m_loops->tactic;
    } else {
        m_engineRegion = reserve(m_engine->scratchBytes, false);
        tactic = (m_winograd || m_stored ? "" : "onednn ") + m_engine->implementation;
        isFallback = m_engine->implementation.find("ref") != std::string::npos;
        if (m_pass)
            tactic += " + tile interpreter";
    }
    if (m_pool) {
        tactic += " + " + m_pool->implementation;
        Region region = reserve(m_pool->scratchBytes, false);
        m_engineRegion = region.bytes > m_engineRegion.bytes ? region : m_engineRegion;
    }
    return std::nullopt;
}

void ContractionKernel::run(const Operands& operands, RunContext& context) {
    std::byte* scratch = context.threads.stepScratch().reserve(m_scratchBytes);
    auto operandOf = [&](const Access& access, std::unique_ptr<Kernel>& staging, Region region) {
        if (!staging)
            return operands.inputs[access.operand];
        RunContext inner{context.threads};
        staging->run({operands.inputs, {scratch + region.at}}, inner);
        return static_cast<const std::byte*>(scratch + region.at);
    };
    ContractionEngine::Arguments arguments;
    arguments.a = operandOf(m_program.a, m_stageA, m_aRegion);
    arguments.b = operandOf(m_program.b, m_stageB, m_bRegion);
    if (m_a.constant)
        arguments.a = m_a.constant->bytes();
    if (m_b.constant)
        arguments.b = m_b.constant->bytes();
    const bool toOutput = m_cIsOutput || (m_cMayBeOutput && isOutputFree(operands));
    arguments.c =
        toOutput ? operands.outputs[m_program.epilogue.writes[0].operand] : scratch + m_cRegion.at;
    if (m_loops) {
        m_loops->run(arguments.a, arguments.b, arguments.c, scratch + m_engineRegion.at,
                     context.threads);
    } else {
        for (const Access& read : m_program.epilogue.reads) {
            StridedAccess at = stridedFor(read, m_inputs[read.operand], m_program.space.size());
            auto bytes = static_cast<int64_t>(sizeOf(m_inputs[read.operand].dtype));
            arguments.reads.push_back(operands.inputs[read.operand] + at.offset * bytes);
        }
        if (m_sumCopy && !(m_sumInPlace && arguments.reads[*m_engine->sumRead] == arguments.c)) {
            RunContext inner{context.threads};
            m_sumCopy->run({operands.inputs, {arguments.c}}, inner);
        }
        m_engine->run(arguments, scratch + m_engineRegion.at);
    }
    if (m_pass) {
        Operands inner = operands;
        inner.inputs.push_back(arguments.c);
        if (m_pool)
            inner.outputs = {scratch + m_resultRegion.at};
        RunContext passContext{context.threads};
        m_pass->run(inner, passContext);
    }
    if (m_pool) {
        std::byte* output = operands.outputs[m_program.epilogue.writes[0].operand];
        std::byte* pooled = m_pooledStore ? scratch + m_pooledRegion.at : output;
        m_pool->run(scratch + m_resultRegion.at, pooled, scratch + m_engineRegion.at);
        if (m_pooledStore) {
            RunContext inner{context.threads};
            m_pooledStore->run({{pooled}, {output}}, inner);
        }
    }
}

/// Whether the operands are of a 16-bit type that needs no widening here.
bool canBeNative(const Contraction& program, const PrepareContext& context) {
    const DType type = context.inputs[program.a.operand].dtype;
    return !context.strict() && type != DType::Float32 && multipliesNatively(type) &&
           context.inputs[program.b.operand].dtype == type &&
           program.accumulate == DType::Float32 && !program.prologueA && !program.prologueB;
}

} // namespace

KernelResult prepareWhole(const Contraction& program, const PrepareContext& context,
                          bool winograd) {
    std::optional<Reason> refused;
    const bool mayBeNative = !winograd && canBeNative(program, context);
    for (bool native : {true, false}) {
        if (native && !mayBeNative)
            continue;
        auto kernel =
            std::make_unique<ContractionKernel>(program, context, winograd, native, nullptr);
        auto reason = kernel->prepare(context);
        if (!reason) {
            if (refused)
                kernel->fallbacks.push_back(std::move(*refused));
            return std::unique_ptr<Kernel>(std::move(kernel));
        }
        refused = std::move(reason);
    }
    return failure("cpu." + refused->code, refused->message);
}

KernelResult prepareStored(const Contraction& program, const PrepareContext& context,
                           const StoredWeights& weights) {
    auto kernel = std::make_unique<ContractionKernel>(program, context, false, false, &weights);
    if (auto reason = kernel->prepare(context))
        return failure("cpu." + reason->code, reason->message);
    kernel->numeric = NumericClass::Reassociated;
    return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace fuselage::cpu
