// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/tile_code.h"

#include "core/ops/tape_interpreter.h"
#include "core/ops/tape_power.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace fuselage::cpu {

namespace {

constexpr uint16_t none = 0xffff;

bool wrapsAfter(TapeOp op) {
    switch (op) {
    case TapeOp::Add:
    case TapeOp::Sub:
    case TapeOp::Mul:
    case TapeOp::Div:
    case TapeOp::Pow:
    case TapeOp::Neg:
    case TapeOp::Abs:
    case TapeOp::ShiftLeft:
    case TapeOp::BitNot:
        return true;
    default:
        return false;
    }
}

} // namespace

/// Assigns slots in one pass over the tape; slots of dead registers are used again.
class TileCompiler {
public:
    TileCompiler(TileCode& code, const Tape& tape, const VectorTable& table, bool strict)
        : m_out(code), m_tape(tape), m_table(table), m_strict(strict), m_same(tape.code.size()),
          m_slotOf(tape.code.size(), none), m_lastUse(tape.code.size(), 0),
          m_isOutput(tape.code.size(), false), m_free(laneCount) {}

    void compile(const std::vector<bool>& uniformInputs) {
        m_out.m_usedInputs.assign(m_tape.inputs.size(), false);
        for (const TapeInstruction& x : m_tape.code)
            if (x.op == TapeOp::Input)
                m_out.m_usedInputs[x.index] = true;
        for (size_t i = 0; i < m_tape.inputs.size(); ++i) {
            m_out.m_inputLanes.push_back(laneOf(m_tape.inputs[i]));
            m_out.m_uniformInputs.push_back(uniformInputs[i]);
            m_out.m_slots.push_back(
                {laneOf(m_tape.inputs[i]), uniformInputs[i] || !m_out.m_usedInputs[i]});
        }
        findAliasesAndUses();
        for (m_at = 0; m_at < m_tape.code.size(); ++m_at)
            instruction(m_tape.code[m_at]);
        outputs();
    }

private:
    void findAliasesAndUses() {
        for (size_t i = 0; i < m_tape.code.size(); ++i) {
            const TapeInstruction& x = m_tape.code[i];
            m_same[i] = static_cast<uint16_t>(i);
            for (int k = 0; k < operandCount(x.op); ++k)
                m_lastUse[m_same[x.operand[k]]] = i;
            if (x.op == TapeOp::Cast && isPlainCast(m_tape.type(x.operand[0]), x.type))
                m_same[i] = m_same[x.operand[0]];
        }
        for (uint16_t reg : m_tape.outputs) {
            m_lastUse[m_same[reg]] = m_tape.code.size();
            m_isOutput[m_same[reg]] = true;
        }
        // A register that a plain cast renames lives as long as its new name.
        for (size_t i = m_tape.code.size(); i-- > 0;)
            m_lastUse[m_same[i]] = std::max(m_lastUse[m_same[i]], m_lastUse[i]);
    }

    /// A cast that leaves the lanes as they are.
    static bool isPlainCast(DType from, DType to) {
        if (from == to && !isNarrowFloat(to))
            return true;
        return laneOf(from) == laneOf(to) && to == DType::Float32 && from != DType::Float64;
    }

    uint16_t slot(uint16_t reg) const { return m_slotOf[m_same[reg]]; }

    bool uniform(uint16_t reg) const { return m_out.m_slots[slot(reg)].uniform; }

    uint16_t newSlot(Lane lane, bool isUniform) {
        m_out.m_slots.push_back({lane, isUniform});
        return static_cast<uint16_t>(m_out.m_slots.size() - 1);
    }

    uint16_t takeSlot(Lane lane, bool isUniform, bool own) {
        auto& free = m_free[static_cast<size_t>(lane)];
        if (isUniform || own || free.empty())
            return newSlot(lane, isUniform);
        uint16_t out = free.back();
        free.pop_back();
        return out;
    }

    void release(uint16_t reg) {
        uint16_t canonical = m_same[reg];
        uint16_t s = m_slotOf[canonical];
        if (m_lastUse[canonical] != m_at || m_isOutput[canonical] || s < m_tape.inputs.size() ||
            m_out.m_slots[s].uniform)
            return;
        auto& free = m_free[static_cast<size_t>(m_out.m_slots[s].lane)];
        if (std::find(free.begin(), free.end(), s) == free.end())
            free.push_back(s);
    }

    void emit(VectorFunction f, uint16_t out, uint16_t a, uint16_t b, uint16_t c) {
        assert(f && "tape operation without a vector function for its lane");
        m_out.m_code.push_back({f, out, a, b, c, m_out.m_slots[out].uniform});
    }

