// SPDX-License-Identifier: Apache-2.0
#include "core/ops/tape.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cassert>
#include <cmath>

namespace fuselage {

namespace {

double sign(double x) {
    return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}

constexpr TapeCost root{4, true}, exponential{6, true}, circular{16, true};
constexpr TapeCost division{6, false}, remainder{16, false};

// clang-format off
constexpr std::array tapeOps{
    TapeOpRow{TapeOp::Input, "input", 0},
    TapeOpRow{TapeOp::Constant, "constant", 0},
    TapeOpRow{TapeOp::Add, "add", 2},
    TapeOpRow{TapeOp::Sub, "sub", 2},
    TapeOpRow{TapeOp::Mul, "mul", 2},
    TapeOpRow{TapeOp::Div, "div", 2, division},
    TapeOpRow{TapeOp::Mod, "mod", 2, remainder},
    TapeOpRow{TapeOp::Fmod, "fmod", 2, remainder, "fmod"},
    TapeOpRow{TapeOp::Pow, "pow", 2, {20, true}, "pow"},
    TapeOpRow{TapeOp::Min, "min", 2},
    TapeOpRow{TapeOp::Max, "max", 2},
    TapeOpRow{TapeOp::Neg, "neg", 1, {}, nullptr, [](double x) { return -x; }},
    TapeOpRow{TapeOp::Abs, "abs", 1, {}, "fabs", [](double x) { return std::fabs(x); }},
    TapeOpRow{TapeOp::Sign, "sign", 1, {}, nullptr, sign},
    TapeOpRow{TapeOp::Sqrt, "sqrt", 1, root, "sqrt", [](double x) { return std::sqrt(x); }},
    TapeOpRow{TapeOp::Exp, "exp", 1, exponential, "exp", [](double x) { return std::exp(x); }},
    TapeOpRow{TapeOp::Log, "log", 1, exponential, "log", [](double x) { return std::log(x); }},
    TapeOpRow{TapeOp::Log1p, "log1p", 1, exponential, "log1p", [](double x) { return std::log1p(x); }},
    TapeOpRow{TapeOp::Erf, "erf", 1, {24, true}, "erf", [](double x) { return std::erf(x); }},
    TapeOpRow{TapeOp::Sin, "sin", 1, circular, "sin", [](double x) { return std::sin(x); }},
    TapeOpRow{TapeOp::Cos, "cos", 1, circular, "cos", [](double x) { return std::cos(x); }},
    TapeOpRow{TapeOp::Tan, "tan", 1, circular, "tan", [](double x) { return std::tan(x); }},
    TapeOpRow{TapeOp::Asin, "asin", 1, circular, "asin", [](double x) { return std::asin(x); }},
    TapeOpRow{TapeOp::Acos, "acos", 1, circular, "acos", [](double x) { return std::acos(x); }},
    TapeOpRow{TapeOp::Atan, "atan", 1, circular, "atan", [](double x) { return std::atan(x); }},
    TapeOpRow{TapeOp::Sinh, "sinh", 1, circular, "sinh", [](double x) { return std::sinh(x); }},
    TapeOpRow{TapeOp::Cosh, "cosh", 1, circular, "cosh", [](double x) { return std::cosh(x); }},
    TapeOpRow{TapeOp::Tanh, "tanh", 1, circular, "tanh", [](double x) { return std::tanh(x); }},
    TapeOpRow{TapeOp::Asinh, "asinh", 1, circular, "asinh", [](double x) { return std::asinh(x); }},
    TapeOpRow{TapeOp::Acosh, "acosh", 1, circular, "acosh", [](double x) { return std::acosh(x); }},
    TapeOpRow{TapeOp::Atanh, "atanh", 1, circular, "atanh", [](double x) { return std::atanh(x); }},
    TapeOpRow{TapeOp::Floor, "floor", 1, {}, "floor", [](double x) { return std::floor(x); }},
    TapeOpRow{TapeOp::Ceil, "ceil", 1, {}, "ceil", [](double x) { return std::ceil(x); }},
    TapeOpRow{TapeOp::RoundEven, "roundEven", 1, {}, "rint", [](double x) { return std::rint(x); }},
    TapeOpRow{TapeOp::And, "and", 2},
    TapeOpRow{TapeOp::Or, "or", 2},
    TapeOpRow{TapeOp::Xor, "xor", 2},
    TapeOpRow{TapeOp::Not, "not", 1},
    TapeOpRow{TapeOp::BitAnd, "bitAnd", 2},
    TapeOpRow{TapeOp::BitOr, "bitOr", 2},
    TapeOpRow{TapeOp::BitXor, "bitXor", 2},
    TapeOpRow{TapeOp::BitNot, "bitNot", 1},
    TapeOpRow{TapeOp::ShiftLeft, "shiftLeft", 2},
    TapeOpRow{TapeOp::ShiftRight, "shiftRight", 2},
    TapeOpRow{TapeOp::Equal, "equal", 2},
    TapeOpRow{TapeOp::Less, "less", 2},
    TapeOpRow{TapeOp::LessOrEqual, "lessOrEqual", 2},
    TapeOpRow{TapeOp::IsNan, "isNan", 1},
    TapeOpRow{TapeOp::IsInf, "isInf", 1},
    TapeOpRow{TapeOp::Select, "select", 3},
    TapeOpRow{TapeOp::Cast, "cast", 1},
};
// clang-format on

constexpr bool inEnumOrder() {
    for (size_t i = 0; i < tapeOps.size(); ++i)
        if (static_cast<size_t>(tapeOps[i].op) != i)
            return false;
    return tapeOps.size() == tapeOpCount;
}

static_assert(inEnumOrder(), "tapeOps has one row for each TapeOp, in the order of the enum");

// Bits, not values: 0 and -0 differ, and NaN equals itself.
bool same(const TapeInstruction& a, const TapeInstruction& b) {
    return a.op == b.op && a.type == b.type && a.operand[0] == b.operand[0] &&
           a.operand[1] == b.operand[1] && a.operand[2] == b.operand[2] && a.index == b.index &&
           std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number) &&
           a.integer == b.integer;
}

uint16_t emit(Tape& tape, const TapeInstruction& instruction) {
    if (tape.code.size() >= TapeBuilder::maxInstructions) // full(): the tape is given up
        return 0;
    for (size_t i = 0; i < tape.code.size(); ++i)
        if (same(tape.code[i], instruction))
            return static_cast<uint16_t>(i);
    tape.code.push_back(instruction);
    return static_cast<uint16_t>(tape.code.size() - 1);
}

Scalar numberLike(Scalar like, double number) {
    return like.tape().constant(like.type(), number);
}

Scalar binary(TapeOp op, Scalar a, Scalar b) {
    return a.tape().apply(op, a.type(), {a, b});
}

} // namespace

