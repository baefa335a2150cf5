// SPDX-License-Identifier: Apache-2.0
// Conditions of a rule as facts, and its right-hand sides. What is not understood among conditions
// is left out, which only makes a proof harder; in a right-hand side it is an obstacle.
#include "core/algebra/walk.h"
#include "core/ops/op_table.h"
#include "core/rewrite/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::algebra {

namespace {

using Kind = Known::Kind;

bool isComparison(const std::string& symbol) {
    return symbol == "==" || symbol == "<" || symbol == ">" || symbol == "<=" || symbol == ">=";
}

} // namespace

std::string Walk::aliased(const std::string& word) const {
    auto found = m_settled.words.find(word);
    return found == m_settled.words.end() ? word : found->second;
}

/// A symbol for a whole number; the same name is the same number.
Known Walk::integer(const std::string& name) {
    if (auto value = m_settled.values.find(name); value != m_settled.values.end())
        return Known::ofNumber(m_algebra.number(value->second), fmt::format("{}", value->second),
                               value->second);
    auto found = m_integers.find(name);
    if (found == m_integers.end())
        found = m_integers.emplace(name, Known::ofNumber(m_algebra.variable(name, {}, true), name))
                    .first;
    return found->second;
}

/// Constants stand for their contents.
Known Walk::contents(const Known& known) {
    if (known.kind != Kind::Value)
        return known;
    const SymbolicValue& value = m_values[known.value];
    if (value.isUniform) {
        auto number = numberOf(value.element);
        return Known::ofNumber(value.element, value.name,
                               number ? std::optional(number->value()) : std::nullopt);
    }
    auto length = m_settled.lengths.find(value.name);
    if (length == m_settled.lengths.end())
        return Known::word(aliased("contents(" + value.name + ")"));
    std::vector<Known> items;
    for (size_t i = 0; i < length->second; ++i)
        items.push_back(integer(fmt::format("{}[{}]", value.name, i)));
    return Known::list(std::move(items));
}

Known Walk::member(const Known& object, const std::string& name) {
    if (object.isNone())
        return object;
    if (object.kind != Kind::Value)
        return Known::word(aliased(object.text + "." + name));
    const SymbolicValue& value = m_values[object.value];
    if (name == "value")
        return contents(object);
    if (name == "rank" && value.rank)
        return Known::ofNumber(m_algebra.whole(static_cast<int64_t>(*value.rank)),
                               std::to_string(*value.rank), static_cast<double>(*value.rank));
    if (name == "rank")
        return integer("rank(" + value.name + ")");
    return Known::word(aliased(name + "(" + value.name + ")"));
}

Known Walk::parameter(const Expression& expression) {
    auto bound = m_slots.find(expression.slot);
    if (bound == m_slots.end() || !bound->second)
        return {};
    const auto maker = m_values[*bound->second].maker;
    if (!maker)
        return expression.kind == Expression::Kind::Attribute ? Known{}
                                                              : Known::word("no attribute");
    const SymbolicNode& node = m_nodes[*maker];
    auto found = node.attributes.find(expression.text);
    if (found == node.attributes.end())
        return {};
    const bool isAxis = isAxisName(expression.text);
    const bool fromFront = expression.kind == Expression::Kind::Parameter && isAxis;
    if (fromFront && !(found->second.literal && *found->second.literal >= 0))
        return Known::word("front(" + found->second.text + ")");
    return found->second;
}

