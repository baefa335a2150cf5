// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/evaluate.h"

#include "core/ops/op_table.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/members.h"

#include <algorithm>

namespace fuselage {

namespace {

Quantity ofBinding(const EvaluateContext& context, const Binding& binding) {
    switch (binding.kind) {
    case Binding::Kind::Value:
        return {context.builder ? context.builder->import(binding.value) : binding.value};
    case Binding::Kind::List: {
        Quantity::List items;
        for (const Binding& item : binding.items)
            items.push_back(ofBinding(context, item));
        return Quantity::list(std::move(items));
    }
    default:
        return Quantity::none();
    }
}

Quantity ofDim(const DimBinding& binding) {
    if (binding.isList) {
        Quantity::List items;
        for (const DimBinding& item : binding.items)
            items.push_back(ofDim(item));
        return Quantity::list(std::move(items));
    }
    return binding.bound ? Quantity::dimension(binding.dim) : Quantity::unknown("a dimension");
}

Quantity memberOf(const EvaluateContext& context, const Quantity& value,
                  const std::string& member) {
    if (value.isNone() || value.isUnknown())
        return value;
    const MemberRow* row = findMember(member);
    const ValueId* id = value.as<ValueId>();
    if (row && id) {
        const Value& known = context.valueGraph().value(*id);
        Quantity found = row->ofType ? row->ofType(known.type) : row->ofValue(context, *id);
        if (found.isUnknown())
            return Quantity::unknown("`" + known.name + "." + member + "`");
        return found;
    }
    if (const TensorPtr* tensor = value.as<TensorPtr>(); row && tensor) {
        if (row->ofType)
            return row->ofType((*tensor)->type());
        return member == "value" ? value : Quantity::unknown("the member `" + member + "`");
    }
    if (const Quantity::List* list = value.as<Quantity::List>()) {
        Quantity::List out;
        for (const Quantity& item : *list)
            out.push_back(memberOf(context, item, member));
        return Quantity::list(std::move(out));
    }
    return Quantity::unknown("the member `" + member + "`");
}

Quantity evaluateMember(const EvaluateContext& context, const Expression& expression) {
    const Expression& object = expression.args[0];
    if (object.kind == Expression::Kind::Root) {
        const RootRow* row = findRoot(object.text, expression.text);
        return row && context.roots
                   ? row->of(*context.roots)
                   : Quantity::unknown("`" + object.text + "." + expression.text + "`");
    }
    return memberOf(context, evaluate(context, object), expression.text);
}

/// With a list as index, the items that stand at these places.
Quantity evaluateIndex(const Quantity& object, const Quantity& index) {
    if (object.isUnknown() || index.isUnknown())
        return object.isUnknown() ? object : index;
    if (const auto* places = index.as<Quantity::List>()) {
        Quantity::List out;
        for (const Quantity& place : *places) {
            out.push_back(evaluateIndex(object, place));
            if (out.back().isUnknown())
                return out.back();
        }
        return Quantity::list(std::move(out));
    }
    std::optional<Quantity::List> items = object.items();
    std::optional<int64_t> at = index.integerValue();
    if (!items || !at)
        return Quantity::unknown("an element of " + object.text());
    auto size = static_cast<int64_t>(items->size());
    int64_t position = *at < 0 ? *at + size : *at;
    if (position < 0 || position >= size)
        return Quantity::unknown("element " + std::to_string(*at) + " of " + object.text());
    return (*items)[static_cast<size_t>(position)];
}

/// Constants stand for their contents in arithmetic and comparisons.
Quantity numeric(const EvaluateContext& context, Quantity value) {
    if (const ValueId* id = value.as<ValueId>())
        return contentsOf(context.valueGraph(), *id);
    return value;
}

std::optional<Op> opOfSymbol(const std::string& symbol) {
    if (symbol == "+")
        return Op::Add;
    if (symbol == "-")
        return Op::Sub;
    if (symbol == "*")
        return Op::Mul;
    if (symbol == "/")
        return Op::Div;
    return std::nullopt;
}

Quantity evaluateBinary(const EvaluateContext& context, const Expression& expression) {
    const std::string& symbol = expression.text;
    Quantity left = evaluate(context, expression.args[0]);
    if (symbol == "??")
        return left.isNone() ? evaluate(context, expression.args[1]) : left;
    if (symbol == "and" && left.truth() == Truth::False)
        return {false};
    if (symbol == "or" && left.truth() == Truth::True)
        return {true};
    Quantity right = evaluate(context, expression.args[1]);
    if (symbol == "and")
        return Quantity::truth(left.truth() && right.truth());
    if (symbol == "or")
        return Quantity::truth(left.truth() || right.truth());
    std::optional<Op> op = opOfSymbol(symbol);
    if (op && context.builder && (isTensorLike(left) || isTensorLike(right)))
        return context.builder->node(*op, {left, right}, {}, 1);
    bool sameKind = left.as<ValueId>() && right.as<ValueId>();
    if (!sameKind || op) {
        left = numeric(context, std::move(left));
        right = numeric(context, std::move(right));
    }
    if (op || symbol == "%")
        return arithmetic(symbol, left, right);
    return Quantity::truth(compare(symbol, left, right));
}

Quantity evaluateUnary(const EvaluateContext& context, const Expression& expression) {
    Quantity value = evaluate(context, expression.args[0]);
    if (expression.text == "not")
        return Quantity::truth(!value.truth());
    if (context.builder && isTensorLike(value))
        return context.builder->node(Op::Neg, {value}, {}, 1);
    return arithmetic("*", Quantity::integer(-1), numeric(context, std::move(value)));
}

/// All attributes of the node that makes a slot, but for those that are given already.
void copyAttributes(const EvaluateContext& context, SlotIndex slot, NamedQuantities& out) {
    const Binding& binding = context.slots[slot];
    NodeId maker =
        binding.kind == Binding::Kind::Value ? context.graph.producer(binding.value) : NodeId();
    if (!maker.valid())
        return;
    for (const Attributes::Entry& entry : context.graph.node(maker).attributes)
        if (std::none_of(out.begin(), out.end(),
                         [&](const auto& given) { return given.first == entry.name; }))
            out.emplace_back(entry.name, Quantity::attribute(entry.value));
}

NamedQuantities evaluateNamed(const EvaluateContext& context, const Expression& expression) {
    NamedQuantities out;
    for (const auto& [name, value] : expression.named)
        if (name == "...")
            copyAttributes(context, value.slot, out);
        else
            out.emplace_back(name, evaluate(context, value));
    return out;
}

Quantity attributeOf(const EvaluateContext& context, const Expression& expression) {
    const Binding& binding = context.slots[expression.slot];
    NodeId maker =
        binding.kind == Binding::Kind::Value ? context.graph.producer(binding.value) : NodeId();
    const AttributeValue* value =
        maker.valid() ? context.graph.node(maker).attributes.find(expression.text) : nullptr;
    return value ? Quantity::attribute(*value) : Quantity::none();
}

Quantity parameterOfBinding(const EvaluateContext& context, const Binding& binding,
                            const Expression& expression) {
    if (binding.kind == Binding::Kind::List) {
        Quantity::List items;
        for (const Binding& item : binding.items)
            items.push_back(parameterOfBinding(context, item, expression));
        return Quantity::list(std::move(items));
    }
    if (!binding.bound())
        return Quantity::unknown("`" + context.rule.slots[expression.slot].name +
                                 "`, which is not matched yet");
    NodeId maker =
        binding.kind == Binding::Kind::Value ? context.graph.producer(binding.value) : NodeId();
    if (!maker.valid())
        return Quantity::none();
    const Node& node = context.graph.node(maker);
    Quantity found = parameterOfNode(context.graph, node, expression.text);
    if (!isAxisName(expression.text) || found.isNone() || found.isUnknown())
        return found;
    std::optional<int64_t> rank = axisRank(context.graph, node);
    return rank ? axesFromFront(found, *rank)
                : Quantity::unknown("the rank of `" + node.name + "`");
}

Quantity evaluateSlice(const Quantity& object, const Quantity& from, const Quantity& to) {
    for (const Quantity* each : {&object, &from, &to})
        if (each->isUnknown())
            return *each;
    std::optional<Quantity::List> items = object.items();
    if (!items)
        return Quantity::unknown("a slice of " + object.text());
    auto size = static_cast<int64_t>(items->size());
    auto position = [&](const Quantity& at, int64_t otherwise) -> std::optional<int64_t> {
        if (at.isNone())
            return otherwise;
        std::optional<int64_t> whole = at.integerValue();
        if (!whole)
            return std::nullopt;
        return std::clamp<int64_t>(*whole < 0 ? *whole + size : *whole, 0, size);
    };
    std::optional<int64_t> first = position(from, 0), last = position(to, size);
    if (!first || !last)
        return Quantity::unknown("the ends of a slice, " + from.text() + " and " + to.text());
    if (*first >= *last)
        return Quantity::list({});
    return Quantity::list({items->begin() + *first, items->begin() + *last});
}

/// Each `let` may read those before it several times: it is computed once.
Quantity evaluateLet(const EvaluateContext& context, uint32_t let) {
    std::map<uint32_t, Quantity> local;
    EvaluateContext remembering = context;
    if (!remembering.lets)
        remembering.lets = &local;
    auto found = remembering.lets->find(let);
    if (found != remembering.lets->end())
        return found->second;
    Quantity value = evaluate(remembering, context.rule.lets[let].expression);
    return remembering.lets->emplace(let, std::move(value)).first->second;
}

Quantity evaluateNode(const EvaluateContext& context, const Expression& expression,
                      const Quantity::List& operands, size_t outputs) {
    if (!context.builder)
        return Quantity::unknown("a node outside of a rewrite");
    const NamedQuantities attributes = evaluateNamed(context, expression);
    return expression.custom
               ? context.builder->node(*expression.custom, operands, attributes, outputs)
               : context.builder->node(expression.op, operands, attributes, outputs);
}

} // namespace

Quantity contentsOf(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    if (!value.constant) {
        if (value.symbolicContents) {
            Quantity::List items;
            for (const Dim& dim : *value.symbolicContents)
                items.push_back(Quantity::dimension(dim));
            bool scalar = value.type.hasRank() && value.type.rank() == 0 && items.size() == 1;
            return scalar ? items[0] : Quantity::list(std::move(items));
        }
        return Quantity::unknown("the contents of `" + value.name + "`");
    }
    if (value.constant->rank() == 0 && value.constant->dtype() != DType::String)
        return isFloat(value.constant->dtype()) ? Quantity::real(value.constant->at(0))
                                                : Quantity::integer(value.constant->intAt(0));
    return {value.constant};
}

Quantity parameterOfNode(const Graph& graph, const Node& node, const std::string& name) {
    if (std::optional<AttributeValue> value = parameterOf(graph, node, name))
        return Quantity::attribute(*value);
    const std::vector<std::string>& names = inputNamesOf(node.op);
    auto input = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    const bool hasBorder =
        name == "pads" && node.attributes.string("auto_pad", "NOTSET") != "NOTSET";
    if (hasBorder)
        return Quantity::unknown("the border that `auto_pad` gives");
    bool given = input < names.size() && input < node.explicitInputs && node.inputs[input].valid();
    return given ? contentsOf(graph, node.inputs[input]) : Quantity::none();
}

std::optional<int64_t> axisRank(const Graph& graph, const Node& node) {
    bool addsDimensions = node.op == Op::Unsqueeze;
    ValueId value = addsDimensions        ? node.outputs[0]
                    : node.inputs.empty() ? ValueId()
                                          : node.inputs[0];
    if (!value.valid() || !graph.value(value).type.hasRank())
        return std::nullopt;
    return static_cast<int64_t>(graph.value(value).type.rank());
}

Quantity axesFromFront(const Quantity& axes, int64_t rank) {
    if (const auto* list = axes.as<Quantity::List>()) {
        Quantity::List out;
        for (const Quantity& axis : *list)
            out.push_back(axesFromFront(axis, rank));
        bool plain = std::all_of(out.begin(), out.end(),
                                 [](const Quantity& axis) { return axis.as<Number>(); });
        if (plain)
            std::sort(out.begin(), out.end(), [](const Quantity& a, const Quantity& b) {
                return a.as<Number>()->value < b.as<Number>()->value;
            });
        return Quantity::list(std::move(out));
    }
    std::optional<int64_t> whole = axes.integerValue();
    return whole && *whole < 0 ? Quantity::integer(*whole + rank) : axes;
}

std::optional<double> estimateFlops(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    if (node.outputs.empty() || !node.outputs[0].valid())
        return 0;
    std::optional<int64_t> count = graph.value(node.outputs[0]).type.elementCount();
    if (!count)
        return std::nullopt;
    auto elements = static_cast<double>(*count);
    if (!hasTrait(node.op, ContractionOp) || node.inputs.size() < 2 || !node.inputs[1].valid())
        return elements;
    // Every output element sums over the weights of one output channel or column.
    const Type& weights = graph.value(node.inputs[1]).type;
    std::optional<int64_t> size = weights.elementCount();
    if (!size || weights.rank() < 2)
        return std::nullopt;
    bool kernel = node.op == Op::Conv || node.op == Op::ConvTranspose;
    int64_t width = (*weights.shape)[kernel ? 0 : weights.rank() - 1].value();
    int64_t batch = 1;
    for (size_t d = 0; !kernel && d + 2 < weights.rank(); ++d)
        batch *= (*weights.shape)[d].value();
    double depth = width && batch ? static_cast<double>(*size / width / batch) : 0;
    return 2 * elements * depth;
}

Quantity evaluate(const EvaluateContext& context, const Expression& expression, size_t outputs) {
    using Kind = Expression::Kind;
    auto arguments = [&] {
        Quantity::List out;
        for (const Expression& argument : expression.args)
            out.push_back(evaluate(context, argument));
        return out;
    };
    switch (expression.kind) {
    case Kind::None:
        return Quantity::none();
    case Kind::Number:
        return {Number{expression.number, expression.isInteger}};
    case Kind::Text:
        return Quantity::ofText(expression.text);
    case Kind::List:
        return Quantity::list(arguments());
    case Kind::Slot:
    case Kind::SlotList:
        if (context.drafted)
            if (auto found = context.drafted->slots.find(expression.slot);
                found != context.drafted->slots.end())
                return found->second;
        return ofBinding(context, context.slots[expression.slot]);
    case Kind::Dim:
    case Kind::DimList:
        return ofDim(context.dims[expression.slot]);
    case Kind::Let: {
        if (!context.drafted)
            return evaluateLet(context, expression.slot);
        // A let that builds nodes builds them once.
        auto found = context.drafted->lets.find(expression.slot);
        if (found != context.drafted->lets.end())
            return found->second;
        Quantity value = evaluate(context, context.rule.lets[expression.slot].expression);
        return context.drafted->lets.emplace(expression.slot, std::move(value)).first->second;
    }
    case Kind::Root:
        return Quantity::unknown("`" + expression.text + "`");
    case Kind::Member:
        return evaluateMember(context, expression);
    case Kind::Index:
        return evaluateIndex(numeric(context, evaluate(context, expression.args[0])),
                             evaluate(context, expression.args[1]));
    case Kind::Call:
        return callFunction(context, expression.text, arguments(),
                            evaluateNamed(context, expression));
    case Kind::Where:
        return context.slots[expression.slot].kind == Binding::Kind::Value
                   ? evaluate(context, expression.args[0])
                   : Quantity::none();
    case Kind::Attribute:
        return attributeOf(context, expression);
    case Kind::Parameter:
        return parameterOfBinding(context, context.slots[expression.slot], expression);
    case Kind::Slice:
        return evaluateSlice(numeric(context, evaluate(context, expression.args[0])),
                             evaluate(context, expression.args[1]),
                             evaluate(context, expression.args[2]));
    case Kind::Node:
        return evaluateNode(context, expression, arguments(), outputs);
    case Kind::Unary:
        return evaluateUnary(context, expression);
    case Kind::Binary:
        return evaluateBinary(context, expression);
    }
    return Quantity::unknown("an expression");
}

} // namespace fuselage
