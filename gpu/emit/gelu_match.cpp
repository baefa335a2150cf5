// SPDX-License-Identifier: Apache-2.0
// Finds GELU in its erf form by its structure: a product of x, a half, and 1 + erf(s x), in any
// order and grouping. A Cast between the factors ends the product: it is the model's own rounding.
#include "gpu/emit/emit_tape.h"

#include <cmath>
#include <optional>

namespace fuselage::gpu {

namespace {

struct Product {
    double constant = 1;
    std::vector<uint16_t> factors;
};

constexpr size_t mostFactors = 3;

bool isConstant(const Tape& tape, uint16_t reg) {
    return tape.code[reg].op == TapeOp::Constant;
}

/// Multiplies out Mul, and Div by a constant; false when there are too many factors.
bool flatten(const Tape& tape, uint16_t reg, Product& out) {
    const TapeInstruction& x = tape.code[reg];
    if (x.op == TapeOp::Constant) {
        out.constant *= x.number;
        return true;
    }
    if (x.op == TapeOp::Mul)
        return flatten(tape, x.operand[0], out) && flatten(tape, x.operand[1], out);
    if (x.op == TapeOp::Div && isConstant(tape, x.operand[1])) {
        out.constant /= tape.code[x.operand[1]].number;
        return flatten(tape, x.operand[0], out);
    }
    out.factors.push_back(reg);
    return out.factors.size() <= mostFactors;
}

/// The argument of erf when the register is 1 + erf(argument).
std::optional<uint16_t> onePlusErf(const Tape& tape, uint16_t reg) {
    const TapeInstruction& sum = tape.code[reg];
    if (sum.op != TapeOp::Add)
        return std::nullopt;
    for (int k : {0, 1}) {
        const TapeInstruction& one = tape.code[sum.operand[k]];
        const TapeInstruction& erf = tape.code[sum.operand[1 - k]];
        if (one.op == TapeOp::Constant && one.number == 1 && erf.op == TapeOp::Erf)
            return erf.operand[0];
    }
    return std::nullopt;
}

std::optional<GeluMatch> geluAt(const Tape& tape, uint16_t reg) {
    if (tape.code[reg].type != DType::Float32)
        return std::nullopt;
    Product product;
    if (!flatten(tape, reg, product) || product.constant != 0.5)
        return std::nullopt;
    for (size_t i = 0; i < product.factors.size(); ++i) {
        auto argument = onePlusErf(tape, product.factors[i]);
        Product inner, rest;
        if (!argument || !flatten(tape, *argument, inner) || !(inner.constant > 0) ||
            !std::isfinite(inner.constant))
            continue;
        rest.factors = product.factors;
        rest.factors.erase(rest.factors.begin() + static_cast<ptrdiff_t>(i));
        if (rest.factors.size() == 1 && inner.factors == rest.factors)
            return GeluMatch{reg, rest.factors[0], inner.constant};
    }
    return std::nullopt;
}

} // namespace

std::vector<GeluMatch> findGelu(const Tape& tape) {
    std::vector<GeluMatch> out;
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        const TapeOp op = tape.code[reg].op;
        if (op != TapeOp::Mul && op != TapeOp::Div)
            continue;
        if (auto match = geluAt(tape, static_cast<uint16_t>(reg)))
            out.push_back(*match);
    }
    return out;
}

} // namespace fuselage::gpu
