// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/emit_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace fuselage::gpu {

const char* registerType(DType type) {
    switch (type) {
    case DType::Float64:
        return "double";
    case DType::Int8:
        return "signed char";
    case DType::Int16:
        return "short";
    case DType::Int32:
        return "int";
    case DType::Int64:
        return "long long";
    case DType::UInt8:
        return "unsigned char";
    case DType::UInt16:
        return "unsigned short";
    case DType::UInt32:
        return "unsigned";
    case DType::UInt64:
        return "unsigned long long";
    case DType::Bool:
        return "bool";
    default:
        return "float";
    }
}

const char* storageType(DType type) {
    return type == DType::Float16               ? "Half"
           : type == DType::BFloat16            ? "BFloat16"
           : isFloat(type) && sizeOf(type) == 1 ? "Float8"
                                                : registerType(type);
}

std::string floatLiteral(DType type, double value) {
    if (type == DType::Float64) {
        if (std::isfinite(value))
            return fmt::format("{:a}", value);
        return fmt::format("__longlong_as_double({:#x}ll)", std::bit_cast<uint64_t>(value));
    }
    const auto narrow = static_cast<float>(value);
    if (std::isnan(narrow))
        return "floatOf(0x7fffffffu)";
    if (std::isinf(narrow))
        return narrow > 0 ? "floatOf(0x7f800000u)" : "floatOf(0xff800000u)";
    std::string text = fmt::format("{:.9g}", narrow);
    if (text.find_first_of(".e") == std::string::npos)
        text += ".0";
    return text + "f";
}

std::string integerLiteral(DType type, int64_t value) {
    if (type == DType::Bool)
        return value != 0 ? "true" : "false";
    return fmt::format("static_cast<{}>({:#x}ull)", registerType(type),
                       static_cast<uint64_t>(value));
}

namespace {

class TapePrinter {
public:
    TapePrinter(const Tape& tape, const TapeStyle& style)
        : m_tape(tape), m_style(style), m_outputs(tape.outputs) {
        for (size_t i = 0; i < style.stored.size(); ++i)
            m_outputs[i] = beforeStore(m_outputs[i], style.stored[i]);
        noteRounded();
        noteUniform();
        // The form that saves work is chosen for 16-bit results only; see TapeStyle::narrow.
        if (style.narrow && !style.strict)
            for (const GeluMatch& match : findGelu(tape))
                m_gelu.emplace(match.result, match);
    }

    /// Registers that the outputs need, and so the inputs.
    std::vector<bool> needed() const {
        std::vector<bool> out(m_tape.code.size(), false);
        for (uint16_t reg : m_outputs)
            out[reg] = true;
        for (size_t reg = m_tape.code.size(); reg-- > 0;) {
            if (!out[reg])
                continue;
            if (auto gelu = m_gelu.find(static_cast<uint16_t>(reg)); gelu != m_gelu.end()) {
                out[gelu->second.x] = true;
                continue;
            }
            for (int k = 0; k < operandCount(m_tape.code[reg].op); ++k)
                out[m_tape.code[reg].operand[k]] = true;
        }
        return out;
    }

    std::string expression(uint16_t reg) {
        const TapeInstruction& x = m_tape.code[reg];
        if (auto gelu = m_gelu.find(reg); gelu != m_gelu.end()) {
            m_narrowed = true;
            return fmt::format("geluNarrow(r{}, {})", gelu->second.x,
                               floatLiteral(DType::Float32, gelu->second.scale));
        }
        std::string text = plain(x);
        const bool rounds = isNarrowFloat(x.type) && x.op != TapeOp::Input &&
                            (x.op == TapeOp::Cast || x.op == TapeOp::Constant || m_style.strict);
        if (!rounds || (x.op == TapeOp::Cast && m_rounded[x.operand[0]] == x.type))
            return text;
        return fmt::format("{}({})", x.type == DType::Float16 ? "roundToHalf" : "roundToBFloat16",
                           text);
    }

