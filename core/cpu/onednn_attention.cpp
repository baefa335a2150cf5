// SPDX-License-Identifier: Apache-2.0
// Tasks are (batch, block of query rows), or several whole matrices where these are small; each
// runs both products on one thread, with the softmax between them while the scores are in its
// cache. Masks go into the softmax; a function of the scores or a factor for each, and what stands
// before it, is a tape that runs over their rows first.
#include "core/cpu/attention.h"
#include "core/cpu/onednn_internal.h"
#include "core/cpu/score_tape.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

/// One operand as batches of matrices.
struct Matrices {
    uint32_t operand = 0;
    StridedAccess access;          ///< over [batch..., rows, columns]
    std::unique_ptr<Kernel> stage; ///< copies it to dense memory first
    size_t stagedAt = 0;

    int64_t rowStride() const { return access.strides[access.strides.size() - 2]; }

    int64_t colStride() const { return access.strides.back(); }
};

/// Products of one size, of so many matrices one after the other, with what each worker needs to
/// run them.
struct Product {
    dnnl::matmul primitive;
    memory::desc a, b, c, scratchpad;

    Product() = default;

    Product(int64_t count, int64_t m, int64_t k, int64_t n, const Extents& aStrides,
            const Extents& bStrides, const Extents& cStrides)
        : a(matrices(count, m, k, aStrides)), b(matrices(count, k, n, bStrides)),
          c(matrices(count, m, n, cStrides)) {
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        dnnl::matmul::primitive_desc pd({a, b, c}, attributes, engine());
        primitive = dnnl::matmul(pd);
        scratchpad = pd.scratchpad_desc();
        implementation = pd.impl_info_str();
    }

    using Memories = std::unordered_map<int, memory>;

    /// Objects for the addresses of a run: making them takes longer than a small product.
    Memories memories() const {
        auto of = [](const memory::desc& desc) { return memory(desc, engine(), nullptr); };
        return {{DNNL_ARG_SRC, of(a)},
                {DNNL_ARG_WEIGHTS, of(b)},
                {DNNL_ARG_DST, of(c)},
                {DNNL_ARG_SCRATCHPAD, of(scratchpad)}};
    }

    void run(Memories& memories, const float* x, const float* y, float* z,
             std::byte* scratch) const {
        memories.at(DNNL_ARG_SRC).set_data_handle(const_cast<float*>(x));
        memories.at(DNNL_ARG_WEIGHTS).set_data_handle(const_cast<float*>(y));
        memories.at(DNNL_ARG_DST).set_data_handle(z);
        memories.at(DNNL_ARG_SCRATCHPAD).set_data_handle(scratch);
        execute(primitive, memories);
    }

    std::string implementation;

private:
    static memory::desc matrices(int64_t count, int64_t rows, int64_t cols,
                                 const Extents& strides) {
        if (count == 1)
            return describe({rows, cols}, strides, DType::Float32);
        return describe({count, rows, cols}, {rows * cols, strides[0], strides[1]}, DType::Float32);
    }
};

/// How the rows of one step's mask lie; those that are no float32 or bool side by side are loaded
/// first.
struct MaskOperand {
    StridedAccess access; ///< over [batch..., L, S]
    DType dtype = DType::Float32;
    bool inPlace = false;
    size_t loadedAt = 0; ///< byte in the scratch of a task
};

/// Where a batch begins, in elements.
int64_t offset(const StridedAccess& access, const Extents& batch) {
    int64_t at = access.offset;
    for (size_t d = 0; d < batch.size(); ++d)
        at += batch[d] * access.strides[d];
    return at;
}

