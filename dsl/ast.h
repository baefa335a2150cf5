// SPDX-License-Identifier: Apache-2.0
// What a .fuse text says, as plain structs with spans: the result of dsl/parse, the input of
// dsl/resolve, dsl/compile and dsl/print. Only shape: no name is looked up here. An element whose
// span is empty was not understood and has been reported; later phases skip it.
#pragma once

#include "core/support/source.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fuselage::dsl::ast {

/// A word with its place.
struct Name {
    std::string text;
    Span span;
};

struct NamedExpr;

/// An expression; the same node type everywhere, so that walks stay one switch.
struct Expr {
    enum class Kind : uint8_t {
        Missing, ///< not parsed
        Number,  ///< number; text as written
        Text,    ///< text without quotes, escapes resolved
        Lower,   ///< x, gain, none, true
        Upper,   ///< N; in a chain step an operator without operands
        ListOf,  ///< w[] or N[]: text is the name
        List,    ///< [a, b]
        Set,     ///< {a, b}
        Member,  ///< args[0].text
        Index,   ///< args[0][args[1]]
        Slice,   ///< args[0][args[1]:args[2]]; an end that is left out is Missing
        Call,    ///< text(args, named)
        Node,    ///< Text(args)[named]: builds a node, only in rewrites
        Unary,   ///< text is "-" or "not"
        Binary,  ///< text is the operator
        Chain,   ///< args[0] -> args[1] -> ..., only in rewrites
    };

    Kind kind = Kind::Missing;
    bool isInteger = false;
    uint16_t depth = 0; ///< levels below; the grammar limits it
    double number = 0;
    std::string text;
    std::vector<Expr> args;
    std::vector<NamedExpr> named;
    Span span;
};

struct NamedExpr {
    Name name; ///< "..." in a node: all attributes of the node that makes `value`
    Expr value;

    bool isSpread() const { return name.text == "..."; }
};

/// "2..16"; a single number has least == most.
struct Range {
    uint32_t least = 1;
    uint32_t most = 1;
    Span span;
};

struct Dim {
    enum class Kind : uint8_t { Value, Any, Rest };

    Kind kind = Kind::Value;
    Expr value; ///< only with Value; a lone Upper name is a dimension variable
    Span span;
};

/// "const scalar float16|float [N, 3, ...]"
struct TypeSpec {
    std::vector<Name> flags;
    std::vector<Name> dtypes;
    bool hasDims = false;
    std::vector<Dim> dims;
    Span span;
};

/// "axis in {-1, 3}"
struct Test {
    Name attribute;
    std::string comparison;
    Expr value;
    Span span;
};

struct Arg;
struct Alternative;

struct Term {
    enum class Kind : uint8_t { Hole, Value, Number, Node, Region, Group };

    Kind kind = Kind::Hole;
    std::optional<Name> capture;  ///< s@
    Name name;                    ///< value, operator ("Relu", "com.acme.Gated"), class, pattern
    bool mayBeAbsent = false;     ///< x?
    bool rest = false;            ///< x...
    std::optional<TypeSpec> type; ///< of a value
    std::string number;           ///< as written
    std::string tolerance;        ///< as written, may be empty
    std::string prefix;           ///< "", ordered, flat, spec
    bool hasArguments = false;
    std::vector<Arg> args;
    std::vector<Test> tests;
    Range range;                           ///< of a region
    std::optional<uint32_t> outputs;       ///< of a region
    std::vector<Alternative> alternatives; ///< of a group
    Span span;
};

struct Step {
    enum class Quantifier : uint8_t { One, Optional, Repeat };

    Term term;
    Quantifier quantifier = Quantifier::One;
    Range range;
    Span span;
};

struct Chain {
    std::vector<Step> steps;
    Span span;
};

struct Arg {
    std::optional<Name> name;
    Chain chain;
};

struct Alternative {
    std::optional<Name> label;
    Chain chain;
};

struct Choice {
    std::vector<Alternative> alternatives;
    Span span;
};

struct Let {
    Name name;
    Expr value;
    Span span;
};

struct Where {
    std::vector<Expr> conditions;
    Span span;
};

struct Define {
    std::vector<Name> names;
    Choice choice;
    Span span;
};

struct Unless;
struct Many;
using Statement = std::variant<Define, Let, Where, Unless, Many>;

struct Unless {
    std::vector<Statement> body;
    Span span;
};

struct Many {
    Range range;
    bool all = false;
    std::vector<Statement> body;
    Span span;
};

struct Match {
    std::vector<Statement> body;
    Span span;
    bool isBroken = false; ///< some statements could not be parsed and were left out
};

struct Target {
    Name name;
    bool isList = false;
};

