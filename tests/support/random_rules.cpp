// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_rules.h"

#include "core/graph/dtype.h"
#include "dsl/tokens.h"

#include <initializer_list>
#include <random>

namespace fuselage::testing_support {

namespace {

namespace ast = dsl::ast;
using Kind = ast::Expr::Kind;

constexpr int deepest = 4; ///< levels of expressions and of patterns

class Maker {
public:
    explicit Maker(uint32_t seed) : m_engine(seed) {}

    ast::File file() {
        ast::File out;
        out.version = 1;
        for (uint32_t i = 0, n = 1 + below(4); i < n; ++i)
            out.items.push_back(item());
        return out;
    }

private:
    uint32_t below(uint32_t bound) { return m_engine() % bound; }

    bool oneIn(uint32_t n) { return below(n) == 0; }

    std::string pick(std::initializer_list<const char*> words) {
        return *(words.begin() + below(static_cast<uint32_t>(words.size())));
    }

    /// Up to `most` things made by `make`, `least` at least.
    template <typename Make> auto some(uint32_t least, uint32_t most, Make make) {
        std::vector<decltype(make())> out;
        for (uint32_t i = 0, n = least + below(most - least + 1); i < n; ++i)
            out.push_back(make());
        return out;
    }

    ast::Name lower() { return {pick({"x", "y", "w", "b", "long_name", "s2", "eps", "g"}), {}}; }

    ast::Name upper() { return {pick({"Relu", "Conv", "Add", "N", "K", "Act", "Mul3"}), {}}; }

    ast::Name phase() { return {pick({"fuse", "convert", "quantize"}), {}}; }

    std::string numeral() { return pick({"0", "1", "3", "0.5", "1e-4", "2.25E+3", "17", "inf"}); }

    std::string text() {
        return pick({"", "a b", "a \"quoted\" word", "back\\slash", "two\nlines", "// none", "{"});
    }

    std::string documentation() {
        return pick({"", "", "One line.", "Two\nlines.", "A gap\n\nand  indented\n  text.", "/ a"});
    }

    ast::Range range() {
        uint32_t least = below(5);
        return {least, least + below(4), {}};
    }

    // Expressions

    ast::Expr leaf() {
        ast::Expr out;
        switch (below(6)) {
        case 0:
            out.kind = Kind::Text;
            out.text = text();
            return out;
        case 1:
            out.kind = Kind::Upper;
            out.text = upper().text;
            return out;
        case 2:
            out.kind = Kind::ListOf;
            out.text = oneIn(2) ? lower().text : upper().text;
            return out;
        case 3:
            out.kind = Kind::Lower;
            out.text = oneIn(3) ? pick({"none", "true", "false"}) : lower().text;
            return out;
        default:
            out.kind = Kind::Number;
            out.text = numeral();
            out.number = out.text == "inf" ? 1.0 / 0.0 : std::stod(out.text);
            out.isInteger = out.text.find_first_not_of("0123456789") == std::string::npos;
            return out;
        }
    }

    ast::NamedExpr named(int depth) { return {lower(), expr(depth)}; }

    ast::NamedExpr spread() {
        ast::NamedExpr out{{"...", {}}, {}};
        out.value.kind = Kind::Lower;
        out.value.text = lower().text;
        return out;
    }

    ast::Expr expr(int depth) {
        if (depth >= deepest || oneIn(3))
            return leaf();
        auto inner = [&] { return expr(depth + 1); };
        auto namedInner = [&] { return named(depth + 1); };
        ast::Expr out;
        switch (below(10)) {
        case 0:
            out.kind = oneIn(2) ? Kind::List : Kind::Set;
            out.args = some(0, 3, inner);
            return out;
        case 1:
            out.kind = Kind::Member;
            out.text = lower().text;
            out.args = some(1, 1, inner);
            return out;
        case 2:
            out.kind = oneIn(3) ? Kind::Slice : Kind::Index;
            out.args = some(2, 2, inner);
            if (out.kind == Kind::Slice) {
                if (oneIn(3))
                    out.args[1] = {};
                out.args.push_back(oneIn(3) ? ast::Expr() : inner());
            }
            return out;
        case 3:
            out.kind = Kind::Call;
            out.text = lower().text;
            out.args = some(0, 2, inner);
            out.named = some(0, 2, namedInner);
            return out;
        case 4:
            out.kind = Kind::Node;
            out.text = upper().text;
            out.args = some(0, 2, inner);
            out.named = some(0, 2, namedInner);
            if (oneIn(4))
                out.named.push_back(spread());
            return out;
        case 5:
            out.kind = Kind::Unary;
            out.text = pick({"-", "not"});
            out.args = some(1, 1, inner);
            return out;
        case 6:
            out.kind = Kind::Chain;
            out.args = some(2, 3, inner);
            if (out.args[0].kind == Kind::Chain) // the parser makes one chain of both
                out.args[0] = leaf();
            return out;
        default:
            out.kind = Kind::Binary;
            out.text = pick({"or", "and", "==", "!=", "<", "<=", ">", ">=", "in", "??", "+", "-",
                             "*", "/", "%"});
            out.args = some(2, 2, inner);
            return out;
        }
    }

