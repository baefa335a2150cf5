// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: rows of a tensor, side by side in lanes, through the passes of fourier.h.
#include "core/cpu/fourier.h"
#include "core/cpu/library.h"
#include "core/ops/signal.h"

#include <algorithm>
#include <utility>

namespace fuselage::cpu {

namespace {

/// Where rows of complex numbers lie in memory, all steps in floats.
struct Rows {
    size_t group = 1; ///< rows that lie `rowStep` apart; groups of them lie `groupStep` apart
    size_t groupStep = 0, rowStep = 0;
    size_t step = 1;  ///< between numbers of a row
    size_t parts = 1; ///< 1: no imaginary ones
    size_t count = 0; ///< numbers of a row

    size_t at(size_t row) const { return row / group * groupStep + row % group * rowStep; }
};

struct Spectrum {
    size_t rows = 0;
    Rows from, to;
    LibraryOperand window; ///< if present, what the numbers of a row are multiplied with
    bool inverse = false;
    bool conjugates = false; ///< the second half of a row is that of the first
};

class SpectrumKernel final : public Kernel {
public:
    SpectrumKernel(const LibraryCall& call, FourierPlan plan, Spectrum spectrum)
        : m_source(call.input(0)), m_result(call.output(0)), m_table(call.context().table),
          m_plan(std::move(plan)), m_spectrum(std::move(spectrum)) {
        tactic = std::string("fourier ") + m_table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto* from = reinterpret_cast<const float*>(m_source.read(operands));
        const auto* window = m_spectrum.window
                                 ? reinterpret_cast<const float*>(m_spectrum.window.read(operands))
                                 : nullptr;
        auto* to = reinterpret_cast<float*>(m_result.write(operands));
        const size_t most = m_plan.lanes(m_spectrum.rows);
        context.threads.forRange(
            m_spectrum.rows, most, [&](size_t worker, size_t begin, size_t end) {
                const size_t half = m_plan.length() * most;
                auto* memory = reinterpret_cast<float*>(
                    context.threads.scratch(worker).reserve(4 * half * sizeof(float)));
                for (; begin < end; begin += std::min(most, end - begin)) {
                    const size_t lanes = std::min(most, end - begin);
                    FourierPlan::Parts x{memory, memory + half};
                    read(from, window, begin, lanes, x);
                    x = m_plan.run(turned(x), {memory + 2 * half, memory + 3 * half}, lanes,
                                   m_table);
                    write(turned(x), begin, lanes, to);
                }
            });
    }

private:
    /// The inverse is the transform of real and imaginary parts in each other's place.
    FourierPlan::Parts turned(FourierPlan::Parts parts) const {
        if (m_spectrum.inverse)
            std::swap(parts.re, parts.im);
        return parts;
    }

    void read(const float* from, const float* window, size_t first, size_t lanes,
              FourierPlan::Parts x) const {
        const Rows& rows = m_spectrum.from;
        for (size_t lane = 0; lane < lanes; ++lane) {
            const float* row = from + rows.at(first + lane);
            for (size_t i = 0; i < rows.count; ++i) {
                const float share = window ? window[i] : 1;
                x.re[i * lanes + lane] = row[i * rows.step] * share;
                x.im[i * lanes + lane] = rows.parts == 2 ? row[i * rows.step + 1] * share : 0;
            }
        }
        const size_t length = m_plan.length();
        std::fill(x.re + rows.count * lanes, x.re + length * lanes, 0.0F);
        std::fill(x.im + rows.count * lanes, x.im + length * lanes, 0.0F);
        for (size_t i = 1; m_spectrum.conjugates && 2 * i < length; ++i)
            for (size_t lane = 0; lane < lanes; ++lane) {
                x.re[(length - i) * lanes + lane] = x.re[i * lanes + lane];
                x.im[(length - i) * lanes + lane] = -x.im[i * lanes + lane];
            }
    }

    void write(FourierPlan::Parts x, size_t first, size_t lanes, float* to) const {
        const Rows& rows = m_spectrum.to;
        const float share = m_spectrum.inverse ? 1.0F / static_cast<float>(m_plan.length()) : 1;
        for (size_t lane = 0; lane < lanes; ++lane) {
            float* row = to + rows.at(first + lane);
            for (size_t i = 0; i < rows.count; ++i) {
                row[i * rows.step] = x.re[i * lanes + lane] * share;
                if (rows.parts == 2)
                    row[i * rows.step + 1] = x.im[i * lanes + lane] * share;
            }
        }
    }

    LibraryOperand m_source, m_result;
    const VectorTable& m_table;
    FourierPlan m_plan;
    Spectrum m_spectrum;
};

size_t whole(int64_t number) {
    return static_cast<size_t>(number);
}

KernelResult prepareSpectrum(const LibraryCall& call, int64_t length, Spectrum spectrum) {
    const OperandLayout& result = call.output(0).layout;
    auto plan = FourierPlan::of(length);
    if (!plan)
        return failure("cpu.support", "the length has a large prime factor");
    if (call.input(0).layout.dtype != DType::Float32 || result.dtype != DType::Float32 ||
        (spectrum.window && spectrum.window.layout.dtype != DType::Float32))
        return failure("cpu.dtype", "only float32 is transformed here");
    if (elementCount(result.extents) !=
        static_cast<int64_t>(spectrum.rows * spectrum.to.count * spectrum.to.parts))
        return failure("cpu.shape", "the result is not what was inferred");
    return std::unique_ptr<Kernel>(
        std::make_unique<SpectrumKernel>(call, std::move(*plan), std::move(spectrum)));
}

} // namespace

KernelResult prepareFourier(const LibraryCall& call) {
    const ShapeOperands operands(call, {1, 2});
    if (!operands.isKnown)
        return failure("cpu.constant", "length and axis must be constant");
    const auto shape = fourierShape(call.node(), operands.inputs);
    if (!shape)
        return failure(shape.error());
    const size_t inner = whole(shape->inner), parts = whole(shape->parts);
    const size_t partsTo = shape->toReal ? 1 : 2;
    Spectrum out;
    out.rows = whole(shape->outer) * inner;
    out.from = {inner, whole(shape->available) * inner * parts,
                parts, inner * parts,
                parts, whole(shape->given)};
    out.to = {inner,   whole(shape->bins) * inner * partsTo,
              partsTo, inner * partsTo,
              partsTo, whole(shape->bins)};
    out.inverse = shape->inverse;
    out.conjugates = shape->toReal;
    return prepareSpectrum(call, shape->length, std::move(out));
}

KernelResult prepareFrames(const LibraryCall& call) {
    const ShapeOperands operands(call, {1, 3});
    if (!operands.isKnown)
        return failure("cpu.constant", "step and length of the frames must be constant");
    const auto shape = frameShape(call.node(), operands.inputs);
    if (!shape)
        return failure(shape.error());
    const size_t frames = whole(shape->frames), parts = whole(shape->parts),
                 bins = whole(shape->bins);
    Spectrum out;
    out.rows = whole(shape->rows) * frames;
    out.from = {frames, whole(shape->samples) * parts, whole(shape->step) * parts, parts,
                parts,  whole(shape->length)};
    out.to = {frames, frames * bins * 2, bins * 2, 2, 2, bins};
    if (shape->hasWindow)
        out.window = call.input(2);
    return prepareSpectrum(call, shape->length, std::move(out));
}

} // namespace fuselage::cpu
