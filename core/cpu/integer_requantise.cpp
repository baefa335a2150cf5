// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_requantise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuselage::cpu {

namespace {

/// One value a column, as float32.
std::vector<float> perColumn(const std::vector<double>& values, int64_t columns) {
    if (values.size() != 1)
        return {values.begin(), values.end()};
    return std::vector<float>(static_cast<size_t>(columns), static_cast<float>(values[0]));
}

double largest(const std::vector<float>& values) {
    double out = 0;
    for (float value : values) // a NaN is as bad as an infinity
        out = std::isfinite(value) ? std::max(out, std::abs(static_cast<double>(value))) : HUGE_VAL;
    return out;
}

} // namespace

IntegerRequantise::IntegerRequantise(const Contraction& program, const PrepareContext& context,
                                     Requantisation found)
    : m_loops(&context.table.integer), m_dims(program), m_space(program.space),
      m_found(std::move(found)) {
    for (size_t d = m_dims.firstColumn; d < m_dims.endColumn; ++d)
        m_columns *= m_space[d];
    m_scale = perColumn(m_found.scale, m_columns);
    m_shift = perColumn(m_found.shift, m_columns);
    for (int64_t i = 0; i < m_columns; ++i)
        m_bias.push_back(static_cast<int32_t>(
            m_found.bias[m_found.bias.size() == 1 ? 0 : static_cast<size_t>(i)]));
    auto place = [&](const Access& access, const OperandLayout& layout) {
        return Place{access.operand, static_cast<int64_t>(sizeOf(layout.dtype)),
                     stridedFor(access, layout, m_space.size())};
    };
    const Extents& weights = context.inputs[program.b.operand].extents;
    m_depth = program.kind == Contraction::Kind::MatMul
                  ? *elementCount(program.k)
                  : *elementCount(weights) / std::max<int64_t>(weights[0], 1);
    const Access& write = program.epilogue.writes[0];
    m_result = place(write, context.outputs[write.operand]);
    m_together = m_result.hasDenseRows(m_dims, m_columns);
    if (m_found.addend) {
        const Access& read = program.epilogue.reads[*m_found.addend];
        m_addend = place(read, context.inputs[read.operand]);
        m_addendType = context.inputs[read.operand].dtype;
        m_addendSigned = m_addendType == DType::Int8;
        m_together = m_together && m_addend.hasDenseRows(m_dims, m_columns);
    }
    constexpr int64_t lanes = 16, manyColumns = 1024;
    const int64_t repeats = lanes / std::gcd(lanes, m_columns);
    m_together = m_together && (repeats == 1 || m_columns <= manyColumns);
    m_repeats = m_together ? repeats : 1;
}

bool IntegerRequantise::Place::hasDenseColumns(const Extents& space, const RowDims& dims) const {
    int64_t dense = 1;
    for (size_t d = dims.endColumn; d-- > dims.firstColumn; dense *= space[d])
        if (space[d] > 1 && at.strides[d] != dense)
            return false;
    return true;
}

bool IntegerRequantise::Place::hasDenseRows(const RowDims& dims, int64_t columns) const {
    return at.strides[dims.inner] == columns;
}

int64_t IntegerRequantise::Place::offset(const Extents& row) const {
    int64_t out = at.offset;
    for (size_t d = 0; d < row.size(); ++d)
        out += at.strides[d] * row[d];
    return out * bytes;
}

/// Nothing on the way may be infinite or no number, and memory must be as the loops take it.
bool IntegerRequantise::fits() const {
    const auto columns = static_cast<size_t>(m_columns);
    if (m_scale.size() != columns || m_shift.size() != columns ||
        !m_result.hasDenseColumns(m_space, m_dims))
        return false;
    const bool byteAddend = m_addendType == DType::Int8 || m_addendType == DType::UInt8;
    if (m_found.addend && (!byteAddend || !m_addend.hasDenseColumns(m_space, m_dims)))
        return false;
    double bias = 0; // a sum with it must not wrap
    for (double value : m_found.bias)
        bias = std::max(bias, std::abs(value));
    if (bias > 0 && bias + 255.0 * 255.0 * static_cast<double>(m_depth) > 2147483647.0)
        return false;
    constexpr double largestSum = 4.3e9, largestFloat = 1e37;
    const double value =
        largest(m_scale) * largestSum + largest(m_shift) + std::abs(m_found.addendScale) * 512;
    return value < largestFloat && m_found.step > 1 / largestFloat && m_found.step < largestFloat &&
           value / m_found.step < largestFloat && !std::isnan(m_found.low) &&
           !std::isnan(m_found.high);
}

