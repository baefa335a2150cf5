// SPDX-License-Identifier: Apache-2.0
// Wires the token pass and the grammar, words the syntax errors and finds the place to go on.
#include "dsl/parse.h"

#include "dsl/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <tuple>

namespace fuselage::dsl {

namespace {

constexpr int64_t languageVersion = 1;

/// With so many characters of no token it is no text of the language.
constexpr size_t strayLimit = 8;

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

/// One word or mark in quotes.
bool isOneMark(const std::string& expected) {
    return expected.front() == '`' && expected.find('`', 1) == expected.size() - 1 &&
           expected.find(' ') == std::string::npos;
}

std::string fixFor(const std::string& expected) {
    static constexpr std::pair<std::string_view, std::string_view> fixes[] = {
        {"an item", "begin with rule, pattern, form, op, class, fn, import, opset or pipeline"},
        {"a clause",
         "begin with match, rewrite, gate, escape, numeric, qdq, verify, hint, as or test"},
        {"a statement", "write `name = pattern;`, or begin with let, where, many or unless"},
        {"a type", "write const, scalar, input, an element type or dimensions in `[...]`"},
        {"a name", "write a name that begins with a small letter and is no keyword"},
        {"something else", "compare with the grammar in dsl/README.md"},
        {"a range", "write how often: `{1..3}`"},
        {"a block", "write `{ ... }` here"},
        {"`->`", "name the result: `-> y`"},
        {"a comparison", "say what the attribute must be: `axis == 1`"},
        {"`==`", "say what the attribute is: `axis == 1`"},
        {"`fuse 1;`", "write `fuse 1;` on the first line"},
    };
    for (auto& [what, fix] : fixes)
        if (what == expected)
            return std::string(fix);
    return (isOneMark(expected) ? "add " : "write ") + expected + " here";
}

/// What is meant where one token stands and another is expected; empty when that cannot be told.
std::string_view meantBy(const ParseState& state, size_t at, std::string_view expected) {
    if (at == state.tokens->size())
        return {};
    auto wordAt = [&](size_t index) { return textOf((*state.tokens)[index], state.text); };
    static constexpr std::string_view equal = "write `==` in place of `=`",
                                      heading = "write it before the `{` of the rule";
    static constexpr std::tuple<std::string_view, std::string_view, std::string_view> known[] = {
        {"`==`", "=", equal},
        {"a comparison", "=", equal},
        {"an expression", "=", "leave the `=` out"},
        {"a block", "->", "leave `->` out: the value that a form defines last is its result"},
        {"a clause", "priority", heading},
        {"a clause", "once", heading},
        {"a clause", "replaces", heading},
        {"a clause", "in", heading},
    };
    const std::string_view found = wordAt(at);
    for (const auto& [where, mark, fix] : known)
        if (where == expected && mark == found)
            return fix;
    const std::string_view next = at + 1 < state.tokens->size() ? wordAt(at + 1) : "";
    if ((found == "/" && next == "*") || (found == "-" && next == "-"))
        return "write `//` in front of a comment; it ends with the line";
    if (expected == "a clause" && next == "=")
        return "write statements in `match { ... }`";
    if (at > 0 && found == "(" && wordAt(at - 1) == "]")
        return "write operands before attributes: `Op(x)[axis == 1]`";
    if (expected != "`;`" || at == 0)
        return {};
    const std::string_view head = statementHead(*state.tokens, state.text, at);
    const bool isCondition = head == "where" || head == "gate" || head == "escape";
    if (isCondition && (found == "=" || found == "|"))
        return found == "=" ? equal : "write `or`";
    const bool isCapital = head == wordAt(at - 1) && std::isupper(head.front()) != 0;
    return found == "=" && isCapital ? "begin the name of a value with a small letter" : "";
}

/// Numbers have no units here: what `100MB` is in the unit of the figure that it is compared with;
/// empty: no such word stands behind a number.
std::string withoutUnit(const ParseState& state, size_t at) {
    if (at == 0 || at == state.tokens->size())
        return {};
    const Token &number = (*state.tokens)[at - 1], &unit = (*state.tokens)[at];
    if (number.kind != Token::Kind::Number || unit.kind != Token::Kind::Word)
        return {};
    static constexpr std::tuple<std::string_view, double, std::string_view> units[] = {
        {"B", 1, "bytes"},           {"kB", 1e3, "bytes"},      {"KB", 1e3, "bytes"},
        {"MB", 1e6, "bytes"},        {"GB", 1e9, "bytes"},      {"KiB", 0x1p10, "bytes"},
        {"MiB", 0x1p20, "bytes"},    {"GiB", 0x1p30, "bytes"},  {"us", 1, "microseconds"},
        {"ms", 1e3, "microseconds"}, {"s", 1e6, "microseconds"}};
    for (const auto& [name, factor, figure] : units)
        if (name == textOf(unit, state.text)) {
            const double value = std::atof(std::string(textOf(number, state.text)).c_str());
            return fmt::format("write `{:.15g}`: numbers are in {}", value * factor, figure);
        }
    return {};
}

/// What a character that other languages use is called here.
std::string_view inPlaceOf(std::string_view stray) {
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"&", "write `and`"},
        {"!", "write `not`, or `!=` for unequal"},
        {"'", "write text in `\"`"},
        {"\u201c", "write text in `\"`"},
        {"\u201d", "write text in `\"`"},
        {"#", "write `//` in front of a comment"},
        {"\u2013", "write `-`"},
        {"\u2212", "write `-`"},
        {"\u00d7", "write `*`"},
        {"\u2192", "write `->`"},
        {"\u2264", "write `<=`"},
        {"\u2265", "write `>=`"},
        {"\u2260", "write `!=`"},
        {"\u00a0", "write a plain space"},
    };
    for (const auto& [character, fix] : known)
        if (character == stray)
            return fix;
    return stray.size() > 1
               ? "write names with the letters a to z; other letters stand in texts and "
                 "comments"
               : "delete it";
}

