// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_contraction.h"

#include "core/cpu/integer_depthwise.h"
#include "core/cpu/integer_dequantise.h"
#include "core/cpu/integer_dots.h"
#include "core/cpu/integer_requantise.h"
#include "core/cpu/layout.h"
#include "core/cpu/tile_copy.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"
#include "core/kernel/zero_point.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

// Rows of A and sums of a strip together; the weights need the rest of a second-level cache.
constexpr int64_t stripBytes = 512 << 10;
constexpr int64_t mostRows = 256;
constexpr int64_t fewestRows = 16;
// Products below this many are not worth a second thread.
constexpr int64_t fewProducts = int64_t{1} << 20;
constexpr int64_t heavyWeights = 256 << 10, heavyBytes = 4 << 20;
// Sums that stay in a first-level cache until they are requantised.
constexpr int64_t nearBytes = 24 << 10;

bool isByte(DType type) {
    return type == DType::Int8 || type == DType::UInt8;
}

size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// Parts of about `size` that a strip's dim is cut into: equal ones where its extent allows.
int64_t partOf(int64_t extent, int64_t size) {
    const int64_t parts = (extent + size - 1) / size;
    for (int64_t n = parts; n <= 2 * parts; ++n)
        if (extent % n == 0)
            return extent / n;
    return (extent + parts - 1) / parts;
}

class IntegerContraction final : public Kernel {
public:
    IntegerContraction(const Contraction& program, const PrepareContext& context)
        : m_program(program), m_dims(program), m_weights(program, context),
          m_inputs(context.inputs), m_outputs(context.outputs), m_table(context.table),
          m_groups(program.kind == Contraction::Kind::Conv ? program.groups : 1) {}