struct Assign {
    std::vector<Target> targets;
    Expr value;
    Span span;
};

using RewriteStatement = std::variant<Assign, Let>;

struct Rewrite {
    std::vector<RewriteStatement> body;
    Span span;
};

struct Gate {
    Expr condition; ///< Lower "always", and "measured" in front, are words of gates
    Span span;
};

struct Escape {
    std::vector<Name> names;
    Name policy;
    std::optional<Expr> condition;
    Span span;
};

struct Numeric {
    Name word;
    Span span;
};

struct QdqPoint {
    Name name;
    Name value;
    std::optional<int64_t> axis;
    std::optional<Expr> condition;
    Span span;
};

struct Qdq {
    std::vector<QdqPoint> points;
    Span span;
};

/// "N in {1, 7}", "x in 0..100".
struct With {
    Name name;
    Expr value;              ///< of a dimension variable
    std::string least, most; ///< of a value, as written
};

struct Verify {
    uint32_t samples = 0;
    std::string tolerance; ///< as written, may be empty
    std::vector<With> with;
    Span span;
};

struct Hint {
    std::string text;
    Span span;
};

/// "as com.acme.Gated(x, w)[alpha = a];"
struct As {
    Name name;
    std::vector<Name> operands; ///< none: in the order of the rule's names
    std::vector<NamedExpr> attributes;
    Span span;
};

/// One line of a test: `word` is graph, zoo, model, fires, miss, same or nodes.
struct TestEntry {
    Name word;
    std::string text; ///< string, name, code or number as written
    Span span;
};

struct TestBlock {
    std::string name;
    std::vector<TestEntry> entries;
    Span span;
};

using Clause =
    std::variant<Match, Rewrite, Gate, Escape, Numeric, Qdq, Verify, Hint, As, TestBlock>;

struct Import {
    std::string path;
    Span span;
};

struct Opset {
    int64_t least = 0;
    std::optional<int64_t> below;
    Span span;
};

struct ClassMember {
    bool isTrait = false;
    Name name;
};

struct Class {
    Name name;
    std::vector<ClassMember> members;
    std::string documentation;
    Span span;
};

struct Function {
    Name name;
    std::vector<Name> parameters;
    Expr body;
    std::string documentation;
    Span span;
};

struct Parameter {
    Name name;
    std::optional<TypeSpec> type;
    bool mayBeAbsent = false; ///< only of an operator
};

struct Pattern {
    Name name;
    std::vector<Parameter> parameters;
    std::vector<Name> results;
    std::vector<Statement> body;
    std::string documentation;
    Span span;
};

/// "form Gelu(x)[approximate == "tanh"] { y = ...; }": another way to write an operator.
struct Form {
    Pattern pattern; ///< named after the operator; its result is what the body defines last
    std::vector<NamedExpr> attributes; ///< of the operator that it is a form of
    std::string documentation;
    Span span;
};

/// "alpha: float = 1"
struct OperatorAttribute {
    Name name;
    Name type;
    std::optional<Expr> fallback;
    Span span;
};

/// "op com.acme.Gated(x, w) -> y [alpha: float = 1] { y = ...; }", or with ";" in place of a body.
struct Operator {
    Pattern pattern; ///< its statements are the body
    std::vector<OperatorAttribute> attributes;
    bool hasBody = false;
    std::string documentation;
    Span span;
};

/// One of "in phase", "priority n", "once", "replaces Rule".
struct Modifier {
    std::string word;
    Name name;
    int64_t number = 0;
    Span span;
};

struct Rule {
    Name name;
    std::vector<Modifier> modifiers;
    std::vector<Clause> clauses;
    std::string documentation;
    Span span;
};

struct PipelineStep {
    Name phase;
    bool repeat = false;
    std::optional<Name> selection;
};

struct Pipeline {
    Name name;
    std::vector<PipelineStep> steps;
    std::optional<Name> kept; ///< a class
    std::string documentation;
    Span span;
};

using Item = std::variant<Import, Opset, Class, Function, Pattern, Form, Operator, Rule, Pipeline>;

struct File {
    int64_t version = 0;
    std::vector<Item> items;
    uint32_t source = 0; ///< index in the SourceSet
};

/// Where an item or clause or statement stands; empty when it was not understood.
template <typename Variant> const Span& spanOf(const Variant& variant) {
    return std::visit([](const auto& it) -> const Span& { return it.span; }, variant);
}

/// The name behind the dot of a Member.
inline Span spanOfMember(const Expr& expr) {
    Span out = expr.span;
    out.begin = out.end - std::min(static_cast<uint32_t>(expr.text.size()), out.end - out.begin);
    return out;
}

} // namespace fuselage::dsl::ast