Known Walk::arithmetic(const std::string& symbol, const Known& a, const Known& b) {
    if (a.kind == Kind::List || b.kind == Kind::List) {
        const size_t count = a.kind == Kind::List ? a.items.size() : b.items.size();
        const bool fits =
            a.kind != Kind::List || b.kind != Kind::List || a.items.size() == b.items.size();
        std::vector<Known> items;
        for (size_t i = 0; fits && i < count; ++i)
            items.push_back(arithmetic(symbol, a.kind == Kind::List ? a.items[i] : a,
                                       b.kind == Kind::List ? b.items[i] : b));
        return fits ? Known::list(std::move(items)) : Known::word("lists of two lengths");
    }
    const bool isKnown = a.kind == Kind::Number && b.kind == Kind::Number && symbol != "%";
    if (!isKnown)
        return Known::word(fmt::format("({} {} {})", a.text, symbol, b.text));
    const char* function = symbol == "+"   ? "add"
                           : symbol == "-" ? "sub"
                           : symbol == "*" ? "mul"
                                           : "div";
    if (symbol == "/" && m_algebra.arithmetic() != Arithmetic::Reals)
        return Known::word(fmt::format("({} / {})", a.text, b.text));
    auto* quiet = std::exchange(m_algebra.demands, nullptr);
    Expr made = m_algebra.make(function, {a.number, b.number});
    m_algebra.demands = quiet;
    auto number = numberOf(made);
    std::string text = number ? fmt::format("{}", number->value())
                              : fmt::format("({} {} {})", a.text, symbol, b.text);
    return Known::ofNumber(std::move(made), std::move(text),
                           number ? std::optional(number->value()) : std::nullopt);
}

Known Walk::binary(const Expression& expression) {
    const std::string& symbol = expression.text;
    Known left = evaluate(expression.args[0]);
    if (symbol == "??")
        return left.isNone() ? evaluate(expression.args[1]) : left;
    Known right = evaluate(expression.args[1]);
    const bool computes = symbol == "+" || symbol == "-" || symbol == "*" || symbol == "/";
    const bool isTensor = left.kind == Kind::Value || right.kind == Kind::Value;
    if (computes && isTensor) {
        SymbolicNode node;
        node.op = symbol == "+"   ? Op::Add
                  : symbol == "-" ? Op::Sub
                  : symbol == "*" ? Op::Mul
                                  : Op::Div;
        node.operands = {asOperand(left), asOperand(right)};
        return m_obstacle.empty() ? Known::ofValue(applied(node, 0, 1)) : Known{};
    }
    if (computes || symbol == "%")
        return arithmetic(symbol, contents(left), contents(right));
    return Known::word(fmt::format("({} {} {})", left.text, symbol, right.text));
}

Known Walk::call(const Expression& expression) {
    std::vector<Known> in;
    for (const Expression& argument : expression.args)
        in.push_back(evaluate(argument));
    const std::string& name = expression.text;
    if (name == "reshape" && in.size() == 2 && in[0].kind == Kind::Value) {
        SymbolicNode node;
        node.op = Op::Reshape;
        node.operands = {in[0].value};
        node.attributes["shape"] = in[1];
        return Known::ofValue(applied(node, 0, 1));
    }
    if (name == "ones" && in.size() == 1) {
        SymbolicValue made;
        made.element = m_algebra.number(1);
        made.name = "ones";
        made.element.shape = {in[0].text};
        return Known::ofValue(addValue(std::move(made)));
    }
    if (!in.empty())
        in[0] = contents(in[0]);
    if (in.size() == 1 && in[0].kind == Kind::List && name == "len")
        return Known::ofNumber(m_algebra.whole(static_cast<int64_t>(in[0].items.size())),
                               std::to_string(in[0].items.size()),
                               static_cast<double>(in[0].items.size()));
    if (in.size() == 1 && in[0].kind == Kind::Number && (name == "min" || name == "max"))
        return in[0]; // all elements are equal
    const bool areLists = in.size() == 1 && in[0].kind == Kind::List &&
                          std::all_of(in[0].items.begin(), in[0].items.end(),
                                      [](const Known& each) { return each.kind == Kind::List; });
    if (name == "concat" && areLists) {
        std::vector<Known> items;
        for (const Known& list : in[0].items)
            items.insert(items.end(), list.items.begin(), list.items.end());
        return Known::list(std::move(items));
    }
    std::string text = name + "(";
    for (size_t i = 0; i < in.size(); ++i)
        text += (i > 0 ? ", " : "") + in[i].text;
    return Known::word(aliased(text + ")"));
}

