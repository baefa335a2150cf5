// SPDX-License-Identifier: Apache-2.0
// Nodes of a pattern: operator, attributes, operands in any order that the rule accepts; trees of
// `flat` terms; regions.
#include "app/pipeline/prove/attribute_samples.h"
#include "app/pipeline/prove/generator_internal.h"
#include "core/graph/text.h"
#include "core/ops/op_schema.h"
#include "core/passes/passes.h"
#include "core/rewrite/custom_body.h"

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr uint32_t percentSwapped = 40;
constexpr uint32_t percentPassedOver = 25; ///< of constants that the pattern does not name

// Points of structural decisions about attributes, beyond those of terms.
constexpr uint64_t attributePoints = 256; ///< of one node
constexpr uint64_t ofAttributes = uint64_t{1} << 32U;

uint64_t pointOf(TermId id) {
    return ofAttributes + id.index() * attributePoints;
}

/// Attributes that follow the rank of the first operand.
bool needsRank(Op op) {
    for (const AttributeSchema& schema : attributesOf(op))
        if (schema.name == "axis" || schema.name == "axes" || schema.name == "perm" ||
            schema.name == "strides")
            return true;
    return false;
}

/// `max(a.pads) == 0` and the like as the function's name and its argument; else the expression.
std::pair<std::string, const Expression*> opened(const Expression& expression) {
    const bool isEnd = expression.kind == Expression::Kind::Call && expression.args.size() == 1 &&
                       (expression.text == "max" || expression.text == "min");
    return isEnd ? std::pair(expression.text, &expression.args[0]) : std::pair("", &expression);
}

/// Of the schema's kind; none when the quantity is none of it.
std::optional<AttributeValue> asAttribute(const Quantity& quantity, const std::string& type) {
    if (type == "int" || type == "float") {
        auto number = quantity.number();
        if (!number)
            return std::nullopt;
        if (type == "float")
            return *number;
        return static_cast<int64_t>(*number);
    }
    if (type == "string") {
        const auto* text = quantity.as<std::string>();
        return text ? std::optional<AttributeValue>(*text) : std::nullopt;
    }
    auto items = quantity.items();
    if (!items || (type != "ints" && type != "floats"))
        return std::nullopt;
    std::vector<int64_t> whole;
    std::vector<double> numbers;
    for (const Quantity& item : *items) {
        auto number = item.number();
        if (!number)
            return std::nullopt;
        whole.push_back(static_cast<int64_t>(*number));
        numbers.push_back(*number);
    }
    if (type == "ints")
        return whole;
    return numbers;
}

} // namespace

/// A value that passes all tests of that name; none where there is no such test.
std::optional<Quantity> Generator::testedValue(const Term& term, const std::string& name) {
    std::optional<Quantity> out;
    std::optional<double> low, high;
    for (const AttributeTest& test : term.tests) {
        if (test.name != name)
            continue;
        Quantity value = evaluate(context(), test.value);
        auto number = value.number();
        if (test.comparison == "in") {
            auto items = value.items().value_or(Quantity::List{});
            if (items.empty())
                return Quantity::none();
            out = items[m_choices.pick(static_cast<uint32_t>(items.size()))];
        } else if (test.comparison == "!=") {
            out = Quantity::real(number.value_or(0) + 1);
        } else if (test.comparison[0] == '>' && number) {
            low = *number + (test.comparison == ">" ? 1 : 0);
        } else if (test.comparison[0] == '<' && number) {
            high = *number - (test.comparison == "<" ? 1 : 0);
        } else {
            out = value;
        }
    }
    if (low && high) {
        constexpr double narrow = 1e-4; // one number with a tolerance, as a literal has
        m_isAtEdge = m_isAtEdge || *high - *low <= narrow * std::fabs(*high);
        return Quantity::real((*low + *high) / 2);
    }
    if (low || high)
        return Quantity::real(low ? *low : *high);
    return out;
}

