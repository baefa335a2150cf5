// SPDX-License-Identifier: Apache-2.0
// What can stand at the cursor. The place is told from the tokens before it, since the text is
// rarely complete there.
#include "core/graph/dtype.h"
#include "core/ops/op_table.h"
#include "core/rewrite/functions.h"
#include "core/rewrite/members.h"
#include "core/rewrite/trace.h"
#include "dsl/codes.h"
#include "dsl/service/texts_internal.h"
#include "dsl/suggest.h"
#include "dsl/words.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

/// What the tokens before the cursor say.
struct Cursor {
    std::vector<Token> before; ///< without comments and without the word being typed
    std::string_view text;
    std::string prefix;              ///< of the word being typed
    std::vector<std::string> blocks; ///< heads of the open braces: "rule", "match", "test" ...
    std::string attributesOf;        ///< operator whose [...] is open
    bool inComment = false, inString = false;

    std::string_view last(size_t back = 0) const {
        return back < before.size() ? textOf(before[before.size() - 1 - back], text)
                                    : std::string_view();
    }

    /// The word that the statement, clause or item at the cursor begins with.
    std::string_view head() const { return statementHead(before, text, before.size()); }
};

/// The operator whose attribute tests are open: "Conv(x, w)[" with the cursor behind it.
std::string openAttributes(const std::vector<Token>& tokens, std::string_view text) {
    int depth = 0;
    for (size_t i = tokens.size(); i-- > 0;) {
        std::string_view mark = textOf(tokens[i], text);
        if (mark == ";" || mark == "{" || mark == "}")
            return {};
        if (mark == "]" || mark == ")")
            ++depth;
        if ((mark == "[" || mark == "(") && depth-- == 0) {
            if (mark != "[" || i == 0)
                return {};
            size_t name = i - 1;
            if (textOf(tokens[name], text) == ")") // back over the operands
                for (int open = 0; name > 0; --name) {
                    std::string_view at = textOf(tokens[name], text);
                    open += at == ")" ? 1 : at == "(" ? -1 : 0;
                    if (open == 0) {
                        --name;
                        break;
                    }
                }
            const size_t first = beginOfName(tokens, text, name);
            return std::string(
                text.substr(tokens[first].begin, tokens[name].end - tokens[first].begin));
        }
    }
    return {};
}

Cursor cursorAt(const ParsedText& parsed, uint32_t offset) {
    Cursor out;
    out.text = parsed.text();
    for (const Token& token : parsed.parsed.tokens) {
        if (token.begin >= offset)
            break;
        bool inside = token.end > offset || token.end == offset;
        bool comment = token.kind == Token::Kind::Comment || token.kind == Token::Kind::DocComment;
        if (comment) {
            out.inComment = inside;
            continue;
        }
        if (token.kind == Token::Kind::String || token.kind == Token::Kind::Unclosed) {
            if (token.end > offset || token.kind == Token::Kind::Unclosed) {
                out.inString = true;
                out.prefix = out.text.substr(token.begin + 1, offset - token.begin - 1);
                break;
            }
        } else if (token.kind == Token::Kind::Word && inside) {
            out.prefix = out.text.substr(token.begin, offset - token.begin);
            break;
        }
        if (textOf(token, out.text) == "{")
            out.blocks.emplace_back(statementHead(out.before, out.text, out.before.size()));
        else if (textOf(token, out.text) == "}" && !out.blocks.empty())
            out.blocks.pop_back();
        out.before.push_back(token);
    }
    out.attributesOf = openAttributes(out.before, out.text);
    return out;
}

/// Collects what fits the prefix, in either case, each label once.
class Proposals {
public:
    explicit Proposals(const std::string& prefix) : m_prefix(lowered(prefix)) {}

    void add(const std::string& label, const char* kind, const std::string& detail = {},
             const std::string& documentation = {}) {
        if (lowered(label).starts_with(m_prefix) && m_seen.insert(label).second)
            m_out.push_back({label, label, kind, detail, documentation});
    }

