// SPDX-License-Identifier: Apache-2.0
#include "dsl/service/format.h"

#include "core/graph/dtype.h"
#include "dsl/tokens.h"

#include <algorithm>
#include <set>
#include <vector>

namespace fuselage::dsl {

namespace {

constexpr size_t indentWidth = 2;
constexpr size_t continuationWidth = 4;

/// What a brace encloses decides the spaces around it.
enum class Brace : uint8_t { None, Block, Range, Set };

struct Piece {
    Token::Kind kind;
    std::string_view text;
    size_t breaks = 0; ///< line breaks before it
    Brace brace = Brace::None;

    bool is(std::string_view mark) const { return text == mark; }

    bool isComment() const {
        return kind == Token::Kind::Comment || kind == Token::Kind::DocComment;
    }
};

bool isTypeWord(const Piece& piece) {
    static const std::set<std::string_view> flags = {"const", "scalar", "input"};
    return piece.kind == Token::Kind::Word &&
           (flags.contains(piece.text) || dtypeFromName(piece.text).has_value());
}

/// A word before "(" or "[" that is no callee.
bool isConnective(const Piece& piece) {
    static const std::set<std::string_view> words = {"where", "and",  "or",   "not", "in",
                                                     "if",    "gate", "then", "all", "unless"};
    return piece.kind == Token::Kind::Word && words.contains(piece.text);
}

std::vector<Piece> piecesOf(std::string_view text, const std::vector<Token>& tokens) {
    std::vector<Piece> out;
    size_t end = 0;
    for (const Token& token : tokens) {
        std::string_view gap = text.substr(end, token.begin - end);
        std::string_view words = textOf(token, text);
        if (token.kind == Token::Kind::Comment || token.kind == Token::Kind::DocComment)
            words = words.substr(0, words.find_last_not_of(" \t\r") + 1);
        out.push_back(
            {token.kind, words, static_cast<size_t>(std::count(gap.begin(), gap.end(), '\n'))});
        end = token.end;
    }
    return out;
}

/// "{2..64}" is a range, "{" behind an operator or `in` a set, the others are blocks.
Brace kindOfBrace(const std::vector<Piece>& pieces, size_t at) {
    size_t n = pieces.size();
    bool number = at + 1 < n && pieces[at + 1].kind == Token::Kind::Number;
    if (number && at + 2 < n && (pieces[at + 2].is("}") || pieces[at + 2].is("..")))
        if (at > 0 && !pieces[at - 1].is("in") && !pieces[at - 1].is("=="))
            return Brace::Range;
    if (at == 0)
        return Brace::Block;
    const Piece& before = pieces[at - 1];
    bool operatorBefore = before.kind == Token::Kind::Symbol && !before.is(")") &&
                          !before.is("]") && !before.is("{") && !before.is("}") &&
                          !before.is(";") && !before.is("?");
    return operatorBefore || before.is("in") ? Brace::Set : Brace::Block;
}

void nameBraces(std::vector<Piece>& pieces) {
    std::vector<Brace> open;
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].is("{")) {
            pieces[i].brace = kindOfBrace(pieces, i);
            open.push_back(pieces[i].brace);
        } else if (pieces[i].is("}")) {
            pieces[i].brace = open.empty() ? Brace::Block : open.back();
            if (!open.empty())
                open.pop_back();
        }
    }
}

/// Whether a "-" at `at` is a sign. Comments between it and the word before change nothing.
bool isSign(const std::vector<Piece>& pieces, size_t at) {
    if (!pieces[at].is("-"))
        return false;
    while (at > 0 && pieces[at - 1].isComment())
        --at;
    if (at == 0)
        return true;
    const Piece& before = pieces[at - 1];
    if (before.kind == Token::Kind::Symbol)
        return !before.is(")") && !before.is("]") && !before.is("}") && !before.is("?");
    return isConnective(before) || before.is("axis") || before.is("priority");
}

/// "canonicalize* then": the star of a pipeline.
bool isStar(const std::vector<Piece>& pieces, size_t at) {
    return pieces[at].is("*") && at + 1 < pieces.size() &&
           (pieces[at + 1].is("then") || pieces[at + 1].is("by") || pieces[at + 1].is("keep") ||
            pieces[at + 1].is(";"));
}