    void instruction(const TapeInstruction& x) {
        if (m_same[m_at] != m_at)
            return;
        if (x.op == TapeOp::Input) {
            m_slotOf[m_at] = x.index;
            return;
        }
        if (x.op == TapeOp::Constant) {
            m_slotOf[m_at] = newSlot(laneOf(x.type), true);
            m_out.m_constants.push_back({m_slotOf[m_at], x.number, x.integer});
            return;
        }
        bool isUniform = true;
        int operands = operandCount(x.op);
        for (int k = 0; k < operands; ++k)
            isUniform = isUniform && uniform(x.operand[k]);
        // Lane sizes agree between slots of one free list, so a dying operand's slot may take
        // the result: every loop reads index i before it writes index i.
        for (int k = 0; k < operands; ++k)
            release(x.operand[k]);
        uint16_t out = takeSlot(laneOf(x.type), isUniform, m_isOutput[m_at]);
        m_slotOf[m_at] = out;
        if (x.op == TapeOp::Cast)
            cast(x, out);
        else if (x.op == TapeOp::Select)
            select(x, out, isUniform);
        else if (!specialPower(x, out))
            plain(x, out, isUniform);
        afterwards(x, out);
    }

    void plain(const TapeInstruction& x, uint16_t out, bool isUniform) {
        auto op = static_cast<size_t>(x.op);
        int operands = operandCount(x.op);
        DType type = m_tape.type(x.operand[operands - 1]);
        size_t form = 0;
        if (operands == 2 && !isUniform)
            form = uniform(x.operand[1]) ? 1 : uniform(x.operand[0]) ? 2 : 0;
        VectorFunction f = m_table.op[op][static_cast<size_t>(laneOf(type))][form];
        if (type == DType::UInt64 && m_table.opUnsigned[op][form])
            f = m_table.opUnsigned[op][form];
        uint16_t a = slot(x.operand[0]);
        emit(f, out, a, operands == 2 ? slot(x.operand[1]) : a, a);
    }

    /// x^2 and x^3 are products; the general power costs fifty times more.
    bool specialPower(const TapeInstruction& x, uint16_t out) {
        const int products = productsOfPower(m_tape, x);
        if (products == 0)
            return false;
        auto multiply =
            m_table.op[static_cast<size_t>(TapeOp::Mul)][static_cast<size_t>(laneOf(x.type))][0];
        uint16_t a = slot(x.operand[0]);
        if (products == 1) {
            emit(multiply, out, a, a, a);
            return true;
        }
        uint16_t square =
            newSlot(laneOf(x.type), m_out.m_slots[out].uniform); // out may be the base itself
        emit(multiply, square, a, a, a);
        emit(multiply, out, square, a, a);
        return true;
    }

    void select(const TapeInstruction& x, uint16_t out, bool isUniform) {
        auto lane = static_cast<size_t>(laneOf(x.type));
        uint16_t mask = slot(x.operand[0]);
        uint16_t b = slot(x.operand[1]), c = slot(x.operand[2]);
        size_t form = 0;
        if (!isUniform) {
            if (m_out.m_slots[mask].uniform)
                mask = splat(mask);
            if (uniform(x.operand[1]) && uniform(x.operand[2]))
                b = splat(b);
            form = uniform(x.operand[2]) ? 1 : uniform(x.operand[1]) ? 2 : 0;
        }
        emit(m_table.op[static_cast<size_t>(TapeOp::Select)][lane][form], out, mask, b, c);
    }

    uint16_t splat(uint16_t from) {
        Lane lane = m_out.m_slots[from].lane;
        uint16_t out = newSlot(lane, false);
        emit(m_table.splat[static_cast<size_t>(lane)], out, from, from, from);
        return out;
    }

    void cast(const TapeInstruction& x, uint16_t out) {
        DType from = m_tape.type(x.operand[0]);
        auto fromLane = static_cast<size_t>(laneOf(from));
        auto toLane = static_cast<size_t>(laneOf(x.type));
        VectorFunction f = m_table.convert[fromLane][toLane];
        if (from == DType::UInt64 && m_table.fromUnsigned[toLane])
            f = m_table.fromUnsigned[toLane];
        uint16_t a = slot(x.operand[0]);
        emit(f, out, a, a, a);
    }

    void afterwards(const TapeInstruction& x, uint16_t out) {
        VectorFunction round = m_table.round[static_cast<size_t>(x.type)];
        if (!round)
            return;
        bool needed = x.op == TapeOp::Cast || (isNarrowFloat(x.type) ? m_strict : wrapsAfter(x.op));
        if (needed)
            emit(round, out, out, out, out);
    }

