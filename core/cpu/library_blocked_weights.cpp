// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of constant weights of 4 bits, packed once into panels of columns, which the workers
// share. With 8-bit dot products a row of A is written in digits of 7 bits, 21 for each element of
// a block, so that sums are whole numbers until a block ends; else weights become floats in
// registers while they are multiplied.
#include "core/cpu/library.h"
#include "core/ops/blocked_weights.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace fuselage::cpu {

namespace {

constexpr auto columns = static_cast<int64_t>(NibbleTile::columns);
constexpr int64_t perWord = 8;
constexpr size_t lineBytes = NibbleTile::columns * sizeof(float);
/// Panels that are multiplied together, and rows.
constexpr int64_t panelsTogether = 4, rowsTogether = 12;
/// Weights for which a second thread is worth its start.
constexpr int64_t grainWeights = 1 << 16;

class BlockedWeightsKernel final : public Kernel {
public:
    BlockedWeightsKernel(const LibraryCall& call, const BlockedWeights& geometry)
        : m_table(call.context().table), m_geometry(geometry), m_a(call.input(0)),
          m_y(call.output(0)), m_rows(*elementCount(m_a.layout.extents) / geometry.k),
          m_panels((geometry.n + columns - 1) / columns) {
        tactic = std::string("weights of 4 bits ") + m_table.name;
        const LibraryOperand& zero = call.input(3);
        m_shifted = static_cast<bool>(zero);
        m_panelBytes = static_cast<size_t>(geometry.blocks) *
                       ((m_shifted ? 2 : 1) * lineBytes + wordsOfBlock() * lineBytes);
        m_packed =
            call.context().threads.pages().take(static_cast<size_t>(m_panels) * m_panelBytes);
        std::memset(m_packed, 0, static_cast<size_t>(m_panels) * m_panelBytes);
        for (int64_t n = 0; n < geometry.n; ++n)
            for (int64_t block = 0; block < geometry.blocks; ++block)
                pack(n, block, *call.input(1).layout.constant, *call.input(2).layout.constant,
                     zero ? zero.layout.constant.get() : nullptr);
        m_bias.assign(static_cast<size_t>(m_panels * columns), 0);
        if (const LibraryOperand& bias = call.input(5))
            for (int64_t n = 0; n < geometry.n; ++n)
                m_bias[static_cast<size_t>(n)] = static_cast<float>(bias.layout.constant->at(n));
    }

    void run(const Operands& operands, RunContext& context) override;

private:
    size_t wordsOfBlock() const { return static_cast<size_t>(m_geometry.block / perWord); }

    int64_t depth() const { return m_geometry.blocks * m_geometry.block; }

    void pack(int64_t n, int64_t block, const Tensor& weights, const Tensor& scales,
              const Tensor* zero);
    /// A in the form that loops take it.
    struct Staged {
        float* a = nullptr;
        float* sums = nullptr;
        uint8_t* digits = nullptr; ///< null: by floats
    };

    size_t digitBytes() const { // of a block
        return sizeof(DigitBlock) + wordsOfBlock() * DigitBlock::wordBytes;
    }

    void stage(const Operands& operands, int64_t row, const Staged& to) const;
    bool writeDigits(int64_t row, const Staged& to) const;
    void multiply(const Staged& from, int64_t panel, int64_t panels, float* tile,
                  std::byte* y) const;

    const VectorTable& m_table;
    BlockedWeights m_geometry;
    LibraryOperand m_a, m_y;
    int64_t m_rows, m_panels;
    bool m_shifted = false;
    size_t m_panelBytes = 0;
    std::byte* m_packed = nullptr; ///< in the pages
    std::vector<float> m_bias;
};

void BlockedWeightsKernel::pack(int64_t n, int64_t block, const Tensor& weights,
                                const Tensor& scales, const Tensor* zero) {
    const BlockedWeights& g = m_geometry;
    const size_t blockBytes = m_panelBytes / static_cast<size_t>(g.blocks);
    std::byte* to = m_packed + static_cast<size_t>(n / columns) * m_panelBytes +
                    static_cast<size_t>(block) * blockBytes +
                    static_cast<size_t>(n % columns) * sizeof(float);
    const auto scale = static_cast<float>(scales.at(n * g.blocks + block));
    std::memcpy(to, &scale, sizeof scale);
    to += lineBytes;
    if (zero) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(zero->bytes());
        const double origin = isFloat(zero->dtype())
                                  ? zero->at(n * g.blocks + block)
                                  : static_cast<double>(g.unpacked(bytes + n * g.zeroBytes, block));
        const auto shift = static_cast<float>((static_cast<double>(g.middle()) - origin) * scale);
        std::memcpy(to, &shift, sizeof shift);
        to += lineBytes;
    }
    const auto* from =
        reinterpret_cast<const uint8_t*>(weights.bytes()) + (n * g.blocks + block) * g.blobBytes;
    for (size_t word = 0; word < wordsOfBlock(); ++word, from += 4, to += lineBytes) {
        const uint32_t bits =
            from[0] | from[1] << 8U | from[2] << 16U | static_cast<uint32_t>(from[3]) << 24U;
        std::memcpy(to, &bits, sizeof bits);
    }
}

