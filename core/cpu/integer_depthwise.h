// SPDX-License-Identifier: Apache-2.0
// Sums of a depthwise convolution of 8-bit integers, channels last: by 8-bit dot products along the
// taps where the processor has them, else in float32, which holds such sums.
#pragma once

#include "core/cpu/integer_operands.h"

namespace fuselage::cpu {

class IntegerDepthwise {
public:
    /// One matrix [taps, 1] a channel; `rows` must outlive this.
    IntegerDepthwise(const std::vector<IntegerMatrix>& channels, const Contraction& program,
                     const IntegerRows& rows, const VectorTable& table);

    size_t scratchBytes() const;

    /// The sums of a strip's rows, `step` apart, over what is stored; `fill` is the padding.
    void sums(const std::byte* a, const Strip& strip, uint8_t fill, int32_t* c, int64_t step,
              std::byte* scratch) const;

private:
    const IntegerLoops& m_loops;
    const IntegerRows& m_rows;
    RowDims m_dims;
    size_t m_channels, m_taps;
    size_t m_parts; ///< bytes of a weight: more than one where a zero point made it larger
    size_t m_quads; ///< of taps
    std::vector<int8_t> m_dots;   ///< weights as ByteDots takes them; empty: by floats
    std::vector<float> m_weights; ///< [taps, channels]
};

} // namespace fuselage::cpu
