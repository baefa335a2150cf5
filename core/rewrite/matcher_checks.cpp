// SPDX-License-Identifier: Apache-2.0
// Types and attribute tests: what a term demands of one value or node, without backtracking.
#include "core/ops/op_table.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

std::string unknownText(const Quantity& quantity) {
    const auto* unknown = quantity.as<Quantity::Unknown>();
    return unknown ? unknown->why : "no value";
}

bool hasNegative(const Quantity& quantity) {
    if (const auto* list = quantity.as<Quantity::List>())
        return std::any_of(list->begin(), list->end(), hasNegative);
    std::optional<int64_t> whole = quantity.integerValue();
    return whole && *whole < 0;
}

/// `in {[1], [2]}` holds lists of axes, `in {-1, 3}` single ones: each is counted by itself.
Quantity choicesFromFront(const Quantity& choices, int64_t rank) {
    Quantity::List out;
    for (const Quantity& choice : choices.items().value_or(Quantity::List{}))
        out.push_back(axesFromFront(choice, rank));
    return Quantity::list(std::move(out));
}

Truth compareAxes(const std::string& comparison, const Quantity& found, const Quantity& wanted,
                  std::optional<int64_t> rank) {
    bool sameSign = hasNegative(found) == hasNegative(wanted);
    if (!rank)
        return sameSign || compare(comparison, found, wanted) == Truth::True
                   ? compare(comparison, found, wanted)
                   : Truth::Unknown;
    return compare(comparison, axesFromFront(found, *rank),
                   comparison == "in" ? choicesFromFront(wanted, *rank)
                                      : axesFromFront(wanted, *rank));
}

/// What an operator without a row does where the node does not say.
Quantity customDefault(const Term& term, const Node& node, const std::string& name) {
    for (const CustomOperatorPtr& custom : term.custom)
        if (const AttributeSchema* schema = custom->is(node) ? custom->attribute(name) : nullptr)
            return schema->fallback ? Quantity::attribute(*schema->fallback) : Quantity::none();
    return Quantity::none();
}

} // namespace

bool Search::checkType(const Term& term, ValueId id) {
    if (!term.type)
        return true;
    const TypePattern& type = *term.type;
    const Value& value = m_graph.value(id);
    auto fails = [&](const char* expected) {
        return !failTest({}, [&] {
            miss(code::type, &term, {}, id, [&] {
                std::string found = value.constant           ? "constant " + value.type.text()
                                    : value.producer.valid() ? "computed " + value.type.text()
                                                             : "input " + value.type.text();
                return std::pair(found, std::string(expected));
            });
        });
    };
    if (type.isConst && !value.constant && fails("a constant"))
        return false;
    bool isGraphInput = !value.constant && !value.producer.valid();
    if (type.isInput && !isGraphInput && fails("an input of the graph"))
        return false;
    const auto& dtypes = type.dtypes;
    if (!dtypes.empty() &&
        std::find(dtypes.begin(), dtypes.end(), value.type.dtype) == dtypes.end() &&
        fails(nameOf(dtypes[0])))
        return false;
    if (type.isScalar) {
        std::optional<int64_t> count = value.type.elementCount();
        bool splat = value.constant && splatOf(*value.constant);
        if (!splat && !count)
            return refuse({code::unknown,
                           "the shape of `" + value.name + "` is not known: found " +
                               value.type.text() + ", the rule wants a scalar",
                           "give the dimension a number in the model",
                           {{"found", value.type.text()}, {"expected", "scalar"}}});
        if (!splat && *count != 1 && fails("a scalar"))
            return false;
    }
    return !type.dims || checkDims(type, term, id);
}

bool Search::checkDims(const TypePattern& type, const Term& term, ValueId id) {
    const Value& value = m_graph.value(id);
    const std::vector<DimPattern>& patterns = *type.dims;
    auto rest = std::find_if(patterns.begin(), patterns.end(), [](const DimPattern& pattern) {
        return pattern.kind == DimPattern::Kind::Rest;
    });
    bool open = rest != patterns.end();
    if (!value.type.hasRank()) {
        if (open && patterns.size() == 1)
            return true;
        return refuse({code::unknown,
                       "the rank of `" + value.name + "` is not known",
                       "run shape inference or declare the shape",
                       {{"found", value.type.text()}, {"expected", dimsText(patterns)}}});
    }
    const Shape& shape = *value.type.shape;
    size_t fixed = patterns.size() - (open ? 1 : 0);
    if (open ? shape.size() < fixed : shape.size() != fixed)
        return failTest({}, [&] {
            miss(code::shape, &term, {}, id,
                 [&] { return std::pair(value.type.text(), dimsText(patterns)); });
            suggestDims(type, shape);
        });
    auto front = static_cast<size_t>(rest - patterns.begin());
    for (size_t i = 0; i < front; ++i)
        if (!checkDim(type, i, shape[i], term, id))
            return false;
    for (size_t i = front + 1; i < patterns.size(); ++i)
        if (!checkDim(type, i, shape[shape.size() - patterns.size() + i], term, id))
            return false;
    return true;
}

