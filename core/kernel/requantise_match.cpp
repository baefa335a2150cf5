// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/requantise_match.h"

namespace fuselage {

namespace {

/// Walks from a result towards the value that was rounded.
class RoundingWalk {
public:
    explicit RoundingWalk(const Tape& tape) : m_tape(tape), m_at(tape.outputs[0]) {}

    uint16_t at() const { return m_at; }

    const TapeInstruction& code() const { return m_tape.code[m_at]; }

    void skipCasts() { m_at = beforeCasts(m_at); }

    /// Past an operation with one constant operand, which is returned; Div: the divisor.
    std::optional<double> past(TapeOp op) {
        skipCasts();
        if (code().op != op)
            return std::nullopt;
        for (int side : {1, 0}) {
            const TapeInstruction& other = m_tape.code[beforeCasts(code().operand[side])];
            if (other.op != TapeOp::Constant || !isFloat(other.type) ||
                (op == TapeOp::Div && side == 0))
                continue;
            m_at = code().operand[1 - side];
            return other.number;
        }
        return std::nullopt;
    }

    bool past(TapeOp op, DType type) {
        if (code().op != op || code().type != type)
            return false;
        m_at = code().operand[0];
        return true;
    }

private:
    /// Before casts that leave a float32 as it is.
    uint16_t beforeCasts(uint16_t reg) const {
        while (m_tape.code[reg].op == TapeOp::Cast && m_tape.type(reg) == DType::Float32 &&
               m_tape.type(m_tape.code[reg].operand[0]) == DType::Float32)
            reg = m_tape.code[reg].operand[0];
        return reg;
    }