/// How many "(" and "[" of the statement are open here.
int openBrackets(const std::vector<Piece>& pieces, size_t at) {
    int depth = 0;
    while (at-- > 0 && !pieces[at].is(";") && !pieces[at].is("{") && !pieces[at].is("}"))
        depth += pieces[at].is("(") || pieces[at].is("[")   ? 1
                 : pieces[at].is(")") || pieces[at].is("]") ? -1
                                                            : 0;
    return depth;
}

/// In "op com.acme.Gated(x, w) -> y [alpha: float = 1]".
bool isInDeclaration(const std::vector<Piece>& pieces, size_t at) {
    bool out = false;
    while (at-- > 0 && !pieces[at].is(";") && !pieces[at].is("{") && !pieces[at].is("}"))
        out = pieces[at].is("op") || (out && pieces[at].isComment());
    return out;
}

bool spaceBeforeOpening(const std::vector<Piece>& pieces, size_t at) {
    const Piece& before = pieces[at - 1];
    const Piece& here = pieces[at];
    if (here.is("[") && openBrackets(pieces, at) == 0 && isInDeclaration(pieces, at))
        return true;
    if (here.is("{"))
        return here.brace != Brace::Range || (at >= 2 && pieces[at - 2].is("region"));
    if (before.kind == Token::Kind::Word)
        return isConnective(before) || (here.is("[") && isTypeWord(before));
    return before.kind == Token::Kind::Symbol && !before.is(")") && !before.is("]") &&
           !before.is("?");
}

bool isTight(const Piece& piece) {
    static const std::set<std::string_view> marks = {".", "..", "@", "~"};
    return piece.kind == Token::Kind::Symbol && marks.contains(piece.text);
}

bool isClosingOrMark(const Piece& piece) {
    static const std::set<std::string_view> marks = {")", "]", ",", ";", ":", "?"};
    return piece.kind == Token::Kind::Symbol && marks.contains(piece.text);
}

/// Whether the innermost bracket that is open here is a `[`: there a colon is that of a slice.
bool isInBrackets(const std::vector<Piece>& pieces, size_t at) {
    for (int depth = 0; at-- > 0;) {
        const Piece& piece = pieces[at];
        if (piece.is(")") || piece.is("]"))
            ++depth;
        else if (piece.is(";") || piece.is("{") || piece.is("}"))
            return false;
        else if ((piece.is("(") || piece.is("[")) && depth-- == 0)
            return piece.is("[") && !isInDeclaration(pieces, at);
    }
    return false;
}

/// Whether a space belongs before the piece when it is on the same line as the one before it.
bool wantsSpace(const std::vector<Piece>& pieces, size_t at) {
    const Piece& before = pieces[at - 1];
    const Piece& here = pieces[at];
    if (here.is("@")) // "s@Add" and "= @reduction"
        return before.kind != Token::Kind::Word;
    if (isTight(here) || isTight(before) || isClosingOrMark(here) || isStar(pieces, at))
        return false;
    if (before.is("(") || before.is("[") || isSign(pieces, at - 1))
        return false;
    if (before.is("...") && here.kind == Token::Kind::Word) // "...c"
        return false;
    if (before.is(":") && isInBrackets(pieces, at))
        return false;
    if (here.is("...")) // "rest...", but ", ..."
        return before.kind != Token::Kind::Word;
    if (here.is("|") && isTypeWord(before))
        return false;
    if (before.is("|") && isTypeWord(here) && at >= 2 && isTypeWord(pieces[at - 2]))
        return false;
    if (before.is("{") && before.brace != Brace::Block)
        return false;
    if (here.is("}"))
        return here.brace == Brace::Block && !before.is("{");
    if (here.is("(") || here.is("[") || here.is("{"))
        return spaceBeforeOpening(pieces, at);
    return true;
}

/// Whether pieces become other words when nothing stands between them: "/" and "/", "1" "." "5".
bool wouldJoin(const std::vector<Piece>& pieces, size_t at) {
    size_t first = at >= 2 && !wantsSpace(pieces, at - 1) ? at - 2 : at - 1;
    std::string together;
    for (size_t i = first; i <= at; ++i)
        together += pieces[i].text;
    std::vector<Token> tokens = tokenize(together);
    return tokens.size() != at - first + 1 || textOf(tokens.back(), together) != pieces[at].text;
}

bool spaceBefore(const std::vector<Piece>& pieces, size_t at) {
    return wantsSpace(pieces, at) || wouldJoin(pieces, at);
}