/// "where a.strides == b.strides, max(a.pads) == 0" is no accident to wait for.
std::optional<AttributeValue>
Generator::demandedAttribute(TermId id, const AttributeSchema& schema, size_t rank,
                             const std::optional<AttributeValue>& drawn) {
    const std::optional<SlotIndex> slot = nameOf(id);
    if (!slot)
        return std::nullopt;
    std::optional<AttributeValue> out;
    for (const Condition& condition : m_rule.match.conditions) {
        const Expression& equation = condition.expression;
        if (equation.kind != Expression::Kind::Binary || equation.text != "==")
            continue;
        for (size_t side = 0; side < 2 && !out; ++side) {
            const auto [function, read] = opened(equation.args[side]);
            const bool isIt = read->kind == Expression::Kind::Parameter && read->slot == *slot &&
                              read->text == schema.name;
            if (!isIt)
                continue;
            const Quantity wanted = evaluate(context(), equation.args[1 - side]);
            const auto number = wanted.number();
            if (function.empty()) {
                out = asAttribute(wanted, schema.type);
            } else if (number && schema.type == "ints") {
                // As many as were drawn, or as a window has: all of them the end that is asked for.
                const auto* items = drawn ? std::get_if<std::vector<int64_t>>(&*drawn) : nullptr;
                const size_t spatial = rank > 2 ? rank - 2 : 2;
                const size_t count = items && !items->empty() ? items->size()
                                     : schema.name == "pads"  ? 2 * spatial
                                                              : spatial;
                out = std::vector<int64_t>(count, static_cast<int64_t>(*number));
            }
        }
    }
    return out;
}

/// The name of what a node makes: before `@`, or of the statement.
std::optional<SlotIndex> Generator::nameOf(TermId id) const {
    if (const auto& slot = m_rule.term(id).slot)
        return slot;
    for (SlotIndex slot = 0; slot < m_prepared.definitions.size(); ++slot) {
        const DefinitionRef& made = m_prepared.definitions[slot];
        if (made.definition && made.position == 0 && made.definition->term == id)
            return slot;
    }
    return std::nullopt;
}

void Generator::sampleAttributes(const Term& term, Node& node, size_t rank, const Wish& wish,
                                 std::optional<TermId> id, bool late) {
    AttributeContext free{node.op, rank, wish.dtype, m_choices};
    uint64_t point = id ? pointOf(*id) : 0;
    const auto custom = std::find_if(term.custom.begin(), term.custom.end(),
                                     [&](const CustomOperatorPtr& each) { return each->is(node); });
    for (const AttributeSchema& schema :
         custom == term.custom.end() ? attributesOf(node.op) : (*custom)->attributes) {
        auto test = std::find_if(term.tests.begin(), term.tests.end(),
                                 [&](const AttributeTest& t) { return t.name == schema.name; });
        bool tested = test != term.tests.end();
        free.point = id ? point += 2 : 0;
        if ((tested && test->late) != late)
            continue;
        const bool hasAutoPad = node.attributes.string("auto_pad", "NOTSET") != "NOTSET";
        if (schema.name == "pads" && hasAutoPad && !tested)
            continue; // ONNX has one or the other
        std::optional<AttributeValue> value;
        if (tested) {
            Quantity wanted = testedValue(term, schema.name).value_or(Quantity::none());
            value = asAttribute(wanted, schema.type);
        } else {
            value = freeAttribute(free, schema);
            if (auto demanded = id ? demandedAttribute(*id, schema, rank, value) : std::nullopt)
                value = std::move(demanded);
        }
        if (value)
            node.attributes.set(schema.name, *value);
        if (tested)
            continue;
        const std::string fact = opText(node) + "[" + schema.name + "]";
        if (!value) {
            m_facts.texts[fact] = noAttribute;
            continue;
        }
        const auto* axis = std::get_if<int64_t>(&*value);
        if (schema.name == "axis" && axis && *axis >= 0)
            value = *axis - static_cast<int64_t>(rank); // counted alike
        m_facts.texts[fact] = text(*value);
        m_facts.attributes.insert_or_assign(fact, std::move(*value));
    }
}