    bool narrowed() const { return m_narrowed; }

    const std::vector<uint16_t>& outputs() const { return m_outputs; }

private:
    void noteUniform() {
        m_uniform.assign(m_tape.code.size(), true);
        for (size_t reg = 0; reg < m_tape.code.size(); ++reg) {
            const TapeInstruction& x = m_tape.code[reg];
            if (x.op == TapeOp::Input)
                m_uniform[reg] = x.index < m_style.uniform.size() && m_style.uniform[x.index];
            for (int k = 0; k < operandCount(x.op); ++k)
                m_uniform[reg] = m_uniform[reg] && m_uniform[x.operand[k]];
        }
    }

    /// What to hand to a store of this type instead of `reg`: casts that the store repeats go.
    uint16_t beforeStore(uint16_t reg, DType stored) const {
        for (;;) {
            const TapeInstruction& x = m_tape.code[reg];
            if (x.op != TapeOp::Cast || !isNarrowFloat(stored))
                return reg;
            const DType from = m_tape.type(x.operand[0]);
            const bool repeated = x.type == stored || x.type == DType::Float32;
            if (!repeated || (from != DType::Float32 && from != stored))
                return reg;
            reg = x.operand[0];
        }
    }

    /// For each register the 16-bit type that represents its value for sure.
    void noteRounded() {
        m_rounded.assign(m_tape.code.size(), DType::Undefined);
        for (size_t reg = 0; reg < m_tape.code.size(); ++reg) {
            const TapeInstruction& x = m_tape.code[reg];
            if (isNarrowFloat(x.type) && (x.op == TapeOp::Input || x.op == TapeOp::Cast ||
                                          x.op == TapeOp::Constant || m_style.strict))
                m_rounded[reg] = x.type;
            else if (x.op == TapeOp::Cast && x.type == DType::Float32)
                m_rounded[reg] = m_rounded[x.operand[0]];
        }
    }

    std::string operand(const TapeInstruction& x, int k) const {
        return fmt::format("r{}", x.operand[k]);
    }

    std::string plain(const TapeInstruction& x) {
        switch (x.op) {
        case TapeOp::Input:
            return fmt::format("in{}", x.index);
        case TapeOp::Constant:
            return isFloat(x.type) ? floatLiteral(x.type, x.number)
                                   : integerLiteral(x.type, x.integer);
        case TapeOp::Select:
            return fmt::format("r{} ? r{} : r{}", x.operand[0], x.operand[1], x.operand[2]);
        case TapeOp::Cast:
            return castText(x);
        case TapeOp::Equal:
            return infix("==", x);
        case TapeOp::Less:
            return infix("<", x);
        case TapeOp::LessOrEqual:
            return infix("<=", x);
        case TapeOp::IsNan:
            return classify("isNan", x);
        case TapeOp::IsInf:
            return classify("isInf", x);
        case TapeOp::Min:
            return call("minimum", x);
        case TapeOp::Max:
            return call("maximum", x);
        default:
            return isFloat(x.type) ? floatArithmetic(x) : integerArithmetic(x);
        }
    }

    std::string infix(const char* sign, const TapeInstruction& x) const {
        return fmt::format("r{} {} r{}", x.operand[0], sign, x.operand[1]);
    }

    std::string call(const std::string& function, const TapeInstruction& x) const {
        std::string text = function + "(" + operand(x, 0);
        if (operandCount(x.op) == 2)
            text += ", " + operand(x, 1);
        return text + ")";
    }

    std::string classify(const char* function, const TapeInstruction& x) const {
        return isFloat(m_tape.type(x.operand[0])) ? call(function, x) : "false";
    }