const TapeOpRow& rowOf(TapeOp op) {
    return tapeOps[static_cast<size_t>(op)];
}

const char* nameOf(TapeOp op) {
    return rowOf(op).name;
}

int operandCount(TapeOp op) {
    return rowOf(op).operands;
}

std::string Tape::text() const {
    std::string out;
    for (size_t i = 0; i < code.size(); ++i) {
        const TapeInstruction& at = code[i];
        out += fmt::format("r{} = {}", i, nameOf(at.op));
        if (at.op == TapeOp::Input)
            out += fmt::format(" {}", at.index);
        else if (at.op == TapeOp::Constant && isFloat(at.type))
            out += fmt::format(" {}", at.number);
        else if (at.op == TapeOp::Constant)
            out += fmt::format(" {}", at.integer);
        for (int k = 0; k < operandCount(at.op); ++k)
            out += fmt::format(" r{}", at.operand[k]);
        out += fmt::format(" : {}\n", nameOf(at.type));
    }
    out += "return";
    for (uint16_t reg : outputs)
        out += fmt::format(" r{}", reg);
    return out + "\n";
}

DType Scalar::type() const {
    return m_tape->type(m_reg);
}

Scalar TapeBuilder::input(DType type) {
    TapeInstruction made{TapeOp::Input, type};
    made.index = static_cast<uint16_t>(m_tape.inputs.size());
    m_tape.inputs.push_back(type);
    return {this, emit(m_tape, made)};
}

Scalar TapeBuilder::constant(DType type, double number) {
    if (!isFloat(type))
        return integer(type, static_cast<int64_t>(number));
    TapeInstruction made{TapeOp::Constant, type};
    made.number = number;
    return {this, emit(m_tape, made)};
}

Scalar TapeBuilder::integer(DType type, int64_t value) {
    if (isFloat(type))
        return constant(type, static_cast<double>(value));
    TapeInstruction made{TapeOp::Constant, type};
    made.integer = wrapTo(type, value);
    return {this, emit(m_tape, made)};
}