/// The argument of the term that stands for an operand of the schema.
std::optional<size_t> Generator::argumentAt(const Term& term, Op op, size_t operand) const {
    const std::vector<std::string>& names = inputNamesOf(op);
    for (size_t i = 0; i < term.arguments.size(); ++i) {
        const std::string& name = term.arguments[i].name;
        if (name.empty() ? i == operand : operand < names.size() && names[operand] == name)
            return i;
    }
    return std::nullopt;
}

void Generator::buildRest(const Term& term, Node& node, OperandContext& context, size_t operand) {
    const OpRow& row = rowOf(node.op);
    size_t last = row.maxInputs == variadic ? operand + m_choices.pick(2) + 1
                                            : static_cast<size_t>(row.minInputs);
    if (node.op == Op::Slice)
        last = 5;
    else if (row.maxInputs != variadic && m_choices.pick(2) == 1)
        last = static_cast<size_t>(row.maxInputs);
    Binding list{Binding::Kind::List, {}, {}};
    for (size_t i = operand; i < last && !m_failed; ++i) {
        ValueId value = leaf(nullptr, {}, operandWish(context, i));
        node.inputs.push_back(value);
        context.types.push_back(typeOf(value));
        list.items.push_back(Binding::of(value));
    }
    const Term& argument = m_rule.term(term.arguments[operand].term);
    if (argument.slot)
        m_slots[*argument.slot] = std::move(list);
}

/// For an operand of which nothing else is known; none where the usual type will do.
std::optional<DType> Generator::typeFor(Op op, size_t operand) {
    const ElementTypes types = inputTypesOf(op, operand);
    if (types.allows(m_untyped))
        return std::nullopt;
    constexpr DType usual[] = {DType::Float32, DType::Int64, DType::Bool, DType::UInt8};
    const auto* found = std::find_if(std::begin(usual), std::end(usual),
                                     [&](DType it) { return types.allows(it); });
    return found == std::end(usual) ? std::nullopt : std::optional(*found);
}

void Generator::buildOperand(const Term& term, Node& node, OperandContext& context, size_t operand,
                             const SourceFrame* hole) {
    const OpRow& row = rowOf(node.op);
    Wish wish = operandWish(context, operand);
    if (context.places && passesElements(node.op, operand)) {
        wish.places = context.places;
        wish.dtype = DType::Int64;
    }
    if (!wish.dtype)
        wish.dtype = typeFor(node.op, operand);
    if (node.op == Op::Clip && operand == 2 && node.inputs.size() > 1 && node.inputs[1].valid())
        if (const TensorPtr& low = m_graph.value(node.inputs[1]).constant;
            low && low->elementCount() > 0)
            wish.least = low->at(0);
    ValueId value;
    if (auto argument = argumentAt(term, node.op, operand)) {
        value = buildTerm(term.arguments[*argument].term, wish, hole);
    } else if (const auto& names = inputNamesOf(node.op); operand < names.size()) {
        auto tested = testedValue(term, names[operand]);
        auto contents = tested ? asAttribute(*tested, "ints") : std::nullopt;
        bool required = operand < static_cast<size_t>(row.minInputs);
        const auto& attributes = attributesOf(node.op);
        const bool isAttribute =
            std::any_of(attributes.begin(), attributes.end(), [&](const AttributeSchema& schema) {
                return schema.name == names[operand];
            });
        bool wanted = required || (!term.hasArguments && !isAttribute && m_choices.rarely(50));
        // The search passes over such constants, whatever the pattern names.
        const bool isPassedOver = term.hasArguments && isParameterInput(node.op, operand) &&
                                  wish.presence != Wish::Presence::LeftOut;
        if (isPassedOver && !wanted && m_choices.rarely(percentPassedOver))
            wanted = wish.constant = true;
        if (wish.presence != Wish::Presence::Free && !term.hasArguments)
            wanted = required || wish.presence == Wish::Presence::Needed;
        if (contents && !attributesOf(node.op).empty() && node.attributes.has(names[operand])) {
            wanted = required; // it is an attribute here
        } else if (contents) {
            auto items = std::get<std::vector<int64_t>>(*contents);
            value = m_graph.addConstant(m_graph.freshName(names[operand]),
                                        std::make_shared<Tensor>(Tensor::ofInts(items)));
            wanted = false;
        }
        if (wanted)
            value = leaf(nullptr, {}, wish);
    }
    if (m_failed)
        return;
    if (operand >= node.inputs.size()) {
        node.inputs.resize(operand + 1);
        context.types.resize(operand + 1);
    }
    node.inputs[operand] = value;
    if (value.valid())
        context.types[operand] = typeOf(value);
}

