// SPDX-License-Identifier: Apache-2.0
// Tasks are (batch, block of query rows); each runs both products on one thread, with the softmax
// between them while the scores are in its cache.
#include "core/cpu/attention.h"
#include "core/cpu/onednn_internal.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>
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

/// A product of one size with what each worker needs to run it.
struct Product {
    dnnl::matmul primitive;
    memory::desc a, b, c, scratchpad;

    Product() = default;

    Product(int64_t m, int64_t k, int64_t n, Extents aStrides, Extents bStrides, Extents cStrides)
        : a(describe({m, k}, aStrides, DType::Float32)),
          b(describe({k, n}, bStrides, DType::Float32)),
          c(describe({m, n}, cStrides, DType::Float32)) {
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        dnnl::matmul::primitive_desc pd({a, b, c}, attributes, engine());
        primitive = dnnl::matmul(pd);
        scratchpad = pd.scratchpad_desc();
        implementation = pd.impl_info_str();
    }

    void run(const float* x, const float* y, float* z, std::byte* scratch) const {
        auto at = [](const memory::desc& desc, const void* data) {
            return memory(desc, engine(), const_cast<void*>(data));
        };
        execute(primitive, {{DNNL_ARG_SRC, at(a, x)},
                            {DNNL_ARG_WEIGHTS, at(b, y)},
                            {DNNL_ARG_DST, at(c, z)},
                            {DNNL_ARG_SCRATCHPAD, at(scratchpad, scratch)}});
    }

    std::string implementation;
};

/// How the rows of one mask lie; those that are no float32 or bool side by side are loaded first.
struct MaskOperand {
    StridedAccess access; ///< over [batch..., L, S]
    DType dtype = DType::Float32;
    bool inPlace = false;
    size_t loadedAt = 0; ///< byte in the scratch of a task
};

