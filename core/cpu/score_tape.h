// SPDX-License-Identifier: Apache-2.0
// What an attention does to its scores before the softmax can take over: all steps up to the last
// that is no mask, with the scale, as one tape over rows of scores and operands.
#pragma once

#include "core/cpu/tile_code.h"
#include "core/kernel/program.h"

namespace fuselage::cpu {

class ScoreTape {
public:
    ScoreTape(const Attention& attention, const VectorTable& table);

    /// Steps of the attention that this applies, the first ones; the softmax takes the others.
    /// None: the scale is the softmax's too, and there is nothing to run.
    size_t steps() const { return m_inputOf.size(); }

    /// Memory of one worker, 64-byte aligned.
    size_t bytes() const { return steps() == 0 ? 0 : m_code.frameBytes(lanes); }

    static std::optional<Reason> unsupported(const Attention& attention);

    /// In place; `masks` as the softmax takes them, one for each step (of a function: none).
    void run(const SoftmaxRows& rows, const SoftmaxRows::Mask* masks, std::byte* memory) const;

private:
    static constexpr size_t lanes = 512; ///< of a tile
    static constexpr size_t noInput = 0;

    void runRow(float* scores, size_t count, const SoftmaxRows::Mask* masks, size_t row,
                TileCode::Frame& frame) const;

    std::vector<size_t> m_inputOf; ///< of each step: its number in the tape; noInput: a function
    TileCode m_code;
};

} // namespace fuselage::cpu