    /// The constant that bounds a register from one side, and what it bounds.
    std::optional<std::pair<double, uint16_t>> boundOf(uint16_t reg, TapeOp op) const {
        const TapeInstruction& x = m_tape.code[reg];
        for (int k = 0; x.op == op && k < 2; ++k)
            if (const TapeInstruction& end = m_tape.code[x.operand[k]]; end.op == TapeOp::Constant)
                return std::pair(end.number, x.operand[1 - k]);
        return std::nullopt;
    }

    /// Whether a float lies between constants that int32 holds, as what QuantizeLinear clamps does.
    bool isSmall(uint16_t reg) const {
        constexpr double most = 1 << 30;
        for (const TapeOp outer : {TapeOp::Min, TapeOp::Max}) {
            const auto first = boundOf(reg, outer);
            if (!first)
                continue;
            const auto second =
                boundOf(first->second, outer == TapeOp::Min ? TapeOp::Max : TapeOp::Min);
            if (second && std::fabs(first->first) <= most && std::fabs(second->first) <= most)
                return true;
        }
        return false;
    }

    std::string castText(const TapeInstruction& x) const {
        const DType from = m_tape.type(x.operand[0]);
        const std::string source = operand(x, 0);
        if (x.type == DType::Bool)
            return source + (isFloat(from) ? " != 0.0f" : " != 0");
        if (isFloat(from) && !isFloat(x.type))
            return fmt::format("static_cast<{}>({}({}))", registerType(x.type),
                               from != DType::Float64 && sizeOf(x.type) <= 4 &&
                                       isSmall(x.operand[0])
                                   ? "truncatedSmall"
                                   : "truncated",
                               source);
        if (std::string_view(registerType(from)) == registerType(x.type))
            return source;
        return fmt::format("static_cast<{}>({})", registerType(x.type), source);
    }

    std::string floatArithmetic(const TapeInstruction& x) {
        const bool wide = x.type == DType::Float64;
        const char* strict[] = {wide ? "__dadd_rn" : "__fadd_rn", wide ? "__dsub_rn" : "__fsub_rn",
                                wide ? "__dmul_rn" : "__fmul_rn"};
        switch (x.op) {
        case TapeOp::Add:
            return m_style.strict ? call(strict[0], x) : infix("+", x);
        case TapeOp::Sub:
            return m_style.strict ? call(strict[1], x) : infix("-", x);
        case TapeOp::Mul:
            return m_style.strict ? call(strict[2], x) : infix("*", x);
        case TapeOp::Div:
            if (m_style.narrow && !m_style.strict && !wide && m_uniform[x.operand[1]] &&
                !m_uniform[x.operand[0]]) {
                m_narrowed = true;
                return fmt::format("r{} * (1.0f / r{})", x.operand[0], x.operand[1]);
            }
            return infix("/", x);
        case TapeOp::Mod:
            return call("floorMod", x);
        case TapeOp::Neg:
            return fmt::format("-{}", operand(x, 0));
        case TapeOp::Sign:
            return call("signOf", x);
        case TapeOp::Exp:
            if (m_style.narrow && !m_style.strict && !wide) {
                m_narrowed = true;
                return call("expNarrow", x);
            }
            break;
        default:
            break;
        }
        const char* function = rowOf(x.op).library;
        return call(std::string(function ? function : "unsupported") + (wide ? "" : "f"), x);
    }

