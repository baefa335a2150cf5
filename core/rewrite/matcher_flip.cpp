// SPDX-License-Identifier: Apache-2.0
// The smallest change of a rule's text after which the step that failed would hold. Says nothing
// about whether the rule is still true afterwards: that is for its proof.
#include "core/graph/text.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

RuleEdit replaced(const Span& span, std::string from, std::string to) {
    return {RuleEdit::Kind::Replace, span, std::move(from), std::move(to)};
}

std::string escapeClause(const Rule& rule, const std::string& name) {
    return "escape " + name + (rule.isRewrite ? ": duplicate;" : ": export;");
}

/// A step of a chain: it reads its source through a Hole.
bool isStep(const Rule& rule, const Term& term) {
    return std::any_of(term.arguments.begin(), term.arguments.end(), [&](const Argument& it) {
        return rule.term(it.term).kind == Term::Kind::Hole;
    });
}

} // namespace

/// The name that a term begins with; empty where the text is no name.
std::string Search::headOf(const Term& term) {
    bool name =
        !term.text.empty() && std::all_of(term.text.begin(), term.text.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '_' || c == '.';
        });
    return name ? term.text : std::string();
}

bool Search::suggest(std::string words, std::optional<RuleEdit> edit) {
    if (!m_noted)
        return false;
    m_nearest.reason.flip = std::move(words);
    if (edit && !edit->span.empty())
        m_nearest.edit = std::move(edit);
    else
        m_nearest.edit.reset();
    return false;
}

/// By kind of miss; the places that know more say more afterwards.
void Search::suggestFor(const char* code, const Term* term, NodeId node, ValueId value) {
    if (!term || !m_noted)
        return;
    std::string_view kind = code;
    std::string head = headOf(*term);
    std::string slot = term->slot ? m_rule.slots[*term->slot].name : std::string();
    slot = slot.substr(slot.rfind('.') + 1); // without the pattern that it was inlined from
    if (kind == code::otherOp && node.valid() && !head.empty()) {
        std::string found = opText(m_graph.node(node));
        suggest("add an alternative: `(" + head + " | " + found + ")`",
                RuleEdit{RuleEdit::Kind::Alternative, term->span, head, found});
    } else if (kind == code::noProducer && !head.empty() && isStep(m_rule, *term)) {
        suggest("make the step optional: `" + head + "?`",
                RuleEdit{RuleEdit::Kind::Append, term->span, {}, "?"});
    } else if (kind == code::number && m_graph.isConstant(value)) {
        if (std::optional<double> splat = splatOf(*m_graph.value(value).constant)) {
            std::string found = Quantity::real(*splat).text();
            suggest("add an alternative: `" + found + "`",
                    RuleEdit{RuleEdit::Kind::Alternative, term->span, {}, found});
        }
    } else if (kind == code::number && value.valid()) {
        suggest("name the operand instead: `_` takes any value", replaced(term->span, {}, "_"));
    } else if (kind == code::operands && term->kind == Term::Kind::Value && !slot.empty()) {
        suggest("let it be absent: `" + slot + "?`", replaced(term->span, slot, slot + "?"));
    } else if (kind == code::operands && value.valid() && term->kind == Term::Kind::Node) {
        std::string name = "extra" + std::to_string(term->arguments.size());
        suggest("name the operand: `" + head + "(..., " + name + ")`",
                RuleEdit{RuleEdit::Kind::Replace, term->span, ")", ", " + name + "?)"});
    } else if (kind == code::type && term->type) {
        const TypePattern& type = *term->type;
        const Value& found = m_graph.value(value);
        if (type.isConst && !found.constant)
            suggest("leave `const` out, if a computed value will do",
                    type.dims || type.isScalar || !type.dtypes.empty()
                        ? replaced(term->span, "const ", "")
                        : replaced(term->span, {}, slot.empty() ? "_" : slot));
        else if (!type.dtypes.empty() && std::find(type.dtypes.begin(), type.dtypes.end(),
                                                   found.type.dtype) == type.dtypes.end())
            suggest(
                "add the element type: `" + std::string(nameOf(type.dtypes[0])) + " | " +
                    nameOf(found.type.dtype) + "`",
                replaced(term->span, nameOf(type.dtypes[0]),
                         std::string(nameOf(type.dtypes[0])) + " | " + nameOf(found.type.dtype)));
        else if (type.isScalar)
            suggest("leave `scalar` out", replaced(term->span, "scalar", ""));
    } else if (kind == code::usedTwice && !isStep(m_rule, *term)) {
        std::string name = plainNameOf(value);
        if (name.empty())
            suggest("take any value here: `_`", replaced(term->span, {}, "_"));
        else
            suggest("name the value that is already matched: `" + name + "`",
                    replaced(term->span, {}, name));
    } else if (kind == code::otherValue && term->kind == Term::Kind::Value) {
        suggest("give the value another name, or `_` for any", replaced(term->span, {}, "_"));
    } else if (kind == code::otherValue && term->kind == Term::Kind::Hole) {
        suggest(
            "`_` is what stands before the arrow, wherever it is written: give the operand a name",
            replaced(term->span, {}, "other" + std::to_string(m_rule.slots.size())));
    } else if (kind == code::region) {
        std::string least = std::to_string(term->least);
        suggest("write `{1..}` for a smaller region", replaced(term->span, "{" + least, "{1"));
    }
}

