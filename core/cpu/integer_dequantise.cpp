// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_dequantise.h"

#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

std::vector<bool> columnReads(const Contraction& program, const PrepareContext& context) {
    const RowDims dims(program);
    std::vector<bool> out;
    for (const Access& read : program.epilogue.reads) {
        const StridedAccess at =
            stridedFor(read, context.inputs[read.operand], program.space.size());
        bool column = true;
        for (size_t d = 0; d < program.space.size(); ++d)
            column = column && (dims.isColumn(d) || program.space[d] == 1 || at.strides[d] == 0);
        out.push_back(column);
    }
    return out;
}

} // namespace

IntegerDequantise::IntegerDequantise(const Contraction& program, const PrepareContext& context,
                                     ScaledSums found)
    : m_loops(&context.table.integer), m_dims(program), m_hasShift(found.hasShift) {
    Extents box(program.space.size(), 1);
    for (size_t d = m_dims.firstColumn; d < m_dims.endColumn; ++d) {
        box[d] = program.space[d];
        m_columns *= box[d];
    }
    const OperandLayout layout{DType::Float32, box, rowMajorStrides(box), nullptr};
    Pointwise columns{box, {}, std::move(found.columns.tape), {}};
    for (uint32_t read : found.columns.reads)
        columns.reads.push_back(program.epilogue.reads[read]);
    PrepareContext inner{context.inputs, {}, context.table, context.threads, context.allowed};
    for (uint32_t i = 0; i < columns.tape.outputs.size(); ++i) {
        columns.writes.push_back(identityAccess(i, box.size()));
        inner.outputs.push_back(layout);
    }
    m_columnValues = preparePointwise(columns, inner);
    if (!found.rest) {
        const Access& write = program.epilogue.writes[0];
        m_result = write.operand;
        m_at = stridedFor(write, context.outputs[m_result], program.space.size());
        return;
    }
    m_rest.tape = std::move(found.rest->tape);
    m_rest.writes = program.epilogue.writes;
    for (uint32_t read : found.rest->reads)
        m_rest.reads.push_back(program.epilogue.reads[read]);
}

std::optional<IntegerDequantise> IntegerDequantise::make(const Contraction& program,
                                                         const PrepareContext& context) {
    if (context.strict()) // a product and a sum are rounded once here
        return std::nullopt;
    auto found = matchScaledSums(program.epilogue.tape, columnReads(program, context));
    if (!found)
        return std::nullopt;
    if (!found->rest) {
        const Access& write = program.epilogue.writes[0];
        const StridedAccess at =
            stridedFor(write, context.outputs[write.operand], program.space.size());
        const RowDims dims(program);
        int64_t dense = 1;
        bool fits = context.outputs[write.operand].dtype == DType::Float32;
        for (size_t d = dims.endColumn; d-- > dims.firstColumn; dense *= program.space[d])
            fits = fits && (program.space[d] == 1 || at.strides[d] == dense);
        if (!fits) { // copied there by the tile interpreter
            TapeBuilder builder;
            found->rest = TapePart{builder.finish({builder.input(DType::Float32)}), {}};
        }
    }
    return IntegerDequantise(program, context, std::move(*found));
}

size_t IntegerDequantise::columnBytes() const {
    return (static_cast<size_t>(m_columns) * sizeof(float) + 63) / 64 * 64;
}

void IntegerDequantise::prepareRun(const Operands& operands, Threads& threads,
                                   std::byte* memory) const {
    Operands inner{operands.inputs, {memory}};
    if (m_hasShift)
        inner.outputs.push_back(memory + columnBytes());
    RunContext context{threads, nullptr, false, {}};
    m_columnValues->run(inner, context);
}

void IntegerDequantise::run(const Operands& operands, const Strip& strip, int32_t* sums,
                            int64_t step, const int32_t* correction, const std::byte* memory,
                            Threads& threads) const {
    const auto* scale = reinterpret_cast<const float*>(memory);
    const auto* shift =
        m_hasShift ? reinterpret_cast<const float*>(memory + columnBytes()) : nullptr;
    auto* result = isWhole() ? reinterpret_cast<float*>(operands.outputs[m_result]) : nullptr;
    const int64_t inner = strip.box[m_dims.inner];
    constexpr int64_t elementsWorthSharing = 32768;
    const auto grain = static_cast<size_t>(std::max<int64_t>(elementsWorthSharing / m_columns, 1));
    threads.forRange(static_cast<size_t>(m_dims.rowsOf(strip.box)), grain,
                     [&](size_t, size_t begin, size_t end) {
                         Extents at = strip.origin;
                         for (auto row = static_cast<int64_t>(begin);
                              row < static_cast<int64_t>(end); ++row) {
                             at[m_dims.inner] = strip.origin[m_dims.inner] + row % inner;
                             if (m_dims.outer)
                                 at[*m_dims.outer] = strip.origin[*m_dims.outer] + row / inner;
                             int64_t offset = m_at.offset;
                             for (size_t d = 0; result && d < at.size(); ++d)
                                 offset += m_at.strides[d] * at[d];
                             int32_t* from = sums + row * step;
                             float* to = result ? result + offset : reinterpret_cast<float*>(from);
                             m_loops->dequantise(to, from, correction, scale, shift,
                                                 static_cast<size_t>(m_columns));
                         }
                     });
}

} // namespace fuselage::cpu
