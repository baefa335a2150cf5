// SPDX-License-Identifier: Apache-2.0
// Canonical text of patterns, statements, clauses and items.
#include "dsl/print_internal.h"

namespace fuselage::dsl {

namespace {

constexpr size_t lineWidth = 100;

std::string rangeText(const ast::Range& range) {
    std::string out = std::to_string(range.least);
    return range.least == range.most ? out : out + ".." + std::to_string(range.most);
}

std::string namesText(const std::vector<ast::Name>& names) {
    std::string out;
    for (const ast::Name& name : names)
        appendItem(out, ", ", name.text);
    return out;
}

std::string dimText(const ast::Dim& dim) {
    if (dim.kind == ast::Dim::Kind::Rest)
        return "...";
    return dim.kind == ast::Dim::Kind::Any ? "_" : print(dim.value);
}

std::string typeText(const ast::TypeSpec& type) {
    std::string out;
    for (const ast::Name& flag : type.flags)
        appendItem(out, " ", flag.text);
    std::string dtypes;
    for (const ast::Name& dtype : type.dtypes)
        appendItem(dtypes, "|", dtype.text);
    if (!dtypes.empty())
        appendItem(out, " ", dtypes);
    if (!type.hasDims)
        return out;
    std::string dims;
    for (const ast::Dim& dim : type.dims)
        appendItem(dims, ", ", dimText(dim));
    appendItem(out, " ", "[" + dims + "]");
    return out;
}

std::string chainText(const ast::Chain& chain);

std::string nodeText(const ast::Term& term) {
    std::string out = term.prefix.empty() ? term.name.text : term.prefix + " " + term.name.text;
    if (term.hasArguments) {
        std::string args;
        for (const ast::Arg& arg : term.args)
            appendItem(args, ", ", (arg.name ? arg.name->text + " = " : "") + chainText(arg.chain));
        out += "(" + args + ")";
    }
    if (term.tests.empty())
        return out;
    std::string tests;
    for (const ast::Test& test : term.tests)
        appendItem(tests, ", ",
                   test.attribute.text + " " + test.comparison + " " + print(test.value));
    return out + "[" + tests + "]";
}

std::string alternativesText(const std::vector<ast::Alternative>& alternatives,
                             const char* separator) {
    std::string out;
    for (const ast::Alternative& alternative : alternatives)
        appendItem(out, separator,
                   (alternative.label ? alternative.label->text + ": " : "") +
                       chainText(alternative.chain));
    return out;
}

std::string termText(const ast::Term& term) {
    std::string capture = term.capture ? term.capture->text + "@" : "";
    switch (term.kind) {
    case ast::Term::Kind::Hole:
        return "_";
    case ast::Term::Kind::Value:
        return term.name.text + (term.mayBeAbsent ? "?" : "") + (term.rest ? "..." : "") +
               (term.type ? ": " + typeText(*term.type) : "");
    case ast::Term::Kind::Number:
        return term.number + (term.tolerance.empty() ? "" : "~" + term.tolerance);
    case ast::Term::Kind::Node:
        return capture + nodeText(term);
    case ast::Term::Kind::Region:
        return capture + "region " + term.name.text + " {" + rangeText(term.range) + "}" +
               (term.outputs ? " outs " + std::to_string(*term.outputs) : "");
    case ast::Term::Kind::Group:
        return capture + "(" + alternativesText(term.alternatives, " | ") + ")";
    }
    return "";
}

std::string chainText(const ast::Chain& chain) {
    std::string out;
    for (const ast::Step& step : chain.steps) {
        appendItem(out, " -> ", termText(step.term));
        if (step.quantifier == ast::Step::Quantifier::Optional)
            out += "?";
        else if (step.quantifier == ast::Step::Quantifier::Repeat)
            out += "{" + rangeText(step.range) + "}";
    }
    return out;
}

/// "Act(x, w: const)" of a pattern or form.
std::string headText(const ast::Pattern& item) {
    std::string parameters;
    for (const ast::Parameter& parameter : item.parameters)
        appendItem(parameters, ", ",
                   parameter.name.text + (parameter.mayBeAbsent ? "?" : "") +
                       (parameter.type ? ": " + typeText(*parameter.type) : ""));
    return item.name.text + "(" + parameters + ")";
}

/// Collects lines at an indentation.
class Printer {
public:
    void line(const std::string& text) { m_out += std::string(2 * m_depth, ' ') + text + "\n"; }