/// The test with the value that was found let in.
bool Search::suggestTest(const AttributeTest& test, const Quantity& found, const Quantity& wanted) {
    if (!m_noted || found.isNone() || found.isUnknown())
        return false;
    std::string value = found.text();
    if (test.comparison == "in") {
        std::string all;
        for (const Quantity& item : wanted.items().value_or(Quantity::List{}))
            all += item.text() + ", ";
        value = test.name + " in {" + all + value + "}";
    } else if (test.comparison == "==") {
        value = test.name + " in {" + wanted.text() + ", " + value + "}";
    } else {
        value = test.name + " == " + value;
    }
    return suggest("widen the test: `" + value + "`", replaced(test.span, {}, value));
}

bool Search::suggestAbsent(const Term& argument) {
    if (!m_noted || argument.kind != Term::Kind::Value || !argument.slot)
        return false;
    std::string name = m_rule.slots[*argument.slot].name;
    name = name.substr(name.rfind('.') + 1);
    return suggest("let it be absent: `" + name + "?`", replaced(argument.span, name, name + "?"));
}

/// With the name that the value has in the pattern, if it has one.
bool Search::suggestEscape(ValueId value, Reason reason) {
    if (const Escape* escape = escapeOf(value); escape && escape->policy == EscapePolicy::Forbid) {
        std::string policy = m_rule.isRewrite ? "duplicate" : "export";
        reason.flip = "write `" + policy + "` in its `escape`";
        return refuse(std::move(reason),
                      RuleEdit{RuleEdit::Kind::Replace, escape->span, "forbid", policy});
    }
    if (escapeOf(value)) {
        reason.flip = "loosen the condition of its `escape`";
        return refuse(std::move(reason));
    }
    std::string name = plainNameOf(value);
    if (name.empty())
        return suggestName(value, std::move(reason));
    std::string clause = escapeClause(m_rule, name);
    reason.flip = "add `" + clause + "`";
    return refuse(std::move(reason), RuleEdit{RuleEdit::Kind::Clause, m_rule.span, {}, clause});
}

/// Of a value without a name: gives it one, where the rule itself writes the operator.
bool Search::suggestName(ValueId value, Reason reason) {
    auto node = std::find(m_nodes.begin(), m_nodes.end(), m_graph.producer(value));
    TermId id =
        node != m_nodes.end() ? m_takenBy[static_cast<size_t>(node - m_nodes.begin())] : TermId();
    if (!id.valid() || m_graph.value(value).outputSlot != 0 || !isWrittenOnce(id))
        return refuse(std::move(reason));
    std::string name = "inner";
    auto isTaken = [&](const Slot& slot) { return slot.name == name; };
    for (int i = 2; std::any_of(m_rule.slots.begin(), m_rule.slots.end(), isTaken); ++i)
        name = "inner" + std::to_string(i);
    std::string clause = escapeClause(m_rule, name);
    reason.flip =
        "name it, `" + name + "@" + headOf(m_rule.term(id)) + "`, and add `" + clause + "`";
    return refuse(std::move(reason),
                  RuleEdit{RuleEdit::Kind::Clause, m_rule.term(id).span, name + "@", clause});
}

/// A term without a name that stands in a statement of the rule: not in a pattern that it uses, in
/// a `many`, or among the forms of a `spec`.
bool Search::isWrittenOnce(TermId id) const {
    const Term& term = m_rule.term(id);
    const auto& definitions = m_rule.match.definitions;
    bool stands = std::any_of(definitions.begin(), definitions.end(), [&](const Definition& it) {
        return it.span.source == term.span.source && it.span.begin <= term.span.begin &&
               term.span.end <= it.span.end;
    });
    auto same = std::count_if(m_rule.terms.begin(), m_rule.terms.end(), [&](const Term& other) {
        return other.kind == Term::Kind::Node && other.span == term.span;
    });
    return stands && same == 1 && !term.slot && !term.span.empty() && !headOf(term).empty();
}

/// The name that the rule itself gives to the value; empty when it has none.
std::string Search::plainNameOf(ValueId value) const {
    for (SlotIndex slot = 0; slot < m_slots.size(); ++slot) {
        const std::string& name = m_rule.slots[slot].name;
        bool named = m_slots[slot].kind == Binding::Kind::Value && m_slots[slot].value == value;
        if (named && name.find('.') == std::string::npos)
            return name;
    }
    return {};
}

/// A path that begins at an exported value is gone when that value is computed twice.
bool Search::suggestCycle(const std::vector<NodeId>& path) {
    Reason reason = cycleReason(m_graph, path, "a path");
    for (ValueId value : m_graph.node(path[0]).inputs) {
        NodeId maker = m_graph.producer(value);
        const Escape* escape = value.valid() ? escapeOf(value) : nullptr;
        if (!escape || escape->policy != EscapePolicy::Export || !maker.valid() ||
            m_used[maker.index()] == 0)
            continue;
        reason.flip = "write `duplicate` in place of `export` for `" + plainNameOf(value) + "`";
        return refuse(std::move(reason), replaced(escape->span, "export", "duplicate"));
    }
    return refuse(std::move(reason));
}

} // namespace fuselage