    // Patterns

    ast::Dim dim() {
        ast::Dim out;
        out.kind = oneIn(5)   ? ast::Dim::Kind::Rest
                   : oneIn(4) ? ast::Dim::Kind::Any
                              : ast::Dim::Kind::Value;
        if (out.kind == ast::Dim::Kind::Value)
            out.value = expr(2);
        return out;
    }

    ast::TypeSpec type() {
        ast::TypeSpec out;
        out.flags = some(0, 2, [&] { return ast::Name{pick({"const", "scalar", "input"}), {}}; });
        out.dtypes = some(0, 2, [&] {
            return ast::Name{nameOf(*dtypeFromOnnx(1 + below(26))), {}};
        });
        out.hasDims = oneIn(2) || (out.flags.empty() && out.dtypes.empty());
        if (out.hasDims)
            out.dims = some(0, 3, [&] { return dim(); });
        return out;
    }

    ast::Test test() {
        return {lower(), pick({"==", "!=", "<", "<=", ">", ">=", "in"}), expr(2), {}};
    }

    ast::Term node(int depth) {
        ast::Term out;
        out.kind = ast::Term::Kind::Node;
        out.name = upper();
        out.prefix = oneIn(5) ? pick({"ordered", "flat", "spec"}) : "";
        out.hasArguments = oneIn(2);
        if (out.hasArguments)
            out.args = some(0, 3, [&] {
                std::optional<ast::Name> name;
                if (oneIn(4))
                    name = oneIn(2) ? lower() : upper();
                return ast::Arg{name, chain(depth + 1)};
            });
        if (oneIn(3))
            out.tests = some(1, 2, [&] { return test(); });
        return out;
    }

    ast::Term term(int depth) {
        ast::Term out;
        uint32_t kind = depth >= deepest ? below(3) : below(8);
        if (kind == 0)
            return out; // `_`
        if (kind == 1) {
            out.kind = ast::Term::Kind::Number;
            out.number = (oneIn(4) ? "-" : "") + numeral();
            out.tolerance = oneIn(3) ? numeral() : "";
            return out;
        }
        if (kind <= 3) {
            out.kind = ast::Term::Kind::Value;
            out.name = lower();
            out.mayBeAbsent = oneIn(4);
            out.rest = oneIn(6);
            if (oneIn(3))
                out.type = type();
            return out;
        }
        if (kind == 4) {
            out.kind = ast::Term::Kind::Group;
            out.alternatives = choice(depth + 1).alternatives;
        } else if (kind == 5) {
            out.kind = ast::Term::Kind::Region;
            out.name = upper();
            out.range = range();
            if (oneIn(2))
                out.outputs = below(9);
        } else {
            out = node(depth);
        }
        if (oneIn(4))
            out.capture = lower();
        return out;
    }

    ast::Step step(int depth) {
        ast::Step out{term(depth), {}, {}, {}};
        // Behind a plain value `?` belongs to the value.
        bool plain = out.term.kind == ast::Term::Kind::Value && !out.term.type && !out.term.rest &&
                     !out.term.mayBeAbsent;
        if (oneIn(4) && !plain) {
            out.quantifier = ast::Step::Quantifier::Optional;
        } else if (oneIn(6)) {
            out.quantifier = ast::Step::Quantifier::Repeat;
            out.range = range();
        }
        return out;
    }

    ast::Chain chain(int depth) {
        return {some(1, depth > 2 ? 1 : 3, [&] { return step(depth); }), {}};
    }

    ast::Choice choice(int depth) {
        return {some(1, 3,
                     [&] {
                         std::optional<ast::Name> label;
                         if (oneIn(4))
                             label = lower();
                         return ast::Alternative{label, chain(depth)};
                     }),
                {}};
    }

    std::vector<ast::Name> names(uint32_t least) {
        return some(least, 3, [&] { return lower(); });
    }

    ast::Statement statement(int depth) {
        switch (below(depth >= 2 ? 5U : 7U)) {
        case 0:
            return ast::Let{lower(), expr(1), {}};
        case 1:
            return ast::Where{some(1, 2, [&] { return expr(1); }), {}};
        case 5:
            return ast::Unless{statements(depth + 1), {}};
        case 6:
            return ast::Many{range(), oneIn(2), statements(depth + 1), {}};
        default:
            return ast::Define{names(0), choice(0), {}};
        }
    }

    std::vector<ast::Statement> statements(int depth) {
        return some(0, 3, [&] { return statement(depth); });
    }

    // Clauses and items

    ast::RewriteStatement rewriteStatement() {
        if (oneIn(3))
            return ast::Let{lower(), expr(0), {}};
        auto target = [&] { return ast::Target{lower(), oneIn(3)}; };
        return ast::Assign{some(1, 2, target), expr(0), {}};
    }

    ast::TestEntry testEntry() {
        std::string word = pick({"graph", "model", "zoo", "fires", "nodes", "same", "miss"});
        std::string value = word == "graph" || word == "model" ? text()
                            : word == "zoo"                    ? "resnet50"
                            : word == "miss"                   ? "M0203"
                                                               : numeral();
        return {{word, {}}, value, {}};
    }