class AttentionKernel final : public Kernel {
public:
    AttentionKernel(const Attention& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    Matrices matrices(const Access& access, int64_t rows, int64_t cols,
                      const PrepareContext& context);
    void runTask(const Operands& operands, std::byte* step, std::byte* scratch, size_t task) const;
    SoftmaxRows::Mask maskAt(size_t number, const Operands& operands, const Extents& batch,
                             int64_t first, int64_t rows, std::byte* loaded) const;

    static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

    Attention m_program;
    const VectorTable& m_table;
    Matrices m_q, m_k, m_v;
    StridedAccess m_output;
    DType m_outputType = DType::Float32;
    std::vector<MaskOperand> m_masks;
    int64_t m_blockRows = 0, m_lastRows = 0, m_blocks = 0, m_tasks = 0, m_scoreStride = 0;
    Product m_scores[2], m_results[2]; ///< of a full block, of the last one
    size_t m_stagedBytes = 0, m_workerBytes = 0, m_scratchpadBytes = 0;
};

/// Dense float copies of 16-bit operands, and where neither rows nor columns are contiguous.
Matrices AttentionKernel::matrices(const Access& access, int64_t rows, int64_t cols,
                                   const PrepareContext& context) {
    Extents space = m_program.batch;
    space.insert(space.end(), {rows, cols});
    Matrices out;
    out.operand = access.operand;
    out.access = stridedFor(access, context.inputs[access.operand], space.size());
    const DType dtype = context.inputs[access.operand].dtype;
    const bool contiguous = out.colStride() == 1 || out.rowStride() == 1 || cols == 1;
    if (contiguous && dtype == DType::Float32)
        return out;
    OperandLayout dense{DType::Float32, space, rowMajorStrides(space), nullptr};
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

AttentionKernel::AttentionKernel(const Attention& program, const PrepareContext& context)
    : m_program(program), m_table(context.table) {
    size_t dims = program.batch.size() + 2;
    m_q = matrices(program.q, program.l, program.d, context);
    m_k = matrices(program.k, program.s, program.d, context);
    m_v = matrices(program.v, program.s, program.e, context);
    m_output = stridedFor(program.output, context.outputs[program.output.operand], dims);
    m_outputType = context.outputs[program.output.operand].dtype;
    int64_t batches = std::accumulate(program.batch.begin(), program.batch.end(), int64_t{1},
                                      std::multiplies<>());
    // Scores of a block stay in the second-level cache; small problems still make enough tasks.
    int64_t most = std::max<int64_t>(64, 65536 / std::max<int64_t>(program.s, 1));
    if (batches < 2 * context.threads.count())
        most = std::min(most,
                        std::max<int64_t>(32, program.l * batches / (2 * context.threads.count())));
    m_blocks = (program.l + most - 1) / most;
    m_blockRows = (program.l + m_blocks - 1) / m_blocks;
    m_blocks = (program.l + m_blockRows - 1) / m_blockRows;
    m_lastRows = program.l - (m_blocks - 1) * m_blockRows;
    m_tasks = batches * m_blocks;
    m_scoreStride = static_cast<int64_t>(roundUpToGroup(static_cast<size_t>(program.s)));
    for (int i = 0; i < 2; ++i) {
        int64_t rows = i == 0 ? m_blockRows : m_lastRows;
        m_scores[i] = Product(rows, program.d, program.s, {m_q.rowStride(), m_q.colStride()},
                              {m_k.colStride(), m_k.rowStride()}, {m_scoreStride, 1});
        m_results[i] = Product(rows, program.s, program.e, {m_scoreStride, 1},
                               {m_v.rowStride(), m_v.colStride()}, {program.e, 1});
        m_scratchpadBytes = std::max({m_scratchpadBytes, m_scores[i].scratchpad.get_size(),
                                      m_results[i].scratchpad.get_size()});
    }
    auto rows = static_cast<size_t>(m_blockRows);
    auto stride = static_cast<size_t>(m_scoreStride);
    m_workerBytes = aligned(rows * stride * 4) + aligned(rows * 4) +
                    aligned(rows * static_cast<size_t>(program.e) * 4) + aligned(m_scratchpadBytes);
    for (const ScoreMask& mask : program.masks) {
        const OperandLayout& operand = context.inputs[mask.access.operand];
        MaskOperand& made = m_masks.emplace_back();
        made.access = stridedFor(mask.access, operand, dims);
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
            for (size_t task = begin; task < end; ++task)
                runTask(operands, step, scratch, task);
        });
}

void AttentionKernel::runTask(const Operands& operands, std::byte* step, std::byte* scratch,
                              size_t task) const {
    auto rest = static_cast<int64_t>(task);
    int64_t block = rest % m_blocks;
    rest /= m_blocks;
    Extents batch(m_program.batch.size());
    for (size_t d = batch.size(); d-- > 0;) {
        batch[d] = rest % m_program.batch[d];
        rest /= m_program.batch[d];
    }
    int64_t first = block * m_blockRows;
    bool last = block == m_blocks - 1;
    int64_t rows = last ? m_lastRows : m_blockRows;
    auto offset = [&](const StridedAccess& access) {
        int64_t at = access.offset;
        for (size_t d = 0; d < batch.size(); ++d)
            at += batch[d] * access.strides[d];
        return at;
    };
    auto data = [&](const Matrices& x) {
        const std::byte* base = x.stage ? step + x.stagedAt : operands.inputs[x.operand];
        return reinterpret_cast<const float*>(base) + offset(x.access);
    };
    std::byte* free = scratch;
    auto take = [&](size_t bytes) {
        std::byte* out = free;
        free += aligned(bytes);
        return reinterpret_cast<float*>(out);
    };
    auto blockRows = static_cast<size_t>(m_blockRows);
    auto stride = static_cast<size_t>(m_scoreStride);
    auto width = static_cast<size_t>(m_program.e);
    float* scores = take(blockRows * stride * 4);
    float* sums = take(blockRows * 4);
    float* results = take(blockRows * width * 4);

    m_scores[last].run(data(m_q) + first * m_q.rowStride(), data(m_k), scores, free);
    std::vector<SoftmaxRows::Mask> masks;
    for (size_t i = 0; i < m_masks.size(); ++i)
        masks.push_back(maskAt(i, operands, batch, first, rows, scratch + m_masks[i].loadedAt));
    m_table.softmax({scores, static_cast<size_t>(rows), static_cast<size_t>(m_program.s), stride,
                     static_cast<float>(m_program.scale), masks.data(), masks.size(), sums});
    m_results[last].run(scores, data(m_v), results, free);

    auto store = m_table.store[static_cast<size_t>(m_outputType)];
    auto multiply = m_table.op[static_cast<size_t>(TapeOp::Mul)][static_cast<size_t>(Lane::F32)][1];
    size_t dims = m_output.strides.size();
    std::byte* target = operands.outputs[m_program.output.operand] +
                        (offset(m_output) + first * m_output.strides[dims - 2]) *
                            static_cast<int64_t>(sizeOf(m_outputType));
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
        float inverse = 1 / sums[r];
        float* row = results + r * width;
        size_t whole = width / laneGroup * laneGroup;
        if (whole > 0)
            multiply(row, row, &inverse, nullptr, whole);
        for (size_t i = whole; i < width; ++i)
            row[i] *= inverse;
    }
    store(target, results, static_cast<size_t>(rows), width, m_output.strides[dims - 2],
          m_output.strides[dims - 1]);
}

