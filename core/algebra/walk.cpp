// SPDX-License-Identifier: Apache-2.0
#include "core/algebra/walk.h"

#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::algebra {

namespace {

constexpr int deepestTerm = 200;
constexpr uint32_t mostRounds = 4;
constexpr uint32_t mostRank = 6;
constexpr double narrow = 1e-5; ///< what rounding to float leaves of a number, with room

size_t placeOf(const Term& term, size_t argument, Op op) {
    const std::string& name = term.arguments[argument].name;
    const std::vector<std::string>& names = inputNamesOf(op);
    return name.empty()
               ? argument
               : static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

} // namespace

uint32_t Ways::pick(uint32_t count) {
    if (m_at == m_taken.size())
        m_taken.emplace_back(0, count);
    if (m_taken[m_at].second != count) {
        m_isLost = true;
        return 0;
    }
    return m_taken[m_at++].first;
}

bool Ways::next() {
    m_at = 0;
    while (!m_taken.empty() && m_taken.back().first + 1 >= m_taken.back().second)
        m_taken.pop_back();
    if (m_taken.empty())
        return false;
    ++m_taken.back().first;
    return true;
}

Walk::Walk(const PreparedRule& rule, Algebra& algebra, Ways& ways, const Settled& settled,
           const std::set<std::string>& ranked)
    : m_prepared(rule), m_rule(rule.rule), m_algebra(algebra), m_ways(ways), m_settled(settled),
      m_ranked(ranked) {}

bool Walk::match() {
    matchBlock(m_prepared.plan);
    if (!m_obstacle.empty())
        return false;
    for (const Condition& condition : m_rule.match.conditions)
        if (!condition.when || m_slots.contains(*condition.when))
            assume(condition.expression);
    settleBounds();
    m_matched = m_values.size();
    if (m_obstacle.empty() && m_needsRanks.empty())
        m_obstacle = m_lateObstacle;
    return m_obstacle.empty();
}

void Walk::matchBlock(const BlockPlan& plan) {
    if (!plan.manys.empty())
        obstruct("`many`");
    std::vector<uint32_t> roots = plan.roots;
    std::sort(roots.begin(), roots.end());
    for (uint32_t root : roots) {
        const Definition& each = plan.block->definitions[root];
        if (!m_obstacle.empty())
            return;
        if (each.slots.empty())
            term(each.term, nullptr);
        else if (!m_slots.contains(each.slots[0]))
            definition(each, 0);
    }
}

void Walk::bind(SlotIndex slot, Operand value) {
    m_slots.try_emplace(slot, value);
}

Walk::Operand Walk::definition(const Definition& definition, uint32_t position) {
    Operand first = term(definition.term, nullptr, definition.slots.size());
    if (!first)
        return obstruct("a definition without a value");
    for (uint32_t i = 0; i < definition.slots.size(); ++i) {
        Operand output = first;
        if (i > 0) {
            const auto maker = m_values[*first].maker;
            if (!maker)
                return obstruct("outputs of no node");
            output = applied(m_nodes[*maker], i, definition.slots.size());
            m_values[*output].maker = maker;
        }
        bind(definition.slots[i], output);
    }
    return m_slots[definition.slots[position]];
}

Walk::Operand Walk::term(TermId id, const Hole* within, size_t outputs) {
    if (!m_obstacle.empty() || ++m_depth > deepestTerm)
        return obstruct("a pattern that is nested too deep");
    const Term& term = m_rule.term(id);
    Operand made;
    switch (term.kind) {
    case Term::Kind::Any:
        made = leaf(nullptr, "_");
        break;
    case Term::Kind::Hole:
        made = hole(within);
        break;
    case Term::Kind::Value:
        made = value(term, within);
        break;
    case Term::Kind::Number:
        made = number(term);
        break;
    case Term::Kind::Node:
        made = node(term, within, outputs);
        break;
    case Term::Kind::Region:
        made = obstruct("`region`");
        break;
    default:
        made = choice(term, id, within, outputs);
        break;
    }
    --m_depth;
    if (!m_obstacle.empty() || term.kind == Term::Kind::Value)
        return made;
    if (term.slot)
        bind(*term.slot, made);
    if (term.type && made)
        limit(*term.type, *made);
    return made;
}

Walk::Operand Walk::choice(const Term& term, TermId id, const Hole* within, size_t outputs) {
    if (term.kind == Term::Kind::Choice) {
        const auto taken = m_ways.pick(static_cast<uint32_t>(term.alternatives.size()));
        return this->term(term.alternatives[taken].term, within, outputs);
    }
    if (term.kind == Term::Kind::Repeat) {
        if (term.most - term.least >= mostRounds)
            return obstruct("a step that is repeated any number of times");
        const uint32_t rounds = term.least + m_ways.pick(term.most - term.least + 1);
        if (rounds == 0)
            return this->term(term.source, within);
        Hole frame{term.source, within, id, rounds - 1, false, {}};
        return this->term(term.step, &frame, outputs);
    }
    if (term.kind == Term::Kind::Optional && m_ways.pick(2) == 0)
        return this->term(term.source, within);
    Hole frame{term.source, within, {}, 0, false, {}};
    return this->term(term.step, &frame, outputs);
}

Walk::Operand Walk::hole(const Hole* hole) {
    if (!hole)
        return leaf(nullptr, "_");
    if (hole->isBuilt)
        return hole->built;
    if (hole->repeat.valid() && hole->rounds > 0) {
        for (SlotIndex slot : m_prepared.captures[hole->repeat.index()])
            m_slots.erase(slot);
        Hole inner{hole->source, hole->around, hole->repeat, hole->rounds - 1, false, {}};
        hole->built = term(m_rule.term(hole->repeat).step, &inner);
        for (SlotIndex slot : m_prepared.captures[hole->repeat.index()])
            m_slots.erase(slot);
    } else {
        hole->built = term(hole->source, hole->around);
    }
    hole->isBuilt = true;
    return hole->built;
}

Walk::Operand Walk::value(const Term& term, const Hole* within) {
    if (term.rest)
        return obstruct("`rest...`");
    if (term.slot)
        if (auto known = m_slots.find(*term.slot); known != m_slots.end()) {
            if (term.type && known->second)
                limit(*term.type, *known->second);
            return known->second;
        }
    const Definition* its = term.slot ? m_prepared.definitions[*term.slot].definition : nullptr;
    Operand made;
    if (its)
        made = definition(*its, m_prepared.definitions[*term.slot].position);
    else if (term.step.valid())
        made = this->term(term.step, within);
    else if (!term.mayBeAbsent || m_ways.pick(2) == 1)
        made = leaf(term.type ? &*term.type : nullptr,
                    term.slot ? m_rule.slots[*term.slot].name : "_");
    if (!m_obstacle.empty())
        return {};
    if (term.slot)
        bind(*term.slot, made);
    if (term.type && made && (its || term.step.valid()))
        limit(*term.type, *made);
    return made;
}

/// A constant of that number, of any shape.
Walk::Operand Walk::number(const Term& term) {
    SymbolicValue made;
    made.element = stored(Known::ofNumber(m_algebra.number(term.number), "", term.number));
    made.name = fmt::format("literal {}", ++m_names);
    made.element.shape = {made.name};
    made.isConstant = made.isUniform = true;
    if (term.tolerance > 0 && m_rule.numeric == NumericClass::Exact)
        return obstruct("a literal with a tolerance, bit for bit");
    if (term.tolerance > 0)
        m_conditions.insert("constants are the numbers that are written");
    const size_t value = addValue(std::move(made));
    if (term.number != std::round(term.number))
        keepTypes(value, [](DType type) { return isFloat(type); });
    return value;
}

Walk::Operand Walk::leaf(const TypePattern* type, const std::string& name) {
    SymbolicValue made;
    made.name = name == "_" ? fmt::format("_{}", ++m_names) : name;
    while (!m_used.insert(made.name).second)
        made.name += "'";
    ShapeSources shape{made.name};
    if (type && type->dims) {
        std::string dims;
        std::vector<std::string> words;
        bool isOpen = false;
        for (const DimPattern& dim : *type->dims) {
            isOpen = isOpen || dim.kind == DimPattern::Kind::Rest;
            words.push_back(dim.kind == DimPattern::Kind::Variable ? m_rule.dims[dim.variable]
                            : dim.kind == DimPattern::Kind::Value
                                ? evaluate(dim.value).text
                                : fmt::format("{} {}", made.name, ++m_names));
            dims += words.back() + ", ";
        }
        if (!isOpen) {
            made.rank = type->dims->size();
            made.dims = words;
            shape = {"[" + dims + "]"};
            if (type->dims->empty())
                shape = {};
        }
    }
    made.isConstant = type && type->isConst;
    made.isUniform = (type && type->isScalar) || made.rank == 0U;
    if (m_ranked.contains(made.name) && !made.rank) {
        made.rank = m_ways.pick(mostRank + 1);
        m_conditions.insert(fmt::format("ranks up to {}", mostRank));
    }
    if (auto value = m_settled.values.find(made.name); value != m_settled.values.end()) {
        made.element = m_algebra.number(value->second);
        made.element.shape = shape;
    } else {
        made.element = m_algebra.variable(made.name, shape, made.isUniform);
        m_variables.push_back(made.name);
    }
    const size_t out = addValue(std::move(made));
    if (type)
        limit(*type, out);
    return out;
}

std::vector<std::string> Walk::variables() const {
    std::set<std::string> compared;
    for (const Fact& fact : m_facts)
        for (AtomId id : m_algebra.atomsOf(fact.of))
            compared.insert(m_algebra.atom(id).tag);
    for (const SymbolicValue& value : m_values)
        if (!value.isConstant)
            compared.erase(value.name);
    std::vector<std::string> out;
    std::copy_if(m_variables.begin(), m_variables.end(), std::back_inserter(out),
                 [&](const std::string& name) { return !compared.contains(name); });
    return out;
}

/// What a type says of a value besides its shape.
void Walk::limit(const TypePattern& type, size_t id) {
    SymbolicValue& value = m_values[id];
    if (!type.dtypes.empty()) {
        keepTypes(id, [&](DType each) {
            return std::find(type.dtypes.begin(), type.dtypes.end(), each) != type.dtypes.end();
        });
        if (type.dtypes.size() == 1)
            value.type = type.dtypes[0];
    }
    if (!type.dims)
        return;
    const bool isOpen = std::any_of(type.dims->begin(), type.dims->end(), [](const auto& dim) {
        return dim.kind == DimPattern::Kind::Rest;
    });
    if (!isOpen)
        value.rank = type.dims->size();
}

void Walk::operands(const Term& term, SymbolicNode& node, const Hole* within) {
    const OpRow& row = rowOf(node.op);
    const bool isVariadic = row.maxInputs == variadic;
    const std::vector<std::string>& names = inputNamesOf(node.op);
    size_t count = term.arguments.size();
    for (size_t i = 0; i < term.arguments.size(); ++i)
        count = std::max(count, placeOf(term, i, node.op) + 1);
    node.operands.resize(count);
    std::vector<bool> given(count, false);
    for (size_t i = 0; i < term.arguments.size() && m_obstacle.empty(); ++i) {
        const size_t place = placeOf(term, i, node.op);
        node.operands[place] = this->term(term.arguments[i].term, within);
        m_isImpossible =
            m_isImpossible || (!node.operands[place] && place < static_cast<size_t>(row.minInputs));
        given[place] = true;
    }
    if (term.hasArguments && !isVariadic) {
        // Parameters that the pattern does not name may be there, as constants.
        const bool mayHaveMore = !hasTrait(node.op, Elementwise);
        for (size_t i = count; mayHaveMore && i < names.size(); ++i) {
            const ElementTypes types = inputTypesOf(node.op, i);
            if (types.restricted() && !types.allows(DType::Float32) &&
                !node.attributes.contains(names[i]))
                node.attributes[names[i]] = Known::word(node.name + "." + names[i]);
        }
        return;
    }
    if (term.hasArguments)
        return;
    if (isVariadic)
        obstruct(fmt::format("any number of operands of {}", row.name));
    for (size_t i = 0; i < static_cast<size_t>(row.maxInputs) && !isVariadic; ++i) {
        if (i < count && given[i])
            continue;
        const bool isParameter = i < names.size() && node.attributes.contains(names[i]);
        if (isParameter)
            continue;
        if (i >= static_cast<size_t>(row.minInputs) && m_ways.pick(2) == 0)
            continue;
        node.operands.resize(std::max(node.operands.size(), i + 1));
        node.operands[i] = leaf(nullptr, "_");
    }
}

Known Walk::tested(const Term& term, const SymbolicNode& node, const std::string& attribute,
                   const std::string& type) {
    std::optional<double> low, high;
    for (const AttributeTest& test : term.tests) {
        if (test.name != attribute)
            continue;
        const Known wanted = contents(evaluate(test.value));
        if (test.comparison == "==")
            return wanted;
        if (test.comparison == "in" && wanted.kind == Known::Kind::List && !wanted.items.empty())
            return wanted.items[m_ways.pick(static_cast<uint32_t>(wanted.items.size()))];
        if (wanted.literal && test.comparison == ">=")
            low = wanted.literal;
        if (wanted.literal && test.comparison == "<=")
            high = wanted.literal;
    }
    const bool isNarrow = low && high && *high - *low <= narrow * std::fabs(*high);
    for (int64_t under = 1; isNarrow && under < 1000; ++under) {
        const double over = std::round((*low + *high) / 2 * static_cast<double>(under));
        const double value = over / static_cast<double>(under);
        if (value < *low || value > *high)
            continue;
        m_conditions.insert(fmt::format("`{}` is {:.0f}/{}", attribute, over, under));
        return Known::ofNumber(m_algebra.number(value), fmt::format("{}", value), value);
    }
    const std::string name = node.name + "." + attribute;
    if (type == "int" || type == "float")
        return integer(name);
    return Known::word(name);
}

void Walk::attributes(const Term& term, SymbolicNode& node) {
    for (const AttributeSchema& schema : attributesOf(node.op))
        node.attributes[schema.name] = tested(term, node, schema.name, schema.type);
    // Tests of what this opset keeps as a constant operand.
    for (const AttributeTest& test : term.tests)
        if (!node.attributes.contains(test.name))
            node.attributes[test.name] = tested(term, node, test.name, "ints");
}

Walk::Operand Walk::node(const Term& term, const Hole* within, size_t outputs) {
    if (term.ops.empty())
        return obstruct("no operator");
    SymbolicNode made;
    made.op = term.ops[m_ways.pick(static_cast<uint32_t>(term.ops.size()))];
    made.name = fmt::format("n{}", ++m_names);
    if (term.order == OperandOrder::Flat) {
        if (m_algebra.arithmetic() == Arithmetic::Bits)
            return obstruct("sums and products in any order (`flat`)");
        Operand out;
        for (const Argument& argument : term.arguments) {
            Operand each = this->term(argument.term, within);
            if (!m_obstacle.empty() || !each)
                return obstruct("an absent operand of `flat`");
            SymbolicNode step{made.op, made.name, {}, {out, each}};
            out = out ? std::optional(applied(step, 0, 1)) : each;
        }
        return out;
    }
    attributes(term, made);
    operands(term, made, within);
    if (!m_obstacle.empty())
        return {};
    // The search takes them in both orders, and which of 0 and -0 is picked may depend on it.
    const bool isPick = made.op == Op::Max || made.op == Op::Min;
    const bool isOfFloatBits =
        m_algebra.arithmetic() == Arithmetic::Bits && isFloat(m_algebra.tapeType());
    if (isPick && isOfFloatBits && term.order == OperandOrder::Schema && made.operands.size() > 1)
        m_lateObstacle = "a maximum of operands in any order";
    listParameters(made);
    const size_t out = applied(made, 0, outputs);
    m_nodes.push_back(std::move(made));
    m_values[out].maker = m_nodes.size() - 1;
    return out;
}

} // namespace fuselage::algebra