    std::optional<Reason> prepare(const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    /// What depends on the box of a strip: whole ones, and the ones at the end of a dim.
    struct Shape {
        Extents box;
        int64_t rows = 0, aStride = 0;
        size_t buffer = 0;                       ///< bytes of gathered rows
        std::unique_ptr<IntegerProduct> product; ///< null: depthwise
        std::unique_ptr<Kernel> pass; ///< null: sums go to the output, or are requantised
    };

    struct Inputs {
        const std::byte* a;
        const Operands& operands;
        uint8_t fill;                        ///< the padding's element, as it is stored
        int32_t zeroPoint;                   ///< of unsigned elements
        const int32_t* correction = nullptr; ///< of all strips; null: m_corrections
        const std::byte* columns = nullptr;  ///< what m_dequantise found out
    };

    void stageImage(const PrepareContext& context);
    void prepareCorrections();
    void padDepth();
    void chooseStrips(int threads);
    std::optional<Reason> prepareShape(Shape& shape, const PrepareContext& context);
    void preparePass(Shape& shape, const PrepareContext& context);
    bool storesSums() const;
    StridedAccess resultAccess() const;
    Strip stripAt(size_t number) const;
    void runStrip(const Inputs& inputs, const Strip& strip, std::byte* scratch, Threads& threads);
    void sums(const Inputs& inputs, const Strip& strip, const Shape& shape, int32_t* c,
              std::byte* scratch) const;
    void runPass(const Inputs& inputs, const Strip& strip, const Shape& shape, int32_t* c,
                 Threads& threads) const;
    void prepareColumns(Inputs& inputs, std::byte* memory, Threads& threads) const;
    size_t matrixAt(const Strip& strip) const;

    Contraction m_program;
    RowDims m_dims;
    IntegerWeights m_weights;
    std::vector<OperandLayout> m_inputs, m_outputs;
    const VectorTable& m_table;
    int64_t m_groups;
    ZeroPoint m_zero;
    OperandLayout m_a;
    std::unique_ptr<Kernel> m_stageA; ///< to channels last
    std::optional<IntegerRows> m_rows;
    std::optional<IntegerDepthwise> m_depthwise;
    std::vector<std::vector<int32_t>> m_columnSums; ///< of each matrix, or of all groups
    std::optional<IntegerRequantise> m_requantise;  ///< in place of the shapes' passes
    std::optional<IntegerDequantise> m_dequantise;  ///< before them; the program has only the rest
    /// What the zero point adds to the sums, of each matrix; zeros where it is known when running.
    std::vector<std::vector<int32_t>> m_corrections;
    int64_t m_columns = 1;
    int64_t m_step = 1; ///< from row to row of the sums
    Extents m_counts;   ///< strips along each dim of the space
    Shape m_shapes[2];
    bool m_hasTail = false, m_direct = false, m_signed = false, m_dots = false;
    size_t m_stagedBytes = 0, m_columnBytes = 0, m_workerBytes = 0;
};

/// Gathering windows wants the channels of a pixel together.
void IntegerContraction::stageImage(const PrepareContext& context) {
    m_a = context.inputs[m_program.a.operand];
    if (m_program.kind != Contraction::Kind::Conv || m_a.strides[1] == 1 || m_a.extents[1] == 1)
        return;
    OperandLayout staged{m_a.dtype, m_a.extents, channelsLast(m_a.extents), nullptr};
    const Access whole = identityAccess(0, m_a.extents.size());
    m_stageA = prepareCopy(Copy{{{m_a.extents, whole, whole, 0}}},
                           {{m_a}, {staged}, context.table, context.threads, context.allowed});
    m_stagedBytes = rounded(static_cast<size_t>(staged.span()));
    m_a = staged;
}

void IntegerContraction::chooseStrips(int threads) {
    const Extents& space = m_program.space;
    const int64_t rows = m_dims.rowsOf(space);
    const int64_t rowBytes = m_rows->depth() + 4 * m_columns;
    const int64_t bytes = m_dots || m_depthwise ? nearBytes : stripBytes;
    int64_t size = std::clamp(bytes / rowBytes, fewestRows, mostRows);
    const int64_t products = rows * m_rows->depth() * m_columns;
    // Every strip reads all weights: few rows with many of them are one, shared within oneDNN.
    const bool heavy = m_rows->depth() * m_columns > heavyWeights && rows <= mostRows &&
                       rows * rowBytes <= heavyBytes;
    if (heavy)
        size = rows;
    else if (threads > 1 && products > fewProducts)
        size = std::min(size, std::max(rows / (2 * threads), fewestRows));
    Extents box(space.size(), 1);
    for (size_t d = m_dims.firstColumn; d < m_dims.endColumn; ++d)
        box[d] = space[d];
    box[m_dims.inner] = partOf(space[m_dims.inner], size);
    if (m_dims.outer && box[m_dims.inner] == space[m_dims.inner])
        box[*m_dims.outer] =
            partOf(space[*m_dims.outer], std::max<int64_t>(size / space[m_dims.inner], 1));
    m_shapes[0].box = m_shapes[1].box = box;
    m_counts.assign(space.size(), 1);
    for (size_t d = 0; d < space.size(); ++d) {
        m_counts[d] = (space[d] + box[d] - 1) / box[d];
        if (space[d] % box[d] != 0) {
            m_shapes[1].box[d] = space[d] % box[d];
            m_hasTail = true; // of one dim: the outer one is only cut where the inner is whole
        }
    }
}

StridedAccess IntegerContraction::resultAccess() const {
    const Access& write = m_program.epilogue.writes[0];
    return stridedFor(write, m_outputs[write.operand], m_program.space.size());
}

/// Whether the result is the sums, laid out so that a product can write them.
bool IntegerContraction::storesSums() const {
    const Epilogue& epilogue = m_program.epilogue;
    const Tape& tape = epilogue.tape;
    if (tape.outputs.size() != 1 || tape.code[tape.outputs[0]].op != TapeOp::Input ||
        tape.code[tape.outputs[0]].index != 0)
        return false;
    const StridedAccess at = resultAccess();
    int64_t dense = 1;
    bool fits = m_outputs[epilogue.writes[0].operand].dtype == DType::Int32;
    for (size_t d = m_dims.endColumn; d-- > m_dims.firstColumn;) {
        fits = fits && (m_program.space[d] == 1 || at.strides[d] == dense);
        dense *= m_program.space[d];
    }
    const Extents& box = m_shapes[0].box;
    return fits && (box[m_dims.inner] == 1 || at.strides[m_dims.inner] >= m_columns) &&
           (!m_dims.outer || box[*m_dims.outer] == 1 ||
            at.strides[*m_dims.outer] == box[m_dims.inner] * at.strides[m_dims.inner]);
}

/// The epilogue over one strip, whose sums are its first operand.
void IntegerContraction::preparePass(Shape& shape, const PrepareContext& context) {
    const size_t dims = shape.box.size();
    auto part = [&](const Access& access, OperandLayout layout) {
        const StridedAccess at = stridedFor(access, layout, dims);
        for (size_t d = 0; d < dims; ++d)
            if (!m_dims.isColumn(d) && m_program.space[d] > 1 && at.strides[d] != 0)
                layout.constant = nullptr; // every strip has other values
        if (layout.extents == m_program.space)
            layout.extents = shape.box;
        return layout;
    };
    OperandLayout sums{m_dequantise ? DType::Float32 : DType::Int32, shape.box, Extents(dims, 0),
                       nullptr};
    int64_t dense = 1;
    for (size_t d = m_dims.endColumn; d-- > m_dims.firstColumn; dense *= shape.box[d])
        sums.strides[d] = dense;
    for (size_t d = dims; d-- > 0;)
        if (!m_dims.isColumn(d)) {
            sums.strides[d] = dense;
            dense *= shape.box[d];
        }
    Pointwise pass{shape.box, {identityAccess(0, dims)}, m_program.epilogue.tape, {}};
    PrepareContext inner{{sums}, {}, context.table, context.threads, context.allowed};
    for (Access read : m_program.epilogue.reads) {
        inner.inputs.push_back(part(read, context.inputs[read.operand]));
        read.operand = static_cast<uint32_t>(inner.inputs.size() - 1);
        pass.reads.push_back(std::move(read));
    }
    for (Access write : m_program.epilogue.writes) {
        inner.outputs.push_back(part(write, context.outputs[write.operand]));
        write.operand = static_cast<uint32_t>(inner.outputs.size() - 1);
        pass.writes.push_back(std::move(write));
    }
    shape.pass = preparePointwise(pass, inner);
}

std::optional<Reason> IntegerContraction::prepareShape(Shape& shape,
                                                       const PrepareContext& context) {
    shape.rows = m_dims.rowsOf(shape.box);
    shape.aStride = m_rows->stride(shape.box);
    shape.buffer = m_rows->inPlace(shape.box) ? 0 : static_cast<size_t>(shape.rows * shape.aStride);
    size_t bytes = rounded(shape.buffer);
    if (!m_direct && !m_requantise && !(m_dequantise && m_dequantise->isWhole()))
        preparePass(shape, context);
    if (m_depthwise) {
        bytes = rounded(m_depthwise->scratchBytes());
    } else {
        const IntegerMatrix& first = m_weights.matrices[0];
        const IntegerProduct::Shape product{shape.rows,    first.k, first.n,
                                            shape.aStride, m_step,  m_signed};
        Pages& pages = context.threads.pages();
        auto made = m_dots ? makeDotsProduct(product, m_weights.matrices, context.table, pages)
                           : makeIntegerProduct(product, m_weights.matrices, context.table, pages);
        if (auto* reason = std::get_if<Reason>(&made))
            return std::move(*reason);
        shape.product = std::move(std::get<std::unique_ptr<IntegerProduct>>(made));
        bytes += rounded(shape.product->scratchBytes);
    }
    bytes += m_direct ? 0 : rounded(static_cast<size_t>(shape.rows * m_columns) * sizeof(int32_t));
    m_workerBytes = std::max(m_workerBytes, bytes);
    return std::nullopt;
}

/// Gathered rows are as long as whole vectors: products of a depth that oneDNN's better loops do
/// not take go on over weights of zero.
void IntegerContraction::padDepth() {
    const int64_t step = m_rows->depth() > 128 && !m_dots ? 64 : 4;
    const int64_t depth = (m_rows->depth() + step - 1) / step * step;
    if (m_depthwise)
        return;
    if (m_rows->inPlace(m_shapes[0].box) || m_rows->inPlace(m_shapes[1].box)) {
        m_dots = m_dots && m_rows->depth() == depth;
        return;
    }
    for (IntegerMatrix& matrix : m_weights.matrices) {
        matrix.k = depth;
        matrix.values.resize(static_cast<size_t>(depth * matrix.n), 0);
    }
}

/// The zero point times the sums of columns, negative: for the pass over the sums.
void IntegerContraction::prepareCorrections() {
    for (const std::vector<int32_t>& sums : m_columnSums) {
        std::vector<int32_t>& out = m_corrections.emplace_back(sums.size(), 0);
        if (!m_zero.read)
            m_table.integer.addScaled(out.data(), sums.data(), -(m_zero.number + m_rows->flip()),
                                      out.size());
        if (m_requantise) {
            m_table.integer.addScaled(out.data(), m_requantise->bias().data(), 1, out.size());
            out = m_requantise->repeated(out);
        }
    }
}

std::optional<Reason> IntegerContraction::prepare(const PrepareContext& context) {
    m_zero = *zeroPointOf(m_program.prologueA);
    stageImage(context);
    const bool isConvolution = m_program.kind == Contraction::Kind::Conv;
    const int64_t matrices = isConvolution ? m_groups : 1;
    const IntegerMatrix& first = m_weights.matrices[0];
    const bool depthwise = isConvolution && m_groups > 1 && first.n == 1 &&
                           m_a.extents[1] == m_groups &&
                           first.k <= static_cast<int64_t>(IntegerLoops::mostTaps);
    m_dots = !depthwise && worthDots(m_dims.rowsOf(m_program.space), m_weights.matrices,
                                     context.table, context.threads.count());
    m_signed = m_a.dtype == DType::Int8 && !depthwise && !m_dots && multipliesSigned();
    m_rows.emplace(m_program, m_a, context.table, m_signed);
    m_columns = first.n * matrices;
    for (size_t i = 0; i < (isConvolution ? 1 : m_weights.matrices.size()); ++i)
        m_columnSums.push_back(m_weights.columnSums(i, isConvolution));
    if (depthwise)
        m_depthwise.emplace(m_weights.matrices, m_program, *m_rows, context.table);
    chooseStrips(context.threads.count());
    m_direct = storesSums();
    if (!m_direct)
        m_requantise = IntegerRequantise::make(m_program, context);
    prepareCorrections();
    m_step = m_direct ? std::max(m_columns, resultAccess().strides[m_dims.inner]) : m_columns;
    if (!m_direct && !m_requantise && m_columnSums.size() == 1)
        m_dequantise = IntegerDequantise::make(m_program, context);
    if (m_dequantise) {
        m_columnBytes = rounded(m_dequantise->runBytes()) +
                        rounded(static_cast<size_t>(m_columns) * sizeof(int32_t));
        if (!m_dequantise->isWhole())
            m_program.epilogue = m_dequantise->rest();
    }
    padDepth();
    const bool several = *elementCount(m_counts) > 1;
    std::optional<Threads::Alone> alone;
    if (several) // workers share the strips; a single one is shared within oneDNN
        alone.emplace(context.threads);
    for (size_t i = 0; i < (m_hasTail ? 2 : 1); ++i)
        if (auto reason = prepareShape(m_shapes[i], context))
            return reason;
    tactic = m_depthwise ? std::string("depthwise integers ") + context.table.name
                         : (m_dots ? "" : "onednn ") + m_shapes[0].product->implementation;
    if (m_dequantise)
        tactic += " + scales";
    if (m_requantise)
        tactic += " + requantisation";
    if (m_shapes[0].pass)
        tactic += " + tile interpreter";
    if (several)
        tactic += ", in strips of " + std::to_string(m_shapes[0].rows) + " rows";
    if (m_depthwise)
        m_weights.matrices.clear();
    for (IntegerMatrix& matrix : m_weights.matrices)
        matrix.values = {}; // packed
    return std::nullopt;
}

// --- running -------------------------------------------------------------------------------

Strip IntegerContraction::stripAt(size_t number) const {
    const Extents& whole = m_shapes[0].box;
    Strip out{Extents(whole.size(), 0), whole};
    auto rest = static_cast<int64_t>(number);
    for (size_t d = whole.size(); d-- > 0;) {
        out.origin[d] = rest % m_counts[d] * whole[d];
        rest /= m_counts[d];
        out.box[d] = std::min(whole[d], m_program.space[d] - out.origin[d]);
    }
    return out;
}

/// The number of the matrix that a strip is multiplied with; 0 for convolutions.
size_t IntegerContraction::matrixAt(const Strip& strip) const {
    if (m_weights.matrixOfBatch.empty())
        return 0;
    int64_t batch = 0;
    for (uint32_t d = 0; d < m_program.batchDims; ++d)
        batch = batch * m_program.space[d] + strip.origin[d];
    return m_weights.matrixOfBatch[static_cast<size_t>(batch)];
}

/// The strip's sums of products of what is stored, less those of the zero point.
void IntegerContraction::sums(const Inputs& inputs, const Strip& strip, const Shape& shape,
                              int32_t* c, std::byte* scratch) const {
    const size_t matrix = matrixAt(strip);
    if (m_depthwise) {
        m_depthwise->sums(inputs.a, strip, inputs.fill, c, m_step, scratch);
    } else {
        auto* buffer = reinterpret_cast<uint8_t*>(scratch);
        const auto fill = static_cast<uint8_t>(inputs.fill ^ m_rows->flip());
        for (int64_t g = 0; g < m_groups; ++g) {
            const uint8_t* a = m_rows->rows(inputs.a, strip, g, fill, buffer);
            shape.product->run(a, matrix + static_cast<size_t>(g), c + g * (m_columns / m_groups),
                               scratch + rounded(shape.buffer));
        }
    }
    if (inputs.zeroPoint == 0 || m_dequantise || (m_requantise && !m_zero.read))
        return;
    for (int64_t row = 0; row < shape.rows; ++row)
        m_table.integer.addScaled(c + row * m_step, m_columnSums[matrix].data(), -inputs.zeroPoint,
                                  static_cast<size_t>(m_columns));
}

void IntegerContraction::runPass(const Inputs& inputs, const Strip& strip, const Shape& shape,
                                 int32_t* c, Threads& threads) const {
    auto offset = [&](const Access& access, const OperandLayout& layout) {
        const StridedAccess at = stridedFor(access, layout, strip.origin.size());
        return (firstOffset(strip, at) - at.offset) * static_cast<int64_t>(sizeOf(layout.dtype));
    };
    Operands pass;
    pass.inputs.push_back(reinterpret_cast<const std::byte*>(c));
    for (const Access& read : m_program.epilogue.reads)
        pass.inputs.push_back(inputs.operands.inputs[read.operand] +
                              offset(read, m_inputs[read.operand]));
    for (const Access& write : m_program.epilogue.writes)
        pass.outputs.push_back(inputs.operands.outputs[write.operand] +
                               offset(write, m_outputs[write.operand]));
    RunContext inner{threads, nullptr, false, {}};
    shape.pass->run(pass, inner);
}

void IntegerContraction::runStrip(const Inputs& inputs, const Strip& strip, std::byte* scratch,
                                  Threads& threads) {
    const Shape& shape = m_shapes[strip.box == m_shapes[0].box ? 0 : 1];
    if (!m_direct) {
        auto* c = reinterpret_cast<int32_t*>(scratch);
        const auto bytes = static_cast<size_t>(shape.rows * m_columns) * sizeof(int32_t);
        sums(inputs, strip, shape, c, scratch + rounded(bytes));
        if (m_requantise)
            return m_requantise->run(inputs.operands, strip, c, m_step,
                                     m_corrections[matrixAt(strip)].data(), threads);
        if (m_dequantise)
            m_dequantise->run(inputs.operands, strip, c, m_step, inputs.correction, inputs.columns,
                              threads);
        if (shape.pass)
            runPass(inputs, strip, shape, c, threads);
        return;
    }
    const uint32_t result = m_program.epilogue.writes[0].operand;
    auto* out = reinterpret_cast<int32_t*>(inputs.operands.outputs[result]);
    sums(inputs, strip, shape, out + firstOffset(strip, resultAccess()), scratch);
}

/// What is the same in all rows of a run.
void IntegerContraction::prepareColumns(Inputs& inputs, std::byte* memory, Threads& threads) const {
    inputs.correction = m_corrections[0].data();
    if (m_zero.read) {
        const size_t bytes = rounded(m_dequantise->runBytes());
        auto* correction = reinterpret_cast<int32_t*>(memory + bytes);
        std::fill_n(correction, m_columns, 0);
        m_table.integer.addScaled(correction, m_columnSums[0].data(), -inputs.zeroPoint,
                                  static_cast<size_t>(m_columns));
        inputs.correction = correction;
    }
    m_dequantise->prepareRun(inputs.operands, threads, memory);
    inputs.columns = memory;
}

void IntegerContraction::run(const Operands& operands, RunContext& context) {
    const auto strips = static_cast<size_t>(*elementCount(m_counts));
    const auto workers = static_cast<size_t>(context.threads.count());
    std::byte* scratch = context.threads.stepScratch().reserve(m_stagedBytes + m_columnBytes +
                                                               workers * m_workerBytes);
    std::byte* forStrips = scratch + m_stagedBytes + m_columnBytes;
    Inputs inputs{operands.inputs[m_program.a.operand], operands, 0, m_zero.number};
    if (m_stageA) {
        RunContext inner{context.threads, nullptr, false, {}};
        m_stageA->run({{inputs.a}, {scratch}}, inner);
        inputs.a = scratch;
    }
    if (m_zero.read) {
        const std::byte* at = operands.inputs[m_zero.read->operand];
        inputs.zeroPoint = m_a.dtype == DType::Int8
                               ? static_cast<int32_t>(static_cast<int8_t>(*at))
                               : static_cast<int32_t>(static_cast<uint8_t>(*at));
    }
    inputs.fill = static_cast<uint8_t>(inputs.zeroPoint);
    inputs.zeroPoint += m_rows->flip();
    if (m_dequantise)
        prepareColumns(inputs, scratch + m_stagedBytes, context.threads);
    context.threads.forRange(strips, 1, [&](size_t worker, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            runStrip(inputs, stripAt(i), forStrips + worker * m_workerBytes, context.threads);
    });
}

} // namespace

