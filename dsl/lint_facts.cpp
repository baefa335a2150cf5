// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/evaluate.h"
#include "core/rewrite/matcher_index.h"
#include "dsl/lint_internal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace fuselage::dsl {

namespace {

std::string withArguments(const std::vector<std::string>& arguments) {
    std::string out;
    for (const std::string& argument : arguments)
        out += (out.empty() ? "" : ", ") + argument;
    return out;
}

class FactCollector {
public:
    explicit FactCollector(const Rule& rule) : m_rule(rule), m_prepared(prepareRule(rule)) {}

    std::vector<Fact> run() {
        block(m_prepared->plan, {});
        aliases();
        return std::move(m_facts);
    }

private:
    void block(const BlockPlan& plan, const Path& path) {
        for (uint32_t root : plan.roots)
            term(plan.block->definitions[root].term, path);
        for (const Condition& condition : plan.block->conditions)
            conditionFact(condition.expression, condition);
        for (const BlockPlan& many : plan.manys)
            block(many, path);
    }

    void term(TermId id, Path path) {
        if (id.index() >= m_rule.terms.size() || !m_seen.insert(id.index()).second)
            return;
        const Term& it = m_rule.term(id); // as it was before `spec` was written out
        if (it.type && it.slot)
            typeFacts(*it.slot, *it.type, path);
        for (const AttributeTest& test : it.tests)
            testFact(id, test, path);
        for (const Argument& argument : it.arguments)
            term(argument.term, path);
        for (uint32_t i = 0; i < it.alternatives.size(); ++i) {
            Path inner = path;
            inner.emplace_back(id, i);
            term(it.alternatives[i].term, inner);
        }
        for (TermId child : {it.step, it.source})
            if (child.valid())
                term(child, path);
        if (it.kind == Term::Kind::Value && it.slot)
            if (const Definition* definition = m_prepared->definitions[*it.slot].definition)
                term(definition->term, path);
    }

    std::string nameOf(SlotIndex slot) const {
        const std::string& name = m_rule.slots[slot].name;
        return name.substr(name.rfind('.') + 1);
    }

    Fact& add(std::string key, std::string text, const Path& path, const Span& span) {
        Fact& fact = m_facts.emplace_back();
        fact.key = std::move(key);
        fact.text = std::move(text);
        fact.path = path;
        fact.span = span;
        return fact;
    }

    void typeFacts(SlotIndex slot, const TypePattern& type, const Path& path) {
        std::string key = "#" + std::to_string(slot), name = nameOf(slot);
        if (type.isConst)
            add(key + ".kind", name + ": const", path, type.span).values = {
                Quantity::ofText("constant")};
        if (type.isInput)
            add(key + ".kind", name + ": input", path, type.span).values = {
                Quantity::ofText("input")};
        if (!type.dtypes.empty()) {
            Fact& fact = add(key + ".dtype", name + ": ", path, type.span);
            for (DType dtype : type.dtypes) {
                fact.text +=
                    (fact.values.empty() ? "" : " | ") + std::string(fuselage::nameOf(dtype));
                fact.values.push_back(Quantity::ofText(fuselage::nameOf(dtype)));
            }
        }
        if (type.dims)
            dimFacts(key, name, *type.dims, path, type.span);
    }

    void dimFacts(const std::string& key, const std::string& name,
                  const std::vector<DimPattern>& dims, const Path& path, const Span& span) {
        auto rest = std::find_if(dims.begin(), dims.end(), [](const DimPattern& dim) {
            return dim.kind == DimPattern::Kind::Rest;
        });
        bool open = rest != dims.end();
        auto count = static_cast<double>(dims.size() - (open ? 1 : 0));
        Fact& rank = add(key + ".rank", "", path, span);
        rank.kind = Fact::Kind::Between;
        rank.low = count;
        rank.high = open ? rank.high : count;
        rank.text =
            name + " of rank " + std::to_string(static_cast<int>(count)) + (open ? " or more" : "");
        auto front = static_cast<size_t>(rest - dims.begin());
        for (size_t i = 0; i < dims.size(); ++i) {
            if (i < front)
                dimFact(key + ".shape[" + std::to_string(i) + "]", name, dims[i], path);
            if (!open || i > front)
                dimFact(key + ".shape[-" + std::to_string(dims.size() - i) + "]", name, dims[i],
                        path);
        }
    }

