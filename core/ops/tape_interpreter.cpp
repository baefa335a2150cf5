// SPDX-License-Identifier: Apache-2.0
#include "core/ops/tape_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

bool isComparison(TapeOp op) {
    return op == TapeOp::Equal || op == TapeOp::Less || op == TapeOp::LessOrEqual;
}

/// Fmod with Mod's sign: that of the divisor.
double floorMod(double a, double b) {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double minimum(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}

double maximum(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

double binaryFloat(TapeOp op, double a, double b) {
    switch (op) {
    case TapeOp::Add:
        return a + b;
    case TapeOp::Sub:
        return a - b;
    case TapeOp::Mul:
        return a * b;
    case TapeOp::Div:
        return a / b;
    case TapeOp::Mod:
        return floorMod(a, b);
    case TapeOp::Fmod:
        return std::fmod(a, b);
    case TapeOp::Pow:
        return std::pow(a, b);
    case TapeOp::Min:
        return minimum(a, b);
    case TapeOp::Max:
        return maximum(a, b);
    default:
        return std::nan("");
    }
}

/// Wraps at 64 bits; a negative exponent gives what truncation of the real result gives.
int64_t integerPower(int64_t base, int64_t exponent) {
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    uint64_t result = 1;
    for (auto factor = static_cast<uint64_t>(base); exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= factor;
        factor *= factor;
    }
    return static_cast<int64_t>(result);
}

/// Integer division has no result for a zero divisor; 0 is given.
int64_t divideInts(DType type, TapeOp op, int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    if (type == DType::UInt64) {
        auto ua = static_cast<uint64_t>(a);
        auto ub = static_cast<uint64_t>(b);
        return static_cast<int64_t>(op == TapeOp::Div ? ua / ub : ua % ub);
    }
    if (b == -1) // INT64_MIN / -1 traps
        return op == TapeOp::Div ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : 0;
    if (op == TapeOp::Div)
        return a / b;
    int64_t r = a % b;
    return op == TapeOp::Mod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool lessInts(DType type, int64_t a, int64_t b) {
    return type == DType::UInt64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

int64_t shift(DType type, TapeOp op, int64_t a, int64_t b) {
    if (b < 0 || b >= static_cast<int64_t>(sizeOf(type) * 8))
        return 0;
    auto bits = static_cast<uint64_t>(a);
    if (op == TapeOp::ShiftLeft)
        return static_cast<int64_t>(bits << b);
    return isSigned(type) ? a >> b : static_cast<int64_t>(bits >> b);
}

/// Arithmetic modulo 2^64: overflow is the model's business, not undefined behaviour.
int64_t binaryInt(TapeOp op, DType type, int64_t a, int64_t b) {
    auto ua = static_cast<uint64_t>(a);
    auto ub = static_cast<uint64_t>(b);
    switch (op) {
    case TapeOp::Add:
        return static_cast<int64_t>(ua + ub);
    case TapeOp::Sub:
        return static_cast<int64_t>(ua - ub);
    case TapeOp::Mul:
        return static_cast<int64_t>(ua * ub);
    case TapeOp::Div:
    case TapeOp::Mod:
    case TapeOp::Fmod:
        return divideInts(type, op, a, b);
    case TapeOp::Pow:
        return integerPower(a, b);
    case TapeOp::Min:
        return lessInts(type, a, b) ? a : b;
    case TapeOp::Max:
        return lessInts(type, a, b) ? b : a;
    case TapeOp::And:
    case TapeOp::BitAnd:
        return a & b;
    case TapeOp::Or:
    case TapeOp::BitOr:
        return a | b;
    case TapeOp::Xor:
    case TapeOp::BitXor:
        return a ^ b;
    case TapeOp::ShiftLeft:
    case TapeOp::ShiftRight:
        return shift(type, op, a, b);
    default:
        return 0;
    }
}

int64_t unaryInt(TapeOp op, DType type, int64_t a) {
    auto negated = static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    switch (op) {
    case TapeOp::Neg:
        return negated;
    case TapeOp::Abs:
        return isSigned(type) && a < 0 ? negated : a;
    case TapeOp::Sign:
        return isSigned(type) ? (a > 0) - (a < 0) : a != 0;
    case TapeOp::Not:
        return a == 0;
    case TapeOp::BitNot:
        return ~a;
    case TapeOp::Floor:
    case TapeOp::Ceil:
    case TapeOp::RoundEven:
        return a;
    default: // a function of real numbers: what casting to and from double gives
        return static_cast<int64_t>(rowOf(op).function(static_cast<double>(a)));
    }
}

int64_t truncated(double x) {
    constexpr double limit = 9223372036854775808.0; // 2^63
    if (std::isnan(x) || x < -limit || x >= 2 * limit)
        return std::numeric_limits<int64_t>::min();
    return x >= limit ? static_cast<int64_t>(static_cast<uint64_t>(x)) : static_cast<int64_t>(x);
}

double widened(DType from, int64_t x) {
    return from == DType::UInt64 ? static_cast<double>(static_cast<uint64_t>(x))
                                 : static_cast<double>(x);
}

/// Float edges stay exact; only a cast to a narrower or other 16-bit format rounds, and one of
/// float32 to itself, which asks for the stored value.
bool castRounds(DType from, DType to) {
    return !isFloat(from) || sizeOf(to) < sizeOf(from) || (sizeOf(to) == 2 && from != to) ||
           (from == DType::Float32 && to == DType::Float32);
}

bool compareFloats(TapeOp op, double a, double b) {
    return op == TapeOp::Equal ? a == b : op == TapeOp::Less ? a < b : a <= b;
}

bool compareInts(TapeOp op, DType type, int64_t a, int64_t b) {
    if (op == TapeOp::Equal)
        return a == b;
    return op == TapeOp::Less ? lessInts(type, a, b) : !lessInts(type, b, a);
}

/// One instruction on one block.
struct InstructionRun {
    TapeBlock& block;
    const Tape& tape;
    const TapeInstruction& at;
    uint16_t reg;
    size_t count;

    DType operandType(int k) const { return tape.type(at.operand[k]); }

    const double* f(int k) const { return block.floats(at.operand[k]); }

    const int64_t* i(int k) const { return block.ints(at.operand[k]); }

    template <typename F> void fillFloats(F&& f) {
        double* out = block.floats(reg);
        for (size_t n = 0; n < count; ++n)
            out[n] = f(n);
    }

    template <typename F> void fillInts(F&& f) {
        int64_t* out = block.ints(reg);
        for (size_t n = 0; n < count; ++n)
            out[n] = f(n);
    }

    void constant() {
        if (isFloat(at.type))
            fillFloats([&](size_t) { return at.number; });
        else
            fillInts([&](size_t) { return at.integer; });
    }

    void compare() {
        if (isFloat(operandType(0)))
            fillInts(
                [&, a = f(0), b = f(1)](size_t n) { return compareFloats(at.op, a[n], b[n]); });
        else
            fillInts([&, a = i(0), b = i(1), type = operandType(0)](size_t n) {
                return compareInts(at.op, type, a[n], b[n]);
            });
    }

    void classify() {
        const bool nan = at.op == TapeOp::IsNan;
        if (isFloat(operandType(0)))
            fillInts([&, a = f(0)](size_t n) { return nan ? std::isnan(a[n]) : std::isinf(a[n]); });
        else
            fillInts([](size_t) { return 0; });
    }

    void select() {
        if (isFloat(at.type))
            fillFloats(
                [c = i(0), a = f(1), b = f(2)](size_t n) { return c[n] != 0 ? a[n] : b[n]; });
        else
            fillInts([c = i(0), a = i(1), b = i(2)](size_t n) { return c[n] != 0 ? a[n] : b[n]; });
    }

    void cast() {
        const DType from = operandType(0);
        if (isFloat(from) && isFloat(at.type))
            fillFloats([&, a = f(0), rounds = castRounds(from, at.type)](size_t n) {
                return rounds ? roundTo(at.type, a[n]) : a[n];
            });
        else if (isFloat(at.type))
            fillFloats([&, a = i(0)](size_t n) { return roundTo(at.type, widened(from, a[n])); });
        else if (at.type == DType::Bool && isFloat(from))
            fillInts([a = f(0)](size_t n) { return a[n] != 0; });
        else if (at.type == DType::Bool)
            fillInts([a = i(0)](size_t n) { return a[n] != 0; });
        else if (isFloat(from))
            fillInts([&, a = f(0)](size_t n) { return wrapTo(at.type, truncated(a[n])); });
        else
            fillInts([&, a = i(0)](size_t n) { return wrapTo(at.type, a[n]); });
    }

    void arithmetic() {
        const bool two = operandCount(at.op) == 2;
        if (isFloat(at.type) && two)
            fillFloats(
                [&, a = f(0), b = f(1)](size_t n) { return binaryFloat(at.op, a[n], b[n]); });
        else if (isFloat(at.type))
            fillFloats(
                [a = f(0), function = rowOf(at.op).function](size_t n) { return function(a[n]); });
        else if (two)
            fillInts([&, a = i(0), b = i(1)](size_t n) {
                return wrapTo(at.type, binaryInt(at.op, at.type, a[n], b[n]));
            });
        else
            fillInts([&, a = i(0)](size_t n) {
                return wrapTo(at.type, unaryInt(at.op, at.type, a[n]));
            });
    }

    void run() {
        if (at.op == TapeOp::Input)
            return;
        if (at.op == TapeOp::Constant)
            return constant();
        if (at.op == TapeOp::Select)
            return select();
        if (at.op == TapeOp::Cast)
            return cast();
        if (at.op == TapeOp::IsNan || at.op == TapeOp::IsInf)
            return classify();
        return isComparison(at.op) ? compare() : arithmetic();
    }
};

bool wellTyped(const Tape& tape, const TapeInstruction& at) {
    auto type = [&](int k) { return tape.type(at.operand[k]); };
    if (at.type == DType::String || at.type == DType::Undefined)
        return false;
    switch (at.op) {
    case TapeOp::Input:
    case TapeOp::Constant:
    case TapeOp::Cast:
        return true;
    case TapeOp::IsNan:
    case TapeOp::IsInf:
        return at.type == DType::Bool;
    case TapeOp::Select:
        return type(0) == DType::Bool && type(1) == at.type && type(2) == at.type;
    default:
        break;
    }
    if (isComparison(at.op))
        return at.type == DType::Bool && type(0) == type(1);
    for (int k = 0; k < operandCount(at.op); ++k)
        if (type(k) != at.type)
            return false;
    return operandCount(at.op) != 1 || !isFloat(at.type) || rowOf(at.op).function;
}

} // namespace

bool wellTyped(const Tape& tape) {
    return std::all_of(tape.code.begin(), tape.code.end(),
                       [&](const TapeInstruction& at) { return wellTyped(tape, at); });
}

TapeBlock::TapeBlock(const Tape& tape)
    : m_tape(tape), m_floats(tape.code.size() * length), m_ints(tape.code.size() * length) {}

void TapeBlock::run(size_t count) {
    for (size_t reg = 0; reg < m_tape.code.size(); ++reg)
        InstructionRun{*this, m_tape, m_tape.code[reg], static_cast<uint16_t>(reg), count}.run();
}

} // namespace fuselage