Scalar TapeBuilder::apply(TapeOp op, DType type, std::initializer_list<Scalar> operands) {
    assert(static_cast<int>(operands.size()) == operandCount(op) && "operand count");
    TapeInstruction made{op, type};
    size_t k = 0;
    for (Scalar operand : operands) {
        assert(&operand.tape() == this && "register of another tape");
        made.operand[k++] = operand.reg();
    }
    return {this, emit(m_tape, made)};
}

std::vector<Scalar> TapeBuilder::append(const Tape& other, const std::vector<Scalar>& inputs) {
    assert(inputs.size() == other.inputs.size() && "input count");
    std::vector<uint16_t> moved(other.code.size());
    for (size_t i = 0; i < other.code.size(); ++i) {
        TapeInstruction made = other.code[i];
        if (made.op == TapeOp::Input) {
            moved[i] = inputs[made.index].reg();
            continue;
        }
        for (int k = 0; k < operandCount(made.op); ++k)
            made.operand[k] = moved[made.operand[k]];
        moved[i] = emit(m_tape, made);
    }
    std::vector<Scalar> outputs;
    for (uint16_t reg : other.outputs)
        outputs.emplace_back(this, moved[reg]);
    return outputs;
}

Tape TapeBuilder::finish(const std::vector<Scalar>& outputs) {
    std::vector<bool> needed(m_tape.code.size(), false);
    for (Scalar output : outputs)
        needed[output.reg()] = true;
    for (size_t i = m_tape.code.size(); i-- > 0;)
        for (int k = 0; needed[i] && k < operandCount(m_tape.code[i].op); ++k)
            needed[m_tape.code[i].operand[k]] = true;
    Tape out;
    out.inputs = m_tape.inputs;
    std::vector<uint16_t> moved(m_tape.code.size());
    for (size_t i = 0; i < m_tape.code.size(); ++i) {
        if (!needed[i])
            continue;
        TapeInstruction made = m_tape.code[i];
        for (int k = 0; k < operandCount(made.op); ++k)
            made.operand[k] = moved[made.operand[k]];
        moved[i] = static_cast<uint16_t>(out.code.size());
        out.code.push_back(made);
    }
    for (Scalar output : outputs)
        out.outputs.push_back(moved[output.reg()]);
    return out;
}

Scalar operator+(Scalar a, Scalar b) {
    return binary(TapeOp::Add, a, b);
}

Scalar operator-(Scalar a, Scalar b) {
    return binary(TapeOp::Sub, a, b);
}

Scalar operator*(Scalar a, Scalar b) {
    return binary(TapeOp::Mul, a, b);
}

Scalar operator/(Scalar a, Scalar b) {
    return binary(TapeOp::Div, a, b);
}

Scalar operator+(Scalar a, double b) {
    return a + numberLike(a, b);
}

Scalar operator-(Scalar a, double b) {
    return a - numberLike(a, b);
}

Scalar operator*(Scalar a, double b) {
    return a * numberLike(a, b);
}

Scalar operator/(Scalar a, double b) {
    return a / numberLike(a, b);
}

Scalar operator+(double a, Scalar b) {
    return numberLike(b, a) + b;
}

Scalar operator-(double a, Scalar b) {
    return numberLike(b, a) - b;
}

Scalar operator*(double a, Scalar b) {
    return numberLike(b, a) * b;
}

Scalar operator/(double a, Scalar b) {
    return numberLike(b, a) / b;
}

Scalar operator-(Scalar a) {
    return unary(TapeOp::Neg, a);
}

Scalar operator<(Scalar a, Scalar b) {
    return a.tape().apply(TapeOp::Less, DType::Bool, {a, b});
}

Scalar operator<=(Scalar a, Scalar b) {
    return a.tape().apply(TapeOp::LessOrEqual, DType::Bool, {a, b});
}

Scalar equal(Scalar a, Scalar b) {
    return a.tape().apply(TapeOp::Equal, DType::Bool, {a, b});
}

Scalar min(Scalar a, Scalar b) {
    return binary(TapeOp::Min, a, b);
}

Scalar max(Scalar a, Scalar b) {
    return binary(TapeOp::Max, a, b);
}

Scalar select(Scalar condition, Scalar a, Scalar b) {
    return a.tape().apply(TapeOp::Select, a.type(), {condition, a, b});
}

Scalar cast(Scalar a, DType type) {
    return a.type() == type ? a : a.tape().apply(TapeOp::Cast, type, {a});
}

Scalar unary(TapeOp op, Scalar a) {
    return a.tape().apply(op, a.type(), {a});
}

} // namespace fuselage
