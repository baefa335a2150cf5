// SPDX-License-Identifier: Apache-2.0
// One overload a struct of the tree names its members; containers and leaves are written once.
#include "tests/support/syntax_text.h"

#include <type_traits>

namespace fuselage::testing_support {

namespace {

namespace ast = dsl::ast;

class Writer {
public:
    template <typename... Members> void node(const char* name, const Members&... members) {
        m_out += std::string("(") + name;
        (put(members), ...);
        m_out += ")";
    }

    std::string take() { return std::move(m_out); }

private:
    void put(const std::string& text) {
        // With its length, so that no text can look like what stands around it.
        m_out += " " + std::to_string(text.size()) + "'" + text;
    }

    template <typename T>
    requires std::is_arithmetic_v<T>
    void put(T number) { m_out += " " + std::to_string(number); }

    template <typename T>
    requires std::is_enum_v<T>
    void put(T value) { put(static_cast<int>(value)); }

    template <typename T> void put(const std::optional<T>& value) {
        m_out += value ? " some" : " none";
        if (value)
            put(*value);
    }

    template <typename T> void put(const std::vector<T>& list) {
        m_out += " [";
        for (const T& element : list)
            put(element);
        m_out += "]";
    }

    template <typename... T> void put(const std::variant<T...>& value) {
        std::visit([&](const auto& it) { put(it); }, value);
    }

    void put(const ast::Name& it) { put(it.text); }

    void put(const ast::Expr& it) {
        node("expr", it.kind, it.isInteger, it.number, it.text, it.args, it.named);
    }

    void put(const ast::NamedExpr& it) { node("named", it.name, it.value); }

    void put(const ast::With& it) { node("with", it.name, it.value, it.least, it.most); }

    void put(const ast::Range& it) { node("range", it.least, it.most); }

    void put(const ast::Dim& it) { node("dim", it.kind, it.value); }

    void put(const ast::TypeSpec& it) { node("type", it.flags, it.dtypes, it.hasDims, it.dims); }

    void put(const ast::Test& it) { node("test", it.attribute, it.comparison, it.value); }

    void put(const ast::Term& it) {
        node("term", it.kind, it.capture, it.name, it.mayBeAbsent, it.rest, it.type, it.number,
             it.tolerance, it.prefix, it.hasArguments, it.args, it.tests, it.range, it.outputs,
             it.alternatives);
    }

    void put(const ast::Step& it) { node("step", it.term, it.quantifier, it.range); }

    void put(const ast::Chain& it) { put(it.steps); }

    void put(const ast::Arg& it) { node("arg", it.name, it.chain); }

    void put(const ast::Alternative& it) { node("alternative", it.label, it.chain); }

    void put(const ast::Choice& it) { put(it.alternatives); }

    void put(const ast::Let& it) { node("let", it.name, it.value); }

    void put(const ast::Where& it) { node("where", it.conditions); }

    void put(const ast::Define& it) { node("define", it.names, it.choice); }

    void put(const ast::Unless& it) { node("unless", it.body); }

    void put(const ast::Many& it) { node("many", it.range, it.all, it.body); }

    void put(const ast::Match& it) { node("match", it.body); }

    void put(const ast::Target& it) { node("target", it.name, it.isList); }

    void put(const ast::Assign& it) { node("assign", it.targets, it.value); }

    void put(const ast::Rewrite& it) { node("rewrite", it.body); }

    void put(const ast::Gate& it) { node("gate", it.condition); }

    void put(const ast::Escape& it) { node("escape", it.names, it.policy, it.condition); }

    void put(const ast::Numeric& it) { node("numeric", it.word); }

    void put(const ast::QdqPoint& it) { node("point", it.name, it.value, it.axis, it.condition); }

    void put(const ast::Qdq& it) { node("qdq", it.points); }

    void put(const ast::Verify& it) { node("verify", it.samples, it.tolerance, it.with); }

    void put(const ast::Hint& it) { node("hint", it.text); }

    void put(const ast::As& it) { node("as", it.name, it.operands, it.attributes); }

    void put(const ast::TestEntry& it) { node("entry", it.word, it.text); }

    void put(const ast::TestBlock& it) { node("tests", it.name, it.entries); }

    void put(const ast::Import& it) { node("import", it.path); }

    void put(const ast::Opset& it) { node("opset", it.least, it.below); }

    void put(const ast::ClassMember& it) { node("member", it.isTrait, it.name); }

    void put(const ast::Class& it) { node("class", it.name, it.members, it.documentation); }

    void put(const ast::Function& it) {
        node("fn", it.name, it.parameters, it.body, it.documentation);
    }

    void put(const ast::Parameter& it) { node("parameter", it.name, it.type, it.mayBeAbsent); }

    void put(const ast::Pattern& it) {
        node("pattern", it.name, it.parameters, it.results, it.body, it.documentation);
    }

    void put(const ast::Form& it) {
        node("form", it.pattern.name, it.pattern.parameters, it.attributes, it.pattern.body,
             it.documentation);
    }

    void put(const ast::OperatorAttribute& it) { node("attribute", it.name, it.type, it.fallback); }

    void put(const ast::Operator& it) {
        node("op", it.pattern.name, it.pattern.parameters, it.pattern.results, it.attributes,
             it.hasBody, it.pattern.body, it.documentation);
    }

    void put(const ast::Modifier& it) { node("modifier", it.word, it.name, it.number); }

    void put(const ast::Rule& it) {
        node("rule", it.name, it.modifiers, it.clauses, it.documentation);
    }

    void put(const ast::PipelineStep& it) { node("step", it.phase, it.repeat, it.selection); }

    void put(const ast::Pipeline& it) {
        node("pipeline", it.name, it.steps, it.kept, it.documentation);
    }

    std::string m_out;
};

} // namespace

std::string syntaxText(const dsl::ast::File& file) {
    Writer writer;
    writer.node("file", file.version, file.items);
    return writer.take();
}

} // namespace fuselage::testing_support