SoftmaxRows::Mask AttentionKernel::maskAt(size_t number, const Operands& operands,
                                          const Extents& batch, int64_t first, int64_t rows,
                                          std::byte* loaded) const {
    const MaskOperand& operand = m_masks[number];
    const ScoreMask& mask = m_program.masks[number];
    const Extents& strides = operand.access.strides;
    const int64_t rowStride = strides[batch.size()];
    int64_t at = operand.access.offset + first * rowStride;
    for (size_t d = 0; d < batch.size(); ++d)
        at += batch[d] * strides[d];
    const std::byte* source =
        operands.inputs[mask.access.operand] + at * static_cast<int64_t>(sizeOf(operand.dtype));
    SoftmaxRows::Mask out;
    out.fill = static_cast<float>(mask.fill);
    out.hides = mask.kind == ScoreMask::Kind::KeepWhereFalse ? 1 : 0;
    out.stride = rowStride;
    if (!operand.inPlace) {
        // Rows that all read the same mask share one.
        const size_t count = rowStride == 0 ? 1 : static_cast<size_t>(rows);
        m_table.load[static_cast<size_t>(operand.dtype)](
            loaded, source, count, static_cast<size_t>(m_program.s), rowStride, strides.back());
        source = loaded;
        out.stride = rowStride == 0 ? 0 : m_program.s;
    }
    if (mask.kind == ScoreMask::Kind::Additive)
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
    for (const ScoreMask& mask : attention.masks) {
        const DType dtype = program.inputs[mask.access.operand].dtype;
        plain = plain && (mask.kind == ScoreMask::Kind::Additive ? laneOf(dtype) == Lane::F32
                                                                 : dtype == DType::Bool);
    }
    if (!plain)
        return Reason{"dtype",
                      "attention runs on float32 and 16-bit operands",
                      "run the model in float32",
                      {}};
    if (attention.l == 0 || attention.s == 0 || attention.d == 0 || attention.e == 0)
        return Reason{"shape-mismatch", "attention without rows, keys or depth", {}, {}};
    return std::nullopt;
}

KernelResult prepareAttention(const Attention& program, const PrepareContext& context) {
    try {
        return std::unique_ptr<Kernel>(std::make_unique<AttentionKernel>(program, context));
    } catch (const dnnl::error& error) {
        return failure("cpu.support", std::string("oneDNN matmul: ") + error.what());
    }
}

} // namespace fuselage::cpu