    ast::Clause clause() {
        switch (below(12)) {
        case 0:
            return ast::Rewrite{some(0, 3, [&] { return rewriteStatement(); }), {}};
        case 1:
            return ast::Gate{expr(0), {}};
        case 2: {
            ast::Escape out{names(1), {pick({"forbid", "export", "duplicate"}), {}}, {}, {}};
            if (oneIn(2))
                out.condition = expr(1);
            return out;
        }
        case 3:
            return ast::Numeric{{pick({"exact", "wider", "reassociated", "approximate"}), {}}, {}};
        case 4:
            return ast::Qdq{some(0, 3,
                                 [&] {
                                     std::optional<int64_t> axis;
                                     if (oneIn(2))
                                         axis = static_cast<int64_t>(below(5)) - 2;
                                     ast::QdqPoint out{upper(), lower(), axis, {}, {}};
                                     if (oneIn(2))
                                         out.condition = expr(1);
                                     return out;
                                 }),
                            {}};
        case 5:
            return ast::Verify{below(99),
                               oneIn(2) ? numeral() : "",
                               some(0, 2,
                                    [&] {
                                        return oneIn(2)
                                                   ? ast::With{upper(), expr(2), {}, {}}
                                                   : ast::With{lower(), {}, numeral(), numeral()};
                                    }),
                               {}};
        case 6:
            return ast::Hint{text(), {}};
        case 8:
            return ast::As{{"com.acme." + upper().text, {}},
                           some(0, 3, [&] { return lower(); }),
                           some(0, 2,
                                [&] {
                                    return ast::NamedExpr{lower(), expr(1)};
                                }),
                           {}};
        case 7:
            return ast::TestBlock{text(), some(0, 3, [&] { return testEntry(); }), {}};
        default:
            return ast::Match{statements(0), {}};
        }
    }

    ast::Modifier modifier() {
        ast::Modifier out;
        out.word = pick({"in", "priority", "once", "replaces"});
        if (out.word == "in")
            out.name = phase();
        if (out.word == "priority")
            out.number = static_cast<int64_t>(below(200)) - 100;
        if (out.word == "replaces")
            out.name = upper();
        return out;
    }

    ast::PipelineStep pipelineStep() {
        ast::PipelineStep out{phase(), oneIn(2), {}};
        if (oneIn(3))
            out.selection = ast::Name{pick({"order", "gain", "exact"}), {}};
        return out;
    }

    ast::Item item() {
        auto parameter = [&] {
            ast::Parameter out{lower(), {}};
            if (oneIn(3))
                out.type = type();
            return out;
        };
        switch (below(10)) {
        case 0:
            return ast::Import{text(), {}};
        case 1: {
            ast::Opset out{static_cast<int64_t>(below(20)), {}, {}};
            if (oneIn(2))
                out.below = below(30);
            return out;
        }
        case 2: {
            auto member = [&] {
                bool isTrait = oneIn(2);
                return ast::ClassMember{isTrait, isTrait ? lower() : upper()};
            };
            return ast::Class{upper(), some(1, 3, member), documentation(), {}};
        }
        case 3:
            return ast::Function{lower(), names(0), expr(0), documentation(), {}};
        case 4:
            return ast::Pattern{upper(),       some(0, 3, parameter), names(1),
                                statements(0), documentation(),       {}};
        case 6: {
            auto attribute = [&] { return ast::NamedExpr{lower(), expr(0)}; };
            return ast::Form{{upper(), some(0, 3, parameter), {}, statements(0), {}, {}},
                             some(0, 2, attribute),
                             documentation(),
                             {}};
        }
        case 5:
            return ast::Pipeline{lower(),
                                 some(1, 3, [&] { return pipelineStep(); }),
                                 oneIn(3) ? std::optional(upper()) : std::nullopt,
                                 documentation(),
                                 {}};
        default:
            return ast::Rule{upper(),
                             some(0, 3, [&] { return modifier(); }),
                             some(0, 4, [&] { return clause(); }),
                             documentation(),
                             {}};
        }
    }

    std::mt19937 m_engine;
};

} // namespace

dsl::ast::File randomFile(uint32_t seed) {
    return Maker(seed).file();
}

std::string scattered(const std::string& text, uint32_t seed) {
    std::mt19937 engine(seed);
    auto oneIn = [&](uint32_t n) { return engine() % n == 0; };
    std::string out;
    uint32_t comments = 0;
    for (const dsl::Token& token : dsl::tokenize(text)) {
        bool comment =
            token.kind == dsl::Token::Kind::Comment || token.kind == dsl::Token::Kind::DocComment;
        out += oneIn(3) ? "\n" : oneIn(4) ? "\t  " : " ";
        if (oneIn(12))
            out += (oneIn(2) ? "// note " : "\n\n   // note ") + std::to_string(++comments) + "\n";
        out += dsl::textOf(token, text);
        out += comment ? "\n" : "";
    }
    return out;
}

} // namespace fuselage::testing_support