/// A row of A as floats, zero behind its end, and the sums of its blocks.
void BlockedWeightsKernel::stage(const Operands& operands, int64_t row, const Staged& to) const {
    const auto k = static_cast<size_t>(m_geometry.k);
    const DType type = m_a.layout.dtype;
    float* a = to.a + row * depth();
    const std::byte* from = m_a.read(operands) + static_cast<size_t>(row) * k * sizeOf(type);
    m_table.load[static_cast<size_t>(type)](a, from, 1, k, 0, 1);
    std::fill(a + k, a + depth(), 0.0F);
    for (int64_t block = 0; m_shifted && block < m_geometry.blocks; ++block) {
        const float* first = a + block * m_geometry.block;
        constexpr size_t lanes = 8; // as a vector, in any build
        float parts[lanes] = {};
        for (int64_t i = 0; i < m_geometry.block; i += lanes)
            for (size_t lane = 0; lane < lanes; ++lane)
                parts[lane] += first[static_cast<size_t>(i) + lane];
        float& sum = to.sums[row * m_geometry.blocks + block];
        sum = 0;
        for (float part : parts)
            sum += part;
    }
}

/// The largest of some floats' magnitudes, as bits, which are in the order of sizes; those of what
/// is infinite or no number are the largest of all.
uint32_t largestBits(const float* x, int64_t n) {
    uint32_t out = 0;
    for (int64_t i = 0; i < n; ++i)
        out = std::max(out, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU);
    return out;
}

/// To the nearest whole number, of what is within 2^22 of zero.
int32_t nearest(float x) {
    constexpr float noFraction = 12582912.0F; // 1.5 * 2^23
    return std::bit_cast<int32_t>(x + noFraction) - std::bit_cast<int32_t>(noFraction);
}

/// The same in digits; false where an element is infinite or no number.
bool BlockedWeightsKernel::writeDigits(int64_t row, const Staged& to) const {
    constexpr int bits = 22; // beside the sign; of 23 a carry would leave the last digit
    constexpr uint32_t infinite = 0x7f800000U;
    for (int64_t block = 0; block < m_geometry.blocks; ++block) {
        const float* a = to.a + row * depth() + block * m_geometry.block;
        uint8_t* at =
            to.digits + static_cast<size_t>(row * m_geometry.blocks + block) * digitBytes();
        const uint32_t largest = largestBits(a, m_geometry.block);
        if (largest >= infinite)
            return false;
        int exponent = 0;
        std::frexp(std::bit_cast<float>(largest), &exponent);
        const int shift = std::max(exponent - bits, -120);
        const float perUnit = std::ldexp(1.0F, -shift);
        DigitBlock head;
        head.unit = std::ldexp(1.0F, shift);
        head.sum = m_shifted ? to.sums[row * m_geometry.blocks + block] : 0;
        auto* digits = reinterpret_cast<int8_t*>(at + sizeof head);
        constexpr size_t quad = 4;
        for (size_t word = 0; word < wordsOfBlock(); ++word, digits += DigitBlock::wordBytes)
            for (size_t i = 0; i < perWord; ++i) {
                int32_t whole = nearest(a[word * perWord + i] * perUnit);
                int8_t* place = digits + i % 2 * DigitBlock::digits * quad + i / 2;
                for (size_t d = 0; d < DigitBlock::digits; ++d) {
                    const auto digit = static_cast<int8_t>(whole);
                    place[quad * d] = digit;
                    head.start[d] -= 8 * digit;
                    whole = (whole - digit) >> 8;
                }
            }
        std::memcpy(at, &head, sizeof head);
    }
    return true;
}

/// All rows of some panels.
void BlockedWeightsKernel::multiply(const Staged& from, int64_t panel, int64_t panels, float* tile,
                                    std::byte* y) const {
    const int64_t first = panel * columns;
    const auto width = static_cast<size_t>(panels * columns);
    const auto taken = static_cast<size_t>(std::min(m_geometry.n - first, panels * columns));
    const DType type = m_y.layout.dtype;
    NibbleTile part;
    part.c = tile;
    part.cStep = width;
    part.aStep = static_cast<size_t>(depth());
    part.sumStep = static_cast<size_t>(m_geometry.blocks);
    part.digitStep = static_cast<size_t>(m_geometry.blocks) * digitBytes();
    part.b = reinterpret_cast<const uint8_t*>(m_packed) + static_cast<size_t>(panel) * m_panelBytes;
    part.panelBytes = m_panelBytes;
    part.panels = static_cast<size_t>(panels);
    part.blocks = static_cast<size_t>(m_geometry.blocks);
    part.words = wordsOfBlock();
    part.shifted = m_shifted;
    for (int64_t row = 0; row < m_rows; row += rowsTogether) {
        const int64_t rows = std::min(rowsTogether, m_rows - row);
        for (int64_t r = 0; r < rows; ++r)
            std::copy_n(m_bias.data() + first, width, tile + r * panels * columns);
        part.a = from.a + row * depth();
        part.sums = from.sums + row * m_geometry.blocks;
        part.digits =
            from.digits ? from.digits + static_cast<size_t>(row) * part.digitStep : nullptr;
        part.rows = static_cast<size_t>(rows);
        (from.digits ? m_table.nibblesByDigits : m_table.nibbles)(part);
        std::byte* to = y + static_cast<size_t>(row * m_geometry.n + first) * sizeOf(type);
        for (int64_t r = 0; r < rows; ++r, to += static_cast<size_t>(m_geometry.n) * sizeOf(type))
            m_table.store[static_cast<size_t>(type)](to, tile + r * panels * columns, 1, taken, 0,
                                                     1);
    }
}