    void add(WordPlace place, const char* kind, std::string_view of = {}) {
        for (const WordRow& row : wordRows())
            if (row.place == place && of == row.of)
                add(row.word, kind, row.documentation);
    }

    std::vector<Completion> take() { return std::move(m_out); }

private:
    std::string m_prefix; ///< in lower case
    std::set<std::string> m_seen;
    std::vector<Completion> m_out;
};

void addAttributes(Texts& texts, const std::string& name, const std::string& op, Proposals& out) {
    const std::optional<OperatorParts> parts = partsOf(texts, name, op);
    if (!parts)
        return;
    for (const AttributeSchema& schema : parts->attributes)
        out.add(schema.name, "attribute", schema.type, "attribute of " + op);
    for (const std::string& input : parts->inputs)
        out.add(input, "attribute", "constant input", "input of " + op);
}

void addValues(const ParsedText& text, uint32_t offset, Proposals& out) {
    for (const Occurrence& occurrence : text.occurrences) {
        bool local = occurrence.kind == Occurrence::Kind::Value ||
                     occurrence.kind == Occurrence::Kind::Dimension;
        const Span& item = spanOf(text.parsed.file.items[occurrence.item]);
        if (local && item.begin <= offset && offset <= item.end)
            out.add(occurrence.text, "value");
    }
}

void addOperators(Proposals& out) {
    for (const auto& [name, op] : operatorsByName())
        out.add(name, "operator", {}, operatorMarkdown(op));
    for (const std::string& name : publishedNames())
        if (name.find('.') == std::string::npos)
            out.add(name, "operator", {}, operatorMarkdown(*publishedNamed(name)));
}

/// The rest of an operator's name whose domain is being typed: "com.acme." and what follows.
void addOfDomain(const Cursor& cursor, Texts& texts, const std::string& name, Proposals& out) {
    if (cursor.before.size() < 2 || cursor.last() != ".")
        return;
    const size_t first = beginOfName(cursor.before, cursor.text, cursor.before.size() - 2);
    const std::string domain(cursor.text.substr(
        cursor.before[first].begin, cursor.before.back().end - cursor.before[first].begin));
    auto add = [&](const std::string& op, const std::string& detail) {
        if (op.starts_with(domain))
            out.add(op.substr(domain.size()), "operator", detail);
    };
    for (const auto& [word, op] : operatorsByName()) {
        const OpRow& row = rowOf(op);
        const std::string of = *row.domain ? row.domain : "ai.onnx";
        add(of + "." + row.name, {});
    }
    for (const std::string& op : publishedNames())
        add(op, "published");
    for (const Definition& definition : texts.visible(name))
        if (Symbol symbol = symbolOf(*definition.item); symbol.kind == "operator")
            add(symbol.name, symbol.detail);
}

void addCallables(Texts& texts, const std::string& name, Proposals& out) {
    for (const Definition& definition : texts.visible(name)) {
        Symbol symbol = symbolOf(*definition.item);
        if (symbol.kind == "pattern" || symbol.kind == "class" || symbol.kind == "operator")
            out.add(symbol.name, symbol.kind.c_str(), symbol.detail);
    }
    addOperators(out);
}

void addFunctions(Texts& texts, const std::string& name, Proposals& out) {
    for (const FunctionRow& row : functionRows())
        out.add(row.name, "function", row.signature, row.documentation);
    for (const Definition& definition : texts.visible(name)) {
        Symbol symbol = symbolOf(*definition.item);
        if (symbol.kind == "function")
            out.add(symbol.name, "function", symbol.detail);
    }
}

void addTypes(Proposals& out) {
    out.add(WordPlace::Flag, "keyword");
    for (int number = 1; number < 32; ++number)
        if (auto type = dtypeFromOnnx(number))
            out.add(nameOf(*type), "type");
}

