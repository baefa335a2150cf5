// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/meaning.h"

#include "core/ops/evaluate.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::algebra {

namespace {

/// An attribute that is a symbol has this value while the tape is made; where another value of it
/// makes another number of the tape, that number must be the value itself.
constexpr double standIns[] = {0.73625141, 0.51938472};

/// A list with -1 beside something that may be 0; of a word its text has to do.
bool asksForRest(const Known& shape) {
    auto isRest = [](const Known& item) { return item.literal && *item.literal == -1; };
    if (shape.kind != Known::Kind::List)
        return shape.text.find("-1") != std::string::npos;
    return std::any_of(shape.items.begin(), shape.items.end(), isRest) &&
           std::any_of(shape.items.begin(), shape.items.end(), [&](const Known& item) {
               return !isRest(item) && !(item.literal && *item.literal > 0);
           });
}

class Meaning {
public:
    Meaning(Algebra& algebra, const Application& application)
        : m_algebra(algebra), m_at(application) {}

    Expr element();

private:
    using Row = Expr (Meaning::*)();

    const Known* attribute(const std::string& name) const;
    std::string tag() const;
    std::optional<std::string> axes(const std::string& name) const;
    Expr in(size_t i) const { return m_at.operands[i]->element; }
    bool has(size_t i) const { return i < m_at.operands.size() && m_at.operands[i]; }
    std::optional<Expr> byTape();
    std::optional<Tape> tape(size_t standIn, std::map<double, Expr>& symbols) const;
    Expr runTape(const Tape& tape, const Tape& other, const std::map<double, Expr>& symbols,
                 bool& isKnown);
    std::optional<Expr> reduction();
    std::optional<Expr> softmax();
    std::optional<Expr> normalization();
    std::optional<Expr> storage();
    std::optional<Expr> channelwise();
    Expr unknown();
    Expr overRoot(const Expr& of, const Expr& variance);

