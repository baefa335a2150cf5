// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/padded_convolution.h"

#include "core/cpu/column_product.h"
#include "core/cpu/layout.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

constexpr int64_t mostElements = int64_t(8) << 20; ///< of windows that are written out

class PaddedConvolution final : public PlainContraction {
public:
    PaddedConvolution(const Contraction& program, const OperandLayout& a, const OperandLayout& b,
                      const PrepareContext& context)
        : m_x(a), m_padded(paddedExtents(program, a)), m_strides(rowMajorStrides(m_padded)),
          m_begin(program.window.padsBegin) {
        const SlidingWindow& window = program.window;
        const Extents& space = program.space;
        const int64_t channels = a.extents[1] / program.groups, results = space[1] / program.groups;
        MatrixOperand filters{b.dtype, {}, nullptr}, pixels{a.dtype, {}, nullptr};
        for (int64_t image = 0; image < space[0]; ++image)
            for (int64_t group = 0; group < program.groups; ++group) {
                filters.places.batches.push_back(group * results * b.strides[0]);
                pixels.places.batches.push_back(image * m_strides[0] +
                                                group * channels * m_strides[1]);
            }
        const auto steps = [&](const Extents& each) { // of pixels along the spatial dims
            Extents out(m_strides.begin() + 2, m_strides.end());
            for (size_t d = 0; d < out.size(); ++d)
                out[d] *= each[d];
            return out;
        };
        filters.places.lines = offsetsOf({results}, {b.strides[0]}, 0);
        pixels.places.lines = offsetsOf({space.begin() + 2, space.end()}, steps(window.strides), 0);
        Extents terms{channels}, inFilter{b.strides.begin() + 1, b.strides.end()},
            inImage{m_strides[1]};
        terms.insert(terms.end(), window.kernel.begin(), window.kernel.end());
        const Extents taps = steps(window.dilations);
        inImage.insert(inImage.end(), taps.begin(), taps.end());
        filters.places.depth = offsetsOf(terms, inFilter, 0);
        pixels.places.depth = offsetsOf(terms, inImage, 0);
        m_paddedBytes =
            (static_cast<size_t>(elementCount(m_padded).value_or(0)) * sizeOf(a.dtype) + 63) / 64 *
            64;
        m_product =
            makeColumnProduct(std::move(filters), std::move(pixels), program.accumulate, context);
        scratchBytes = m_paddedBytes + m_product->scratchBytes;
        tactic = m_product->tactic + ", windows written out";
        isFallback = false;
    }

    /// As far as windows reach.
    static Extents paddedExtents(const Contraction& program, const OperandLayout& a) {
        const SlidingWindow& window = program.window;
        Extents out = a.extents;
        for (size_t d = 0; d < window.kernel.size(); ++d)
            out[d + 2] = std::max(window.padsBegin[d] + a.extents[d + 2],
                                  (program.space[d + 2] - 1) * window.strides[d] +
                                      (window.kernel[d] - 1) * window.dilations[d] + 1);
        return out;
    }

    void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
             Threads& threads) const override {
        pad(a, scratch, threads);
        m_product->run(b, scratch, c, scratch + m_paddedBytes, threads);
    }

private:
    /// Line by line of the innermost dim.
    void pad(const std::byte* from, std::byte* to, Threads& threads) const {
        const size_t bytes = sizeOf(m_x.dtype), inner = m_padded.size() - 1;
        Extents lines = m_padded;
        lines.pop_back();
        const int64_t width = m_padded[inner], given = m_x.extents[inner];
        const auto count = static_cast<size_t>(elementCount(lines).value_or(0));
        threads.forRange(count, 64, [&](size_t, size_t begin, size_t end) {
            for (size_t line = begin; line < end; ++line) {
                std::byte* target = to + line * static_cast<size_t>(width) * bytes;
                std::memset(target, 0, static_cast<size_t>(width) * bytes);
                auto rest = static_cast<int64_t>(line);
                int64_t source = 0;
                bool inside = true;
                for (size_t d = inner; d-- > 0; rest /= lines[d]) {
                    const int64_t at = rest % lines[d] - (d < 2 ? 0 : m_begin[d - 2]);
                    inside = inside && at >= 0 && at < m_x.extents[d];
                    source += at * m_x.strides[d];
                }
                if (!inside)
                    continue;
                const int64_t stride = m_x.strides[inner], first = m_begin[inner - 2];
                for (int64_t i = std::max<int64_t>(0, -first); i < given; ++i)
                    std::memcpy(target + static_cast<size_t>(first + i) * bytes,
                                from + (source + i * stride) * static_cast<int64_t>(bytes), bytes);
            }
        });
    }

    OperandLayout m_x;
    Extents m_padded, m_strides, m_begin;
    size_t m_paddedBytes = 0;
    std::unique_ptr<PlainContraction> m_product;
};

} // namespace

std::unique_ptr<PlainContraction> makePaddedConvolution(const Contraction& program,
                                                        const OperandLayout& a,
                                                        const OperandLayout& b,
                                                        const PrepareContext& context) {
    const Extents& begin = program.window.padsBegin;
    if (program.kind != Contraction::Kind::Conv ||
        std::any_of(begin.begin(), begin.end(), [](int64_t each) { return each < 0; }))
        return nullptr;
    // One group's windows, in the type of the sums.
    const Extents padded = PaddedConvolution::paddedExtents(program, a);
    Extents windows(program.space.begin() + 2, program.space.end());
    windows.push_back(a.extents[1] / program.groups);
    windows.insert(windows.end(), program.window.kernel.begin(), program.window.kernel.end());
    for (const Extents& each : {padded, windows})
        if (const auto count = elementCount(each); !count || *count > mostElements)
            return nullptr;
    return std::make_unique<PaddedConvolution>(program, a, b, context);
}

} // namespace fuselage::cpu