    void outputs() {
        for (uint16_t reg : m_tape.outputs) {
            uint16_t s = slot(reg);
            if (m_out.m_slots[s].uniform)
                s = splat(s);
            m_out.m_outputLanes.push_back(m_out.m_slots[s].lane);
            m_out.m_outputSlots.push_back(s);
        }
        for (size_t k = 0; k < m_tape.outputs.size(); ++k) {
            uint16_t s = m_out.m_outputSlots[k];
            size_t first = m_out.m_code.size(), lastRead = 0;
            for (size_t i = m_out.m_code.size(); i-- > 0;) {
                const auto& x = m_out.m_code[i];
                if (x.out == s)
                    first = i;
                for (uint16_t operand : {x.a, x.b, x.c})
                    if (operand < m_tape.inputs.size())
                        lastRead = std::max(lastRead, i);
            }
            bool unique =
                std::count(m_out.m_outputSlots.begin(), m_out.m_outputSlots.end(), s) == 1;
            m_out.m_redirectable.push_back(unique && s >= m_tape.inputs.size());
            m_out.m_inPlace.push_back(m_out.m_redirectable.back() && first >= lastRead);
        }
    }

    TileCode& m_out;
    const Tape& m_tape;
    const VectorTable& m_table;
    bool m_strict;
    size_t m_at = 0;
    std::vector<uint16_t> m_same;   ///< register -> the register whose lanes it shares
    std::vector<uint16_t> m_slotOf; ///< by canonical register
    std::vector<size_t> m_lastUse;
    std::vector<bool> m_isOutput;
    std::vector<std::vector<uint16_t>> m_free; ///< per lane type
};

TileCode::TileCode(const Tape& tape, const std::vector<bool>& uniformInputs,
                   const VectorTable& table, bool strict) {
    TileCompiler(*this, tape, table, strict).compile(uniformInputs);
}

std::optional<Reason> TileCode::unsupported(const Tape& tape) {
    if (!wellTyped(tape))
        return Reason{"dtype", "the tape's operand types do not agree", {}, {}};
    const VectorTable& table = vectorTable();
    for (const TapeInstruction& x : tape.code) {
        if (x.op == TapeOp::Input || x.op == TapeOp::Constant || x.op == TapeOp::Cast)
            continue;
        DType type = tape.type(x.operand[operandCount(x.op) - 1]);
        if (!table.op[static_cast<size_t>(x.op)][static_cast<size_t>(laneOf(type))][0])
            return Reason{"dtype",
                          std::string("the tile interpreter has no ") + nameOf(x.op) + " of " +
                              nameOf(type),
                          {},
                          {}};
    }
    return std::nullopt;
}

namespace {

constexpr size_t uniformBytes = laneGroup * 8;

size_t alignUp(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

template <typename T> void fillGroup(void* target, T value) {
    std::fill_n(static_cast<T*>(target), laneGroup, value);
}

} // namespace

size_t TileCode::frameBytes(size_t lanes) const {
    size_t bytes = 0;
    for (const Slot& slot : m_slots)
        bytes += slot.uniform ? uniformBytes : alignUp(lanes * laneBytes(slot.lane));
    return bytes;
}

size_t TileCode::bytesPerLane() const {
    size_t bytes = 0;
    for (const Slot& slot : m_slots)
        bytes += slot.uniform ? 0 : laneBytes(slot.lane);
    return bytes;
}

TileCode::Frame TileCode::bind(std::byte* memory, size_t lanes) const {
    Frame frame;
    frame.slots.reserve(m_slots.size());
    for (const Slot& slot : m_slots) {
        frame.slots.push_back(memory);
        memory += slot.uniform ? uniformBytes : alignUp(lanes * laneBytes(slot.lane));
    }
    frame.own = frame.slots;
    frame.buffers.assign(frame.slots.begin(),
                         frame.slots.begin() + static_cast<ptrdiff_t>(inputCount()));
    for (const Constant& constant : m_constants) {
        void* target = frame.slots[constant.slot];
        switch (m_slots[constant.slot].lane) {
        case Lane::F32:
            fillGroup(target, static_cast<float>(constant.number));
            break;
        case Lane::F64:
            fillGroup(target, constant.number);
            break;
        case Lane::I64:
            fillGroup(target, constant.integer);
            break;
        case Lane::Bool:
            fillGroup(target, static_cast<uint8_t>(constant.integer != 0));
            break;
        }
    }
    return frame;
}

void TileCode::run(Frame& frame, size_t elements) const {
    const size_t lanes = frame.endsInside ? elements : roundUpToGroup(elements);
    frame.endsInside = false;
    void* const* slots = frame.slots.data();
    for (const Instruction& x : m_code)
        x.function(slots[x.out], slots[x.a], slots[x.b], slots[x.c], x.uniform ? laneGroup : lanes);
}

} // namespace fuselage::cpu