    Algebra& m_algebra;
    const Application& m_at;
};

const Known* Meaning::attribute(const std::string& name) const {
    auto found = m_at.attributes.find(name);
    return found == m_at.attributes.end() ? nullptr : &found->second;
}

std::string Meaning::tag() const {
    std::string out;
    for (const auto& [name, value] : m_at.attributes)
        if (!value.isNone())
            out += fmt::format("{}={} ", name, value.text);
    for (size_t i = 0; i < m_at.operands.size(); ++i)
        if (!m_at.operands[i])
            out += fmt::format("no {} ", i);
    return out;
}

std::optional<std::string> Meaning::axes(const std::string& name) const {
    const Known* axes = attribute(name);
    if (!axes || !has(0))
        return std::nullopt;
    return axesFromBack(*axes, m_at.operands[0]->rank);
}

std::optional<Tape> Meaning::tape(size_t standIn, std::map<double, Expr>& symbols) const {
    Node node;
    node.op = m_at.op;
    std::vector<DType> types;
    const bool isLogic =
        m_at.op == Op::And || m_at.op == Op::Or || m_at.op == Op::Not || m_at.op == Op::Xor;
    for (size_t i = 0; i < m_at.operands.size(); ++i) {
        node.inputs.push_back(m_at.operands[i] ? ValueId(static_cast<uint32_t>(i)) : ValueId());
        if (!m_at.operands[i])
            continue;
        const bool chooses = isLogic || (m_at.op == Op::Where && i == 0);
        types.push_back(chooses ? DType::Bool : m_algebra.tapeType());
    }
    node.explicitInputs = static_cast<uint32_t>(node.inputs.size());
    double next = standIns[standIn];
    for (const AttributeSchema& schema : attributesOf(m_at.op)) {
        const Known* value = attribute(schema.name);
        if (!value || value->isNone())
            continue;
        if (value->kind == Known::Kind::Text)
            node.attributes.set(schema.name, value->text);
        else if (value->literal && schema.type == "int")
            node.attributes.set(schema.name, static_cast<int64_t>(*value->literal));
        else if (value->literal && schema.type == "float")
            node.attributes.set(schema.name, *value->literal);
        else if (value->kind == Known::Kind::Number && schema.type == "float") {
            node.attributes.set(schema.name, next);
            symbols.emplace(next, value->number);
            next += 1;
        } else {
            return std::nullopt;
        }
    }
    return tapeOf(node, types);
}

Expr Meaning::runTape(const Tape& tape, const Tape& other, const std::map<double, Expr>& symbols,
                      bool& isKnown) {
    std::vector<Expr> registers;
    std::vector<size_t> present;
    for (size_t i = 0; i < m_at.operands.size(); ++i)
        if (m_at.operands[i])
            present.push_back(i);
    for (size_t i = 0; i < tape.code.size() && isKnown; ++i) {
        const TapeInstruction& each = tape.code[i];
        const TapeInstruction& again = other.code[i];
        isKnown = each.op == again.op;
        std::vector<Expr> operands;
        for (int k = 0; k < operandCount(each.op); ++k)
            operands.push_back(registers[each.operand[k]]);
        if (each.op == TapeOp::Input) {
            registers.push_back(in(present[each.index]));
        } else if (each.op == TapeOp::Constant && isFloat(each.type)) {
            auto symbol = symbols.find(each.number);
            isKnown = isKnown && (symbol != symbols.end() || each.number == again.number);
            registers.push_back(symbol != symbols.end() ? symbol->second
                                                        : m_algebra.number(each.number));
        } else if (each.op == TapeOp::Constant) {
            registers.push_back(m_algebra.number(static_cast<double>(each.integer)));
        } else {
            const bool casts = each.op == TapeOp::Cast;
            registers.push_back(m_algebra.make(casts ? "convert" : nameOf(each.op), operands,
                                               casts ? nameOf(each.type) : ""));
        }
    }
    return isKnown ? registers[tape.outputs[0]] : Expr();
}

/// Results that are rounded, of floats.
size_t roundingsOf(const Tape& tape) {
    return static_cast<size_t>(
        std::count_if(tape.code.begin(), tape.code.end(), [](const TapeInstruction& each) {
            const bool isMinMax = each.op == TapeOp::Min || each.op == TapeOp::Max;
            return each.op >= TapeOp::Add && each.op <= TapeOp::Atanh && !isMinMax &&
                   each.op != TapeOp::Neg && each.op != TapeOp::Abs && each.op != TapeOp::Sign;
        }));
}

std::optional<Expr> Meaning::byTape() {
    std::map<double, Expr> symbols, others;
    auto first = tape(0, symbols), second = tape(1, others);
    // Nodes round each result to their type; how one operator of several steps rounds between them
    // is its own affair.
    const bool roundsInside = first && m_algebra.arithmetic() == Arithmetic::Bits &&
                              isFloat(m_algebra.tapeType()) && roundingsOf(*first) > 1;
    if (roundsInside || !first || !second || first->code.size() != second->code.size() ||
        first->outputs.size() != 1 || first->outputs != second->outputs)
        return std::nullopt;
    bool isKnown = true;
    Expr out = runTape(*first, *second, symbols, isKnown);
    return isKnown ? std::optional(out) : std::nullopt;
}

std::optional<Expr> Meaning::reduction() {
    static const std::map<Op, const char*> plain{{Op::ReduceSum, "rsum"},
                                                 {Op::ReduceMean, "rmean"},
                                                 {Op::ReduceMax, "rmax"},
                                                 {Op::ReduceMin, "rmin"}};
    if (m_at.op == Op::GlobalAveragePool) {
        auto rank = has(0) ? m_at.operands[0]->rank : std::nullopt;
        if (!rank || *rank < 3)
            return std::nullopt;
        if (m_algebra.arithmetic() == Arithmetic::Bits)
            return std::nullopt; // its sums have an order of their own, and begin with +0
        const std::vector<std::string>& dims = m_at.operands[0]->dims;
        if (!dims.empty() &&
            std::all_of(dims.begin() + 2, dims.end(), [](const auto& dim) { return dim == "1"; }))
            return in(0);
        std::vector<int64_t> spatial;
        for (size_t i = *rank - 2; i > 0; --i)
            spatial.push_back(-static_cast<int64_t>(i));
        return m_algebra.make("rmean", {in(0)}, textOf(spatial));
    }
    if (m_algebra.arithmetic() == Arithmetic::Bits && !plain.contains(m_at.op))
        return std::nullopt;
    const Known* keeps = attribute("keepdims");
    auto along = axes("axes");
    if (!along || *along == "[]" || !keeps || !keeps->literal || *keeps->literal != 1)
        return std::nullopt;
    if (auto found = plain.find(m_at.op); found != plain.end())
        return m_algebra.make(found->second, {in(0)}, *along);
    auto sum = [&](const Expr& of) { return m_algebra.make("rsum", {of}, *along); };
    const Expr x = in(0);
    switch (m_at.op) {
    case Op::ReduceSumSquare:
        return sum(m_algebra.multiply(x, x));
    case Op::ReduceL1:
        return sum(m_algebra.make("abs", {x}));
    case Op::ReduceL2:
        return m_algebra.make("sqrt", {sum(m_algebra.multiply(x, x))});
    case Op::ReduceLogSum:
        return m_algebra.make("log", {sum(x)});
    case Op::ReduceLogSumExp:
        return m_algebra.make("log", {sum(m_algebra.make("exp", {x}))});
    default:
        return std::nullopt;
    }
}

std::optional<Expr> Meaning::softmax() {
    auto along = axes("axis");
    if (!along || m_algebra.arithmetic() != Arithmetic::Reals)
        return std::nullopt;
    const Expr grown = m_algebra.make("exp", {in(0)});
    const Expr sum = m_algebra.make("rsum", {grown}, *along);
    if (m_at.op == Op::Softmax)
        return m_algebra.divide(grown, sum);
    return m_algebra.subtract(in(0), m_algebra.make("log", {sum}));
}

Expr Meaning::overRoot(const Expr& of, const Expr& variance) {
    const Known* epsilon = attribute("epsilon");
    Expr inside = epsilon && epsilon->kind == Known::Kind::Number
                      ? m_algebra.add(variance, epsilon->number)
                      : Expr();
    return m_algebra.divide(of, m_algebra.make("sqrt", {inside}));
}

/// Over the axes from `axis` on; only the last one is told apart from the others here.
std::optional<Expr> Meaning::normalization() {
    auto along = axes("axis");
    const Known* epsilon = attribute("epsilon");
    if (!along || *along != "[-1]" || m_at.output != 0 || m_at.outputs != 1 || !has(0) || !has(1) ||
        !epsilon || epsilon->kind != Known::Kind::Number ||
        m_algebra.arithmetic() != Arithmetic::Reals)
        return std::nullopt;
    auto mean = [&](const Expr& of) { return m_algebra.make("rmean", {of}, *along); };
    Expr centred = in(0);
    if (m_at.op == Op::LayerNormalization)
        centred = m_algebra.subtract(centred, mean(centred));
    Expr out = overRoot(centred, mean(m_algebra.multiply(centred, centred)));
    out = m_algebra.multiply(out, in(1));
    return has(2) ? m_algebra.add(out, in(2)) : out;
}

/// With numbers for each channel that were found before.
std::optional<Expr> Meaning::channelwise() {
    const Known* training = attribute("training_mode");
    const Known* epsilon = attribute("epsilon");
    if (m_algebra.arithmetic() != Arithmetic::Reals || m_at.outputs != 1 || !training ||
        !training->literal || *training->literal != 0 || !epsilon ||
        epsilon->kind != Known::Kind::Number || !has(4))
        return std::nullopt;
    auto channel = [&](size_t i) { return m_algebra.make("channels", {in(i)}); };
    Expr out = overRoot(m_algebra.subtract(in(0), channel(3)), channel(4));
    out = m_algebra.add(m_algebra.multiply(out, channel(1)), channel(2));
    out.shape = in(0).shape;
    return out;
}

/// Stores numbers as integers and reads them, with one scale for all: elements stay where they are.
std::optional<Expr> Meaning::storage() {
    const bool isOne = has(1) && m_at.operands[1]->rank == 0U;
    if (!isOne)
        return std::nullopt;
    std::vector<Expr> operands{in(0), in(1)};
    // Its other attributes are about axes and float8; the result has the type that it had.
    m_algebra.note("numbers are stored as integers");
    std::string what;
    if (has(2)) {
        operands.push_back(in(2));
        what = m_at.operands[2]->type ? nameOf(*m_at.operands[2]->type) : "zero";
    }
    return m_algebra.make(rowOf(m_at.op).name, operands, what);
}

Expr Meaning::unknown() {
    std::vector<Expr> operands;
    for (const auto& operand : m_at.operands)
        if (operand)
            operands.push_back(operand->element);
    std::string name = rowOf(m_at.op).name;
    if (m_at.op == Op::Transpose)
        if (const Known* order = attribute("perm"))
            return m_algebra.make(name, operands, order->text);
    if (m_at.outputs > 1 || m_at.output > 0)
        name += fmt::format(" output {}", m_at.output);
    return m_algebra.make(name, operands, tag());
}

Expr Meaning::element() {
    std::optional<Expr> made;
    switch (m_at.op) {
    case Op::Cast: {
        const Known* to = attribute("to");
        if (!has(0) || !m_at.operands[0]->type || !to || !to->literal)
            return unknown();
        const DType type =
            dtypeFromOnnx(static_cast<int64_t>(*to->literal)).value_or(DType::Undefined);
        return m_algebra.make("Cast", {in(0)},
                              std::string(nameOf(*m_at.operands[0]->type)) + ">" + nameOf(type));
    }
    case Op::Softmax:
    case Op::LogSoftmax:
        made = softmax();
        break;
    case Op::LayerNormalization:
    case Op::RMSNormalization:
    case Op::SimplifiedLayerNormalization:
        made = normalization();
        break;
    case Op::QuantizeLinear:
    case Op::DequantizeLinear:
        made = storage();
        if (!made) { // with scales of an axis its elements are no longer alike
            Application moved = m_at;
            std::vector<Expr> operands;
            for (const auto& operand : m_at.operands)
                if (operand)
                    operands.push_back(operand->element);
            return m_algebra.make(std::string(rowOf(m_at.op).name) + " by axis", operands, tag());
        }
        break;
    case Op::BatchNormalization:
        made = channelwise();
        break;
    case Op::AveragePool:
    case Op::MaxPool: {
        const Known* window = attribute("kernel_shape");
        auto is = [&](const char* name, const std::set<std::string>& texts) {
            const Known* value = attribute(name);
            return value && texts.contains(value->text);
        };
        const bool isSum = m_at.op == Op::AveragePool; // which begins with +0
        if (m_at.outputs == 1 && window && !(isSum && m_algebra.arithmetic() == Arithmetic::Bits) &&
            window->text.find_first_not_of("[1, ]") == std::string::npos &&
            window->kind == Known::Kind::List && is("strides", {"[1]", "[1, 1]", "[1, 1, 1]"}) &&
            is("pads", {"[0, 0]", "[0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0]"}))
            return in(0);
        return unknown();
    }
    case Op::Reshape: {
        if (attribute("allowzero"))
            m_algebra.note("`allowzero` of Reshape is 0");
        Application plain = m_at;
        plain.attributes.erase("allowzero");
        Expr view = Meaning(m_algebra, plain).unknown();
        const Known* shape = attribute("shape");
        if (m_algebra.demands && shape && asksForRest(*shape))
            m_algebra.demands->push_back({Demand::Kind::HasRest, view});
        return view;
    }
    default:
        if (hasTrait(m_at.op, Elementwise))
            made = byTape();
        else if (hasTrait(m_at.op, Reduction) || m_at.op == Op::GlobalAveragePool)
            made = reduction();
    }
    return made ? *made : unknown();
}

} // namespace

