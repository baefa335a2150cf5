// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/epilogue_match.h"

#include "core/kernel/tape_cut.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fuselage {

namespace {

using Numbers = std::vector<double>; // one, or one a channel

double element(const Numbers& x, size_t i) {
    return x[x.size() == 1 ? 0 : i];
}

template <typename F> Numbers combine(const Numbers& a, const Numbers& b, F f) {
    Numbers out(std::max(a.size(), b.size()));
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = f(element(a, i), element(b, i));
    return out;
}

/// Follows the accumulator through the tape, from one register that all of it flows through to the
/// next.
class EpilogueMatcher {
public:
    EpilogueMatcher(const Tape& tape, const std::vector<EpilogueInput>& inputs,
                    const EpilogueAbilities& abilities)
        : m_tape(tape), m_inputs(inputs), m_abilities(abilities), m_numbers(tape.code.size()),
          m_flows(tape.code.size(), false) {}

    std::variant<MatchedEpilogue, Reason> run() {
        if (m_tape.outputs.empty() || (m_tape.outputs.size() != 1 && !m_abilities.severalResults))
            return Reason{"io-count", "the epilogue has several results", {}, {}};
        auto last = std::max_element(m_tape.outputs.begin(), m_tape.outputs.end());
        m_out.last = static_cast<uint32_t>(last - m_tape.outputs.begin());
        m_end = *last;
        evaluateConstants();
        std::optional<uint16_t> head = accumulator();
        if (!head)
            return Reason{"kind", "the epilogue does not use the contraction's result", {}, {}};
        m_head = *head;
        while (m_head != m_end) {
            tapHead();
            if (!advance())
                return refusal();
        }
        finishAffine();
        for (uint32_t i = 0; i < m_tape.outputs.size(); ++i)
            if (m_tape.outputs[i] == m_end && i != m_out.last)
                m_out.taps.push_back({i, m_out.postOps.size()});
        if (m_out.taps.size() + 1 != m_tape.outputs.size())
            return Reason{"io-count", "a result is not on the way to the last one", {}, {}};
        return m_out;
    }

private:
    std::optional<uint16_t> accumulator() const {
        for (size_t i = 0; i < m_tape.code.size(); ++i)
            if (m_tape.code[i].op == TapeOp::Input &&
                m_inputs[m_tape.code[i].index].kind == EpilogueInput::Kind::Accumulator)
                return static_cast<uint16_t>(i);
        return std::nullopt;
    }

    void tapHead() {
        for (uint32_t i = 0; i < m_tape.outputs.size(); ++i)
            if (m_tape.outputs[i] == m_head) {
                finishAffine();
                m_out.taps.push_back({i, m_out.postOps.size()});
            }
    }

    /// A result lies between the head and the register.
    bool skipsResult(uint16_t reg) const {
        return std::any_of(m_tape.outputs.begin(), m_tape.outputs.end(),
                           [&](uint16_t output) { return output > m_head && output < reg; });
    }

    /// Registers that hold constants, scalar or per channel, and those that hold the accumulator.
    void evaluateConstants() {
        for (size_t i = 0; i < m_tape.code.size(); ++i) {
            const TapeInstruction& x = m_tape.code[i];
            if (x.op == TapeOp::Input) {
                m_flows[i] = m_inputs[x.index].kind == EpilogueInput::Kind::Accumulator;
                if (m_inputs[x.index].kind == EpilogueInput::Kind::Constant)
                    m_numbers[i] = m_inputs[x.index].values;
            } else if (x.op == TapeOp::Constant) {
                if (isFloat(x.type))
                    m_numbers[i] = {x.number};
            } else {
                for (int k = 0; k < operandCount(x.op); ++k)
                    m_flows[i] = m_flows[i] || m_flows[x.operand[k]];
                fold(i);
            }
        }
    }

