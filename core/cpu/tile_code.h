// SPDX-License-Identifier: Apache-2.0
// A tape compiled for the tile interpreter: vector functions over slots. A slot is a buffer of one
// tile of lanes, or one value for the whole tile ("uniform"). Does not know where tiles come from.
#pragma once

#include "core/cpu/vector_table.h"
#include "core/support/reason.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fuselage::cpu {

class TileCode {
public:
    TileCode() = default;
    /// uniformInputs: per tape input, whether it has one value in every tile. strict: round after
    /// every instruction of a 16-bit float type.
    TileCode(const Tape& tape, const std::vector<bool>& uniformInputs, const VectorTable& table,
             bool strict);

    /// Why a tape cannot be compiled: ill typed, or an operation without lanes of that type.
    static std::optional<Reason> unsupported(const Tape& tape);

    /// Where the slots of one worker lie while it runs.
    struct Frame {
        std::vector<void*> slots;   ///< inputs first; may be pointed at operand memory
        std::vector<void*> buffers; ///< of the inputs
        std::vector<void*> own;     ///< the slots as bound
        /// Some slot of the tile at hand is operand memory that ends within a group of lanes.
        bool endsInside = false;
    };

    size_t frameBytes(size_t lanes) const;
    /// Places all slots in memory (64-byte aligned, frameBytes(lanes) long), writes constants.
    Frame bind(std::byte* memory, size_t lanes) const;

    /// Computes a tile: whole groups of lanes, unless memory ends inside.
    void run(Frame& frame, size_t elements) const;

    size_t inputCount() const { return m_inputLanes.size(); }

    Lane inputLane(size_t input) const { return m_inputLanes[input]; }

    bool uniformInput(size_t input) const { return m_uniformInputs[input]; }

    /// Whether the tape reads this input at all; others need not be loaded.
    bool usesInput(size_t input) const { return m_usedInputs[input]; }

    size_t outputCount() const { return m_outputSlots.size(); }

    Lane outputLane(size_t output) const { return m_outputLanes[output]; }

    /// A full tile of lanes unless uniformOutput.
    const void* output(const Frame& frame, size_t output) const {
        return frame.slots[m_outputSlots[output]];
    }

    /// Whether the tape computes this output into a slot of its own, so that the slot may be
    /// pointed at the operand's memory before run.
    bool redirectable(size_t output) const { return m_redirectable[output]; }

    /// The same when that memory is also an input's: no input is read after it is written.
    bool redirectableInPlace(size_t output) const { return m_inPlace[output]; }

    void redirect(Frame& frame, size_t output, void* target) const {
        frame.slots[m_outputSlots[output]] = target;
    }

    void unredirect(Frame& frame, size_t output) const {
        frame.slots[m_outputSlots[output]] = frame.own[m_outputSlots[output]];
    }

    /// Bytes a lane that all tile-sized slots take together.
    size_t bytesPerLane() const;

private:
    friend class TileCompiler;

    struct Slot {
        Lane lane = Lane::F32;
        bool uniform = false;
    };

    struct Constant {
        uint16_t slot = 0;
        double number = 0;
        int64_t integer = 0;
    };

    struct Instruction {
        VectorFunction function = nullptr;
        uint16_t out = 0, a = 0, b = 0, c = 0;
        bool uniform = false;
    };

    std::vector<Slot> m_slots;
    std::vector<Constant> m_constants;
    std::vector<Instruction> m_code;
    std::vector<Lane> m_inputLanes;
    std::vector<bool> m_uniformInputs, m_usedInputs;
    std::vector<uint16_t> m_outputSlots;
    std::vector<Lane> m_outputLanes;
    std::vector<bool> m_redirectable, m_inPlace;
};

} // namespace fuselage::cpu
