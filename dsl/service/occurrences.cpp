// SPDX-License-Identifier: Apache-2.0
#include "dsl/service/occurrences.h"

#include "core/rewrite/members.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

using Kind = Occurrence::Kind;

bool isUpper(const std::string& text) {
    return !text.empty() && text[0] >= 'A' && text[0] <= 'Z';
}

/// Collects by one walk over the items.
class Collector {
public:
    explicit Collector(const ast::File& file) : m_file(file) {
        for (const ast::Item& item : file.items) {
            if (auto* pattern = std::get_if<ast::Pattern>(&item))
                m_patterns.insert(pattern->name.text);
            if (auto* set = std::get_if<ast::Class>(&item))
                m_classes.insert(set->name.text);
        }
    }

    std::vector<Occurrence> collect() {
        for (const ast::Item& item : m_file.items) {
            std::visit(*this, item);
            ++m_item;
        }
        for (const auto& [at, value] : m_membersOf)
            nameAttribute(m_out[at], value);
        std::stable_sort(m_out.begin(), m_out.end(), [](const Occurrence& a, const Occurrence& b) {
            return a.span.begin < b.span.begin;
        });
        return std::move(m_out);
    }

    void operator()(const ast::Import& import) { add(Kind::Import, import.path, import.span); }

    void operator()(const ast::Opset&) {}

    void operator()(const ast::Class& set) {
        add(Kind::Class, set.name, true);
        for (const ast::ClassMember& member : set.members)
            add(member.isTrait ? Kind::Trait : kindOfUpper(member.name.text), member.name);
    }

    void operator()(const ast::Function& function) {
        add(Kind::Function, function.name, true);
        for (const ast::Name& parameter : function.parameters)
            add(Kind::Value, parameter, true);
        walk(function.body);
    }

    void operator()(const ast::Pattern& pattern) {
        add(Kind::Pattern, pattern.name, true);
        walk(pattern.parameters);
        for (const ast::Name& result : pattern.results)
            add(Kind::Value, result);
        walk(pattern.body);
    }

    void operator()(const ast::Form& form) {
        add(Kind::Operator, form.pattern.name);
        walk(form.pattern.parameters);
        for (const ast::NamedExpr& attribute : form.attributes) {
            add(Kind::Attribute, attribute.name, false, form.pattern.name.text);
            walk(attribute.value);
        }
        walk(form.pattern.body);
    }

    void operator()(const ast::Operator& declared) {
        add(Kind::Operator, declared.pattern.name, true);
        walk(declared.pattern.parameters);
        for (const ast::Name& result : declared.pattern.results)
            add(Kind::Value, result, !declared.hasBody);
        for (const ast::OperatorAttribute& attribute : declared.attributes) {
            add(Kind::Value, attribute.name, true);
            add(Kind::Word, attribute.type);
            if (attribute.fallback)
                walk(*attribute.fallback);
        }
        walk(declared.pattern.body);
    }

    void operator()(const ast::As& as) {
        add(Kind::Operator, as.name);
        for (const ast::Name& operand : as.operands)
            add(Kind::Value, operand);
        for (const ast::NamedExpr& attribute : as.attributes) {
            add(Kind::Attribute, attribute.name, false, as.name.text);
            walk(attribute.value);
        }
    }

    void operator()(const ast::Rule& rule) {
        add(Kind::Rule, rule.name, true);
        for (const ast::Modifier& modifier : rule.modifiers) {
            if (modifier.word == "in")
                add(Kind::Phase, modifier.name);
            else if (modifier.word == "replaces")
                add(Kind::Rule, modifier.name);
        }
        for (const ast::Clause& clause : rule.clauses)
            std::visit(*this, clause);
    }

    void operator()(const ast::Pipeline& pipeline) {
        add(Kind::Pipeline, pipeline.name, true);
        for (const ast::PipelineStep& step : pipeline.steps) {
            add(Kind::Phase, step.phase);
            if (step.selection)
                add(Kind::Word, *step.selection);
        }
        if (pipeline.kept)
            add(Kind::Class, *pipeline.kept);
    }

    void operator()(const ast::Match& match) { walk(match.body); }

    void operator()(const ast::Rewrite& rewrite) {
        for (const ast::RewriteStatement& statement : rewrite.body) {
            if (auto* let = std::get_if<ast::Let>(&statement)) {
                add(Kind::Value, let->name, true);
                walk(let->value);
                continue;
            }
            const auto& assign = std::get<ast::Assign>(statement);
            for (const ast::Target& target : assign.targets)
                add(Kind::Value, target.name);
            walk(assign.value);
        }
    }