/// The operator that makes a value, from the last `value@Op` or `value = Op` before the cursor:
/// what is being typed does not parse yet.
std::string makerOf(const Cursor& cursor, std::string_view value) {
    auto word = [&](size_t at) {
        return at < cursor.before.size() ? textOf(cursor.before[at], cursor.text)
                                         : std::string_view();
    };
    for (size_t at = cursor.before.size(); at-- > 0;) {
        if (isItemKeyword(word(at)))
            return {};
        if (word(at) != value || (word(at + 1) != "@" && word(at + 1) != "="))
            continue;
        size_t op = at + 2;
        while (word(op) == "ordered" || word(op) == "flat" || word(op) == "spec")
            ++op;
        size_t last = op;
        while (word(last + 1) == "." && last + 2 < cursor.before.size())
            last += 2;
        return op < cursor.before.size() ? std::string(cursor.text.substr(
                                               cursor.before[op].begin,
                                               cursor.before[last].end - cursor.before[op].begin))
                                         : std::string();
    }
    return {};
}

/// "com.microsoft.": a name of several words, which no value has, or one that begins operators.
bool isBehindDomain(const Cursor& cursor) {
    if (cursor.before.size() < 2)
        return false;
    const size_t last = cursor.before.size() - 2;
    const size_t first = beginOfName(cursor.before, cursor.text, last);
    return first != last && !isRoot(textOf(cursor.before[first], cursor.text));
}

/// Members of every value, and attributes of the operator that makes this one.
void addMembers(const Cursor& cursor, Texts& texts, const std::string& name, Proposals& out) {
    if (isBehindDomain(cursor))
        return addOfDomain(cursor, texts, name, out);
    out.add(WordPlace::Member, "member");
    if (const std::string op = makerOf(cursor, cursor.last(1)); !op.empty())
        addAttributes(texts, name, op, out);
    addOfDomain(cursor, texts, name, out);
}

/// Whether the statement or item has the mark before the cursor.
bool hasMark(const Cursor& cursor, std::string_view mark) {
    for (size_t back = 0;; ++back) {
        const std::string_view word = cursor.last(back);
        if (word.empty() || word == ";" || word == "{" || word == "}")
            return false;
        if (word == mark)
            return true;
    }
}

/// "pipeline p = convert*" with the cursor behind it.
bool isBehindPhase(const Cursor& cursor) {
    return cursor.head() == "pipeline" && hasMark(cursor, "=") && cursor.last() != "=";
}

/// `x: const`, `x: float|`: another word of the type may follow.
bool isInType(const Cursor& cursor) {
    size_t back = 0;
    while (dtypeFromName(cursor.last(back)) || cursor.last(back) == "|" ||
           cursor.last(back) == "const" || cursor.last(back) == "scalar" ||
           cursor.last(back) == "input")
        ++back;
    return back > 0 && cursor.last(back) == ":";
}

void addRules(Texts& texts, const std::string& name, Proposals& out) {
    for (const Definition& definition : texts.visible(name))
        if (Symbol symbol = symbolOf(*definition.item); symbol.kind == "rule")
            out.add(symbol.name, "rule", symbol.detail);
}

/// Why a rule did not fire.
void addMisses(Proposals& out) {
    for (const CodeRow& row : codeTable())
        if (*row.code == 'M')
            out.add(row.code, "value", row.meaning);
}

/// Places that one or two tokens before the cursor decide. False: none of them.
bool addByLastToken(const Cursor& cursor, const ServiceWords& words, Texts& texts,
                    const std::string& name, Proposals& out) {
    std::string_view last = cursor.last();
    if (last == "." && isRoot(cursor.last(1)))
        out.add(WordPlace::RootMember, "member", cursor.last(1));
    else if (last == ".")
        addMembers(cursor, texts, name, out);
    else if (last == "@" && (cursor.last(1) == "=" || cursor.last(1) == "|"))
        out.add(WordPlace::Trait, "trait");
    else if (last == "zoo")
        for (const std::string& model : words.zoo)
            out.add(model, "value", "network of the zoo");
    else if (last == "expect")
        out.add(WordPlace::Expect, "keyword");
    else if (last == "numeric")
        out.add(WordPlace::Numeric, "keyword");
    else if (last == "gate") {
        out.add(WordPlace::Gate, "keyword");
        out.add(WordPlace::Root, "value");
    } else if (last == "by")
        out.add(WordPlace::Selection, "keyword");
    else if ((last == "in" && cursor.blocks.empty()) || last == "then")
        out.add(WordPlace::Phase, "phase");
    else if (last == "replaces")
        addRules(texts, name, out);
    else if (last == "miss")
        addMisses(out);
    else if (last == "as")
        addCallables(texts, name, out);
    else if (last == "=" && cursor.head() == "pipeline")
        out.add(WordPlace::Phase, "phase");
    else if (last == "keep")
        addCallables(texts, name, out);
    else if (isBehindPhase(cursor))
        out.add(WordPlace::Pipeline, "keyword");
    else
        return false;
    return true;
}

