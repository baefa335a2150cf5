// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/zero_point.h"

namespace fuselage {

namespace {

/// The tape input that a register widens to int32.
std::optional<uint16_t> widenedInput(const Tape& tape, uint16_t reg) {
    const TapeInstruction& x = tape.code[reg];
    if (x.op != TapeOp::Cast || x.type != DType::Int32)
        return std::nullopt;
    const TapeInstruction& from = tape.code[x.operand[0]];
    const bool byte = from.type == DType::Int8 || from.type == DType::UInt8;
    return from.op == TapeOp::Input && byte ? std::optional(from.index) : std::nullopt;
}

} // namespace

std::optional<ZeroPoint> zeroPointOf(const std::optional<Prologue>& prologue) {
    if (!prologue)
        return ZeroPoint{};
    const Tape& tape = prologue->tape;
    const TapeInstruction& last = tape.code[tape.outputs[0]];
    if (last.op != TapeOp::Sub || last.type != DType::Int32 ||
        widenedInput(tape, last.operand[0]) != uint16_t{0})
        return std::nullopt;
    const TapeInstruction& origin = tape.code[last.operand[1]];
    if (origin.op == TapeOp::Constant)
        return ZeroPoint{static_cast<int32_t>(origin.integer), std::nullopt};
    if (prologue->reads.size() != 1 || widenedInput(tape, last.operand[1]) != uint16_t{1})
        return std::nullopt;
    return ZeroPoint{0, prologue->reads[0]};
}

} // namespace fuselage