    /// The word that a gate begins with, if it is one of its own.
    static const ast::Expr* wordOf(const ast::Expr& condition) {
        if (condition.kind == ast::Expr::Kind::Binary && condition.text == "and")
            return wordOf(condition.args[0]);
        const bool isWord = condition.kind == ast::Expr::Kind::Lower &&
                            (condition.text == "always" || condition.text == "measured");
        return isWord ? &condition : nullptr;
    }

    void walkGate(const ast::Expr& condition, const ast::Expr* word) {
        if (&condition == word) {
            add(Kind::Word, word->text, word->span);
        } else if (word != nullptr) {
            walkGate(condition.args[0], word);
            walk(condition.args[1]);
        } else {
            walk(condition);
        }
    }

    void operator()(const ast::Gate& gate) { walkGate(gate.condition, wordOf(gate.condition)); }

    void operator()(const ast::Escape& escape) {
        for (const ast::Name& name : escape.names)
            add(Kind::Value, name);
        add(Kind::Word, escape.policy);
        if (escape.condition)
            walk(*escape.condition);
    }

    void operator()(const ast::Numeric& numeric) { add(Kind::Word, numeric.word); }

    void operator()(const ast::Qdq& qdq) {
        for (const ast::QdqPoint& point : qdq.points) {
            add(Kind::Word, point.name);
            add(Kind::Value, point.value);
            if (point.condition)
                walk(*point.condition);
        }
    }

    void operator()(const ast::Verify& verify) {
        for (const ast::With& with : verify.with) {
            add(with.least.empty() ? Kind::Dimension : Kind::Value, with.name);
            if (with.least.empty())
                walk(with.value);
        }
    }

    void operator()(const ast::Hint&) {}

    void operator()(const ast::TestBlock& test) {
        for (const ast::TestEntry& entry : test.entries)
            add(Kind::Word, entry.word);
    }

    void operator()(const ast::Define& define) {
        const auto& alternatives = define.choice.alternatives;
        const ast::Term* last =
            alternatives.size() == 1 ? &alternatives[0].chain.steps.back().term : nullptr;
        for (const ast::Name& name : define.names)
            add(Kind::Value, name, true, last ? operatorOf(*last) : std::string());
        for (const ast::Alternative& alternative : define.choice.alternatives)
            walk(alternative.chain);
    }

    void operator()(const ast::Let& let) {
        add(Kind::Value, let.name, true);
        walk(let.value);
    }

    void operator()(const ast::Where& where) {
        for (const ast::Expr& condition : where.conditions)
            walk(condition);
    }

    void operator()(const ast::Unless& unless) { walk(unless.body); }

    void operator()(const ast::Many& many) { walk(many.body); }

private:
    Kind kindOfUpper(const std::string& text) const {
        return m_patterns.contains(text)  ? Kind::Pattern
               : m_classes.contains(text) ? Kind::Class
                                          : Kind::Operator;
    }

    void add(Kind kind, const std::string& text, const Span& span, bool defines = false,
             const std::string& of = {}) {
        if (!text.empty() && !span.empty())
            m_out.push_back({kind, text, span, defines, m_item, of, false});
    }

    /// A value that an expression reads, or a word that stands for one: `none`, `gain`.
    void ask(const std::string& text, const Span& span) {
        const size_t known = m_out.size();
        add(Kind::Value, text, span);
        if (m_out.size() > known)
            m_out.back().asked = true;
    }

    void add(Kind kind, const ast::Name& name, bool defines = false, const std::string& of = {}) {
        add(kind, name.text, name.span, defines, of);
    }

    std::string operatorOf(const ast::Term& term) const {
        bool isOperator =
            term.kind == ast::Term::Kind::Node && kindOfUpper(term.name.text) == Kind::Operator;
        return isOperator ? term.name.text : std::string();
    }

    /// `c.strides` is an attribute where the item says which operator makes `c`.
    void nameAttribute(Occurrence& member, const std::string& value) const {
        for (const Occurrence& each : m_out)
            if (each.kind == Kind::Value && each.defines && each.item == member.item &&
                each.text == value && !each.of.empty()) {
                member.kind = Kind::Attribute;
                member.of = each.of;
                return;
            }
    }

    void walk(const std::vector<ast::Statement>& body) {
        for (const ast::Statement& statement : body)
            std::visit(*this, statement);
    }