void addItems(const Cursor& cursor, Proposals& out) {
    if (cursor.before.empty())
        out.add("fuse 1;", "keyword", "begins every file");
    else
        out.add(WordPlace::Item, "keyword");
}

/// Behind the first word of an item, before its block: by the kind of the item.
void addToHead(const Cursor& cursor, Texts& texts, const std::string& name, uint32_t offset,
               Proposals& out) {
    const std::string_view head = cursor.head(), last = cursor.last();
    if (last == head) {
        if (head == "form")
            addOperators(out);
        return; // a person's own name, or a number
    }
    if (head == "rule") {
        out.add(WordPlace::Modifier, "keyword");
    } else if (head == "class" && hasMark(cursor, "=")) {
        addCallables(texts, name, out);
    } else if (head == "fn" && hasMark(cursor, "=")) {
        addValues(*texts.find(name), offset, out);
        addFunctions(texts, name, out);
    } else if (last == ":" || isInType(cursor)) {
        addTypes(out);
    }
}

/// Places that the innermost open brace decides.
void addByBlock(const Cursor& cursor, Texts& texts, const std::string& name, uint32_t offset,
                Proposals& out) {
    const std::string block = cursor.blocks.empty() ? "" : cursor.blocks.back();
    std::string_view last = cursor.last();
    bool begins = last.empty() || last == ";" || last == "{" || last == "}";
    if (cursor.blocks.empty())
        return begins ? addItems(cursor, out) : addToHead(cursor, texts, name, offset, out);
    if (block == "rule" || block == "test") {
        if (begins)
            out.add(block == "rule" ? WordPlace::Clause : WordPlace::Test, "keyword");
        else if (cursor.before.size() > 1 && last == ":")
            out.add(WordPlace::Policy, "keyword");
        else
            addValues(*texts.find(name), offset, out);
        return;
    }
    const ParsedText& text = *texts.find(name);
    if (isInType(cursor))
        return addTypes(out);
    if (last == ":") // also that of a slice
        addTypes(out);
    addValues(text, offset, out);
    if (begins)
        out.add(WordPlace::Statement, "keyword");
    out.add(WordPlace::Term, "keyword");
    addCallables(texts, name, out);
    addFunctions(texts, name, out);
    out.add(WordPlace::Root, "value");
}

} // namespace

std::vector<Completion> completionsAt(Texts& texts, const ServiceWords& words,
                                      const std::string& name, uint32_t offset) {
    const ParsedText* text = texts.find(name);
    if (!text)
        return {};
    Cursor cursor = cursorAt(*text, offset);
    Proposals out(cursor.prefix);
    if (cursor.inComment)
        return {};
    if (cursor.inString) {
        if (cursor.last() == "import")
            for (const std::string& path : words.imports)
                out.add(path, "file");
        return out.take();
    }
    std::string_view last = cursor.last();
    const bool wantsAttribute = !cursor.attributesOf.empty() && (last == "[" || last == ",");
    if (wantsAttribute && partsOf(texts, name, cursor.attributesOf))
        addAttributes(texts, name, cursor.attributesOf, out);
    else if (!addByLastToken(cursor, words, texts, name, out))
        addByBlock(cursor, texts, name, offset, out);
    return out.take();
}

} // namespace fuselage::dsl
