// SPDX-License-Identifier: Apache-2.0
// Products of rows of floats with constant weights of 4 bits that stay so in memory, packed once
// into panels of columns, which the workers share. With 8-bit dot products a row is written in
// digits of 7 bits, 21 for each element of a block, so that sums are whole numbers until a block
// ends; else weights become floats in registers while they are multiplied. Knows neither operators
// nor how a file stores its weights.
#pragma once

#include "core/cpu/row_call.h"
#include "core/cpu/threads.h"
#include "core/cpu/vector_table.h"

#include <cstdint>
#include <functional>

namespace fuselage::cpu {

/// Elements of a block where a column has one scale: that loses nothing, and digits are those of
/// few neighbours.
constexpr int64_t blockOfOneScale = 64;

/// Weights [k, n]: an element is (code - 8) * scale + shift, with codes from 0 to 15 and a scale
/// and a shift for every `block` elements of a column.
struct NibbleSource {
    int64_t k = 0, n = 0;
    int64_t block = 0;    ///< a multiple of eight; the last one may end behind k
    bool shifted = false; ///< else every shift is 0
    /// Codes of eight neighbours of a column, from k = 8 * word on, the first in the lowest bits.
    std::function<uint32_t(int64_t n, int64_t word)> codes;
    std::function<float(int64_t n, int64_t block)> scale, shift;

    int64_t blocks() const { return (k + block - 1) / block; }
};

class NibbleProduct {
public:
    /// Packs; the source is not needed later.
    NibbleProduct(const VectorTable& table, const NibbleSource& source, Pages& pages);

    using Call = RowCall;

    size_t scratchBytes(int64_t rows) const;
    void run(const Call& call, std::byte* scratch, Threads& threads) const;

    /// n, rounded up to whole panels.
    int64_t paddedColumns() const { return m_panels * static_cast<int64_t>(NibbleTile::columns); }

private:
    /// A in the form that loops take it.
    struct Staged {
        float* a = nullptr;
        float* sums = nullptr;
        uint8_t* digits = nullptr; ///< null: by floats
    };

    size_t wordsOfBlock() const { return static_cast<size_t>(m_block / perWord); }
    int64_t depth() const { return m_blocks * m_block; }
    size_t digitBytes() const { // of a block
        return sizeof(DigitBlock) + wordsOfBlock() * DigitBlock::wordBytes;
    }

    void pack(int64_t n, int64_t block, const NibbleSource& source, std::byte* packed) const;
    void stage(const Call& call, int64_t row, const Staged& to) const;
    bool writeDigits(int64_t row, const Staged& to) const;
    void multiply(const Call& call, const Staged& from, int64_t panel, int64_t panels,
                  float* tile) const;

    static constexpr int64_t perWord = 8;

    const VectorTable& m_table;
    int64_t m_k, m_n, m_block, m_blocks, m_panels;
    bool m_shifted;
    size_t m_panelBytes = 0;
    const std::byte* m_packed = nullptr; ///< in the pages
};

} // namespace fuselage::cpu