    void fold(size_t i) {
        const TapeInstruction& x = m_tape.code[i];
        int count = operandCount(x.op);
        // A cast of stored integers to a wider type leaves the numbers.
        const bool widens = x.op == TapeOp::Cast && isInteger(x.type) &&
                            isInteger(m_tape.type(x.operand[0])) &&
                            sizeOf(x.type) >= sizeOf(m_tape.type(x.operand[0])) && isSigned(x.type);
        if (count > 2 || (!isFloat(x.type) && !widens))
            return;
        for (int k = 0; k < count; ++k)
            if (m_numbers[x.operand[k]].empty())
                return;
        const Numbers& a = m_numbers[x.operand[0]];
        const Numbers& b = count == 2 ? m_numbers[x.operand[1]] : a;
        auto set = [&](auto f) { m_numbers[i] = combine(a, b, f); };
        switch (x.op) {
        case TapeOp::Add:
            return set([](double p, double q) { return p + q; });
        case TapeOp::Sub:
            return set([](double p, double q) { return p - q; });
        case TapeOp::Mul:
            return set([](double p, double q) { return p * q; });
        case TapeOp::Div:
            return set([](double p, double q) { return p / q; });
        case TapeOp::Pow:
            return set([](double p, double q) { return std::pow(p, q); });
        case TapeOp::Neg:
            return set([](double p, double) { return -p; });
        case TapeOp::Sqrt:
            return set([](double p, double) { return std::sqrt(p); });
        case TapeOp::Exp:
            return set([](double p, double) { return std::exp(p); });
        case TapeOp::Cast:
            m_numbers[i] = a;
            for (double& value : m_numbers[i])
                value = widens ? value : roundTo(x.type, value);
            return;
        default:
            return;
        }
    }

    /// Registers after the head that everything of the accumulator flows through, nearest first.
    std::vector<uint16_t> stations() const {
        std::vector<uint16_t> out;
        size_t open = m_head; // last register so far that something later still reads
        std::vector<size_t> lastRead(m_tape.code.size(), 0);
        for (size_t i = m_head + 1; i < m_tape.code.size(); ++i)
            for (int k = 0; k < operandCount(m_tape.code[i].op); ++k)
                if (m_flows[m_tape.code[i].operand[k]])
                    lastRead[m_tape.code[i].operand[k]] = i;
        size_t reach = lastRead[open];
        for (size_t i = m_head + 1; i < m_tape.code.size(); ++i) {
            if (!m_flows[i])
                continue;
            if (i >= reach)
                out.push_back(static_cast<uint16_t>(i));
            reach = std::max(reach, lastRead[i]);
            if (i == m_end)
                break;
        }
        return out;
    }

    bool advance() {
        std::vector<uint16_t> next = stations();
        if (next.empty())
            return false;
        for (size_t i = next.size(); i-- > 0;) {
            if (isAffineRun(next, i) || skipsResult(next[i]))
                continue; // scales and shifts fold into the weights instead
            if (auto f = matchActivation(m_tape, m_head, next[i], m_abilities.tolerance)) {
                finishAffine();
                m_out.postOps.push_back({PostOp::Kind::Activate, *f, {}, 0});
                if (!isExact(*f))
                    m_out.numeric = NumericClass::Reassociated;
                m_head = next[i];
                return true;
            }
        }
        if (!step(next[0]))
            return false;
        m_head = next[0];
        return true;
    }

    /// Whether every step up to station i is a scale or a shift.
    bool isAffineRun(const std::vector<uint16_t>& next, size_t i) const {
        for (size_t k = 0; k <= i; ++k) {
            TapeOp op = m_tape.code[next[k]].op;
            if (op != TapeOp::Add && op != TapeOp::Sub && op != TapeOp::Mul && op != TapeOp::Div &&
                op != TapeOp::Neg && op != TapeOp::Cast)
                return false;
            const TapeInstruction& x = m_tape.code[next[k]];
            if (operandCount(op) == 2 && m_flows[x.operand[0]] && m_flows[x.operand[1]])
                return false;
            if (op == TapeOp::Div && m_flows[x.operand[1]])
                return false;
        }
        return true;
    }

