// SPDX-License-Identifier: Apache-2.0
// Wires the token pass and the grammar, reports the syntax errors and finds the place to go on.
#include "dsl/parse.h"

#include "dsl/grammar.h"
#include "dsl/syntax_advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::dsl {

namespace {

constexpr int64_t languageVersion = 1;

/// With so many characters of no token it is no text of the language.
constexpr size_t strayLimit = 8;

/// For more errors of one text no edits are tried: nobody reads them all before the next look.
constexpr size_t errorsToTry = 24;

bool isComment(const Token& token) {
    return token.kind == Token::Kind::Comment || token.kind == Token::Kind::DocComment;
}

/// What a grammar rule or literal is called in a message.
std::string expectedText(const std::string& which) {
    if (which.size() >= 2 && (which.front() == '\'' || which.front() == '"'))
        return "`" + which.substr(1, which.size() - 2) + "`";
    bool isInner = which.find("spirit") != std::string::npos; // a parser that has no name
    return isInner ? "something else" : which;
}

int bracketStep(std::string_view mark) {
    if (mark == "(" || mark == "[" || mark == "{")
        return 1;
    return mark == ")" || mark == "]" || mark == "}" ? -1 : 0;
}

/// "&&", "||": said once.
bool isSecondOfPair(const ParseState& state, const Token& token) {
    const size_t length = token.end - token.begin;
    return token.begin >= length && state.text.substr(token.begin - length, length) ==
                                        state.text.substr(token.begin, length);
}

/// Errors that the token pass alone can tell. Returns false when parsing would be pointless.
bool checkTokens(ParseState& state) {
    int depth = 0;
    bool usable = true;
    size_t strays = 0;
    for (const Token& token : *state.tokens) {
        Span span{state.source, token.begin, token.end};
        if (token.kind == Token::Kind::Unclosed) {
            Diagnostic& d = state.diagnostics->error(
                "E0102", {state.source, token.begin, token.begin + 1}, "string is not closed");
            d.expected = "`\"` before the end of the file";
            d.fix = "add the closing `\"`";
            state.silentFrom = token.begin;
        } else if (token.kind == Token::Kind::Stray) {
            if (isSecondOfPair(state, token))
                continue;
            Diagnostic& d =
                state.diagnostics->error("E0106", span, "the language does not use this character");
            d.fix = inPlaceOf(textOf(token, state.text));
            const size_t end = state.text.find('\n', token.begin);
            state.silentLines.emplace_back(
                token.begin, end == std::string_view::npos ? ~0U : static_cast<uint32_t>(end));
            if (++strays == strayLimit) {
                d.fix = "give a .fuse file: this seems to be something else";
                return false;
            }
        } else if (token.kind == Token::Kind::Symbol) {
            depth += bracketStep(textOf(token, state.text));
            if (depth > static_cast<int>(nestingLimit) && usable) {
                state.reportDepth(span);
                usable = false;
            }
        }
    }
    return usable;
}

template <typename T> void dropUnknown(std::vector<T>& list) {
    std::erase_if(list, [](const T& element) {
        if constexpr (requires { element.span; })
            return element.span.empty();
        else
            return ast::spanOf(element).empty();
    });
}

void dropUnknownStatements(std::vector<ast::Statement>& body) {
    dropUnknown(body);
    for (ast::Statement& statement : body) {
        if (auto* unless = std::get_if<ast::Unless>(&statement))
            dropUnknownStatements(unless->body);
        else if (auto* many = std::get_if<ast::Many>(&statement))
            dropUnknownStatements(many->body);
    }
}

void dropUnknownClauses(ast::Rule& rule) {
    dropUnknown(rule.clauses);
    for (ast::Clause& clause : rule.clauses) {
        if (auto* match = std::get_if<ast::Match>(&clause)) {
            const size_t written = match->body.size();
            dropUnknownStatements(match->body);
            match->isBroken = match->body.size() < written;
        } else if (auto* rewrite = std::get_if<ast::Rewrite>(&clause))
            dropUnknown(rewrite->body);
        else if (auto* test = std::get_if<ast::TestBlock>(&clause))
            dropUnknown(test->entries);
    }
}

/// What a form defines last is the value of its operator.
void nameResult(ast::Pattern& form) {
    for (const ast::Statement& statement : form.body)
        if (auto* define = std::get_if<ast::Define>(&statement); define && !define->names.empty())
            form.results = {define->names[0]};
}

void finishItems(ast::File& file, const ParseState& state) {
    dropUnknown(file.items);
    for (ast::Item& item : file.items) {
        if (auto* rule = std::get_if<ast::Rule>(&item))
            dropUnknownClauses(*rule);
        else if (auto* pattern = std::get_if<ast::Pattern>(&item))
            dropUnknownStatements(pattern->body);
        else if (auto* declared = std::get_if<ast::Operator>(&item))
            dropUnknownStatements(declared->pattern.body);
        else if (auto* form = std::get_if<ast::Form>(&item)) {
            dropUnknownStatements(form->pattern.body);
            nameResult(form->pattern);
        }
        std::visit(
            [&](auto& it) {
                if constexpr (requires { it.documentation; })
                    it.documentation = documentationAbove(*state.tokens, state.text, it.span.begin);
            },
            item);
    }
}

} // namespace

void ParseState::reportDepth(const Span& span) {
    if (tooDeep)
        return;
    tooDeep = true;
    Diagnostic& d = diagnostics->error("E0105", span, "nested too deep");
    d.expected = "at most " + std::to_string(nestingLimit) + " levels";
    d.fix = "name an inner part with `let`, `fn` or a statement of its own";
}