/// A number as an operand holds it: rounded where that may have 16 bits, as attributes are not.
Expr Walk::stored(const Known& number) {
    const Expr exact = number.literal ? m_algebra.number(*number.literal) : number.number;
    if (m_algebra.arithmetic() != Arithmetic::Bits || !isFloat(m_algebra.tapeType()))
        return exact;
    auto fits = [&](DType type) { return roundTo(type, *number.literal) == *number.literal; };
    const bool keeps =
        number.literal
            ? std::isnan(*number.literal) || (fits(DType::Float16) && fits(DType::BFloat16))
            : !mayCompute(
                  [](DType type) { return type == DType::Float16 || type == DType::BFloat16; });
    return keeps ? exact : m_algebra.make("stored", {exact});
}

Walk::Operand Walk::asOperand(const Known& known) {
    if (known.kind == Kind::Value)
        return known.value;
    if (known.isNone())
        return {};
    if (known.kind == Kind::Number) {
        SymbolicValue made;
        made.element = stored(known);
        made.element.shape = {};
        made.name = known.text;
        made.rank = 0;
        made.isConstant = made.isUniform = true;
        return addValue(std::move(made));
    }
    SymbolicValue made;
    made.name = known.text;
    made.element = m_algebra.make("constant " + known.text, {});
    made.isConstant = true;
    return addValue(std::move(made));
}

Known Walk::built(const Expression& expression, size_t outputs) {
    SymbolicNode node;
    node.op = expression.op;
    node.name = fmt::format("r{}", ++m_names);
    for (const AttributeSchema& schema : attributesOf(node.op)) {
        Known value;
        if (schema.fallback) {
            if (const auto* whole = std::get_if<int64_t>(&*schema.fallback))
                value = Known::ofNumber(m_algebra.number(static_cast<double>(*whole)),
                                        std::to_string(*whole), static_cast<double>(*whole));
            else if (const auto* number = std::get_if<double>(&*schema.fallback))
                value =
                    Known::ofNumber(m_algebra.number(*number), fmt::format("{}", *number), *number);
            else if (const auto* text = std::get_if<std::string>(&*schema.fallback))
                value = Known::ofText(*text);
            else
                value = Known::word("default " + schema.name);
        }
        node.attributes[schema.name] = value;
    }
    for (const NamedExpression& named : expression.named) {
        Known value = contents(evaluate(named.value));
        if (!value.isNone())
            node.attributes[named.name] = std::move(value);
    }
    for (const Expression& argument : expression.args) {
        const Known operand = evaluate(argument);
        const std::vector<std::string>& names = inputNamesOf(node.op);
        const size_t place = node.operands.size();
        const bool isParameter = operand.kind == Kind::List && place > 0 && place < names.size() &&
                                 rowOf(node.op).maxInputs != variadic;
        if (isParameter)
            node.attributes[names[place]] = operand;
        else if (operand.kind == Kind::List)
            return obstruct(fmt::format("a list as operand of {}", rowOf(node.op).name)), Known{};
        node.operands.push_back(isParameter ? Operand() : asOperand(operand));
    }
    if (!m_obstacle.empty())
        return {};
    const size_t out = applied(node, 0, outputs);
    m_nodes.push_back(node);
    m_values[out].maker = m_nodes.size() - 1;
    if (outputs == 1)
        return Known::ofValue(out);
    std::vector<Known> all{Known::ofValue(out)};
    for (size_t i = 1; i < outputs; ++i)
        all.push_back(Known::ofValue(applied(node, i, outputs)));
    return Known::list(std::move(all));
}

