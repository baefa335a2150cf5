// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/float_lanes.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// Whether converting to float32 gives the same through int64 and at once.
bool widensAtOnce(DType type) {
    return type == DType::Int8 || type == DType::UInt8 || type == DType::Int16 ||
           type == DType::UInt16 || type == DType::Int32;
}

/// A constant between the bounds of an 8-bit type.
bool isWithin(const Tape& tape, uint16_t reg, DType type) {
    const TapeInstruction& x = tape.code[reg];
    const double low = type == DType::Int8 ? -128 : 0, high = type == DType::Int8 ? 127 : 255;
    return x.op == TapeOp::Constant && x.number >= low && x.number <= high;
}

/// Whether a register is min(max(x, low), high), so that a conversion to `type` never wraps.
bool isClamped(const Tape& tape, uint16_t reg, DType type) {
    const TapeInstruction& upper = tape.code[reg];
    if (upper.op != TapeOp::Min || upper.type != DType::Float32)
        return false;
    for (int side : {0, 1}) {
        if (!isWithin(tape, upper.operand[1 - side], type))
            continue;
        const TapeInstruction& lower = tape.code[upper.operand[side]];
        if (lower.op == TapeOp::Max &&
            (isWithin(tape, lower.operand[0], type) || isWithin(tape, lower.operand[1], type)))
            return true;
    }
    return false;
}

enum class Use : uint8_t { None, Widened, Other };

/// What a tape does with the integers of an input.
Use useOf(const Tape& tape, size_t input) {
    std::vector<bool> isInput(tape.code.size(), false);
    Use use = Use::None;
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        const TapeInstruction& x = tape.code[reg];
        isInput[reg] = x.op == TapeOp::Input && x.index == input;
        for (int k = 0; k < operandCount(x.op); ++k) {
            if (!isInput[x.operand[k]])
                continue;
            if (x.op != TapeOp::Cast || x.type != DType::Float32)
                return Use::Other;
            use = Use::Widened;
        }
    }
    const bool isWritten = std::any_of(tape.outputs.begin(), tape.outputs.end(),
                                       [&](uint16_t reg) { return isInput[reg]; });
    return isWritten ? Use::Other : use;
}

void readFloats(Tape& tape, size_t input) {
    tape.inputs[input] = DType::Float32;
    for (TapeInstruction& x : tape.code)
        if (x.op == TapeOp::Input && x.index == input)
            x.type = DType::Float32;
}

/// Leaves the last conversion of outputs to their store; returns of which.
std::vector<bool> writeFloats(Tape& tape) {
    std::vector<size_t> readers(tape.code.size(), 0);
    for (const TapeInstruction& x : tape.code)
        for (int k = 0; k < operandCount(x.op); ++k)
            ++readers[x.operand[k]];
    for (uint16_t reg : tape.outputs)
        ++readers[reg];
    std::vector<bool> out(tape.outputs.size(), false);
    for (size_t k = 0; k < tape.outputs.size(); ++k) {
        TapeInstruction& x = tape.code[tape.outputs[k]];
        const bool isByte = x.type == DType::Int8 || x.type == DType::UInt8;
        out[k] = x.op == TapeOp::Cast && isByte && readers[tape.outputs[k]] == 1 &&
                 isClamped(tape, x.operand[0], x.type);
        if (out[k])
            x.type = DType::Float32;
    }
    return out;
}

/// Makes an input float32 in all tapes that read it, if that changes nothing.
bool readFloats(const std::vector<Tape*>& tapes, size_t input) {
    bool isUsed = false;
    for (const Tape* tape : tapes) {
        const Use use = widensAtOnce(tape->inputs[input]) ? useOf(*tape, input) : Use::Other;
        if (use == Use::Other)
            return false;
        isUsed = isUsed || use == Use::Widened;
    }
    if (isUsed)
        for (Tape* tape : tapes)
            readFloats(*tape, input);
    return isUsed;
}

} // namespace

FloatLanes withFloatLanes(const Tape& tape) {
    FloatLanes out{tape, {}, {}};
    for (size_t i = 0; i < tape.inputs.size(); ++i)
        out.inputs.push_back(readFloats({&out.tape}, i));
    out.outputs = writeFloats(out.tape);
    return out;
}

RowFloatLanes withFloatLanes(const Row& row) {
    RowFloatLanes out{row, {}, {}};
    std::vector<Tape*> tapes;
    for (Row::Stage& stage : out.row.stages)
        tapes.push_back(&stage.map);
    tapes.push_back(&out.row.element);
    for (size_t i = 0; i < row.reads.size(); ++i)
        out.reads.push_back(readFloats(tapes, i));
    out.elementWrites = writeFloats(out.row.element);
    return out;
}

} // namespace fuselage::cpu