std::optional<Reason> unsupportedInteger(const Contraction& program,
                                         const PrepareContext& context) {
    const OperandLayout& a = context.inputs[program.a.operand];
    const OperandLayout& b = context.inputs[program.b.operand];
    if (program.accumulate != DType::Int32 || !isByte(a.dtype) || !isByte(b.dtype) ||
        program.kind == Contraction::Kind::ConvTranspose || program.poolWindow ||
        program.window.kernel.size() > IntegerRows::mostDims)
        return Reason{"dtype", "no contraction of 8-bit integers", {}, {}};
    const auto zero = zeroPointOf(program.prologueA);
    const bool one =
        zero && (!zero->read || elementCount(context.inputs[zero->read->operand].extents) == 1);
    if (!one)
        return Reason{"support", "operand A is more than a tensor less one zero point", {}, {}};
    if (!IntegerWeights::areConstant(program, context) || !zeroPointOf(program.prologueB))
        return Reason{"support", "weights less their zero points are not constant", {}, {}};
    return std::nullopt;
}

KernelResult prepareInteger(const Contraction& program, const PrepareContext& context) {
    auto kernel = std::make_unique<IntegerContraction>(program, context);
    if (auto reason = kernel->prepare(context))
        return failure("cpu." + reason->code, reason->message);
    return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace fuselage::cpu
