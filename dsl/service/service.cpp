// SPDX-License-Identifier: Apache-2.0
#include "dsl/service/service.h"

#include "dsl/lint.h"
#include "dsl/service/format.h"
#include "dsl/service/texts_internal.h"
#include "dsl/words.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage::dsl {

namespace {

using Kind = Occurrence::Kind;

Colour colourOf(const Occurrence& occurrence) {
    switch (occurrence.kind) {
    case Kind::Rule:
        return Colour::Rule;
    case Kind::Pattern:
    case Kind::Class:
        return Colour::Pattern;
    case Kind::Function:
        return Colour::Function;
    case Kind::Operator:
        return operatorNamed(occurrence.text) || publishedNamed(occurrence.text) ||
                       occurrence.text.find('.') != std::string::npos
                   ? Colour::Operator
                   : Colour::Pattern;
    case Kind::Attribute:
    case Kind::Operand:
    case Kind::Member:
        return Colour::Attribute;
    case Kind::Value:
        return occurrence.defines ? Colour::Definition : Colour::Value;
    case Kind::Dimension:
        return Colour::Dimension;
    case Kind::Import:
        return Colour::String;
    default:
        return Colour::Word;
    }
}

Colour colourOf(const Token& token, std::string_view text) {
    switch (token.kind) {
    case Token::Kind::Number:
        return Colour::Number;
    case Token::Kind::String:
        return Colour::String;
    case Token::Kind::Comment:
        return Colour::Comment;
    case Token::Kind::DocComment:
        return Colour::Documentation;
    case Token::Kind::Unclosed:
    case Token::Kind::Stray:
        return Colour::Wrong;
    case Token::Kind::Symbol:
        return Colour::Mark;
    case Token::Kind::Word:
        break;
    }
    // What the parser did not understand: operators are known by their first letter.
    char first = text[token.begin];
    return first >= 'A' && first <= 'Z' ? Colour::Operator : Colour::Keyword;
}

std::vector<Highlight> highlightsOf(const ParsedText& text) {
    std::unordered_map<uint32_t, const Occurrence*> named; // by where they begin; the last counts
    for (const Occurrence& occurrence : text.occurrences)
        named[occurrence.span.begin] = &occurrence;
    std::vector<Highlight> out;
    for (const Token& token : text.parsed.tokens) {
        Colour colour = colourOf(token, text.text());
        if (token.kind == Token::Kind::Word)
            if (auto known = named.find(token.begin); known != named.end())
                colour = colourOf(*known->second);
        out.push_back({token.begin, token.end, colour});
    }
    return out;
}

struct Describe {
    Symbol operator()(const ast::Rule& it) const { return of(it, "rule"); }

    Symbol operator()(const ast::Pattern& it) const { return of(it, "pattern"); }

    Symbol operator()(const ast::Form& it) const {
        Symbol out = of(it.pattern, "form");
        out.detail = it.documentation.substr(0, it.documentation.find('\n'));
        out.begin = it.span.begin;
        out.end = it.span.end;
        return out;
    }

    Symbol operator()(const ast::Operator& it) const {
        Symbol out = of(it.pattern, "operator");
        out.detail = it.documentation.substr(0, it.documentation.find('\n'));
        out.begin = it.span.begin;
        out.end = it.span.end;
        return out;
    }

    Symbol operator()(const ast::Class& it) const { return of(it, "class"); }

    Symbol operator()(const ast::Function& it) const { return of(it, "function"); }

    Symbol operator()(const ast::Pipeline& it) const { return of(it, "pipeline"); }

    Symbol operator()(const ast::Import& it) const { return {it.path, "import"}; }

    Symbol operator()(const ast::Opset&) const { return {"", "opset"}; }

    template <typename Item> static Symbol of(const Item& it, const char* kind) {
        std::string firstLine = it.documentation.substr(0, it.documentation.find('\n'));
        return {it.name.text,    kind, firstLine, it.span.begin, it.span.end, it.name.span.begin,
                it.name.span.end};
    }
};

} // namespace

Symbol symbolOf(const ast::Item& item) {
    return std::visit(Describe{}, item);
}

LanguageService::LanguageService(ImportResolver resolver, ServiceWords words, bool areOneProgram)
    : m_state(new State{Texts(std::move(resolver), areOneProgram), std::move(words)}) {}

LanguageService::~LanguageService() = default;

void LanguageService::set(const std::string& name, std::string text,
                          const std::string& importPath) {
    m_state->texts.set(name, std::move(text), importPath);
}

void LanguageService::remove(const std::string& name) {
    m_state->texts.remove(name);
}

bool LanguageService::readImportsAgain() {
    return m_state->texts.readImportsAgain();
}

bool LanguageService::has(const std::string& name) const {
    return m_state->texts.has(name);
}

const std::string& LanguageService::text(const std::string& name) const {
    static const std::string none;
    const ParsedText* text = m_state->texts.find(name);
    return text ? text->text() : none;
}