void Generator::buildOperands(const Term& term, TermId id, Node& node, const Wish& wish,
                              const SourceFrame* hole) {
    OperandContext context{node,       {},         wish.extents,  m_choices,
                           m_named,    m_partings, wish.regroups, m_leastSpatial,
                           wish.places};
    const OpRow& row = rowOf(node.op);
    size_t count = row.maxInputs == variadic
                       ? std::max<size_t>(term.arguments.size(), static_cast<size_t>(row.minInputs))
                       : static_cast<size_t>(row.maxInputs);
    bool rest = !term.arguments.empty() && m_rule.term(term.arguments.back().term).rest;
    if (rest)
        count = term.arguments.size() - 1;
    if (row.maxInputs == variadic && !term.hasArguments && !rest)
        count += m_choices.pick(2);
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i)
        order[i] = i;
    // Operands of elementwise nodes follow the one that is computed.
    if (hasTrait(node.op, Elementwise))
        std::stable_partition(order.begin(), order.end(), [&](size_t operand) {
            auto argument = argumentAt(term, node.op, operand);
            if (!argument)
                return false;
            const Term& made = m_rule.term(term.arguments[*argument].term);
            bool bound = made.kind == Term::Kind::Value && made.slot && m_slots[*made.slot].bound();
            return bound || (made.kind != Term::Kind::Value && made.kind != Term::Kind::Number);
        });
    bool ranked = needsRank(node.op);
    auto attributesBefore = [&](size_t rank) {
        sampleAttributes(term, node, rank, wish, id, false);
    };
    // The order of a Transpose says how many dimensions its operand has.
    const bool knowsOrder =
        std::any_of(term.tests.begin(), term.tests.end(), [](const AttributeTest& test) {
            return test.name == "perm" && test.comparison == "==" && !test.late;
        });
    bool wished = node.op == Op::Transpose && (wish.extents || knowsOrder);
    if (!ranked || wished)
        attributesBefore(wish.extents ? wish.extents->size() : 4);
    for (size_t i = 0; i < order.size() && !m_failed; ++i) {
        buildOperand(term, node, context, order[i], hole);
        if (i == 0 && ranked && !wished) {
            auto first = context.extents(order[0]);
            attributesBefore(first ? first->size() : 1);
        }
    }
    if (rest && !m_failed)
        buildRest(term, node, context, count);
    repeatOperands(context, node);
    while (!node.inputs.empty() && !node.inputs.back().valid())
        node.inputs.pop_back();
}

/// Whether ONNX allows operands of these types: a sample is a model that others take too.
bool Generator::isTyped(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid() &&
            !inputTypesOf(node.op, i).allows(typeOf(node.inputs[i]).dtype))
            return false;
    return true;
}

ValueId Generator::addNode(const Term& term, Node node, size_t outputs) {
    if (!isTyped(node))
        return fail();
    NodeSpec spec{node.op, "", node.inputs, {}, node.attributes};
    fillDefaults(node);
    outputs = std::max(outputs, static_cast<size_t>(rowOf(node.op).minOutputs));
    for (size_t i = 0; i < outputs; ++i)
        spec.outputs.push_back(m_graph.freshName("t" + std::to_string(m_graph.nodeCount())));
    spec.attributes = node.attributes;
    NodeId id = m_graph.addNode(std::move(spec));
    m_graph.edit(id).customDomain = node.customDomain;
    m_graph.edit(id).customOp = node.customOp;
    for (const CustomOperatorPtr& custom : term.custom)
        if (custom->is(node) && !enterBody(m_graph, id, *custom, inferShapes))
            return fail();
    for (const InferProblem& problem : inferShapes(m_graph))
        if (!problem.warning())
            return fail();
    ValueId made = m_graph.node(id).outputs[0];
    std::optional<Extents> extents = typeOf(made).extents();
    if (!extents || !elementCount(*extents) || *elementCount(*extents) > 1 << 20)
        return fail();
    return made;
}