    /// One instruction on the head: scale, shift, residual or a cast between floats.
    bool step(uint16_t reg) {
        const TapeInstruction& x = m_tape.code[reg];
        if (x.op == TapeOp::Cast)
            return x.operand[0] == m_head && isFloat(x.type);
        if (x.op == TapeOp::Neg)
            return scaleBy({-1});
        if (operandCount(x.op) != 2 || (x.operand[0] == m_head) == (x.operand[1] == m_head))
            return false;
        bool first = x.operand[0] == m_head;
        uint16_t other = x.operand[first ? 1 : 0];
        const Numbers& numbers = m_numbers[other];
        if (numbers.empty())
            return operand(x.op, other);
        Numbers one = {1};
        switch (x.op) {
        case TapeOp::Add:
            return shiftBy(numbers);
        case TapeOp::Sub:
            if (!first)
                return scaleBy({-1}) && shiftBy(numbers);
            return shiftBy(combine(numbers, one, [](double p, double) { return -p; }));
        case TapeOp::Mul:
            return scaleBy(numbers);
        case TapeOp::Div:
            return first &&
                   scaleBy(combine(one, numbers, [](double p, double q) { return p / q; }));
        default:
            return false;
        }
    }

    /// The other operand is known only when running.
    bool operand(TapeOp op, uint16_t reg) {
        reg = beforeCasts(reg);
        std::optional<PostOp::Stored> stored;
        if (m_abilities.storedOperands && op == TapeOp::Add)
            stored = dequantised(reg);
        if (m_tape.code[reg].op != TapeOp::Input)
            return false;
        const EpilogueInput& input = m_inputs[m_tape.code[reg].index];
        if (op != TapeOp::Add && op != TapeOp::Mul)
            return false;
        bool full = input.kind == EpilogueInput::Kind::Full;
        bool channel = input.kind == EpilogueInput::Kind::Channel;
        if (!(full && (op == TapeOp::Add || m_abilities.anyOperands)) && !channel)
            return false;
        finishAffine();
        auto kind = op == TapeOp::Add ? (full ? PostOp::Kind::Sum : PostOp::Kind::AddChannel)
                    : full            ? PostOp::Kind::Multiply
                                      : PostOp::Kind::MultiplyChannel;
        if (full && !m_abilities.anyOperands &&
            std::any_of(m_out.postOps.begin(), m_out.postOps.end(),
                        [](const PostOp& p) { return p.kind == PostOp::Kind::Sum; }))
            return false; // the library adds one tensor only
        if (kind == PostOp::Kind::Sum)
            m_out.beforeSum = m_head;
        m_out.postOps.push_back({kind, {}, {}, input.read, stored});
        return true;
    }

    uint16_t beforeCasts(uint16_t reg) const {
        while (m_tape.code[reg].op == TapeOp::Cast && isFloat(m_tape.code[reg].type))
            reg = m_tape.code[reg].operand[0];
        return reg;
    }

    /// Past scale * (operand - zero) of an integer operand, which `reg` becomes.
    std::optional<PostOp::Stored> dequantised(uint16_t& reg) const {
        PostOp::Stored out;
        uint16_t at = reg;
        if (m_tape.code[at].op == TapeOp::Mul) {
            const uint16_t* sides = m_tape.code[at].operand;
            const int known = m_numbers[sides[1]].size() == 1 ? 1 : 0;
            if (m_numbers[sides[known]].size() != 1)
                return std::nullopt;
            out.scale = m_numbers[sides[known]][0];
            at = beforeCasts(sides[1 - known]);
        }
        if (m_tape.code[at].op == TapeOp::Sub &&
            m_numbers[m_tape.code[at].operand[1]].size() == 1) {
            out.zero = m_numbers[m_tape.code[at].operand[1]][0];
            at = beforeCasts(m_tape.code[at].operand[0]);
        }
        if (m_tape.code[at].op != TapeOp::Input || !isInteger(m_tape.code[at].type))
            return std::nullopt;
        reg = at;
        return out;
    }

