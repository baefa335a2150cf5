// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/nibble_product.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace fuselage::cpu {

namespace {

constexpr auto columns = static_cast<int64_t>(NibbleTile::columns);
constexpr size_t lineBytes = NibbleTile::columns * sizeof(float);
/// Panels that are multiplied together, and rows.
constexpr int64_t panelsAtOnce = 4, rowsAtOnce = 12;
/// Weights for which a second thread is worth its start.
constexpr int64_t grainWeights = 1 << 16;

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

} // namespace

NibbleProduct::NibbleProduct(const VectorTable& table, const NibbleSource& source, Pages& pages)
    : m_table(table), m_k(source.k), m_n(source.n), m_block(source.block),
      m_blocks(source.blocks()), m_panels((source.n + columns - 1) / columns),
      m_shifted(source.shifted) {
    m_panelBytes = static_cast<size_t>(m_blocks) *
                   ((m_shifted ? 2 : 1) * lineBytes + wordsOfBlock() * lineBytes);
    const size_t bytes = static_cast<size_t>(m_panels) * m_panelBytes;
    m_packed = pages.filled(bytes, [&](std::byte* to) {
        std::memset(to, 0, bytes);
        for (int64_t n = 0; n < m_n; ++n)
            for (int64_t block = 0; block < m_blocks; ++block)
                pack(n, block, source, to);
    });
}

/// Scale, shift if there are any, and codes of a block of a column.
void NibbleProduct::pack(int64_t n, int64_t block, const NibbleSource& source,
                         std::byte* packed) const {
    const size_t blockBytes = m_panelBytes / static_cast<size_t>(m_blocks);
    std::byte* to = packed + static_cast<size_t>(n / columns) * m_panelBytes +
                    static_cast<size_t>(block) * blockBytes +
                    static_cast<size_t>(n % columns) * sizeof(float);
    const float scale = source.scale(n, block);
    std::memcpy(to, &scale, sizeof scale);
    to += lineBytes;
    if (m_shifted) {
        const float shift = source.shift(n, block);
        std::memcpy(to, &shift, sizeof shift);
        to += lineBytes;
    }
    const auto words = static_cast<int64_t>(wordsOfBlock());
    for (int64_t word = block * words; word < (block + 1) * words; ++word, to += lineBytes) {
        const uint32_t bits = source.codes(n, word);
        std::memcpy(to, &bits, sizeof bits);
    }
}

/// A row of A as floats, zero behind its end, and the sums of its blocks.
void NibbleProduct::stage(const Call& call, int64_t row, const Staged& to) const {
    const auto k = static_cast<size_t>(m_k);
    float* a = to.a + row * depth();
    const std::byte* from = call.a + static_cast<size_t>(row) * call.aStep;
    m_table.load[static_cast<size_t>(call.aType)](a, from, 1, k, 0, 1);
    std::fill(a + k, a + depth(), 0.0F);
    for (int64_t block = 0; m_shifted && block < m_blocks; ++block) {
        const float* first = a + block * m_block;
        constexpr size_t lanes = 8; // as a vector, in any build
        float parts[lanes] = {};
        for (int64_t i = 0; i < m_block; i += lanes)
            for (size_t lane = 0; lane < lanes; ++lane)
                parts[lane] += first[static_cast<size_t>(i) + lane];
        float& sum = to.sums[row * m_blocks + block];
        sum = 0;
        for (float part : parts)
            sum += part;
    }
}