std::optional<std::string> axesFromBack(const Known& axes, std::optional<size_t> rank) {
    std::vector<Known> items = axes.items;
    if (axes.kind == Known::Kind::Number)
        items = {axes};
    else if (axes.kind != Known::Kind::List)
        return std::nullopt;
    std::vector<int64_t> out;
    for (const Known& item : items) {
        if (!item.literal)
            return std::nullopt;
        auto axis = static_cast<int64_t>(*item.literal);
        if (axis >= 0 && !rank)
            return std::nullopt;
        out.push_back(axis >= 0 ? axis - static_cast<int64_t>(*rank) : axis);
    }
    std::sort(out.begin(), out.end());
    return textOf(out);
}

Expr meaningOf(Algebra& algebra, const Application& application) {
    Expr out = Meaning(algebra, application).element();
    if (!algebra.demands || algebra.arithmetic() != Arithmetic::Reals)
        return out;
    // A whole operator keeps its range by itself; these are written out by whoever uses them.
    const Op op = application.op;
    const bool isPower = op == Op::Pow && application.operands.size() == 2 &&
                         application.operands[1] && !numberOf(application.operands[1]->element);
    if (isPower || op == Op::Exp || op == Op::Log || op == Op::Sinh || op == Op::Cosh)
        algebra.demands->push_back({Demand::Kind::Grows, out});
    return out;
}

} // namespace fuselage::algebra
