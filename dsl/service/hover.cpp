// SPDX-License-Identifier: Apache-2.0
// What is said about the thing under the cursor, as Markdown.
#include "core/ops/op_table.h"
#include "core/rewrite/functions.h"
#include "dsl/service/texts_internal.h"
#include "dsl/words.h"

#include <fmt/format.h>

namespace fuselage::dsl {

namespace {

using Kind = Occurrence::Kind;

std::string codeBlock(const std::string& text) {
    return "```fuse\n" + text + "\n```\n";
}

std::string attributeLine(const AttributeSchema& schema) {
    std::string line = fmt::format("`{}`: {}", schema.name, schema.type);
    if (schema.required)
        line += ", required";
    else if (schema.fallback)
        line += fmt::format(", `{}` when not given", text(*schema.fallback));
    return line;
}

std::string attributeMarkdown(Texts& texts, const std::string& name, const std::string& op,
                              const std::string& attribute) {
    if (auto known = partsOf(texts, name, op)) {
        for (const AttributeSchema& schema : known->attributes)
            if (schema.name == attribute)
                return attributeLine(schema) + "\n\nattribute of " + op;
        for (const std::string& input : known->inputs)
            if (input == attribute)
                return fmt::format("`{}`: input of {}", attribute, op);
    }
    return fmt::format("`{}`: attribute of `{}`", attribute, op);
}

std::string traitMarkdown(const std::string& name) {
    auto trait = traitFromName(name);
    if (!trait)
        return {};
    std::string list;
    for (Op op : opsWithTrait(*trait))
        list += fmt::format("{}{}", list.empty() ? "" : ", ", rowOf(op).name);
    const WordRow* word = findWord(name);
    return fmt::format("`@{}`: {}\n\n{}", name, word ? word->documentation : "", list);
}

/// The statement that gives a value its name, else how the value is first used.
std::string valueMarkdown(const ParsedText& text, const Occurrence& use) {
    const Occurrence* first = nullptr;
    for (const Occurrence& occurrence : text.occurrences)
        if (sameThing(occurrence, use) && (!first || (occurrence.defines && !first->defines)))
            first = &occurrence;
    if (!first)
        return {};
    const Source& source = text.sources[text.parsed.file.source];
    LineColumn place = source.position(first->span.begin);
    std::string line(source.line(place.line));
    size_t begin = line.find_first_not_of(" \t");
    return codeBlock(begin == std::string::npos ? line : line.substr(begin)) +
           fmt::format("value, line {}", place.line);
}

/// Where the forms of an operator stand, and what they say of themselves.
std::string formsMarkdown(Texts& texts, const std::string& name, const std::string& op) {
    std::string list;
    for (const Rule& form : texts.loaded(name).rules.forms)
        if (form.name == "form " + op)
            list += fmt::format("- {}:{} {}\n", form.file, form.line, form.documentation);
    return list.empty() ? "" : fmt::format("\nforms that `spec {}` finds\n{}", op, list);
}

std::string wordMarkdown(const WordRow& row) {
    std::string unit = *row.unit ? fmt::format(", in {}", row.unit) : "";
    return fmt::format("`{}{}{}`: {}{}", row.of, *row.of ? "." : "", row.word, row.documentation,
                       unit);
}

std::string markdownOf(Texts& texts, const std::string& name, const ParsedText& text,
                       const Occurrence& thing) {
    switch (thing.kind) {
    case Kind::Attribute:
    case Kind::Operand:
        return attributeMarkdown(texts, name, thing.of, thing.text);
    case Kind::Trait:
        return traitMarkdown(thing.text);
    case Kind::Value:
        if (const WordRow* root = findWord(thing.text, WordPlace::Root))
            return wordMarkdown(*root);
        return valueMarkdown(text, thing);
    case Kind::Dimension:
        return fmt::format("`{}`: dimension variable, equal everywhere in the rule", thing.text);
    case Kind::Import:
        return fmt::format("file `{}`", thing.text);
    case Kind::Member:
        if (const WordRow* word = findWord(thing.text, thing.of))
            return wordMarkdown(*word);
        return {};
    default:
        break;
    }
    if (auto definition = texts.define(name, thing))
        return itemMarkdown(*definition);
    if (thing.kind == Kind::Operator)
        if (auto op = operatorNamed(thing.text))
            return operatorMarkdown(*op) + formsMarkdown(texts, name, thing.text);
    if (thing.kind == Kind::Operator)
        if (CustomOperatorPtr published = publishedNamed(thing.text))
            return operatorMarkdown(*published);
    if (thing.kind == Kind::Operator && thing.text.find('.') != std::string::npos)
        return fmt::format("`{}`: an operator that nobody declared; it matches by domain, name, "
                           "operands and attributes",
                           thing.text);
    if (thing.kind == Kind::Function)
        if (const FunctionRow* row = findFunction(thing.text))
            return codeBlock(row->signature) + row->documentation;
    if (const WordRow* word = findWord(thing.text))
        return wordMarkdown(*word);
    return {};
}

} // namespace

std::string operatorMarkdown(Op op) {
    const OpRow& row = rowOf(op);
    std::string inputs;
    int number = 0;
    for (const std::string& input : inputNamesOf(op)) {
        inputs += fmt::format("{}{}{}", inputs.empty() ? "" : ", ", input,
                              number >= row.minInputs ? "?" : "");
        ++number;
    }
    if (row.maxInputs == variadic)
        inputs += "...";
    std::string out = codeBlock(fmt::format("{}({})", row.name, inputs));
    out += fmt::format("{}, since opset {}\n", *row.domain ? row.domain : "ai.onnx", row.since);
    for (const AttributeSchema& schema : attributesOf(op))
        out += "- " + attributeLine(schema) + "\n";
    return out;
}

std::string operatorMarkdown(const CustomOperator& custom) {
    std::string inputs;
    for (size_t i = 0; i < custom.inputs.size(); ++i)
        inputs += fmt::format("{}{}{}", i == 0 ? "" : ", ", custom.inputs[i],
                              i >= custom.minInputs ? "?" : "");
    std::string out = codeBlock(fmt::format("{}({})", custom.text(), inputs));
    out += fmt::format("{}, matched and written, not computed here\n",
                       custom.domain.empty() ? "ai.onnx" : custom.domain);
    for (const AttributeSchema& schema : custom.attributes)
        out += "- " + attributeLine(schema) + "\n";
    return out;
}

std::string itemMarkdown(const Definition& definition) {
    const Span& span = spanOf(*definition.item);
    std::string words = definition.text->text().substr(span.begin, span.end - span.begin);
    words = words.substr(0, words.find('\n'));
    size_t brace = words.find('{');
    if (brace != std::string::npos && brace > 0)
        words = words.substr(0, words.find_last_not_of(' ', brace - 1) + 1);
    const Symbol symbol = symbolOf(*definition.item);
    std::string documentation = std::visit(
        [](const auto& item) -> std::string {
            if constexpr (requires { item.documentation; })
                return item.documentation;
            else
                return {};
        },
        *definition.item);
    return codeBlock(words) + (documentation.empty() ? symbol.kind : documentation) +
           fmt::format("\n\n{}", definition.place.name);
}

std::optional<Hover> hoverAt(Texts& texts, const std::string& name, uint32_t offset) {
    const ParsedText* text = texts.find(name);
    if (!text)
        return std::nullopt;
    if (const Occurrence* thing = occurrenceAt(text->occurrences, offset)) {
        std::string markdown = markdownOf(texts, name, *text, *thing);
        if (!markdown.empty())
            return Hover{thing->span.begin, thing->span.end, markdown};
    }
    for (const Token& token : text->parsed.tokens)
        if (token.kind == Token::Kind::Word && token.begin <= offset && offset < token.end)
            if (const WordRow* word = findWord(textOf(token, text->text())))
                return Hover{token.begin, token.end, wordMarkdown(*word)};
    return std::nullopt;
}

} // namespace fuselage::dsl