/// A row in digits; false where an element is infinite or no number.
bool NibbleProduct::writeDigits(int64_t row, const Staged& to) const {
    constexpr int bits = 22; // beside the sign; of 23 a carry would leave the last digit
    constexpr uint32_t infinite = 0x7f800000U;
    for (int64_t block = 0; block < m_blocks; ++block) {
        const float* a = to.a + row * depth() + block * m_block;
        uint8_t* at = to.digits + static_cast<size_t>(row * m_blocks + block) * digitBytes();
        const uint32_t largest = largestBits(a, m_block);
        if (largest >= infinite)
            return false;
        int exponent = 0;
        std::frexp(std::bit_cast<float>(largest), &exponent);
        const int shift = std::max(exponent - bits, -120);
        const float perUnit = std::ldexp(1.0F, -shift);
        DigitBlock head;
        head.unit = std::ldexp(1.0F, shift);
        head.sum = m_shifted ? to.sums[row * m_blocks + block] : 0;
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
void NibbleProduct::multiply(const Call& call, const Staged& from, int64_t panel, int64_t panels,
                             float* tile) const {
    const int64_t first = panel * columns;
    const auto width = static_cast<size_t>(panels * columns);
    const auto taken = static_cast<size_t>(std::min(m_n - first, panels * columns));
    NibbleTile part;
    part.c = tile;
    part.cStep = width;
    part.aStep = static_cast<size_t>(depth());
    part.sumStep = static_cast<size_t>(m_blocks);
    part.digitStep = static_cast<size_t>(m_blocks) * digitBytes();
    part.b = reinterpret_cast<const uint8_t*>(m_packed) + static_cast<size_t>(panel) * m_panelBytes;
    part.panelBytes = m_panelBytes;
    part.panels = static_cast<size_t>(panels);
    part.blocks = static_cast<size_t>(m_blocks);
    part.words = wordsOfBlock();
    part.shifted = m_shifted;
    for (int64_t row = 0; row < call.rows; row += rowsAtOnce) {
        const int64_t rows = std::min(rowsAtOnce, call.rows - row);
        for (int64_t r = 0; r < rows; ++r)
            if (call.bias)
                std::copy_n(call.bias + first, width, tile + r * panels * columns);
            else
                std::fill_n(tile + r * panels * columns, width, 0.0F);
        part.a = from.a + row * depth();
        part.sums = from.sums + row * m_blocks;
        part.digits =
            from.digits ? from.digits + static_cast<size_t>(row) * part.digitStep : nullptr;
        part.rows = static_cast<size_t>(rows);
        (from.digits ? m_table.nibblesByDigits : m_table.nibbles)(part);
        std::byte* to = call.y + static_cast<size_t>(row) * call.yStep +
                        static_cast<size_t>(first) * sizeOf(call.yType);
        for (int64_t r = 0; r < rows; ++r, to += call.yStep)
            m_table.store[static_cast<size_t>(call.yType)](to, tile + r * panels * columns, 1,
                                                           taken, 0, 1);
    }
}

size_t NibbleProduct::scratchBytes(int64_t rows) const {
    const auto floats = static_cast<size_t>(rows * depth());
    const auto sums = static_cast<size_t>(rows * m_blocks);
    return (floats + sums + laneGroup) * sizeof(float) +
           (m_table.nibblesByDigits ? sums * digitBytes() : 0);
}

void NibbleProduct::run(const Call& call, std::byte* scratch, Threads& threads) const {
    const auto floats = static_cast<size_t>(call.rows * depth());
    const auto sumCount = static_cast<size_t>(call.rows * m_blocks);
    const bool byDigits = m_table.nibblesByDigits != nullptr;
    Staged staged;
    staged.a = reinterpret_cast<float*>(scratch);
    staged.sums = staged.a + floats + laneGroup;
    staged.digits =
        byDigits
            ? reinterpret_cast<uint8_t*>(scratch + (floats + sumCount + laneGroup) * sizeof(float))
            : nullptr;
    std::atomic<bool> finite = true;
    constexpr size_t rowsWorthSharing = 4;
    threads.forRange(
        static_cast<size_t>(call.rows), rowsWorthSharing, [&](size_t, size_t begin, size_t end) {
            for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
                stage(call, row, staged);
                if (byDigits && !writeDigits(row, staged))
                    finite = false;
            }
        });
    if (!finite)
        staged.digits = nullptr;
    const int64_t groups = (m_panels + panelsAtOnce - 1) / panelsAtOnce;
    const int64_t weights = panelsAtOnce * columns * m_k * call.rows;
    const auto grain =
        static_cast<size_t>(std::max<int64_t>(grainWeights / std::max<int64_t>(weights, 1), 1));
    threads.forRange(
        static_cast<size_t>(groups), grain, [&](size_t worker, size_t begin, size_t end) {
            auto* tile = reinterpret_cast<float*>(threads.scratch(worker).reserve(
                rowsAtOnce * panelsAtOnce * columns * sizeof(float)));
            for (auto group = static_cast<int64_t>(begin); group < static_cast<int64_t>(end);
                 ++group) {
                const int64_t panel = group * panelsAtOnce;
                multiply(call, staged, panel, std::min(panelsAtOnce, m_panels - panel), tile);
            }
        });
}

} // namespace fuselage::cpu