    void dimFact(const std::string& key, const std::string& name, const DimPattern& dim,
                 const Path& path) {
        if (dim.kind == DimPattern::Kind::Variable)
            m_aliases.push_back({key, "%" + std::to_string(dim.variable), path});
        if (dim.kind != DimPattern::Kind::Value || !isLiteral(dim.value))
            return;
        Quantity value = literalValue(dim.value);
        add(key, "dimension " + value.text() + " of " + name, path, dim.span).values = {value};
    }

    void testFact(TermId id, const AttributeTest& test, const Path& path) {
        bool set = test.comparison == "in" &&
                   std::all_of(test.value.args.begin(), test.value.args.end(), isLiteral);
        if (!isLiteral(test.value) && !set)
            return;
        Quantity value = literalValue(test.value);
        compare("@" + std::to_string(id.index()) + "." + test.name, test.name, test.comparison,
                value, path, test.span);
    }

    void compare(std::string key, const std::string& name, const std::string& comparison,
                 const Quantity& value, const Path& path, const Span& span) {
        std::string text = value.text();
        if (comparison == "in" && text.size() >= 2)
            text = "{" + text.substr(1, text.size() - 2) + "}";
        Fact& fact = add(std::move(key), name + " " + comparison + " " + text, path, span);
        std::optional<double> number = value.number();
        if (comparison == "in") {
            fact.values = value.items().value_or(Quantity::List{});
        } else if (comparison == "==" || comparison == "!=") {
            fact.kind = comparison == "==" ? Fact::Kind::OneOf : Fact::Kind::Not;
            fact.values = {value};
        } else if (!number) {
            m_facts.pop_back();
        } else {
            constexpr double endless = std::numeric_limits<double>::infinity();
            fact.kind = Fact::Kind::Between;
            if (comparison[0] == '<')
                fact.high = comparison == "<" ? std::nextafter(*number, -endless) : *number;
            else
                fact.low = comparison == ">" ? std::nextafter(*number, endless) : *number;
        }
    }

    void conditionFact(const Expression& expression, const Condition& condition) {
        if (expression.kind != Expression::Kind::Binary || expression.args.size() != 2)
            return;
        if (expression.text == "and") {
            for (const Expression& side : expression.args)
                conditionFact(side, condition);
            return;
        }
        static const std::set<std::string> comparisons = {"==", "!=", "<", "<=", ">", ">=", "in"};
        if (!comparisons.contains(expression.text))
            return;
        const Expression& left = expression.args[0];
        const Expression& right = expression.args[1];
        size_t before = m_facts.size();
        if (isLiteral(right))
            compare(keyOf(left), textOf(left), expression.text, literalValue(right), {},
                    condition.span);
        else if (isLiteral(left) && expression.text != "in")
            compare(keyOf(right), textOf(right), turned(expression.text), literalValue(left), {},
                    condition.span);
        else if (expression.text == "==" || expression.text == "!=")
            relation(left, right, expression.text, condition.span);
        for (size_t i = before; i < m_facts.size(); ++i)
            m_facts[i].when = condition.when;
    }

    static std::string turned(const std::string& comparison) {
        if (comparison[0] == '<')
            return ">" + comparison.substr(1);
        return comparison[0] == '>' ? "<" + comparison.substr(1) : comparison;
    }

    void relation(const Expression& left, const Expression& right, const std::string& comparison,
                  const Span& span) {
        std::string a = keyOf(left), b = keyOf(right);
        Fact& fact =
            add(std::min(a, b), textOf(left) + " " + comparison + " " + textOf(right), {}, span);
        fact.kind = comparison == "==" ? Fact::Kind::Equals : Fact::Kind::Differs;
        fact.other = std::max(a, b);
    }

    /// What is known of a dimension holds for the variable that names it; none is negative.
    void aliases() {
        std::vector<Fact> more;
        for (const Alias& alias : m_aliases)
            for (const Fact& fact : m_facts)
                if (fact.key == alias.key && together(fact.path, alias.path)) {
                    more.push_back(fact);
                    more.back().key = alias.variable;
                    more.back().path.insert(more.back().path.end(), alias.path.begin(),
                                            alias.path.end());
                }
        m_facts.insert(m_facts.end(), more.begin(), more.end());
        for (uint32_t i = 0; i < m_rule.dims.size(); ++i) {
            Fact& fact = add("%" + std::to_string(i), m_rule.dims[i] + " >= 0", {}, {});
            fact.kind = Fact::Kind::Between;
            fact.low = 0;
        }
    }