class AttentionKernel final : public Kernel {
public:
    AttentionKernel(const Attention& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    Matrices matrices(const Access& access, int64_t rows, int64_t cols,
                      const PrepareContext& context);
    /// What one thread runs the products with.
    struct Arguments {
        std::atomic_flag inUse = ATOMIC_FLAG_INIT;
        Product::Memories scores[2], results[2];
    };

    void fill(Arguments& arguments) const;
    void chooseTasks(int threads);
    Extents batchAt(int64_t number) const;
    void runTask(const Operands& operands, std::byte* step, std::byte* scratch, size_t task,
                 Arguments& arguments) const;
    SoftmaxRows::Mask maskAt(size_t number, const Operands& operands, const Extents& batch,
                             int64_t first, int64_t rows, std::byte* loaded) const;
    void loadSinks(const Operands& operands, const Extents& batch, int64_t first, int64_t rows,
                   float* sinks) const;

    static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

    Attention m_program;
    const VectorTable& m_table;
    ScoreTape m_scoreTape;
    Matrices m_q, m_k, m_v;
    StridedAccess m_output, m_sink;
    DType m_outputType = DType::Float32, m_sinkType = DType::Float32;
    std::vector<MaskOperand> m_masks; ///< by step
    bool m_packs = false;             ///< operands lie densely, matrix after matrix
    int64_t m_blockRows = 0, m_lastRows = 0, m_blocks = 0, m_tasks = 0, m_scoreStride = 0;
    int64_t m_batches = 0, m_matrices = 1; ///< in all, of a task; several only of one block
    Product m_scores[2], m_results[2];     ///< of a full task, of the last one
    std::vector<std::unique_ptr<Arguments>> m_arguments; ///< by worker
    size_t m_stagedBytes = 0, m_workerBytes = 0, m_scratchpadBytes = 0, m_tapeAt = 0;
};

/// oneDNN multiplies small matrices fastest where they lie densely, and several in one call. The
/// copies cost more than that where keys are read for few rows only, and as much from 88 rows and
/// keys of 64 on.
bool isWorthPacking(const Attention& program) {
    constexpr int64_t mostScores = 80 * 80, fewestUses = 3;
    return program.l <= mostScores && program.s <= mostScores &&
           program.l * program.s <= mostScores &&
           program.l * program.s >= fewestUses * (program.l + program.s);
}

/// Dense float copies of 16-bit operands, where neither rows nor columns are contiguous, of what is
/// read backwards, and where the kernel packs.
Matrices AttentionKernel::matrices(const Access& access, int64_t rows, int64_t cols,
                                   const PrepareContext& context) {
    Extents space = m_program.batch;
    space.insert(space.end(), {rows, cols});
    Matrices out;
    out.operand = access.operand;
    out.access = stridedFor(access, context.inputs[access.operand], space.size());
    const DType dtype = context.inputs[access.operand].dtype;
    OperandLayout dense{DType::Float32, space, rowMajorStrides(space), nullptr};
    const bool contiguous = out.colStride() == 1 || out.rowStride() == 1 || cols == 1;
    const bool isBackwards = std::any_of(out.access.strides.begin(), out.access.strides.end(),
                                         [](int64_t stride) { return stride < 0; });
    bool packed = true;
    for (size_t d = 0; d < space.size(); ++d)
        packed = packed && (space[d] == 1 || out.access.strides[d] == dense.strides[d]);
    if (dtype == DType::Float32 && (packed || (contiguous && !isBackwards && !m_packs))) {
        if (packed)
            out.access.strides = dense.strides;
        return out;
    }
    TapeBuilder builder;
    Pointwise copy{space, {access}, {}, {identityAccess(0, space.size())}};
    Scalar element = builder.input(dtype);
    copy.tape = builder.finish({dtype == DType::Float32 ? element : cast(element, DType::Float32)});
    out.stage = preparePointwise(
        copy, {context.inputs, {dense}, context.table, context.threads, context.allowed});
    out.stagedAt = m_stagedBytes;
    m_stagedBytes += aligned(static_cast<size_t>(dense.span()) * sizeof(float));
    out.access = {0, dense.strides};
    return out;
}

void AttentionKernel::fill(Arguments& arguments) const {
    for (int i = 0; i < 2; ++i) {
        arguments.scores[i] = m_scores[i].memories();
        arguments.results[i] = m_results[i].memories();
    }
}

/// Scores of a task stay in the second-level cache; small problems still make enough tasks.
void AttentionKernel::chooseTasks(int threads) {
    const int64_t parts = threads == 1 ? 1 : 2 * threads;
    const int64_t mostScores = 65536;
    int64_t most = std::max<int64_t>(64, mostScores / std::max<int64_t>(m_program.s, 1));
    if (m_batches < parts)
        most = std::min(most, std::max<int64_t>(32, m_program.l * m_batches / parts));
    m_blocks = (m_program.l + most - 1) / most;
    m_blockRows = (m_program.l + m_blocks - 1) / m_blocks;
    m_blocks = (m_program.l + m_blockRows - 1) / m_blockRows;
    m_lastRows = m_program.l - (m_blocks - 1) * m_blockRows;
    m_tasks = m_batches * m_blocks;
    if (m_blocks > 1 || !m_packs || m_batches == 0)
        return;
    m_matrices = std::clamp<int64_t>(mostScores / (m_program.l * m_program.s), 1,
                                     (m_batches + parts - 1) / parts);
    m_tasks = (m_batches + m_matrices - 1) / m_matrices;
}

AttentionKernel::AttentionKernel(const Attention& program, const PrepareContext& context)
    : m_program(program), m_table(context.table), m_scoreTape(program, context.table),
      m_packs(isWorthPacking(program)) {
    size_t dims = program.batch.size() + 2;
    m_q = matrices(program.q, program.l, program.d, context);
    m_k = matrices(program.k, program.s, program.d, context);
    m_v = matrices(program.v, program.s, program.e, context);
    m_output = stridedFor(program.output, context.outputs[program.output.operand], dims);
    m_outputType = context.outputs[program.output.operand].dtype;
    m_batches = std::accumulate(program.batch.begin(), program.batch.end(), int64_t{1},
                                std::multiplies<>());
    chooseTasks(context.threads.count());
    m_scoreStride =
        m_packs ? program.s : static_cast<int64_t>(roundUpToGroup(static_cast<size_t>(program.s)));
    for (int i = 0; i < 2; ++i) {
        const int64_t rows = i == 0 ? m_blockRows : m_lastRows;
        const int64_t count =
            i == 0 || m_matrices == 1 ? m_matrices : m_batches - (m_tasks - 1) * m_matrices;
        m_scores[i] = Product(count, rows, program.d, program.s, {m_q.rowStride(), m_q.colStride()},
                              {m_k.colStride(), m_k.rowStride()}, {m_scoreStride, 1});
        m_results[i] = Product(count, rows, program.s, program.e, {m_scoreStride, 1},
                               {m_v.rowStride(), m_v.colStride()}, {program.e, 1});
        m_scratchpadBytes = std::max({m_scratchpadBytes, m_scores[i].scratchpad.get_size(),
                                      m_results[i].scratchpad.get_size()});
    }
    for (int i = 0; i < context.threads.count(); ++i)
        fill(*m_arguments.emplace_back(std::make_unique<Arguments>()));
    auto rows = static_cast<size_t>(m_blockRows * m_matrices);
    auto stride = static_cast<size_t>(m_scoreStride);
    m_workerBytes = aligned(rows * stride * 4) + aligned(rows * 4) +
                    aligned(rows * static_cast<size_t>(program.e) * 4) + aligned(m_scratchpadBytes);
    if (program.sink)
        m_workerBytes += aligned(static_cast<size_t>(m_blockRows) * 4);
    m_tapeAt = m_workerBytes;
    m_workerBytes += aligned(m_scoreTape.bytes());
    if (program.sink && program.sink->read) {
        const OperandLayout& operand = context.inputs[program.sink->read->operand];
        m_sink = stridedFor(*program.sink->read, operand, dims);
        m_sinkType = operand.dtype;
    }
    for (const ScoreStep& step : program.steps) {
        MaskOperand& made = m_masks.emplace_back();
        if (!step.reads())
            continue;
        const OperandLayout& operand = context.inputs[step.access.operand];
        made.access = stridedFor(step.access, operand, dims);
        made.dtype = operand.dtype;
        made.inPlace = made.access.strides.back() == 1 &&
                       (made.dtype == DType::Float32 || made.dtype == DType::Bool);
        made.loadedAt = m_workerBytes;
        m_workerBytes += made.inPlace ? 0 : aligned(rows * stride * 4);
    }
    // Scores of a block stay in a cache; operands that are staged are values.
    hidden.scratchBytes = static_cast<int64_t>(
        m_stagedBytes + m_workerBytes * static_cast<size_t>(context.threads.count()));
    hidden.passedBytes = static_cast<int64_t>(m_stagedBytes);
    for (const Matrices* x : {&m_q, &m_k, &m_v})
        hidden.values += x->stage ? 1 : 0;
    tactic = "onednn " + m_scores[0].implementation + " + softmax + " + m_results[0].implementation;
}

void AttentionKernel::run(const Operands& operands, RunContext& context) {
    std::byte* step = context.threads.stepScratch().reserve(m_stagedBytes);
    RunContext inner{context.threads};
    for (const Matrices* x : {&m_q, &m_k, &m_v})
        if (x->stage)
            x->stage->run({operands.inputs, {step + x->stagedAt}}, inner);
    context.threads.forRange(
        static_cast<size_t>(m_tasks), 1, [&](size_t worker, size_t begin, size_t end) {
            std::byte* scratch = context.threads.scratch(worker).reserve(m_workerBytes);
            Arguments* kept = worker < m_arguments.size() ? m_arguments[worker].get() : nullptr;
            // Runs at the same time each need their own.
            const bool isFree = kept && !kept->inUse.test_and_set(std::memory_order_acquire);
            std::optional<Arguments> own;
            if (!isFree)
                fill(own.emplace());
            for (size_t task = begin; task < end; ++task)
                runTask(operands, step, scratch, task, isFree ? *kept : *own);
            if (isFree)
                kept->inUse.clear(std::memory_order_release);
        });
}

Extents AttentionKernel::batchAt(int64_t number) const {
    Extents out(m_program.batch.size());
    for (size_t d = out.size(); d-- > 0;) {
        out[d] = number % m_program.batch[d];
        number /= m_program.batch[d];
    }
    return out;
}

void AttentionKernel::runTask(const Operands& operands, std::byte* step, std::byte* scratch,
                              size_t task, Arguments& arguments) const {
    const auto number = static_cast<int64_t>(task);
    const int64_t block = number % m_blocks;
    const int64_t firstMatrix = number / m_blocks * m_matrices;
    const int64_t count = std::min(m_matrices, m_batches - firstMatrix);
    const int64_t first = block * m_blockRows;
    const bool last = m_matrices == 1 ? block == m_blocks - 1 : number == m_tasks - 1;
    const int64_t rows = block == m_blocks - 1 ? m_lastRows : m_blockRows;
    auto data = [&](const Matrices& x) {
        const std::byte* base = x.stage ? step + x.stagedAt : operands.inputs[x.operand];
        return reinterpret_cast<const float*>(base) + offset(x.access, batchAt(firstMatrix));
    };
    std::byte* free = scratch;
    auto take = [&](size_t bytes) {
        std::byte* out = free;
        free += aligned(bytes);
        return reinterpret_cast<float*>(out);
    };
    auto mostRows = static_cast<size_t>(m_blockRows * m_matrices);
    auto stride = static_cast<size_t>(m_scoreStride);
    auto width = static_cast<size_t>(m_program.e);
    float* scores = take(mostRows * stride * 4);
    float* sums = take(mostRows * 4);
    float* results = take(mostRows * width * 4);
    float* sinks = m_program.sink ? take(static_cast<size_t>(m_blockRows) * 4) : nullptr;

    m_scores[last].run(arguments.scores[last], data(m_q) + first * m_q.rowStride(), data(m_k),
                       scores, free);
    std::vector<SoftmaxRows::Mask> masks;
    for (int64_t matrix = 0; matrix < count; ++matrix) {
        const Extents batch = batchAt(firstMatrix + matrix);
        masks.clear();
        for (size_t i = 0; i < m_masks.size(); ++i)
            masks.push_back(maskAt(i, operands, batch, first, rows, scratch + m_masks[i].loadedAt));
        const auto at = static_cast<size_t>(matrix * rows);
        const size_t done = m_scoreTape.steps();
        if (sinks)
            loadSinks(operands, batch, first, rows, sinks);
        const SoftmaxRows work{.scores = scores + at * stride,
                               .rows = static_cast<size_t>(rows),
                               .cols = static_cast<size_t>(m_program.s),
                               .stride = stride,
                               .scale = done > 0 ? 1 : static_cast<float>(m_program.scale),
                               .masks = masks.data() + done,
                               .maskCount = masks.size() - done,
                               .sinks = sinks,
                               .sums = sums + at};
        if (done > 0)
            m_scoreTape.run(work, masks.data(), scratch + m_tapeAt);
        m_table.softmax(work);
    }
    m_results[last].run(arguments.results[last], scores, data(m_v), results, free);

    auto multiply = m_table.op[static_cast<size_t>(TapeOp::Mul)][static_cast<size_t>(Lane::F32)][1];
    for (size_t r = 0; r < static_cast<size_t>(rows * count); ++r) {
        float inverse = 1 / sums[r];
        float* row = results + r * width;
        if (m_program.zeroesNan && !(sums[r] > 0)) {
            std::fill_n(row, width, 0.0F);
            continue;
        }
        size_t whole = width / laneGroup * laneGroup;
        if (whole > 0)
            multiply(row, row, &inverse, nullptr, whole);
        for (size_t i = whole; i < width; ++i)
            row[i] *= inverse;
    }
    auto store = m_table.store[static_cast<size_t>(m_outputType)];
    size_t dims = m_output.strides.size();
    for (int64_t matrix = 0; matrix < count; ++matrix) {
        std::byte* target =
            operands.outputs[m_program.output.operand] +
            (offset(m_output, batchAt(firstMatrix + matrix)) + first * m_output.strides[dims - 2]) *
                static_cast<int64_t>(sizeOf(m_outputType));
        store(target, results + static_cast<size_t>(matrix * rows) * width,
              static_cast<size_t>(rows), width, m_output.strides[dims - 2],
              m_output.strides[dims - 1]);
    }
}

void AttentionKernel::loadSinks(const Operands& operands, const Extents& batch, int64_t first,
                                int64_t rows, float* sinks) const {
    if (!m_program.sink->read) {
        std::fill_n(sinks, rows, static_cast<float>(m_program.sink->number));
        return;
    }
    const int64_t rowStride = m_sink.strides[batch.size()];
    const int64_t at =
        (offset(m_sink, batch) + first * rowStride) * static_cast<int64_t>(sizeOf(m_sinkType));
    m_table.load[static_cast<size_t>(m_sinkType)](
        sinks, operands.inputs[m_program.sink->read->operand] + at, 1, static_cast<size_t>(rows), 0,
        rowStride);
}

SoftmaxRows::Mask AttentionKernel::maskAt(size_t number, const Operands& operands,
                                          const Extents& batch, int64_t first, int64_t rows,
                                          std::byte* loaded) const {
    const MaskOperand& operand = m_masks[number];
    const ScoreStep& mask = m_program.steps[number];
    if (!mask.reads())
        return {};
    const Extents& strides = operand.access.strides;
    const int64_t rowStride = strides[batch.size()];
    const int64_t at = offset(operand.access, batch) + first * rowStride;
    const std::byte* source =
        operands.inputs[mask.access.operand] + at * static_cast<int64_t>(sizeOf(operand.dtype));
    SoftmaxRows::Mask out;
    out.fill = static_cast<float>(mask.fill);
    out.hides = mask.kind == ScoreStep::Kind::KeepWhereFalse ? 1 : 0;
    out.stride = rowStride;
    if (!operand.inPlace) {
        // Rows that all read the same mask share one.
        const size_t count = rowStride == 0 ? 1 : static_cast<size_t>(rows);
        m_table.load[static_cast<size_t>(operand.dtype)](
            loaded, source, count, static_cast<size_t>(m_program.s), rowStride, strides.back());
        source = loaded;
        out.stride = rowStride == 0 ? 0 : m_program.s;
    }
    if (mask.kind == ScoreStep::Kind::Add || mask.kind == ScoreStep::Kind::Multiply)
        out.add = reinterpret_cast<const float*>(source);
    else
        out.condition = reinterpret_cast<const uint8_t*>(source);
    return out;
}

} // namespace