    void documentation(const std::string& text) {
        if (text.empty())
            return;
        size_t at = 0;
        while (at <= text.size()) {
            size_t end = std::min(text.find('\n', at), text.size());
            line(end > at ? "/// " + text.substr(at, end - at) : "///");
            at = end + 1;
        }
    }

    template <typename List> void body(const std::string& head, const List& parts) {
        line(head + " {");
        ++m_depth;
        for (const auto& part : parts)
            std::visit(*this, part);
        --m_depth;
        line("}");
    }

    void operator()(const ast::Define& define) {
        std::string head = define.names.empty() ? "" : namesText(define.names) + " = ";
        std::string text = head + print(define.choice) + ";";
        if (text.size() + 2 * m_depth <= lineWidth || define.choice.alternatives.size() < 2) {
            line(text);
            return;
        }
        std::string separator = "\n" + std::string(2 * m_depth + 4, ' ') + "| ";
        line(head + alternativesText(define.choice.alternatives, separator.c_str()) + ";");
    }

    void operator()(const ast::Let& let) {
        line("let " + let.name.text + " = " + print(let.value) + ";");
    }

    void operator()(const ast::Where& where) {
        std::string conditions;
        for (const ast::Expr& condition : where.conditions)
            appendItem(conditions, ", ", print(condition));
        line("where " + conditions + ";");
    }

    void operator()(const ast::Unless& unless) { body("unless", unless.body); }

    void operator()(const ast::Many& many) {
        body("many " + rangeText(many.range) + (many.all ? " all" : ""), many.body);
    }

    void operator()(const ast::Match& match) { body("match", match.body); }

    void operator()(const ast::Rewrite& rewrite) { body("rewrite", rewrite.body); }

    void operator()(const ast::Assign& assign) {
        std::string targets;
        for (const ast::Target& target : assign.targets)
            appendItem(targets, ", ", target.name.text + (target.isList ? "[]" : ""));
        line(targets + " = " + print(assign.value) + ";");
    }

    void operator()(const ast::Gate& gate) { line("gate " + print(gate.condition) + ";"); }

    void operator()(const ast::Escape& escape) {
        line("escape " + namesText(escape.names) + ": " + escape.policy.text +
             (escape.condition ? " if " + print(*escape.condition) : "") + ";");
    }

    void operator()(const ast::Numeric& numeric) { line("numeric " + numeric.word.text + ";"); }

    void operator()(const ast::Qdq& qdq) {
        std::string points;
        for (const ast::QdqPoint& point : qdq.points)
            points += " " + point.name.text + ": " + point.value.text +
                      (point.axis ? " axis " + std::to_string(*point.axis) : "") +
                      (point.condition ? " if " + print(*point.condition) : "") + ";";
        line("qdq {" + points + " }");
    }

    void operator()(const ast::Verify& verify) {
        std::string out = "verify " + std::to_string(verify.samples);
        if (!verify.tolerance.empty())
            out += " tolerance " + verify.tolerance;
        std::string dims;
        for (const ast::With& with : verify.with)
            appendItem(
                dims, ", ",
                with.name.text + " in " +
                    (with.least.empty() ? print(with.value) : with.least + ".." + with.most));
        line(out + (dims.empty() ? "" : " with { " + dims + " }") + ";");
    }

    void operator()(const ast::Hint& hint) { line("hint " + quotedText(hint.text) + ";"); }

    void operator()(const ast::As& as) {
        std::string operands, attributes;
        for (const ast::Name& operand : as.operands)
            appendItem(operands, ", ", operand.text);
        for (const ast::NamedExpr& attribute : as.attributes)
            appendItem(attributes, ", ", attribute.name.text + " = " + print(attribute.value));
        line("as " + as.name.text + (operands.empty() ? "" : "(" + operands + ")") +
             (attributes.empty() ? "" : "[" + attributes + "]") + ";");
    }

