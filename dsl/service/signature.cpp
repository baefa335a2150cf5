// SPDX-License-Identifier: Apache-2.0
// What the brackets around the cursor want: operands of an operator or pattern, arguments of a
// function. Read from the tokens, since a text is broken while it is typed.
#include "core/ops/op_table.h"
#include "core/rewrite/functions.h"
#include "dsl/service/texts_internal.h"

namespace fuselage::dsl {

namespace {

/// The name in front of the innermost open bracket, and how many commas stand behind it.
struct OpenCall {
    const Token* head = nullptr;
    uint32_t commas = 0;
};

std::optional<OpenCall> openCallAt(const ParsedText& text, uint32_t offset) {
    const std::vector<Token>& tokens = text.parsed.tokens;
    std::vector<OpenCall> open;
    for (size_t i = 0; i < tokens.size() && tokens[i].begin < offset; ++i) {
        const Token& token = tokens[i];
        const bool isComment =
            token.kind == Token::Kind::Comment || token.kind == Token::Kind::DocComment;
        const bool isText = token.kind == Token::Kind::String;
        if (token.kind == Token::Kind::Unclosed || (isComment && offset <= token.end) ||
            (isText && offset < token.end))
            return std::nullopt;
        const std::string_view mark = textOf(token, text.text());
        if (token.kind != Token::Kind::Symbol)
            continue;
        if (mark == "(")
            open.push_back(
                {i > 0 && tokens[i - 1].kind == Token::Kind::Word ? &tokens[i - 1] : nullptr, 0});
        else if (mark == "[" || mark == "{")
            open.push_back({});
        else if (mark == ")" || mark == "]" || mark == "}")
            open.resize(open.size() - (open.empty() ? 0 : 1));
        else if (mark == "," && !open.empty())
            ++open.back().commas;
        else if (mark == ";") // a bracket that was never closed ends with its statement
            while (!open.empty() && open.back().head)
                open.pop_back();
    }
    if (open.empty() || !open.back().head)
        return std::nullopt;
    return open.back();
}

/// "Conv(X, W, B?)"; what may be repeated ends with "...".
std::string operatorLabel(Op op) {
    const OpRow& row = rowOf(op);
    std::string inputs;
    int count = 0;
    for (const std::string& input : inputNamesOf(op)) {
        inputs += (count > 0 ? ", " : "") + input + (count >= row.minInputs ? "?" : "");
        ++count;
    }
    return std::string(row.name) + "(" + inputs + (row.maxInputs == variadic ? "...)" : ")");
}

/// From the item's name to the end of its parameters, as it is written.
std::string itemLabel(const Definition& definition) {
    const std::string& text = definition.text->text();
    const size_t end = text.find(')', definition.place.begin);
    const size_t open = text.find_first_not_of(" \t", definition.place.end);
    if (end == std::string::npos || open == std::string::npos || text[open] != '(')
        return {};
    return text.substr(definition.place.begin, end + 1 - definition.place.begin);
}

/// The pieces between commas, as places in the label.
Signature signatureOf(std::string label, std::string documentation, uint32_t commas) {
    Signature out{std::move(label), std::move(documentation), {}, 0};
    int depth = 0;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < out.label.size(); ++i) {
        const char c = out.label[i];
        const bool ends = (c == ',' && depth == 1) || (c == ')' && depth == 1);
        depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        if (c == '(' && depth == 1)
            begin = i + 1;
        if (!ends)
            continue;
        while (begin < i && out.label[begin] == ' ')
            ++begin;
        if (begin < i)
            out.parameters.emplace_back(begin, i);
        begin = i + 1;
    }
    const bool repeats = out.label.ends_with("...)") && !out.parameters.empty();
    out.active =
        repeats ? std::min(commas, static_cast<uint32_t>(out.parameters.size() - 1)) : commas;
    return out;
}

} // namespace

std::optional<Signature> signatureAt(Texts& texts, const std::string& name, uint32_t offset) {
    const ParsedText* text = texts.find(name);
    auto call = text ? openCallAt(*text, offset) : std::nullopt;
    if (!call)
        return std::nullopt;
    const std::string head(textOf(*call->head, text->text()));
    for (Occurrence::Kind kind : {Occurrence::Kind::Pattern, Occurrence::Kind::Function}) {
        Occurrence use;
        use.kind = kind;
        use.text = head;
        if (auto definition = texts.define(name, use))
            if (std::string label = itemLabel(*definition); !label.empty())
                return signatureOf(std::move(label), itemMarkdown(*definition), call->commas);
    }
    if (auto op = operatorNamed(head))
        return signatureOf(operatorLabel(*op), operatorMarkdown(*op), call->commas);
    if (const FunctionRow* row = findFunction(head))
        return signatureOf(row->signature, row->documentation, call->commas);
    return std::nullopt;
}

} // namespace fuselage::dsl
