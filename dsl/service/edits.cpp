// SPDX-License-Identifier: Apache-2.0
// Edits of a text that leave what a person wrote where it stands: white space of a range, and a
// guard of the proof at the place where the rule would say it.
#include "dsl/service/format.h"
#include "dsl/service/texts_internal.h"
#include "dsl/walk.h"

#include <algorithm>

namespace fuselage::dsl {

std::vector<TextEdit> formatEdits(const std::string& name, const std::string& text, uint32_t begin,
                                  uint32_t end) {
    const std::string formatted = formatText(text);
    const std::vector<Token> before = tokenize(text), after = tokenize(formatted);
    std::vector<TextEdit> out;
    if (before.size() != after.size())
        return out;
    for (size_t i = 0; i <= before.size(); ++i) {
        const auto gapIn = [&](const std::vector<Token>& tokens, const std::string& of) {
            const uint32_t from = i == 0 ? 0 : tokens[i - 1].end;
            const uint32_t to =
                i == tokens.size() ? static_cast<uint32_t>(of.size()) : tokens[i].begin;
            return std::pair(from, to);
        };
        const auto [from, to] = gapIn(before, text);
        const auto [newFrom, newTo] = gapIn(after, formatted);
        std::string gap = formatted.substr(newFrom, newTo - newFrom);
        if (from >= begin && to <= end && text.compare(from, to - from, gap) != 0)
            out.push_back({{name, from, to}, std::move(gap)});
    }
    return out;
}

namespace {

/// The words in backticks.
std::vector<std::string> quoted(const std::string& words) {
    std::vector<std::string> out;
    for (size_t at = words.find('`'); at != std::string::npos; at = words.find('`', at + 1)) {
        const size_t begin = at + 1;
        at = words.find('`', begin);
        if (at == std::string::npos)
            break;
        out.push_back(words.substr(begin, at - begin));
    }
    return out;
}

bool isSpace(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

class Guarding {
public:
    Guarding(const std::string& name, const std::string& text, const ast::Match& match)
        : m_name(name), m_text(text), m_match(match) {}

    /// False: the match has no place for it.
    bool add(const std::string& piece) {
        constexpr std::string_view where = "where ";
        if (piece.starts_with(where))
            return addCondition(piece);
        const size_t bracket = piece.find('[');
        if (bracket == std::string::npos || !piece.ends_with(']'))
            return false;
        const size_t known = edits.size();
        addTests(m_match.body, piece.substr(0, bracket),
                 piece.substr(bracket + 1, piece.size() - bracket - 2));
        return edits.size() > known;
    }

    std::vector<TextEdit> edits;

private:
    /// Behind the last statement, on a line of its own where the block has several.
    bool addCondition(const std::string& condition) {
        uint32_t at = m_match.span.end;
        while (at > m_match.span.begin && m_text[at - 1] != '}')
            --at;
        const uint32_t brace = at;
        if (at > m_match.span.begin)
            --at;
        while (at > m_match.span.begin && isSpace(m_text[at - 1]))
            --at;
        if (at <= m_match.span.begin)
            return false;
        std::string between = " ";
        if (m_text.find('\n', at) < brace) {
            const size_t line = m_text.rfind('\n', at - 1) + 1; // of none: 0
            const size_t word = m_text.find_first_not_of(" \t", line);
            between = "\n" + m_text.substr(line, word - line);
        }
        edits.push_back({{m_name, at, at}, between + condition + ";"});
        return true;
    }

    void addTests(const std::vector<ast::Statement>& body, const std::string& op,
                  const std::string& tests) {
        for (const ast::Statement& statement : body) {
            if (const auto* many = std::get_if<ast::Many>(&statement))
                addTests(many->body, op, tests);
            if (const auto* define = std::get_if<ast::Define>(&statement))
                walkTerms(define->choice, [&](const ast::Term& term, bool) {
                    if (term.kind == ast::Term::Kind::Node && term.name.text == op)
                        addTest(term, tests);
                });
        }
    }

    void addTest(const ast::Term& term, const std::string& tests) {
        const auto says = [&](const ast::Test& test) {
            const std::string& word = test.attribute.text;
            return tests.starts_with(word + " ") || tests.find(", " + word + " ") != tests.npos;
        };
        if (std::any_of(term.tests.begin(), term.tests.end(), says))
            return;
        uint32_t at = term.tests.empty() ? term.span.end : term.tests.back().span.end;
        while (at > term.span.begin && isSpace(m_text[at - 1]))
            --at;
        edits.push_back({{m_name, at, at}, term.tests.empty() ? "[" + tests + "]" : ", " + tests});
    }

    const std::string& m_name;
    const std::string& m_text;
    const ast::Match& m_match;
};

} // namespace

std::vector<TextEdit> guardEdits(const ParsedText& text, const std::string& name, uint32_t offset,
                                 const std::string& guard) {
    for (const ast::Item& item : text.parsed.file.items) {
        const auto* rule = std::get_if<ast::Rule>(&item);
        if (!rule || offset < rule->name.span.begin || offset > rule->name.span.end)
            continue;
        for (const ast::Clause& clause : rule->clauses)
            if (const auto* match = std::get_if<ast::Match>(&clause)) {
                Guarding guarding(name, text.text(), *match);
                for (const std::string& piece : quoted(guard))
                    if (!guarding.add(piece))
                        return {};
                return std::move(guarding.edits);
            }
    }
    return {};
}

} // namespace fuselage::dsl
