// SPDX-License-Identifier: Apache-2.0
// Convolutions in types that oneDNN does not have, one result element at a time.
#include "core/cpu/column_product.h"
#include "core/cpu/padded_convolution.h"
#include "core/cpu/plain_elements.h"

namespace fuselage::cpu {

namespace {

/// Steps an index tuple; false after the last.
bool advance(Extents& index, const Extents& extents) {
    for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < extents[d])
            return true;
        index[d] = 0;
    }
    return false;
}

class PlainConvolution final : public PlainContraction {
public:
    PlainConvolution(const Contraction& program, const OperandLayout& a, const OperandLayout& b)
        : m_program(program), m_a(a), m_b(b) {}

    void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte*,
             Threads& threads) const override {
        if (isFloat(m_program.accumulate))
            runAs<double>(a, b, c, threads);
        else
            runAs<uint64_t>(a, b, c, threads);
    }

private:
    template <typename Acc>
    void runAs(const std::byte* a, const std::byte* b, std::byte* c, Threads& threads) const;
    template <typename Visit> void products(const Extents& index, Visit&& visit) const;

    Contraction m_program;
    OperandLayout m_a, m_b;
};

/// Calls visit(offset in a, offset in b) for every product of one result element.
template <typename Visit>
void PlainConvolution::products(const Extents& index, Visit&& visit) const {
    bool transposed = m_program.kind == Contraction::Kind::ConvTranspose;
    const SlidingWindow& window = m_program.window;
    int64_t groups = m_program.groups;
    int64_t channels = m_a.extents[1] / groups, results = m_program.space[1] / groups;
    int64_t group = index[1] / results;
    Extents steps = {channels};
    steps.insert(steps.end(), window.kernel.begin(), window.kernel.end());
    Extents step(steps.size(), 0);
    do {
        int64_t c = group * channels + step[0];
        int64_t a = index[0] * m_a.strides[0] + c * m_a.strides[1];
        int64_t b = transposed ? c * m_b.strides[0] + index[1] % results * m_b.strides[1]
                               : index[1] * m_b.strides[0] + step[0] * m_b.strides[1];
        bool inside = true;
        for (size_t d = 0; d < window.kernel.size() && inside; ++d) {
            int64_t tap = step[d + 1] * window.dilations[d];
            int64_t at = 0;
            if (transposed) {
                int64_t shifted = index[d + 2] + window.padsBegin[d] - tap;
                inside = shifted >= 0 && shifted % window.strides[d] == 0;
                at = shifted / window.strides[d];
            } else {
                at = index[d + 2] * window.strides[d] - window.padsBegin[d] + tap;
            }
            inside = inside && at >= 0 && at < m_a.extents[d + 2];
            a += at * m_a.strides[d + 2];
            b += step[d + 1] * m_b.strides[d + 2];
        }
        if (inside)
            visit(a, b);
    } while (advance(step, steps));
}

template <typename Acc>
void PlainConvolution::runAs(const std::byte* a, const std::byte* b, std::byte* c,
                             Threads& threads) const {
    const Extents& space = m_program.space;
    auto count = elementCount(space).value_or(0);
    threads.forRange(static_cast<size_t>(count), 64, [&](size_t, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            Extents index(space.size());
            auto rest = static_cast<int64_t>(i);
            for (size_t d = space.size(); d-- > 0;) {
                index[d] = rest % space[d];
                rest /= space[d];
            }
            Acc sum = 0;
            products(index, [&](int64_t at, int64_t bt) {
                Acc product = elementAs<Acc>(m_a.dtype, a, at) * elementAs<Acc>(m_b.dtype, b, bt);
                sum += product;
            });
            storeAs(m_program.accumulate, c, static_cast<int64_t>(i), sum);
        }
    });
}

} // namespace

std::unique_ptr<PlainContraction> makePlainContraction(const Contraction& program,
                                                       const OperandLayout& a,
                                                       const OperandLayout& b,
                                                       const PrepareContext& context) {
    if (program.kind == Contraction::Kind::MatMul)
        return makeColumnProduct(program, a, b, context);
    if (auto padded = makePaddedConvolution(program, a, b, context))
        return padded;
    return std::make_unique<PlainConvolution>(program, a, b);
}

} // namespace fuselage::cpu