    const Tape& m_tape;
    uint16_t m_at;
};

/// Reads the way from 8 bits back to what was rounded; `at` becomes its register.
bool readRounding(const Tape& tape, RoundedEpilogue& out, uint16_t& at) {
    RoundingWalk walk(tape);
    out.type = tape.type(at);
    const double low = out.type == DType::Int8 ? -128 : 0, high = low + 255;
    if (!walk.past(TapeOp::Cast, out.type) || walk.past(TapeOp::Min) != high ||
        walk.past(TapeOp::Max) != low)
        return false;
    if (walk.code().op == TapeOp::Add) {
        const auto zero = walk.past(TapeOp::Add);
        if (!zero)
            return false; // one that is not known yet
        out.zero = *zero;
    }
    if (!walk.past(TapeOp::RoundEven, DType::Float32))
        return false;
    walk.skipCasts();
    if (const auto step = walk.past(TapeOp::Div))
        out.step = *step;
    walk.skipCasts();
    at = walk.at();
    return true;
}

/// Integers that a register holds, widened or not; null where they are not known.
const std::vector<double>* integersAt(const Tape& tape, const std::vector<EpilogueInput>& inputs,
                                      uint16_t reg) {
    while (tape.code[reg].op == TapeOp::Cast && tape.type(reg) == DType::Int64)
        reg = tape.code[reg].operand[0];
    const TapeInstruction& x = tape.code[reg];
    const bool known = x.op == TapeOp::Input && x.type == DType::Int32 &&
                       inputs[x.index].kind == EpilogueInput::Kind::Constant;
    return known ? &inputs[x.index].values : nullptr;
}

/// The tape up to `value`, of sums that are float32 already; what it adds to them as integers is
/// the bias.
std::optional<Tape> afterIntegers(const Tape& tape, const std::vector<EpilogueInput>& inputs,
                                  uint16_t value, RoundedEpilogue& out) {
    Tape affine = tape;
    affine.code.resize(static_cast<size_t>(value) + 1);
    affine.outputs = {value};
    affine.inputs[0] = DType::Float32;
    std::optional<size_t> sum; // the last register that holds integers
    for (size_t i = 0; i < affine.code.size(); ++i) {
        TapeInstruction& x = affine.code[i];
        bool isSum = x.op == TapeOp::Input && x.index == 0;
        for (int k = 0; !isSum && sum && k < operandCount(x.op); ++k) {
            if (x.operand[k] != *sum)
                continue;
            isSum = x.op == TapeOp::Cast && x.type == DType::Int64;
            if (x.op == TapeOp::Add && out.bias == std::vector<double>{0}) {
                const auto* added = integersAt(tape, inputs, x.operand[1 - k]);
                if (!added)
                    return std::nullopt;
                out.bias = *added;
                isSum = true;
            } else if (isSum == (x.type == DType::Float32)) {
                return std::nullopt;
            }
            break;
        }
        if (!isSum)
            continue;
        if (sum) { // nothing else may read the one before
            for (size_t later = i + 1; later < affine.code.size(); ++later)
                for (int k = 0; k < operandCount(affine.code[later].op); ++k)
                    if (affine.code[later].operand[k] == *sum)
                        return std::nullopt;
            affine.code[*sum] = {TapeOp::Constant, DType::Float32, {}, 0, 0, 0};
        }
        x = {TapeOp::Input, DType::Float32, {}, 0, 0, 0};
        sum = i;
    }
    return affine;
}

bool readActivation(const MatchedActivation& activation, Requantisation& out) {
    if (activation.kind == Activation::Hardswish) {
        out.bend = Requantisation::Bend::TimesUnit;
        out.slope = 1.0 / 6;
        out.offset = 0.5;
        return true;
    }
    if (activation.kind == Activation::ClipLinear) {
        out.bend = Requantisation::Bend::Unit;
        out.slope = activation.alpha;
        out.offset = activation.beta;
        return true;
    }
    const bool relu = activation.kind == Activation::Relu && activation.alpha == 0;
    if (!relu && activation.kind != Activation::Clip)
        return false;
    out.low = relu ? 0 : activation.alpha;
    out.high = relu ? std::numeric_limits<double>::infinity() : activation.beta;
    return true;
}

} // namespace

std::optional<RoundedEpilogue> cutRounding(const Tape& tape,
                                           const std::vector<EpilogueInput>& inputs) {
    if (tape.outputs.size() != 1)
        return std::nullopt;
    RoundedEpilogue out;
    uint16_t value = tape.outputs[0];
    out.type = tape.type(value);
    if (!isFloat(out.type) &&
        ((out.type != DType::Int8 && out.type != DType::UInt8) || !readRounding(tape, out, value)))
        return std::nullopt;
    auto floats = afterIntegers(tape, inputs, value, out);
    if (!floats)
        return std::nullopt;
    out.floats = std::move(*floats);
    return out;
}

std::optional<Requantisation> matchRequantisation(const Tape& tape,
                                                  const std::vector<EpilogueInput>& inputs) {
    const auto rounded = cutRounding(tape, inputs);
    if (!rounded || (isFloat(rounded->type) && rounded->type != DType::Float32))
        return std::nullopt;
    const auto matched = matchEpilogue(rounded->floats, inputs, {.storedOperands = true});
    const auto* epilogue = std::get_if<MatchedEpilogue>(&matched);
    if (!epilogue)
        return std::nullopt;
    Requantisation out;
    out.bias = rounded->bias;
    out.type = rounded->type;
    out.step = rounded->step;
    out.zero = rounded->zero;
    if (!epilogue->scale.empty())
        out.scale = epilogue->scale;
    if (!epilogue->shift.empty())
        out.shift = epilogue->shift;
    bool activated = false;
    for (const PostOp& op : epilogue->postOps) {
        if (op.kind == PostOp::Kind::Sum && op.stored && !out.addend && !activated) {
            out.addend = op.read;
            out.addendScale = op.stored->scale;
            out.addendZero = op.stored->zero;
        } else if (op.kind == PostOp::Kind::Activate && !activated &&
                   readActivation(op.activation, out)) {
            activated = true;
        } else {
            return std::nullopt;
        }
    }
    return out;
}

} // namespace fuselage
