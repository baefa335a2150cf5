// SPDX-License-Identifier: Apache-2.0
// The tape: straight-line scalar code over named inputs, the elementwise part of every kernel
// program. One tape, several readers: the interpreter runs it, the tile interpreter runs it in
// vectors, the cost model counts it. Tapes are in SSA form: instruction i defines register i.
#pragma once

#include "core/graph/dtype.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace fuselage {

enum class TapeOp : uint8_t {
    Input,    ///< operand `index` of the current element
    Constant, ///< `number` or `integer`
    // arithmetic; result type = type of the operands
    Add,
    Sub,
    Mul,
    Div,  ///< integer Div truncates, as ONNX
    Mod,  ///< sign of the divisor (ONNX Mod with fmod=0)
    Fmod, ///< sign of the dividend
    Pow,
    Min,
    Max, ///< Min and Max give NaN when an operand is NaN
    Neg,
    Abs,
    Sign,
    Sqrt,
    Exp,
    Log,
    Log1p,
    Erf,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Floor,
    Ceil,
    RoundEven, ///< half to even
    // logic and bits
    And,
    Or,
    Xor,
    Not,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    // comparisons; result type Bool
    Equal,
    Less,
    LessOrEqual,
    IsNan,
    IsInf,
    Select, ///< a ? b : c
    Cast,   ///< to `type`, with ONNX Cast's rules; also rounds to a narrower float
};

struct TapeCost {
    int64_t issue = 1;           ///< machine instructions; functions are polynomials of that length
    bool transcendental = false; ///< counted as a call

    /// Tens of instructions, too many to repeat for every reuse of an operand.
    bool expensive() const { return transcendental && issue >= 6; }
};

/// What is known of an operation once and for all; tape.cpp has one row each.
struct TapeOpRow {
    TapeOp op;
    const char* name;
    int operands; ///< registers that it reads
    TapeCost cost{};
    /// What C's math library calls it, without the f of float; null: it has no such function.
    const char* library = nullptr;
    /// A function of one real number; null for everything else.
    double (*function)(double) = nullptr;
};

const TapeOpRow& rowOf(TapeOp op);
const char* nameOf(TapeOp op);
int operandCount(TapeOp op);

constexpr size_t tapeOpCount = static_cast<size_t>(TapeOp::Cast) + 1;

struct TapeInstruction {
    TapeOp op = TapeOp::Constant;
    DType type = DType::Float32; ///< of the result
    uint16_t operand[3] = {0, 0, 0};
    uint16_t index = 0; ///< Input
    double number = 0;  ///< Constant of a float type
    int64_t integer = 0;
};

struct Tape {
    std::vector<DType> inputs;
    std::vector<TapeInstruction> code;
    std::vector<uint16_t> outputs; ///< registers

    DType type(uint16_t reg) const { return code[reg].type; }

    /// "r0 = input 0 : float; r1 = ..." one instruction a line, for goldens and reports.
    std::string text() const;
};

class TapeBuilder;

/// A register of a tape under construction; operators append instructions. Mixed with numbers, the
/// number takes the register's type.
class Scalar {
public:
    Scalar() = default;

    Scalar(TapeBuilder* tape, uint16_t reg) : m_tape(tape), m_reg(reg) {}

    TapeBuilder& tape() const { return *m_tape; }

    uint16_t reg() const { return m_reg; }

    DType type() const;

private:
    TapeBuilder* m_tape = nullptr;
    uint16_t m_reg = 0;
};

/// Builds a tape. Equal instructions on equal operands are made once.
class TapeBuilder {
public:
    /// Longer tapes come from operators with thousands of operands; no kernel wants them.
    static constexpr size_t maxInstructions = size_t(1) << 14;

    Scalar input(DType type); ///< the next input
    Scalar constant(DType type, double number);
    Scalar integer(DType type, int64_t value);
    Scalar apply(TapeOp op, DType type, std::initializer_list<Scalar> operands);

    /// Appends another tape with its inputs bound to registers; returns its outputs.
    std::vector<Scalar> append(const Tape& other, const std::vector<Scalar>& inputs);

    DType type(uint16_t reg) const { return m_tape.code[reg].type; }

    /// True when there was no room for an instruction, or is none for another: what was built must
    /// not be used.
    bool full() const { return m_tape.code.size() >= maxInstructions; }

    /// Finishes: instructions that no output needs are dropped.
    Tape finish(const std::vector<Scalar>& outputs);

private:
    Tape m_tape;
};

Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator+(Scalar a, double b);
Scalar operator-(Scalar a, double b);
Scalar operator*(Scalar a, double b);
Scalar operator/(Scalar a, double b);
Scalar operator+(double a, Scalar b);
Scalar operator-(double a, Scalar b);
Scalar operator*(double a, Scalar b);
Scalar operator/(double a, Scalar b);
Scalar operator-(Scalar a);
Scalar operator<(Scalar a, Scalar b);
Scalar operator<=(Scalar a, Scalar b);
Scalar equal(Scalar a, Scalar b);
Scalar min(Scalar a, Scalar b);
Scalar max(Scalar a, Scalar b);
Scalar select(Scalar condition, Scalar a, Scalar b);
Scalar cast(Scalar a, DType type);
/// Any one-operand operation whose result has the operand's type: unary(TapeOp::Exp, x).
Scalar unary(TapeOp op, Scalar a);

} // namespace fuselage