Known Walk::evaluate(const Expression& expression, size_t outputs) {
    using Of = Expression::Kind;
    switch (expression.kind) {
    case Of::None:
        return {};
    case Of::Number:
        return Known::ofNumber(m_algebra.number(expression.number),
                               fmt::format("{}", expression.number), expression.number);
    case Of::Text:
        return Known::ofText(expression.text);
    case Of::List: {
        std::vector<Known> items;
        for (const Expression& item : expression.args)
            items.push_back(evaluate(item));
        return Known::list(std::move(items));
    }
    case Of::Slot: {
        auto found = m_slots.find(expression.slot);
        return found == m_slots.end() || !found->second ? Known{} : Known::ofValue(*found->second);
    }
    case Of::Dim:
        return integer("dimension " + m_rule.dims[expression.slot]);
    case Of::Let:
        return evaluate(m_rule.lets[expression.slot].expression, outputs);
    case Of::Member:
        return expression.args[0].kind == Of::Root
                   ? Known::word(expression.args[0].text + "." + expression.text)
                   : member(evaluate(expression.args[0]), expression.text);
    case Of::Index: {
        const Known object = contents(evaluate(expression.args[0]));
        const Known at = contents(evaluate(expression.args[1]));
        if (object.kind == Kind::List && at.literal) {
            const auto size = static_cast<int64_t>(object.items.size());
            auto place = static_cast<int64_t>(*at.literal);
            place += place < 0 ? size : 0;
            if (place >= 0 && place < size)
                return object.items[static_cast<size_t>(place)];
        }
        return Known::word(aliased(object.text + "[" + at.text + "]"));
    }
    case Of::Slice: {
        const Known object = contents(evaluate(expression.args[0]));
        const Known from = evaluate(expression.args[1]), to = evaluate(expression.args[2]);
        const bool isKnown = object.kind == Kind::List && (from.isNone() || from.literal) &&
                             (to.isNone() || to.literal);
        if (!isKnown)
            return Known::word(fmt::format("{}[{}:{}]", object.text, from.text, to.text));
        const auto size = static_cast<int64_t>(object.items.size());
        auto place = [&](const Known& end, int64_t otherwise) {
            const auto at = end.literal ? static_cast<int64_t>(*end.literal) : otherwise;
            return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
        };
        const int64_t first = place(from, 0), last = std::max(first, place(to, size));
        return Known::list({object.items.begin() + first, object.items.begin() + last});
    }
    case Of::Where: {
        auto bound = m_slots.find(expression.slot);
        return bound != m_slots.end() && bound->second ? evaluate(expression.args[0]) : Known{};
    }
    case Of::Attribute:
    case Of::Parameter:
        return parameter(expression);
    case Of::Call:
        return call(expression);
    case Of::Node:
        return built(expression, outputs);
    case Of::Binary:
        return binary(expression);
    case Of::Unary: {
        const Known of = evaluate(expression.args[0]);
        const Known minus = Known::ofNumber(m_algebra.number(-1), "-1", -1);
        return expression.text == "-" && of.kind != Kind::Value
                   ? arithmetic("*", minus, of)
                   : Known::word(expression.text + " " + of.text);
    }
    default:
        return Known::word("an expression");
    }
}

void Walk::assumeOrder(const std::string& symbol, const Known& a, const Known& b) {
    if (a.kind == Kind::List || b.kind == Kind::List) {
        const Known& list = a.kind == Kind::List ? a : b;
        for (size_t i = 0; i < list.items.size(); ++i)
            if (a.kind != Kind::List)
                assumeOrder(symbol, a, b.items[i]);
            else if (b.kind != Kind::List || i < b.items.size())
                assumeOrder(symbol, a.items[i], b.kind == Kind::List ? b.items[i] : b);
        return;
    }
    if (symbol == "==" && (a.kind != Kind::Number || b.kind != Kind::Number)) {
        if (a.text != b.text)
            m_found.words[std::min(a.text, b.text)] = std::max(a.text, b.text);
        return;
    }
    if (a.kind != Kind::Number || b.kind != Kind::Number ||
        m_algebra.arithmetic() == Arithmetic::Bits)
        return;
    using Fact = algebra::Fact;
    const bool isMore = symbol == ">" || symbol == ">=";
    const Expr gap =
        isMore ? m_algebra.subtract(a.number, b.number) : m_algebra.subtract(b.number, a.number);
    m_facts.push_back({gap, symbol == "=="                   ? Fact::Kind::Zero
                            : symbol == "<" || symbol == ">" ? Fact::Kind::AboveZero
                                                             : Fact::Kind::AtLeastZero});
}