    std::string keyOf(const Expression& expression) const { return print(expression, true); }

    /// A short `let` is what it stands for; one that is long written out has its own key, since
    /// lets of lets double with each step.
    const std::string& keyOfLet(uint32_t let) const {
        constexpr size_t longest = 200;
        auto [key, isNew] = m_letKeys.try_emplace(let);
        if (isNew) {
            const std::string whole = print(m_rule.lets[let].expression, true);
            m_letKeys[let] = whole.size() <= longest ? whole : "let#" + std::to_string(let);
        }
        return m_letKeys[let];
    }

    std::string textOf(const Expression& expression) const { return print(expression, false); }

    std::string print(const Expression& it, bool asKey) const {
        std::vector<std::string> args;
        for (const Expression& arg : it.args)
            args.push_back(print(arg, asKey));
        using Kind = Expression::Kind;
        switch (it.kind) {
        case Kind::Slot:
        case Kind::SlotList:
            return (asKey ? "#" + std::to_string(it.slot) : nameOf(it.slot)) +
                   (it.kind == Kind::SlotList ? "[]" : "");
        case Kind::Dim:
        case Kind::DimList:
            return (asKey ? "%" + std::to_string(it.slot) : m_rule.dims[it.slot]) +
                   (it.kind == Kind::DimList ? "[]" : "");
        case Kind::Let:
            return asKey ? keyOfLet(it.slot) : m_rule.lets[it.slot].name;
        case Kind::Member:
            return args[0] + "." + it.text;
        case Kind::Parameter:
            return (asKey ? "#" + std::to_string(it.slot) : nameOf(it.slot)) + "." + it.text;
        case Kind::Index:
            return args[0] + "[" + args[1] + "]";
        case Kind::Slice:
            return args[0] + "[" + args[1] + ":" + args[2] + "]";
        case Kind::Call:
            return it.text + "(" + withArguments(args) + ")";
        case Kind::List:
            return "[" + withArguments(args) + "]";
        case Kind::Unary:
            return it.text + (it.text == "not" ? " " : "") + args[0];
        case Kind::Binary:
            return (asKey ? "(" : "") + args[0] + " " + it.text + " " + args[1] +
                   (asKey ? ")" : "");
        case Kind::Root:
            return it.text;
        default:
            return literalValue(it).text();
        }
    }

    /// A dimension that a type names by a variable.
    struct Alias {
        std::string key;
        std::string variable;
        Path path;
    };

    const Rule& m_rule;
    std::unique_ptr<PreparedRule> m_prepared;
    mutable std::map<uint32_t, std::string> m_letKeys;
    std::set<size_t> m_seen;
    std::vector<Fact> m_facts;
    std::vector<Alias> m_aliases;
};

} // namespace

bool together(const Path& a, const Path& b) {
    return std::all_of(a.begin(), a.end(), [&](const auto& taken) {
        return std::all_of(b.begin(), b.end(), [&](const auto& other) {
            return taken.first != other.first || taken.second == other.second;
        });
    });
}

bool isLiteral(const Expression& expression) {
    using Kind = Expression::Kind;
    constexpr std::array names = {Kind::Slot,      Kind::SlotList,  Kind::Dim,  Kind::DimList,
                                  Kind::Let,       Kind::Root,      Kind::Node, Kind::Call,
                                  Kind::Attribute, Kind::Parameter, Kind::Where};
    return std::find(names.begin(), names.end(), expression.kind) == names.end() &&
           std::all_of(expression.args.begin(), expression.args.end(), isLiteral);
}

Quantity literalValue(const Expression& expression) {
    static const Graph graph;
    static const Rule rule;
    static const std::vector<Binding> slots;
    static const std::vector<DimBinding> dims;
    return evaluate({graph, rule, slots, dims}, expression);
}

std::vector<Fact> factsOf(const Rule& rule) {
    return FactCollector(rule).run();
}

} // namespace fuselage::dsl