/// The only other variable of the rule's own text that stands for this size; empty where there is
/// none. Those of patterns that it uses have a point in their names, and know none of the rule's.
std::string Search::variableOf(const Dim& dim, const DimPattern& pattern) const {
    const auto isOwn = [&](size_t variable) {
        return m_rule.dims[variable].find('.') == std::string::npos;
    };
    std::string out;
    if (pattern.kind != DimPattern::Kind::Variable || !isOwn(pattern.variable))
        return out;
    for (size_t i = 0; i < m_dims.size(); ++i) {
        if (!m_dims[i].bound || m_dims[i].isList || !(m_dims[i].dim == dim) || !isOwn(i))
            continue;
        if (!out.empty())
            return {};
        out = m_rule.dims[i];
    }
    return out;
}

bool Search::checkDim(const TypePattern& type, size_t index, const Dim& dim, const Term& term,
                      ValueId id) {
    const DimPattern& pattern = (*type.dims)[index];
    if (pattern.kind == DimPattern::Kind::Any || pattern.kind == DimPattern::Kind::Rest)
        return true;
    Quantity wanted;
    if (pattern.kind == DimPattern::Kind::Variable) {
        const DimBinding& bound = m_dims[pattern.variable];
        if (!bound.bound) {
            bindDim(pattern.variable, {true, false, dim, {}});
            return true;
        }
        wanted = Quantity::dimension(bound.dim);
    } else {
        wanted = evaluate(context(), pattern.value);
    }
    Quantity found = Quantity::dimension(dim);
    Truth same = equal(found, wanted);
    if (same == Truth::True)
        return true;
    if (same == Truth::False)
        return failTest({}, [&] {
            miss(code::shape, &term, {}, id, [&] {
                std::string expected = dimsText(*type.dims);
                if (pattern.kind == DimPattern::Kind::Variable)
                    expected += " with " + dimText(pattern) + " = " + wanted.text();
                return std::pair(m_graph.value(id).type.text(), std::move(expected));
            });
            if (const std::string other = variableOf(dim, pattern); !other.empty())
                suggest("write `" + other + "`, which has that size, or `_` if any will do",
                        RuleEdit{RuleEdit::Kind::Replace, pattern.span, {}, other});
            else
                suggest("write `_` for `" + dimText(pattern) + "`, if any size will do",
                        RuleEdit{RuleEdit::Kind::Replace, pattern.span, {}, "_"});
        });
    return refuse({code::unknown,
                   "a dimension of `" + m_graph.value(id).name + "` is not known: found " +
                       dim.text() + ", the rule wants " + wanted.text(),
                   "give the dimension a number in the model, or write `_` for it",
                   {{"found", dim.text()}, {"expected", wanted.text()}}},
                  RuleEdit{RuleEdit::Kind::Replace, pattern.span, {}, "_"});
}

bool Search::checkTests(const Term& term, NodeId node, bool late) {
    return std::all_of(term.tests.begin(), term.tests.end(), [&](const AttributeTest& test) {
        return test.late != late || checkTest(test, term, node);
    });
}

bool Search::checkTest(const AttributeTest& test, const Term& term, NodeId id) {
    const Node& node = m_graph.node(id);
    Quantity found = parameterOfNode(m_graph, node, test.name);
    if (found.isNone())
        found = customDefault(term, node, test.name);
    Quantity wanted = evaluate(context(), test.value);
    if (const ValueId* constant = wanted.as<ValueId>())
        wanted = contentsOf(m_graph, *constant);
    Truth holds = isAxisName(test.name) && !found.isNone()
                      ? compareAxes(test.comparison, found, wanted, axisRank(m_graph, node))
                      : compare(test.comparison, found, wanted);
    if (holds == Truth::True)
        return true;
    std::string expected = test.comparison + " " + wanted.text();
    if (holds == Truth::False)
        return failTest(id, [&] {
            miss(code::attribute, &term, id, {},
                 [&] { return std::pair("`" + test.name + "` " + found.text(), expected); });
            suggestTest(test, found, wanted);
        });
    std::string why = found.isUnknown() ? unknownText(found) : unknownText(wanted);
    return refuse({code::unknown,
                   "`" + test.name + "` of `" + node.name + "` is not known (" + why +
                       "), the rule wants " + expected,
                   "fold it to a constant, or give the dimension a number in the model",
                   {{"found", found.text()}, {"expected", expected}}});
}

} // namespace fuselage