    void walk(const std::vector<ast::Parameter>& parameters) {
        for (const ast::Parameter& parameter : parameters) {
            add(Kind::Value, parameter.name, true);
            if (parameter.type)
                walk(*parameter.type);
        }
    }

    void walk(const ast::Chain& chain) {
        for (const ast::Step& step : chain.steps)
            walk(step.term);
    }

    void walk(const ast::TypeSpec& type) {
        for (const auto* words : {&type.flags, &type.dtypes})
            for (const ast::Name& word : *words)
                add(Kind::Word, word);
        for (const ast::Dim& dim : type.dims)
            walk(dim.value);
    }

    void walk(const ast::Term& term) {
        if (term.capture)
            add(Kind::Value, *term.capture, true, operatorOf(term));
        if (term.kind == ast::Term::Kind::Value)
            add(Kind::Value, term.name);
        else if (term.kind == ast::Term::Kind::Node || term.kind == ast::Term::Kind::Region)
            add(kindOfUpper(term.name.text), term.name);
        if (term.type)
            walk(*term.type);
        for (const ast::Arg& argument : term.args) {
            if (argument.name)
                add(Kind::Operand, *argument.name, false, term.name.text);
            walk(argument.chain);
        }
        for (const ast::Test& test : term.tests) {
            add(Kind::Attribute, test.attribute, false, term.name.text);
            walk(test.value);
        }
        for (const ast::Alternative& alternative : term.alternatives)
            walk(alternative.chain);
    }

    void walk(const ast::Expr& expr) {
        using E = ast::Expr::Kind;
        // A node's or call's own name is the beginning of its span.
        Span head = expr.span;
        head.end = std::min(head.end, head.begin + static_cast<uint32_t>(expr.text.size()));
        switch (expr.kind) {
        case E::Lower:
            ask(expr.text, expr.span);
            break;
        case E::Upper:
            add(Kind::Dimension, expr.text, expr.span);
            break;
        case E::ListOf:
            if (isUpper(expr.text))
                add(Kind::Dimension, expr.text, head);
            else
                ask(expr.text, head);
            break;
        case E::Call:
            add(Kind::Function, expr.text, head);
            break;
        case E::Node:
            add(kindOfUpper(expr.text), expr.text, head);
            break;
        case E::Member: {
            const ast::Expr& object = expr.args[0];
            bool ofRoot = object.kind == E::Lower && isRoot(object.text);
            size_t at = m_out.size();
            add(Kind::Member, expr.text, ast::spanOfMember(expr), false,
                ofRoot ? object.text : std::string());
            bool ofValue = object.kind == E::Lower || object.kind == E::ListOf;
            if (ofValue && !ofRoot && m_out.size() > at && !findMember(expr.text))
                m_membersOf.emplace_back(at, object.text);
            break;
        }
        default:
            break;
        }
        for (const ast::Expr& argument : expr.args)
            walk(argument);
        for (const ast::NamedExpr& named : expr.named) {
            if (!named.isSpread())
                add(expr.kind == E::Node ? Kind::Attribute : Kind::Word, named.name, false,
                    expr.text);
            walk(named.value);
        }
    }

    const ast::File& m_file;
    std::set<std::string> m_patterns, m_classes;
    std::vector<Occurrence> m_out;
    std::vector<std::pair<size_t, std::string>> m_membersOf; ///< place in m_out, name of the value
    uint32_t m_item = 0;
};

} // namespace

std::vector<Occurrence> occurrencesOf(const ast::File& file) {
    return Collector(file).collect();
}

const Occurrence* occurrenceAt(const std::vector<Occurrence>& all, uint32_t offset) {
    const Occurrence* behind = nullptr;
    for (const Occurrence& occurrence : all) {
        if (offset >= occurrence.span.begin && offset < occurrence.span.end)
            return &occurrence;
        if (offset == occurrence.span.end)
            behind = &occurrence;
    }
    return behind;
}

bool isGlobal(Occurrence::Kind kind) {
    return kind == Kind::Rule || kind == Kind::Pattern || kind == Kind::Class ||
           kind == Kind::Function || kind == Kind::Pipeline || kind == Kind::Phase;
}

bool sameThing(const Occurrence& a, const Occurrence& b) {
    if (a.kind != b.kind || a.text != b.text)
        return false;
    bool local = a.kind == Kind::Value || a.kind == Kind::Dimension;
    return local ? a.item == b.item : a.of == b.of;
}

} // namespace fuselage::dsl