    std::string integerArithmetic(const TapeInstruction& x) const {
        static const std::map<TapeOp, const char*> functions = {
            {TapeOp::Add, "addWrapped"},        {TapeOp::Sub, "subtractWrapped"},
            {TapeOp::Mul, "multiplyWrapped"},   {TapeOp::Div, "divideWhole"},
            {TapeOp::Mod, "floorModWhole"},     {TapeOp::Fmod, "remainderWhole"},
            {TapeOp::Pow, "powerWhole"},        {TapeOp::ShiftLeft, "shiftLeft"},
            {TapeOp::ShiftRight, "shiftRight"}, {TapeOp::Neg, "negateWrapped"}};
        static const std::map<TapeOp, const char*> signs = {
            {TapeOp::And, "&"},   {TapeOp::BitAnd, "&"}, {TapeOp::Or, "|"},
            {TapeOp::BitOr, "|"}, {TapeOp::Xor, "^"},    {TapeOp::BitXor, "^"}};
        const std::string type = registerType(x.type), a = operand(x, 0);
        if (auto found = functions.find(x.op); found != functions.end())
            return call(found->second, x);
        if (auto found = signs.find(x.op); found != signs.end())
            return fmt::format("static_cast<{}>({})", type, infix(found->second, x));
        switch (x.op) {
        case TapeOp::Not:
            return fmt::format("static_cast<{}>({} == 0)", type, a);
        case TapeOp::BitNot:
            return x.type == DType::Bool ? "true" : fmt::format("static_cast<{}>(~{})", type, a);
        case TapeOp::Abs:
            return isSigned(x.type) ? fmt::format("{} < 0 ? negateWrapped({}) : {}", a, a, a) : a;
        case TapeOp::Sign:
            return fmt::format("static_cast<{}>(({} > 0) - ({} < 0))", type, a,
                               isSigned(x.type) ? a : "0");
        case TapeOp::Floor:
        case TapeOp::Ceil:
        case TapeOp::RoundEven:
            return a;
        default: // a function of real numbers on an integer
            return fmt::format("static_cast<{}>(truncated({}(static_cast<double>({}))))", type,
                               rowOf(x.op).library, a);
        }
    }

    const Tape& m_tape;
    TapeStyle m_style;
    std::vector<uint16_t> m_outputs;
    std::vector<DType> m_rounded;
    std::vector<bool> m_uniform;
    std::map<uint16_t, GeluMatch> m_gelu;
    bool m_narrowed = false;
};

} // namespace

TapeFunction printTape(const std::string& name, const Tape& tape, const TapeStyle& style) {
    TapeFunction out;
    if (tape.outputs.empty())
        return out;
    out.name = name;
    TapePrinter printer(tape, style);
    const std::vector<bool> needed = printer.needed();
    std::string body;
    std::map<uint16_t, DType> inputs;
    for (size_t reg = 0; reg < tape.code.size(); ++reg) {
        const TapeInstruction& x = tape.code[reg];
        if (!needed[reg])
            continue;
        if (x.op == TapeOp::Input)
            inputs.emplace(x.index, x.type);
        body += fmt::format("    const {} r{} = {};\n", registerType(x.type), reg,
                            printer.expression(static_cast<uint16_t>(reg)));
    }
    std::string parameters;
    for (const auto& [index, type] : inputs) {
        out.used.push_back(index);
        parameters +=
            fmt::format("{}{} in{}", parameters.empty() ? "" : ", ", registerType(type), index);
    }
    for (size_t i = 0; i < tape.outputs.size(); ++i) {
        const uint16_t reg = printer.outputs()[i];
        const DType type = tape.type(reg);
        out.outputs.push_back(type);
        parameters +=
            fmt::format("{}{}& out{}", parameters.empty() ? "" : ", ", registerType(type), i);
        body += fmt::format("    out{} = r{};\n", i, reg);
    }
    out.text =
        fmt::format("__device__ __forceinline__ void {}({}) {{\n{}}}\n\n", name, parameters, body);
    out.numeric = printer.narrowed() ? NumericClass::Wider : NumericClass::Exact;
    return out;
}

std::string TapeFunction::call(const std::vector<std::string>& inputs,
                               const std::vector<std::string>& results) const {
    std::string text = name + "(";
    const char* separator = "";
    for (uint16_t index : used) {
        text += separator + inputs[index];
        separator = ", ";
    }
    for (const std::string& result : results) {
        text += separator + result;
        separator = ", ";
    }
    return text + ")";
}

} // namespace fuselage::gpu