void ParseState::report(const char* where, const std::string& which) {
    auto offset = static_cast<uint32_t>(where - base);
    size_t index = tokenAt(*tokens, offset);
    while (index < tokens->size() && isComment((*tokens)[index]))
        ++index;
    bool atEnd = index == tokens->size();
    uint32_t begin = atEnd ? static_cast<uint32_t>(text.size()) : (*tokens)[index].begin;
    const bool isSilent = std::any_of(silentLines.begin(), silentLines.end(), [&](auto line) {
        return begin >= line.first && begin <= line.second;
    });
    if (isSilent || begin >= silentFrom || begin + 1 <= reportedUpTo)
        return;
    reportedUpTo = begin + 1;
    firstError = std::min(firstError.value_or(begin), begin);
    if (isTrial)
        return;

    std::string found =
        atEnd ? "the end of the file" : "`" + std::string(textOf((*tokens)[index], text)) + "`";
    std::string expected = expectedText(which);
    Span place{source, begin, atEnd ? begin : (*tokens)[index].end};
    bool isCloser =
        expected == "`;`" || expected == "`}`" || expected == "`)`" || expected == "`]`";
    size_t before = tokenAt(*tokens, offset);
    while (before > 0 && ((*tokens)[before - 1].kind == Token::Kind::Comment ||
                          (*tokens)[before - 1].kind == Token::Kind::DocComment))
        --before; // nothing is missing in a comment
    if (isCloser && before > 0) {
        // A missing mark belongs behind what was written, not before the next line.
        const Token& last = (*tokens)[before - 1];
        if (text.substr(last.end, begin - last.end).find('\n') != std::string_view::npos || atEnd)
            place = {source, last.end - 1, last.end};
    }
    bool isOpen = expected == "`}`" && (atEnd || isItemKeyword(textOf((*tokens)[index], text)));
    const char* code = expected == "`fuse 1;`" ? "E0104" : isOpen ? "E0103" : "E0101";
    Diagnostic& d = diagnostics->error(code, place, "expected " + expected);
    d.found = found;
    d.expected = expected;
    const uint32_t behind = before > 0 ? (*tokens)[before - 1].end : 0;
    const bool mayTry = ++advised <= errorsToTry;
    d.fix = syntaxFix({text, tokens, index, behind, expected},
                      mayTry ? FirstError(firstErrorOf) : FirstError());
}

const char* ParseState::recover(const char* first, const char* where, bool isItem) const {
    size_t index = tokenAt(*tokens, static_cast<uint32_t>(where - base));
    size_t start = tokenAt(*tokens, static_cast<uint32_t>(first - base));
    int depth = 0;
    for (; index < tokens->size(); ++index) {
        const Token& token = (*tokens)[index];
        std::string_view mark = textOf(token, text);
        if (token.kind == Token::Kind::Word && isItemKeyword(mark) && index > start &&
            (index == 0 ||
             text.substr((*tokens)[index - 1].end, token.begin - (*tokens)[index - 1].end)
                     .find('\n') != std::string_view::npos))
            return base + token.begin;
        if (token.kind != Token::Kind::Symbol)
            continue;
        int step = bracketStep(mark);
        if (step < 0 && mark == "}" && depth <= 0) {
            if (!isItem)
                return base + token.begin;
            depth = 0; // an item is left by the closing brace of its body
            continue;
        }
        depth = std::max(0, depth + step);
        if (mark == ";" && depth == 0 && !isItem)
            return base + token.end;
        if (isItem && mark == ";" && depth == 0 && index + 1 < tokens->size() &&
            isItemKeyword(textOf((*tokens)[index + 1], text)))
            return base + token.end;
    }
    return base + text.size();
}

namespace {

/// The whole text into `file`; what does not fit is reported to the state. False: it is no text of
/// the language.
bool parseInto(ParseState& state, ast::File& file) {
    namespace x3 = boost::spirit::x3;
    if (!checkTokens(state))
        return false;
    const char* first = state.base + markLength(state.text);
    const char* last = state.base + state.text.size();
    try {
        bool whole =
            x3::phrase_parse(first, last, x3::with<StateTag>(std::ref(state))[grammar::file],
                             grammar::skipper, file);
        if (!whole || first != last)
            state.report(first, "an item");
    } catch (const x3::expectation_failure<const char*>& failure) {
        state.report(failure.where(), failure.which());
    }
    return true;
}

ParseState stateFor(const std::string& text, uint32_t source, const std::vector<Token>& tokens,
                    Diagnostics& diagnostics) {
    ParseState state;
    state.base = text.data();
    state.text = text;
    state.source = source;
    state.tokens = &tokens;
    state.diagnostics = &diagnostics;
    return state;
}

} // namespace

std::optional<uint32_t> firstErrorOf(const std::string& text) {
    const std::vector<Token> tokens = tokenize(text);
    Diagnostics diagnostics;
    ParseState state = stateFor(text, 0, tokens, diagnostics);
    state.isTrial = true;
    ast::File file;
    parseInto(state, file);
    return diagnostics.hasErrors() ? 0 : state.firstError;
}

ParsedFile parse(const SourceSet& sources, uint32_t source) {
    ParsedFile out;
    const std::string& text = sources[source].text();
    out.tokens = tokenize(text);
    ParseState state = stateFor(text, source, out.tokens, out.diagnostics);
    const bool isText = parseInto(state, out.file);
    out.file.source = source;
    if (!isText)
        return out;
    if (!out.diagnostics.hasErrors() && out.file.version != languageVersion) {
        Diagnostic& d = out.diagnostics.error("E0104", {source, 0, out.tokens[2].end},
                                              "this language version is not known");
        d.found = std::to_string(out.file.version);
        d.expected = "1";
        d.fix = "write `fuse 1;`";
    }
    finishItems(out.file, state);
    out.diagnostics.sort();
    return out;
}

} // namespace fuselage::dsl