std::optional<IntegerRequantise> IntegerRequantise::make(const Contraction& program,
                                                         const PrepareContext& context) {
    if (context.strict() || program.epilogue.writes.size() != 1)
        return std::nullopt;
    auto found = matchRequantisation(program.epilogue.tape, context.epilogueInputs(program));
    if (!found)
        return std::nullopt;
    IntegerRequantise out(program, context, std::move(*found));
    if (!out.fits())
        return std::nullopt;
    out.m_scale = out.repeated(out.m_scale);
    out.m_shift = out.repeated(out.m_shift);
    return out;
}

void IntegerRequantise::run(const Operands& operands, const Strip& strip, const int32_t* sums,
                            int64_t step, const int32_t* correction, Threads& threads) const {
    using To = RequantisedRow::To;
    using Bend = RequantisedRow::Bend;
    constexpr double finite = 3e38;
    RequantisedRow row;
    row.correction = correction;
    row.scale = m_scale.data();
    row.shift = m_shift.data();
    row.addendSigned = m_addendSigned;
    row.addendScale = static_cast<float>(m_found.addendScale);
    row.addendZero = static_cast<float>(m_found.addendZero);
    row.low = static_cast<float>(std::clamp(m_found.low, -finite, finite));
    row.high = static_cast<float>(std::clamp(m_found.high, -finite, finite));
    row.to = m_found.type == DType::Float32 ? To::Float32
             : m_found.type == DType::Int8  ? To::Int8
                                            : To::UInt8;
    row.step = static_cast<float>(m_found.step);
    row.zero = static_cast<float>(m_found.zero);
    row.bend = m_found.bend == Requantisation::Bend::TimesUnit ? Bend::TimesUnit
               : m_found.bend == Requantisation::Bend::Unit    ? Bend::Unit
                                                               : Bend::None;
    row.slope = static_cast<float>(m_found.slope);
    row.offset = static_cast<float>(m_found.offset);
    row.period = m_scale.size();
    const bool together = m_together && step == m_columns;
    const int64_t inner = strip.box[m_dims.inner];
    const int64_t outerCount = m_dims.outer ? strip.box[*m_dims.outer] : 1;
    auto part = [&](int64_t y, int64_t begin, int64_t end) {
        RequantisedRow some = row;
        Extents at = strip.origin;
        if (m_dims.outer)
            at[*m_dims.outer] += y;
        const int64_t rows = together ? end - begin : 1;
        some.n = static_cast<size_t>(rows * m_columns);
        for (int64_t x = begin; x < end; x += rows) {
            at[m_dims.inner] = strip.origin[m_dims.inner] + x;
            some.sums = sums + (y * inner + x) * step;
            some.out = operands.outputs[m_result.operand] + m_result.offset(at);
            if (m_found.addend)
                some.addend = operands.inputs[m_addend.operand] + m_addend.offset(at);
            m_loops->requantise(some);
        }
    };
    constexpr int64_t elementsWorthSharing = 65536;
    const int64_t grain = std::max<int64_t>(elementsWorthSharing / m_columns, 1);
    for (int64_t y = 0; y < outerCount; ++y) {
        if (inner < 2 * grain)
            part(y, 0, inner);
        else
            threads.forRange(static_cast<size_t>(inner), static_cast<size_t>(grain),
                             [&](size_t, size_t begin, size_t end) {
                                 part(y, static_cast<int64_t>(begin), static_cast<int64_t>(end));
                             });
    }
}

} // namespace fuselage::cpu
