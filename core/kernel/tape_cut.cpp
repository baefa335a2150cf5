// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/tape_cut.h"

#include <algorithm>

namespace fuselage {

namespace {

class ScaledSumsMatcher {
public:
    ScaledSumsMatcher(const Tape& tape, const std::vector<bool>& perColumn) : m_tape(tape) {
        for (const TapeInstruction& x : tape.code) {
            bool column = x.op != TapeOp::Input || (x.index > 0 && perColumn[x.index - 1]);
            for (int k = 0; k < operandCount(x.op); ++k)
                column = column && m_column[x.operand[k]];
            m_column.push_back(column);
        }
    }

    std::optional<ScaledSums> run() const {
        const auto sum =
            std::find_if(m_tape.code.begin(), m_tape.code.end(), [](const TapeInstruction& x) {
                return x.op == TapeOp::Input && x.index == 0;
            });
        if (sum == m_tape.code.end() || m_tape.inputs[0] != DType::Int32)
            return std::nullopt;
        const auto widened = next(static_cast<uint16_t>(sum - m_tape.code.begin()), TapeOp::Cast);
        const auto scaled = widened ? next(*widened, TapeOp::Mul) : std::nullopt;
        if (!scaled)
            return std::nullopt;
        const auto shifted = next(*scaled, TapeOp::Add);
        const uint16_t head = shifted ? *shifted : *scaled;
        std::vector<uint16_t> columns = {otherOperand(*scaled, *widened)};
        if (shifted)
            columns.push_back(otherOperand(*shifted, *scaled));
        ScaledSums out{partOfTape(m_tape, columns, std::nullopt), shifted.has_value(), {}};
        if (m_tape.outputs != std::vector<uint16_t>{head})
            out.rest = partOfTape(m_tape, m_tape.outputs, head);
        return out;
    }

private:
    uint16_t otherOperand(uint16_t reg, uint16_t than) const {
        const TapeInstruction& x = m_tape.code[reg];
        return x.operand[x.operand[0] == than ? 1 : 0];
    }

    /// The only reader of a register that is no result, where it is that operation in float32 with
    /// a column.
    std::optional<uint16_t> next(uint16_t reg, TapeOp op) const {
        if (std::count(m_tape.outputs.begin(), m_tape.outputs.end(), reg) > 0)
            return std::nullopt;
        std::optional<uint16_t> out;
        for (size_t i = reg; i < m_tape.code.size(); ++i)
            for (int k = 0; k < operandCount(m_tape.code[i].op); ++k)
                if (m_tape.code[i].operand[k] == reg) {
                    if (out)
                        return std::nullopt;
                    out = static_cast<uint16_t>(i);
                }
        if (!out || m_tape.code[*out].op != op || m_tape.type(*out) != DType::Float32)
            return std::nullopt;
        const bool fits = op == TapeOp::Cast || m_column[otherOperand(*out, reg)];
        return fits ? out : std::nullopt;
    }

    const Tape& m_tape;
    std::vector<bool> m_column; ///< by register
};

} // namespace

TapePart partOfTape(const Tape& tape, const std::vector<uint16_t>& outputs,
                    std::optional<uint16_t> head) {
    std::vector<bool> live(tape.code.size(), false);
    for (uint16_t output : outputs)
        live[output] = true;
    for (size_t i = tape.code.size(); i-- > 0;)
        if (live[i] && i != head)
            for (int k = 0; k < operandCount(tape.code[i].op); ++k)
                live[tape.code[i].operand[k]] = true;
    TapePart out;
    if (head)
        out.tape.inputs = {tape.type(*head)};
    std::vector<uint16_t> moved(tape.code.size(), 0);
    for (size_t i = 0; i < tape.code.size(); ++i) {
        if (!live[i])
            continue;
        TapeInstruction x = tape.code[i];
        if (i == head) {
            x = {TapeOp::Input, tape.type(*head), {}, 0, 0, 0};
        } else if (x.op == TapeOp::Input) {
            out.reads.push_back(static_cast<uint32_t>(x.index - 1));
            x.index = static_cast<uint16_t>(out.tape.inputs.size());
            out.tape.inputs.push_back(x.type);
        } else {
            for (int k = 0; k < operandCount(x.op); ++k)
                x.operand[k] = moved[x.operand[k]];
        }
        moved[i] = static_cast<uint16_t>(out.tape.code.size());
        out.tape.code.push_back(x);
    }
    for (uint16_t output : outputs)
        out.tape.outputs.push_back(moved[output]);
    return out;
}

std::optional<ScaledSums> matchScaledSums(const Tape& tape, const std::vector<bool>& perColumn) {
    return ScaledSumsMatcher(tape, perColumn).run();
}

} // namespace fuselage