    bool scaleBy(const Numbers& by) {
        if (by != Numbers{-1})
            ++m_scales;
        auto times = [](double p, double q) { return p * q; };
        m_scale = combine(m_scale, by, times);
        m_shift = combine(m_shift, by, times);
        return true;
    }

    bool shiftBy(const Numbers& by) {
        ++m_shifts;
        m_shift = combine(m_shift, by, [](double p, double q) { return p + q; });
        return true;
    }

    static bool all(const Numbers& x, double value) {
        return std::all_of(x.begin(), x.end(), [=](double p) { return p == value; });
    }

    /// Scales and shifts so far: into weights and bias before the first post-op, else post-ops.
    void finishAffine() {
        const bool folds = m_out.postOps.empty() && m_out.taps.empty();
        const bool isOneStep = m_scales + m_shifts <= 1 && !(folds && m_scales > 0);
        if (!isOneStep)
            m_out.numeric = NumericClass::Reassociated;
        m_scales = m_shifts = 0;
        if (folds) {
            if (!all(m_scale, 1))
                m_out.scale = m_scale;
            if (!all(m_shift, 0))
                m_out.shift = m_shift;
        } else if (m_scale.size() == 1 && m_shift.size() == 1) {
            if (!all(m_scale, 1) || !all(m_shift, 0))
                m_out.postOps.push_back(
                    {PostOp::Kind::Activate, {Activation::Linear, m_scale[0], m_shift[0]}, {}, 0});
        } else {
            if (!all(m_scale, 1))
                m_out.postOps.push_back({PostOp::Kind::MultiplyChannel, {}, m_scale, 0});
            if (!all(m_shift, 0))
                m_out.postOps.push_back({PostOp::Kind::AddChannel, {}, m_shift, 0});
        }
        m_scale = {1};
        m_shift = {0};
    }

    Reason refusal() const {
        std::vector<uint16_t> next = stations();
        std::string what = next.empty() ? "its end" : nameOf(m_tape.code[next[0]].op);
        return {"epilogue",
                "the library has no post-op for the epilogue from `" + what + "` on",
                "a chain of scale, shift, one residual and known activations",
                {}};
    }

    const Tape& m_tape;
    const std::vector<EpilogueInput>& m_inputs;
    const EpilogueAbilities& m_abilities;
    std::vector<Numbers> m_numbers; ///< per register, when it is a constant
    std::vector<bool> m_flows;      ///< per register: it depends on the accumulator
    uint16_t m_head = 0, m_end = 0;
    Numbers m_scale = {1}, m_shift = {0};
    int m_scales = 0, m_shifts = 0; ///< steps that these stand for, each of which rounds
    MatchedEpilogue m_out;
};

} // namespace

std::variant<MatchedEpilogue, Reason> matchEpilogue(const Tape& tape,
                                                    const std::vector<EpilogueInput>& inputs,
                                                    const EpilogueAbilities& abilities) {
    return EpilogueMatcher(tape, inputs, abilities).run();
}

std::optional<SplitEpilogue> splitBeforeSum(const Tape& tape, const MatchedEpilogue& epilogue) {
    auto sum = std::find_if(epilogue.postOps.begin(), epilogue.postOps.end(),
                            [](const PostOp& op) { return op.kind == PostOp::Kind::Sum; });
    if (sum == epilogue.postOps.end() || tape.type(epilogue.beforeSum) != DType::Float32)
        return std::nullopt;
    SplitEpilogue out;
    out.head = epilogue;
    out.head.postOps.assign(epilogue.postOps.begin(), sum);
    TapePart rest = partOfTape(tape, tape.outputs, epilogue.beforeSum);
    out.rest = std::move(rest.tape);
    out.reads = std::move(rest.reads);
    return out;
}

} // namespace fuselage