std::optional<Reason> unsupportedAttention(const KernelProgram& program) {
    const auto& attention = std::get<Attention>(program.code);
    auto isInFloat = [](const OperandType& operand) { return laneOf(operand.dtype) == Lane::F32; };
    bool plain = isInFloat(program.outputs[attention.output.operand]);
    for (const Access* access : {&attention.q, &attention.k, &attention.v})
        plain = plain && isInFloat(program.inputs[access->operand]);
    for (const ScoreStep& step : attention.steps) {
        if (!step.reads())
            continue;
        const DType dtype = program.inputs[step.access.operand].dtype;
        const bool isNumber =
            step.kind == ScoreStep::Kind::Add || step.kind == ScoreStep::Kind::Multiply;
        plain = plain && (isNumber ? laneOf(dtype) == Lane::F32 : dtype == DType::Bool);
    }
    if (attention.sink && attention.sink->read)
        plain = plain && isInFloat(program.inputs[attention.sink->read->operand]);
    if (!plain)
        return Reason{"dtype",
                      "attention runs on float32 and 16-bit operands",
                      "run the model in float32",
                      {}};
    if (attention.l == 0 || attention.s == 0 || attention.d == 0 || attention.e == 0)
        return Reason{"shape-mismatch", "attention without rows, keys or depth", {}, {}};
    return ScoreTape::unsupported(attention);
}

KernelResult prepareAttention(const Attention& program, const PrepareContext& context) {
    try {
        return std::unique_ptr<Kernel>(std::make_unique<AttentionKernel>(program, context));
    } catch (const dnnl::error& error) {
        return failure("cpu.support", std::string("oneDNN matmul: ") + error.what());
    }
}

} // namespace fuselage::cpu