/// One output line, its trailing comment apart so that neighbours can align.
struct Line {
    std::string code;
    std::string comment;
    size_t emptyBefore = 0;
};

/// Puts pieces into lines.
class Writer {
public:
    Writer(const std::vector<Piece>& pieces, std::string_view lineEnd)
        : m_pieces(pieces), m_lineEnd(lineEnd) {}

    std::string write() {
        for (size_t i = 0; i < m_pieces.size(); ++i)
            add(i);
        align();
        std::string out;
        for (const Line& line : m_lines) {
            out += line.emptyBefore ? m_lineEnd : "";
            out += line.code + line.comment;
            out += m_lineEnd;
        }
        return out;
    }

private:
    void add(size_t at) {
        const Piece& piece = m_pieces[at];
        bool begins = m_lines.empty() || piece.breaks > 0 || !m_lines.back().comment.empty();
        if (piece.is("}"))
            m_depth -= m_depth > 0 && piece.brace == Brace::Block ? 1 : 0;
        if (begins) {
            bool first = m_lines.empty();
            m_lines.emplace_back();
            m_lines.back().emptyBefore = !first && piece.breaks > 1 ? 1 : 0;
            m_lines.back().code = std::string(indent(piece), ' ') + std::string(piece.text);
        } else if (piece.isComment()) {
            m_lines.back().comment = std::string(piece.text);
        } else {
            if (spaceBefore(m_pieces, at))
                m_lines.back().code += ' ';
            m_lines.back().code += piece.text;
        }
        if (piece.is("{") && piece.brace == Brace::Block)
            ++m_depth;
        m_open += piece.is("(") || piece.is("[") ? 1 : 0;
        m_open -= m_open > 0 && (piece.is(")") || piece.is("]")) ? 1 : 0;
        if (!piece.isComment())
            m_continues = !(piece.is(";") ||
                            ((piece.is("{") || piece.is("}")) && piece.brace == Brace::Block));
    }

    size_t indent(const Piece& piece) const {
        bool continues =
            m_continues && !piece.isComment() && !(piece.is("}") && piece.brace == Brace::Block);
        if (!continues)
            return m_depth * indentWidth;
        // Alternatives and steps of a chain hang under their statement.
        bool hangs = piece.is("|") || piece.is("->");
        return (m_depth + m_open) * indentWidth + (hangs ? indentWidth : continuationWidth);
    }

    /// Trailing comments of lines that follow each other begin in one column.
    void align() {
        for (size_t i = 0; i < m_lines.size(); ++i) {
            size_t end = i, width = 0;
            for (; end < m_lines.size() && !m_lines[end].comment.empty(); ++end) {
                if (end > i && m_lines[end].emptyBefore > 0)
                    break;
                width = std::max(width, m_lines[end].code.size());
            }
            for (size_t line = i; line < end; ++line)
                m_lines[line].code.resize(width + 2, ' ');
            i = end > i ? end - 1 : i;
        }
    }

    const std::vector<Piece>& m_pieces;
    std::string_view m_lineEnd;
    std::vector<Line> m_lines;
    size_t m_depth = 0; ///< open blocks
    size_t m_open = 0;  ///< open parentheses and brackets
    bool m_continues = false;
};

/// How lines end: as the first one that does not end inside a string.
std::string_view lineEndOf(std::string_view text, const std::vector<Token>& tokens) {
    size_t end = 0;
    for (size_t i = 0; i <= tokens.size(); ++i) {
        const size_t begin = i < tokens.size() ? tokens[i].begin : text.size();
        const size_t line = text.substr(0, begin).find('\n', end);
        if (line != std::string_view::npos)
            return line > 0 && text[line - 1] == '\r' ? "\r\n" : "\n";
        end = i < tokens.size() ? tokens[i].end : end;
    }
    return "\n";
}

} // namespace

std::string formatText(std::string_view text) {
    std::vector<Token> tokens = tokenize(text);
    for (const Token& token : tokens)
        if (token.kind == Token::Kind::Unclosed || token.kind == Token::Kind::Stray)
            return std::string(text);
    std::vector<Piece> pieces = piecesOf(text, tokens);
    nameBraces(pieces);
    return std::string(text.substr(0, markLength(text))) +
           Writer(pieces, lineEndOf(text, tokens)).write();
}

} // namespace fuselage::dsl