ValueId Generator::buildNode(const Term& term, TermId id, const Wish& wish, const SourceFrame* hole,
                             size_t outputs) {
    if (term.ops.empty())
        return fail();
    Node node;
    node.op = term.ops[m_choices.structural(id.index(), static_cast<uint32_t>(term.ops.size()))];
    const bool isCustom = node.op == Op::Unknown || node.op == Op::Fused;
    if (isCustom) {
        node.op = Op::Unknown;
        name(node, *term.custom[m_choices.pick(static_cast<uint32_t>(term.custom.size()))]);
    }
    if (term.order == OperandOrder::Flat)
        return buildFlat(term, node.op, wish, hole);
    buildOperands(term, id, node, wish, hole);
    if (m_failed)
        return {};
    sampleAttributes(term, node, 4, wish, id, true);
    bool swaps = hasTrait(node.op, Commutative) && term.order == OperandOrder::Schema &&
                 node.inputs.size() == 2 && m_choices.rarely(percentSwapped);
    if (swaps)
        std::swap(node.inputs[0], node.inputs[1]);
    return addNode(term, std::move(node), outputs);
}

/// Any tree over the leaves, in any order.
ValueId Generator::buildFlat(const Term& term, Op op, const Wish& wish, const SourceFrame* hole) {
    std::vector<ValueId> leaves;
    Wish each = wish;
    std::vector<size_t> order(term.arguments.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_partition(order.begin(), order.end(), [&](size_t i) {
        return m_rule.term(term.arguments[i].term).kind != Term::Kind::Number;
    });
    for (size_t i : order) {
        leaves.push_back(buildTerm(term.arguments[i].term, each, hole));
        if (m_failed || !leaves.back().valid())
            return fail();
        each.extents = typeOf(leaves.back()).extents();
        each.dtype = typeOf(leaves.back()).dtype;
    }
    while (leaves.size() > 1) {
        auto draw = [&] {
            auto at = leaves.begin() + m_choices.pick(static_cast<uint32_t>(leaves.size()));
            ValueId value = *at;
            leaves.erase(at);
            return value;
        };
        Node node;
        node.op = op;
        node.inputs = {draw(), draw()};
        leaves.push_back(addNode(term, std::move(node), 1));
        if (m_failed)
            return {};
    }
    return leaves[0];
}

/// A chain of the region's operators; other operands are inputs or values of the chain.
ValueId Generator::buildRegion(const Term& term, const Wish& wish, const SourceFrame* hole) {
    uint32_t count = term.least + m_choices.pick(std::min<uint32_t>(term.most - term.least, 3) + 1);
    ValueId last = hole ? buildHole(wish, hole) : leaf(nullptr, {}, wish);
    for (uint32_t i = 0; i < count && !m_failed; ++i) {
        Node node;
        node.op = term.ops[m_choices.pick(static_cast<uint32_t>(term.ops.size()))];
        OperandContext context{node, {typeOf(last)}, {}, m_choices, m_named, m_partings};
        Term plain;
        Wish sameType;
        sameType.dtype = typeOf(last).dtype;
        sampleAttributes(plain, node, typeOf(last).rank(), sameType, {}, false);
        node.inputs = {last};
        for (int operand = 1; operand < rowOf(node.op).minInputs && operand < 4; ++operand) {
            node.inputs.push_back(
                leaf(nullptr, {}, operandWish(context, static_cast<size_t>(operand))));
            if (m_failed)
                return {};
            context.types.push_back(typeOf(node.inputs.back()));
        }
        last = addNode(term, std::move(node), 1);
    }
    return last;
}

} // namespace fuselage::app