    void operator()(const ast::TestBlock& test) {
        line("test " + quotedText(test.name) + " {");
        ++m_depth;
        for (const ast::TestEntry& entry : test.entries) {
            const std::string& word = entry.word.text;
            if (word == "graph" || word == "model")
                line(word + " " + quotedText(entry.text) + ";");
            else
                line((word == "zoo" ? "" : "expect ") + word + " " + entry.text + ";");
        }
        --m_depth;
        line("}");
    }

    void operator()(const ast::Import& import) { line("import " + quotedText(import.path) + ";"); }

    void operator()(const ast::Opset& opset) {
        line("opset >= " + std::to_string(opset.least) +
             (opset.below ? " < " + std::to_string(*opset.below) : "") + ";");
    }

    void operator()(const ast::Class& item) {
        std::string members;
        for (const ast::ClassMember& member : item.members)
            appendItem(members, " | ", (member.isTrait ? "@" : "") + member.name.text);
        documentation(item.documentation);
        line("class " + item.name.text + " = " + members + ";");
    }

    void operator()(const ast::Function& item) {
        documentation(item.documentation);
        line("fn " + item.name.text + "(" + namesText(item.parameters) + ") = " + print(item.body) +
             ";");
    }

    void operator()(const ast::Pattern& item) {
        documentation(item.documentation);
        body("pattern " + headText(item) + " -> " + namesText(item.results), item.body);
    }

    void operator()(const ast::Form& item) {
        std::string attributes;
        for (const ast::NamedExpr& attribute : item.attributes)
            appendItem(attributes, ", ", attribute.name.text + " == " + print(attribute.value));
        documentation(item.documentation);
        body("form " + headText(item.pattern) + (attributes.empty() ? "" : "[" + attributes + "]"),
             item.pattern.body);
    }

    void operator()(const ast::Operator& item) {
        const std::string results = namesText(item.pattern.results);
        const bool isOne = item.pattern.results.size() == 1;
        std::string attributes;
        for (const ast::OperatorAttribute& attribute : item.attributes)
            appendItem(attributes, ", ",
                       attribute.name.text + ": " + attribute.type.text +
                           (attribute.fallback ? " = " + print(*attribute.fallback) : ""));
        documentation(item.documentation);
        const std::string head = "op " + headText(item.pattern) + " -> " +
                                 (isOne ? results : "(" + results + ")") +
                                 (attributes.empty() ? "" : " [" + attributes + "]");
        if (item.hasBody)
            body(head, item.pattern.body);
        else
            line(head + ";");
    }

    void operator()(const ast::Rule& item) {
        std::string head = "rule " + item.name.text;
        for (const ast::Modifier& modifier : item.modifiers) {
            head += " " + modifier.word;
            if (modifier.word == "priority")
                head += " " + std::to_string(modifier.number);
            else if (modifier.word != "once")
                head += " " + modifier.name.text;
        }
        documentation(item.documentation);
        body(head, item.clauses);
    }

    void operator()(const ast::Pipeline& item) {
        std::string steps;
        for (const ast::PipelineStep& step : item.steps)
            appendItem(steps, " then ",
                       step.phase.text + (step.repeat ? "*" : "") +
                           (step.selection ? " by " + step.selection->text : ""));
        documentation(item.documentation);
        const std::string kept = item.kept ? " keep " + item.kept->text : "";
        line("pipeline " + item.name.text + " = " + steps + kept + ";");
    }

    void blank() { m_out += "\n"; }

    std::string take() { return std::move(m_out); }

private:
    std::string m_out;
    size_t m_depth = 0;
};

bool isShort(const ast::Item& item) {
    return !std::holds_alternative<ast::Rule>(item) &&
           !std::holds_alternative<ast::Pattern>(item) && !std::holds_alternative<ast::Form>(item);
}

} // namespace

std::string print(const ast::Choice& choice) {
    return alternativesText(choice.alternatives, " | ");
}

std::string print(const ast::Item& item) {
    Printer printer;
    std::visit(printer, item);
    return printer.take();
}

std::string print(const ast::File& file) {
    std::string out = "fuse " + std::to_string(file.version) + ";\n";
    const ast::Item* before = nullptr;
    for (const ast::Item& item : file.items) {
        bool together = before && before->index() == item.index() && isShort(item);
        out += (together ? "" : "\n") + print(item);
        before = &item;
    }
    return out;
}

} // namespace fuselage::dsl