std::vector<Diagnostic> LanguageService::diagnose(const std::string& name) {
    const Texts::Loaded& loaded = m_state->texts.loaded(name);
    std::vector<Diagnostic> out;
    for (const Diagnostic& diagnostic : loaded.rules.diagnostics.all())
        if (loaded.sources[diagnostic.span.source].name() == name)
            out.push_back(diagnostic);
    Diagnostics lints = lintFile(loaded.rules, name);
    for (const Diagnostic& diagnostic : lints.all())
        if (loaded.sources[diagnostic.span.source].name() == name)
            out.push_back(diagnostic);
    return out;
}

const SourceSet& LanguageService::sources(const std::string& name) {
    return m_state->texts.loaded(name).sources;
}

std::vector<Highlight> LanguageService::highlight(const std::string& name) {
    const ParsedText* text = m_state->texts.find(name);
    return text ? highlightsOf(*text) : std::vector<Highlight>();
}

std::vector<Highlight> highlightText(const std::string& text) {
    return highlightsOf(ParsedText("", text));
}

std::vector<Completion> LanguageService::complete(const std::string& name, uint32_t offset) {
    return completionsAt(m_state->texts, m_state->words, name, offset);
}

std::optional<Hover> LanguageService::hover(const std::string& name, uint32_t offset) {
    return hoverAt(m_state->texts, name, offset);
}

std::optional<Signature> LanguageService::signature(const std::string& name, uint32_t offset) {
    return signatureAt(m_state->texts, name, offset);
}

std::optional<Place> LanguageService::definition(const std::string& name, uint32_t offset) {
    const ParsedText* text = m_state->texts.find(name);
    const Occurrence* thing = text ? occurrenceAt(text->occurrences, offset) : nullptr;
    if (!thing)
        return std::nullopt;
    if (thing->kind == Kind::Import) {
        const ParsedText* file = m_state->texts.imported(thing->text);
        return file ? std::optional(Place{file->sources[file->parsed.file.source].name(), 0, 0})
                    : std::nullopt;
    }
    if (thing->kind == Kind::Value || thing->kind == Kind::Dimension) {
        const Occurrence* first = thing; // where it is defined, else where it is first named
        for (const Occurrence& other : text->occurrences) {
            const bool isEarlier = other.span.begin < first->span.begin;
            if (sameThing(other, *thing) &&
                (other.defines == first->defines ? isEarlier : other.defines))
                first = &other;
        }
        return Place{name, first->span.begin, first->span.end};
    }
    if (auto found = m_state->texts.define(name, *thing))
        return found->place;
    return std::nullopt;
}

std::vector<Symbol> LanguageService::symbols(const std::string& name) {
    std::vector<Symbol> out;
    if (const ParsedText* text = m_state->texts.find(name))
        for (const ast::Item& item : text->parsed.file.items)
            if (Symbol symbol = symbolOf(item); symbol.nameEnd > symbol.nameBegin)
                out.push_back(std::move(symbol));
    return out;
}

std::vector<Fold> LanguageService::folds(const std::string& name) {
    std::vector<Fold> out;
    const ParsedText* text = m_state->texts.find(name);
    if (!text)
        return out;
    std::vector<uint32_t> open;
    for (const Token& token : text->parsed.tokens) {
        std::string_view mark = textOf(token, text->text());
        if (mark == "{") {
            open.push_back(token.begin);
        } else if (mark == "}" && !open.empty()) {
            std::string_view inside =
                std::string_view(text->text()).substr(open.back(), token.end - open.back());
            if (inside.find('\n') != std::string_view::npos)
                out.push_back({open.back(), token.end});
            open.pop_back();
        }
    }
    std::sort(out.begin(), out.end(),
              [](const Fold& a, const Fold& b) { return a.begin < b.begin; });
    return out;
}

std::string LanguageService::format(const std::string& name) {
    const ParsedText* text = m_state->texts.find(name);
    if (!text)
        return {};
    return text->parsed.diagnostics.hasErrors() ? text->text() : formatText(text->text());
}

std::vector<TextEdit> LanguageService::formatRange(const std::string& name, uint32_t begin,
                                                   uint32_t end) {
    const ParsedText* text = m_state->texts.find(name);
    return text && !text->parsed.diagnostics.hasErrors()
               ? formatEdits(name, text->text(), begin, end)
               : std::vector<TextEdit>();
}

std::vector<TextEdit> LanguageService::guarded(const std::string& name, uint32_t offset,
                                               const std::string& guard) {
    const ParsedText* text = m_state->texts.find(name);
    return text ? guardEdits(*text, name, offset, guard) : std::vector<TextEdit>();
}

std::vector<CodeAction> LanguageService::actions(const std::string& name, uint32_t begin,
                                                 uint32_t end) {
    std::vector<CodeAction> out;
    const ParsedText* text = m_state->texts.find(name);
    if (!text)
        return out;
    for (const Diagnostic& diagnostic : diagnose(name)) {
        if (diagnostic.span.end < begin || diagnostic.span.begin > end)
            continue;
        if (std::optional<CodeAction> fix = fixOf(name, *text, diagnostic))
            out.push_back(std::move(*fix));
    }
    return out;
}

} // namespace fuselage::dsl