int bracketStep(std::string_view mark) {
    if (mark == "(" || mark == "[" || mark == "{")
        return 1;
    return mark == ")" || mark == "]" || mark == "}" ? -1 : 0;
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
            Diagnostic& d =
                state.diagnostics->error("E0106", span, "the language does not use this character");
            d.fix = inPlaceOf(textOf(token, state.text));
            state.silentFrom = std::min(state.silentFrom, token.begin);
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
        if (auto* match = std::get_if<ast::Match>(&clause))
            dropUnknownStatements(match->body);
        else if (auto* rewrite = std::get_if<ast::Rewrite>(&clause))
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
    if (begin >= silentFrom || begin + 1 <= reportedUpTo)
        return;
    reportedUpTo = begin + 1;

    std::string found =
        atEnd ? "the end of the file" : "`" + std::string(textOf((*tokens)[index], text)) + "`";
    std::string expected = expectedText(which);
    Span place{source, begin, atEnd ? begin : (*tokens)[index].end};
    bool isCloser =
        expected == "`;`" || expected == "`}`" || expected == "`)`" || expected == "`]`";
    size_t before = tokenAt(*tokens, offset);
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
    const std::string_view meant = meantBy(*this, index, expected);
    const std::string unit = withoutUnit(*this, index);
    d.fix = !unit.empty() ? unit : meant.empty() ? fixFor(expected) : std::string(meant);
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

ParsedFile parse(const SourceSet& sources, uint32_t source) {
    namespace x3 = boost::spirit::x3;
    ParsedFile out;
    const std::string& text = sources[source].text();
    out.tokens = tokenize(text);
    out.file.source = source;

    ParseState state;
    state.base = text.data();
    state.text = text;
    state.source = source;
    state.tokens = &out.tokens;
    state.diagnostics = &out.diagnostics;
    if (!checkTokens(state))
        return out;

    const char* first = text.data() + markLength(text);
    const char* last = text.data() + text.size();
    try {
        bool whole =
            x3::phrase_parse(first, last, x3::with<StateTag>(std::ref(state))[grammar::file],
                             grammar::skipper, out.file);
        if (!whole || first != last)
            state.report(first, "an item");
    } catch (const x3::expectation_failure<const char*>& failure) {
        state.report(failure.where(), failure.which());
    }
    out.file.source = source;
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
