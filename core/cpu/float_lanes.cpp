// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/float_lanes.h"

#include <cmath>

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

} // namespace

FloatLanes withFloatLanes(const Tape& tape) {
    FloatLanes out{tape, std::vector<bool>(tape.inputs.size(), false),
                   std::vector<bool>(tape.outputs.size(), false)};
    std::vector<size_t> readers(tape.code.size(), 0);
    std::vector<bool> onlyWidened(tape.code.size(), true);
    for (const TapeInstruction& x : tape.code)
        for (int k = 0; k < operandCount(x.op); ++k) {
            ++readers[x.operand[k]];
            onlyWidened[x.operand[k]] =
                onlyWidened[x.operand[k]] && x.op == TapeOp::Cast && x.type == DType::Float32;
        }
    for (uint16_t reg : tape.outputs) {
        ++readers[reg];
        onlyWidened[reg] = false;
    }
    for (size_t i = 0; i < tape.inputs.size(); ++i) {
        bool floats = widensAtOnce(tape.inputs[i]), used = false;
        for (size_t reg = 0; reg < tape.code.size(); ++reg)
            if (tape.code[reg].op == TapeOp::Input && tape.code[reg].index == i) {
                floats = floats && onlyWidened[reg];
                used = true;
            }
        if (!floats || !used)
            continue;
        out.inputs[i] = true;
        out.tape.inputs[i] = DType::Float32;
        for (TapeInstruction& x : out.tape.code)
            if (x.op == TapeOp::Input && x.index == i)
                x.type = DType::Float32;
    }
    for (size_t k = 0; k < tape.outputs.size(); ++k) {
        const TapeInstruction& x = tape.code[tape.outputs[k]];
        const bool isByte = x.type == DType::Int8 || x.type == DType::UInt8;
        if (x.op != TapeOp::Cast || !isByte || readers[tape.outputs[k]] != 1 ||
            !isClamped(tape, x.operand[0], x.type))
            continue;
        out.outputs[k] = true;
        out.tape.code[tape.outputs[k]].type = DType::Float32;
    }
    return out;
}

} // namespace fuselage::cpu
