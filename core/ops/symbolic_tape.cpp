// SPDX-License-Identifier: Apache-2.0
#include "core/ops/symbolic_tape.h"

#include "core/ops/tensor_index.h"

namespace fuselage {

namespace {

bool atLeast(const Dim& dim, int64_t bound) {
    auto lower = dim.lowerBound();
    return lower && *lower >= bound;
}

Dim fromBool(std::optional<bool> known) {
    return known ? Dim(*known ? 1 : 0) : Dim();
}

/// ONNX Div truncates; that is floor division when neither side is negative.
Dim divide(const Dim& a, const Dim& b) {
    if (a.isNumber() && b.isNumber()) {
        if (b.value() == 0 || (b.value() == -1 && a.value() == INT64_MIN))
            return {};
        return a.value() / b.value();
    }
    return atLeast(a, 0) && atLeast(b, 0) ? Dim::divide(a, b) : Dim();
}

Dim modulo(TapeOp op, const Dim& a, const Dim& b) {
    if (a.isNumber() && b.isNumber()) {
        if (b.value() == 0 || b.value() == -1)
            return b.value() == 0 ? Dim() : Dim(0);
        int64_t r = a.value() % b.value();
        bool adjust = op == TapeOp::Mod && r != 0 && (r < 0) != (b.value() < 0);
        return adjust ? r + b.value() : r;
    }
    return atLeast(a, 0) && atLeast(b, 0) ? a - b * Dim::divide(a, b) : Dim();
}

Dim logical(TapeOp op, const Dim& a, const Dim& b) {
    if (a.isNumber() && b.isNumber()) {
        bool x = a.value() != 0;
        bool y = b.value() != 0;
        return op == TapeOp::And ? (x && y) : op == TapeOp::Or ? (x || y) : x != y;
    }
    const Dim decides = op == TapeOp::And ? 0 : 1; // false and x, true or x
    return op != TapeOp::Xor && (a == decides || b == decides) ? decides : Dim();
}

Dim castDim(DType to, const Dim& a) {
    if (to == DType::Bool)
        return a.isNumber() ? Dim(a.value() != 0) : atLeast(a, 1) ? Dim(1) : Dim();
    if (a.isNumber())
        return wrapTo(to, a.value());
    return sizeOf(to) >= 4 ? a : Dim(); // an extent fits in 32 bits, or nothing works anyway
}

Dim unary(const TapeInstruction& at, const Dim& a) {
    switch (at.op) {
    case TapeOp::Neg:
        return Dim(0) - a;
    case TapeOp::Abs:
        return atLeast(a, 0) ? a : a.isNumber() ? Dim(0) - a : Dim();
    case TapeOp::Sign:
        return atLeast(a, 1) ? Dim(1) : a.isNumber() ? Dim(a.value() < 0 ? -1 : 0) : Dim();
    case TapeOp::Not:
        return a.isNumber() ? Dim(a.value() == 0) : Dim();
    case TapeOp::Floor:
    case TapeOp::Ceil:
    case TapeOp::RoundEven:
        return a;
    case TapeOp::Cast:
        return castDim(at.type, a);
    default:
        return {};
    }
}

Dim symbolicBinary(TapeOp op, const Dim& a, const Dim& b) {
    switch (op) {
    case TapeOp::Add:
        return a + b;
    case TapeOp::Sub:
        return a - b;
    case TapeOp::Mul:
        return a * b;
    case TapeOp::Div:
        return divide(a, b);
    case TapeOp::Mod:
    case TapeOp::Fmod:
        return modulo(op, a, b);
    case TapeOp::Min:
        return minDim(a, b);
    case TapeOp::Max:
        return maxDim(a, b);
    case TapeOp::And:
    case TapeOp::Or:
    case TapeOp::Xor:
        return logical(op, a, b);
    case TapeOp::Equal:
        return fromBool(certainlyEqual(a, b));
    case TapeOp::Less:
        return fromBool(certainlyLess(a, b));
    case TapeOp::LessOrEqual: {
        auto greater = certainlyLess(b, a);
        return greater ? fromBool(!*greater) : Dim();
    }
    default:
        return {};
    }
}

/// A register of a float type is never told: numbers through floats are folded as constants.
bool isTold(const Tape& tape, const TapeInstruction& at) {
    if (isFloat(at.type))
        return false;
    for (int k = 0; k < operandCount(at.op); ++k)
        if (isFloat(tape.type(at.operand[k])))
            return false;
    return true;
}

Dim run(const Tape& tape, const std::vector<Dim>& inputs) {
    std::vector<Dim> regs(tape.code.size());
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        const TapeInstruction& at = tape.code[reg];
        auto operand = [&](int k) -> const Dim& { return regs[at.operand[k]]; };
        if (!isTold(tape, at))
            continue;
        if (at.op == TapeOp::Input)
            regs[reg] = inputs[at.index];
        else if (at.op == TapeOp::Constant)
            regs[reg] = at.integer;
        else if (at.op == TapeOp::Select && operand(0).isNumber())
            regs[reg] = operand(operand(0).value() != 0 ? 1 : 2);
        else if (at.op == TapeOp::Select)
            regs[reg] = operand(1) == operand(2) ? operand(1) : Dim();
        else if (operandCount(at.op) == 2)
            regs[reg] = symbolicBinary(at.op, operand(0), operand(1));
        else
            regs[reg] = unary(at, operand(0));
    }
    const Dim& result = regs[tape.outputs[0]];
    return result.isNumber() ? Dim(wrapTo(tape.type(tape.outputs[0]), result.value())) : result;
}

} // namespace

std::optional<bool> certainlyLess(const Dim& a, const Dim& b) {
    if (atLeast(b - a, 1))
        return true;
    return atLeast(a - b, 0) ? std::optional(false) : std::nullopt;
}

std::optional<bool> certainlyEqual(const Dim& a, const Dim& b) {
    if (a == b)
        return true;
    return atLeast(b - a, 1) || atLeast(a - b, 1) || certainlyDifferent(a, b) ? std::optional(false)
                                                                              : std::nullopt;
}

Dim minDim(const Dim& a, const Dim& b) {
    return atLeast(b - a, 0) ? a : atLeast(a - b, 0) ? b : Dim();
}

Dim maxDim(const Dim& a, const Dim& b) {
    return atLeast(a - b, 0) ? a : atLeast(b - a, 0) ? b : Dim();
}

std::optional<SymbolicTensor>
evaluateOnDims(const Tape& tape, const std::vector<SymbolicTensor>& operands, int64_t maxElements) {
    SymbolicTensor out;
    for (const SymbolicTensor& operand : operands) {
        auto merged = broadcastExtents(out.extents, operand.extents);
        auto count = merged ? elementCount(*merged) : std::nullopt;
        if (!count || *count > maxElements)
            return std::nullopt;
        out.extents = std::move(*merged);
    }
    std::vector<Extents> strides;
    for (const SymbolicTensor& operand : operands)
        strides.push_back(broadcastStrides(operand.extents, out.extents));
    std::vector<Dim> inputs(operands.size());
    for (StridedWalk walk(out.extents, strides); walk.valid(); walk.next()) {
        for (size_t k = 0; k < operands.size(); ++k)
            inputs[k] = operands[k].contents[static_cast<size_t>(walk.offset(k))];
        out.contents.push_back(run(tape, inputs));
    }
    return out;
}

} // namespace fuselage