void Walk::assumeCall(const Expression& call, const std::string& symbol, const Known& other) {
    const Known of = call.args.size() == 1 ? contents(evaluate(call.args[0])) : Known{};
    const bool isLow = symbol == ">" || symbol == ">=", isHigh = symbol == "<" || symbol == "<=";
    const bool isLength = call.text == "len" && of.kind == Kind::Word && symbol == "==" &&
                          of.text.starts_with("contents(");
    if (isLength && !other.literal) {
        for (const SymbolicValue& each : m_values)
            if (m_integers.contains("rank(" + each.name + ")"))
                m_needsRanks.insert(each.name);
    } else if (isLength) {
        m_found.lengths[of.text.substr(9, of.text.size() - 10)] =
            static_cast<size_t>(*other.literal);
    } else if (of.kind == Kind::List && call.text == "min" && (isLow || symbol == "==")) {
        assumeOrder(symbol == "==" ? ">=" : symbol, of, other);
    } else if (of.kind == Kind::List && call.text == "max" && (isHigh || symbol == "==")) {
        assumeOrder(symbol == "==" ? "<=" : symbol, of, other);
    } else {
        assumeOrder(symbol, evaluate(call), other);
    }
}

/// Of floats as they are stored, one that equals 0 has either sign.
bool Walk::mayBeMinusZero(const Known& symbol, double value) const {
    if (m_algebra.arithmetic() != Arithmetic::Bits || value != 0)
        return false;
    return std::none_of(m_values.begin(), m_values.end(), [&](const SymbolicValue& each) {
        return each.name == symbol.text && each.type && isInteger(*each.type);
    });
}

/// A condition that holds wherever the rule fires.
void Walk::assume(const Expression& expression) {
    if (expression.kind != Expression::Kind::Binary)
        return;
    if (expression.text == "and") {
        assume(expression.args[0]);
        assume(expression.args[1]);
        return;
    }
    if (expression.text == "or") {
        assume(expression.args[m_ways.pick(2)]);
        return;
    }
    if (!isComparison(expression.text))
        return;
    const Known left = contents(evaluate(expression.args[0]));
    const Known right = contents(evaluate(expression.args[1]));
    const std::string& symbol = expression.text;
    if (symbol == "==")
        for (const auto& [one, other] : {std::pair(&left, &right), std::pair(&right, &left)})
            if (one->kind == Kind::Number && !one->literal && other->literal &&
                !mayBeMinusZero(*one, *other->literal))
                m_found.values[one->text] = *other->literal;
    if (expression.args[0].kind == Expression::Kind::Call)
        assumeCall(expression.args[0], symbol, right);
    else
        assumeOrder(symbol, left, right);
}

bool Walk::rewrite() {
    for (const Assignment& assignment : m_rule.rewrite) {
        if (assignment.isList)
            return obstruct("lists of results"), false;
        const Known made = evaluate(assignment.value, assignment.targets.size());
        for (size_t i = 0; i < assignment.targets.size() && m_obstacle.empty(); ++i) {
            const Known& each = assignment.targets.size() == 1 ? made : made.items[i];
            const SlotIndex slot = assignment.targets[i];
            const Operand after = asOperand(each);
            auto bound = m_slots.find(slot);
            if (!after)
                return obstruct("a result that is none"), false;
            if (bound != m_slots.end() && bound->second)
                m_replacements.push_back({m_rule.slots[slot].name, m_values[*bound->second].element,
                                          m_values[*after].element});
            else
                bind(slot, after);
        }
    }
    return m_obstacle.empty();
}

} // namespace fuselage::algebra