void BlockedWeightsKernel::run(const Operands& operands, RunContext& context) {
    std::byte* y = m_y.write(operands);
    if (!y || m_rows == 0)
        return;
    const auto floats = static_cast<size_t>(m_rows * depth());
    const auto sumCount = static_cast<size_t>(m_rows * m_geometry.blocks);
    const size_t floatBytes = (floats + sumCount + laneGroup) * sizeof(float);
    const bool byDigits = m_table.nibblesByDigits != nullptr;
    std::byte* scratch = context.threads.stepScratch().reserve(
        floatBytes + (byDigits ? sumCount * digitBytes() : 0));
    Staged staged;
    staged.a = reinterpret_cast<float*>(scratch);
    staged.sums = staged.a + floats + laneGroup;
    staged.digits = byDigits ? reinterpret_cast<uint8_t*>(scratch + floatBytes) : nullptr;
    std::atomic<bool> finite = true;
    constexpr size_t rowsWorthSharing = 4;
    context.threads.forRange(
        static_cast<size_t>(m_rows), rowsWorthSharing, [&](size_t, size_t begin, size_t end) {
            for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
                stage(operands, row, staged);
                if (byDigits && !writeDigits(row, staged))
                    finite = false;
            }
        });
    if (!finite)
        staged.digits = nullptr;
    const int64_t groups = (m_panels + panelsTogether - 1) / panelsTogether;
    const int64_t weights = panelsTogether * columns * m_geometry.k * m_rows;
    const auto grain = static_cast<size_t>(std::max<int64_t>(grainWeights / weights, 1));
    context.threads.forRange(
        static_cast<size_t>(groups), grain, [&](size_t worker, size_t begin, size_t end) {
            auto* tile = reinterpret_cast<float*>(context.threads.scratch(worker).reserve(
                rowsTogether * panelsTogether * columns * sizeof(float)));
            for (auto group = static_cast<int64_t>(begin); group < static_cast<int64_t>(end);
                 ++group) {
                const int64_t panel = group * panelsTogether;
                multiply(staged, panel, std::min(panelsTogether, m_panels - panel), tile, y);
            }
        });
}

bool hasCount(const LibraryOperand& operand, const Extents& extents) {
    const auto wanted = elementCount(extents);
    return wanted && elementCount(operand.layout.extents) == wanted;
}

bool isSmallFloat(const LibraryOperand& operand) {
    const DType type = operand.layout.dtype;
    return type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
}

/// Operands are as the operator's definition says; what is not is left to the reference function.
bool fits(const LibraryCall& call, const BlockedWeights& g) {
    const LibraryOperand &a = call.input(0), &zero = call.input(3), &bias = call.input(5);
    const Extents& extents = a.layout.extents;
    if (extents.empty() || extents.back() != g.k || !isSmallFloat(a) ||
        call.output(0).layout.dtype != a.layout.dtype || !isFloat(call.input(2).layout.dtype) ||
        call.input(1).layout.dtype != DType::UInt8 ||
        !hasCount(call.input(1), {g.n, g.blocks, g.blobBytes}) ||
        !hasCount(call.input(2), {g.n, g.blocks}) || (bias && !hasCount(bias, {g.n})))
        return false;
    const bool packed = zero.layout.dtype == DType::UInt8;
    return !zero || ((packed || isFloat(zero.layout.dtype)) &&
                     hasCount(zero, {g.n, packed ? g.zeroBytes : g.blocks}));
}

} // namespace

KernelResult prepareBlockedWeights(const LibraryCall& call) {
    const auto geometry = BlockedWeights::of(call.node());
    if (!geometry)
        return failure(geometry.error());
    if (call.input(4))
        return failure("cpu.support", "an order of its own (g_idx) has no loops");
    for (size_t i : {1, 2, 3, 5})
        if (call.input(i) && !call.input(i).layout.constant)
            return failure("cpu.support", "weights, scales and bias are not constant");
    if (!fits(call, *geometry))
        return failure("cpu.support", "operands are not as the attributes say");
    if (geometry->bits != 4)
        return prepareFloatWeights(call, *geometry);
    return std::unique_ptr<Kernel>(std::make_unique<BlockedWeightsKernel>(call, *geometry));
}

} // namespace fuselage::cpu
