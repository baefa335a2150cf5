// SPDX-License-Identifier: Apache-2.0
#include "dsl/codes.h"

#include <algorithm>
#include <array>

namespace fuselage::dsl {

namespace {

// clang-format off
constexpr CodeRow rows[] = {
    // Text
    {"E0101", "syntax: something else is expected here",
     "write what the message expects",
     "rule R { match { y = Relu(x) } }"},
    {"E0102", "a string is not closed",
     "put the closing quote",
     "import \"std/activation;"},
    {"E0103", "a bracket is not closed, or nothing opened it",
     "put the bracket that the message names",
     "rule R { match { y = Relu(x);"},
    {"E0104", "no `fuse 1;` on the first line, or a version of the language that is not known",
     "begin the file with `fuse 1;`",
     "fuse 2; rule R { match { y = Relu(x); } }"},
    {"E0105", "brackets nested more than 100 deep, or a chain of more than 200 steps",
     "name a part of it by a `pattern`", ""},
    {"E0106", "a character that the language does not use",
     "leave it out, or put it in quotes",
     "rule R { match { y = Relu(x) $ Neg; } }"},
    // Names
    {"E0201", "no operator, class or pattern of that name",
     "take the name that is offered, or import the file that defines it",
     "rule R { match { y = Rellu(x); } }"},
    {"E0202", "an import or a file cannot be loaded",
     "name a file that is there; built-in ones are `std/...`",
     "import \"std/activations\";"},
    {"E0203", "the name is taken: by an operator, in this file, or by another rule",
     "choose another name, or write `replaces` to switch the other rule off",
     "rule R { match { y = Relu(x); } } rule R { match { y = Neg(x); } }"},
    {"E0204", "no operator has such a trait",
     "take one of the traits of the op table, `@elementwise`",
     "class P = @elementwize;"},
    {"E0205", "too many operands, or a wrong number of parameters, outputs or results",
     "give as many as the operator or pattern has; `_` places the value before `->`",
     "rule R { match { y = Relu(x, z); } }"},
    {"E0206", "no function of that name",
     "take one of core/rewrite/functions, or define it by `fn`",
     "rule R { match { y = Relu(x: [N]); where lenght(x) > 1; } }"},
    {"E0207", "wrong number of arguments of a function",
     "give as many as it has parameters",
     "fn half(a) = a / 2; rule R { match { y = Relu(x: [N]); where half(N, 2) > 1; } }"},
    {"E0210", "a rule without `match`, or a test without a graph",
     "add the missing part",
     "rule R { gate always; }"},
    {"E0211", "a clause stands twice",
     "keep one of them",
     "rule R { match { y = Relu(x); } gate always; gate gain.us > 0; }"},
    {"E0212", "a pattern or function contains itself",
     "write `{1..n}` for repetition",
     "fn f(a) = f(a) + 1; rule R { match { y = Relu(x: [N]); where f(N) > 1; } }"},
    {"E0213", "too large when patterns and functions are written out",
     "use fewer alternatives inside of patterns that stand inside of others", ""},
    // Operators
    {"E0214", "the operator has no such attribute",
     "take the name that is offered",
     "rule R { match { y = Softmax(x)[axes == 1]; } }"},
    {"E0215", "`flat`, `spec`, `ordered` or `[...]` where they cannot stand",
     "`flat` needs an associative, commutative operator, `spec` an operator",
     "rule R { match { y = flat Sub(a, b, c); } }"},
    {"E0217", "`flat` takes 2 to 6 operands",
     "name as many, or nest two of them",
     "rule R { match { y = flat Mul(a); } }"},
    {"E0218", "the operator has no input of that name",
     "take the name that is offered, or place the operand by position",
     "rule R { match { y = Clip(x, minimum = 0); } }"},
    {"E0219", "a value of the wrong type",
     "write a value of the type that is expected",
     "rule R { match { y = Softmax(x)[axis == \"last\"]; } }"},
    {"E0220", "impossible by the operator's schema: an operand, element type, value or opset that it does not have",
     "write what the schema allows",
     "rule R { match { y = Not(x: float); } }"},
    {"E0221", "a contradiction: no graph can satisfy all that is written",
     "drop one of the two demands",
     "rule R { match { y = Relu(x: [N]); where N > 4, N < 3; } }"},
    {"E0222", "a rewrite leaves out an attribute that the operator requires",
     "add it",
     "rule R { match { y = Relu(x); } rewrite { y = Cast(x); } }"},
    {"E0223", "a declared operator whose attribute contradicts itself: a default of another type, or the name of a member",
     "write a default of the attribute's type, under a name of its own",
     "op com.acme.Gated(x) -> y [alpha: int = 0.5];"},
    {"E0224", "the body of an operator cannot be built: alternatives, optional steps, conditions",
     "write one statement for each value",
     "op com.acme.Act(x) -> y { y = Relu(x) | Tanh(x); }"},
    {"N0225", "an operator that nobody declared: it is known by domain and name only",
     "declare it: `op com.acme.Gated(x, w) -> y;`",
     "rule R { match { y = com.acme.Gated(x, w); } }"},
    {"E0226", "`as` where nothing is fused, or in the domain of ONNX itself",
     "build the operator in `rewrite`, or write a domain of yours",
     "rule R { match { y = Relu(x); } rewrite { y = Neg(x); } as com.acme.Act; }"},
    // Values
    {"E0230", "nothing is called that",
     "bind the name in `match`, or correct it",
     "rule R { match { y = Relu(x); } rewrite { y = Neg(z); } }"},
    {"E0232", "a name is bound twice",
     "give one of them another name",
     "rule R { match { y = Relu(x); y = Neg(x); } }"},
    {"E0233", "a list is used as one value, or the other way round",
     "names bound inside of `many` are lists outside: `m[]`",
     "rule R { match { x: [K]; many 2..4 { m = MatMul(x, w: const); } } rewrite { m = MatMul(x, w); } }"},
    {"E0234", "no such member of a value or root, or a root where it is not known yet",
     "take the name that is offered; `gain` and `device` stand in `gate`, `total` also in `escape ... if`",
     "rule R { match { y = Relu(x); where x.shpae[0] > 1; } }"},
    {"E0235", "an `escape` of a value that has one already, or that is no inner value",
     "keep one clause for each value that the match makes and reads",
     "rule R { match { y = s@Exp(x) -> Neg; } escape s: export; escape s: forbid; }"},
    {"E0240", "the first step of a chain cannot be left out",
     "write the optional operator behind a value: `x -> Relu?`",
     "rule R { match { y = Relu(x)? -> Neg; } }"},
    {"E0241", "a step of a chain does not read the value before it",
     "put `_` where that value goes",
     "rule R { match { y = Relu(x) -> z; } }"},
    {"E0242", "a node is built outside of `rewrite`",
     "move it into `rewrite`, or match it",
     "rule R { match { y = Relu(x); where Neg(x) == 1; } }"},
    {"E0243", "`many` inside of a pattern",
     "write it in the rule",
     "pattern P(x) -> y { many 2..3 { m = Relu(x); } y = Neg(x); } rule R { match { y = P(x); } }"},
    {"E0245", "a form, or a pattern that repeats, reads a value of its own behind `->`",
     "write the steps inside of each other: `Sqrt(Add(x, m))`",
     "pattern P(x) -> y { m = Exp(x); y = Neg(x) -> Mul(_, m); } rule R { match { y = x -> P{1..3}; } }"},
    {"E0247", "nothing to match: an empty block, a pattern that does not define its result, or a form that is its own operator",
     "add a statement that defines it, or delete it",
     "rule R { match { } }"},
    {"E0248", "an empty or too large range",
     "write the smaller number first",
     "rule R { match { y = x -> Neg{4..2}; } }"},
    {"E0249", "`rewrite` replaces nothing",
     "assign to an output of the match",
     "rule R { match { y = Relu(x); } rewrite { } }"},
    {"E0231", "the rewrite never fits what it replaces: another type or rank in every graph that matches",
     "cast or reshape the result",
     "rule R in convert { match { y = ReduceMax(x)[keepdims == 0]; } rewrite { y = x; } }"},
    // Rules against each other and against graphs
    {"E0302", "two rules of one priority match the same nodes and leave different graphs",
     "give the one that should win a higher priority",
     "rule A { match { y = MatMul(x, w) -> Relu; } } rule B { match { y = MatMul(x, w) -> (Relu | Abs); } }"},
    {"E0308", "the rule can never fire: rules of higher priority take every match",
     "raise its priority, or delete it",
     "rule A priority 9 { match { y = Conv -> (Relu | Abs); } } rule B { match { y = Conv(x, w: const) -> Relu; } }"},
    {"E0309", "an alternative that is never needed: those before it match whatever it matches",
     "delete it, or put it before the wider one",
     "rule R { match { y = Exp(x) -> (Neg | Abs | Abs); } }"},
    {"E0410", "a phase that repeats may not terminate: no measure shrinks under all of its rules",
     "mark one of the rules `once`",
     "rule A in convert { match { y = Exp(x); } rewrite { y = Tanh(x); } } rule B in convert { match { y = Tanh(x); } rewrite { y = Exp(x); } } pipeline default = convert*;"},
    {"W0311", "alternatives and orders of operands multiply to more ways than a search can try",
     "write `ordered` where the order is known, or make two rules of it",
     "rule R { match { y = Exp(x) -> Add{0..60} -> Add{0..60} -> Add{0..60} -> Add(_, k: const); } }"},
    {"W0313", "the rule never fires on the models given, or its gate refuses every match (`check -m MODEL`)",
     "take the change that is suggested, or delete the rule",
     "rule R { match { y = Conv(x, w); } } pipeline default = fuse;"},
    {"W0314", "an operator that a model hardly has once it is loaded: something else stands in its place",
     "match what stands there",
     "rule R { match { y = Relu(Identity(x)); } }"},
    {"W0315", "the rule never runs: no pipeline has its phase",
     "name a phase that one has, or write a pipeline with it",
     "rule R in convrt { match { y = Relu(x); } } pipeline default = convert then fuse;"},
    // Proof
    {"E0501", "unsound: the numeric proof found graphs where the rule changes the result",
     "add the condition that is suggested, or state `numeric`",
     "rule R { match { y = Sub(a, b); } rewrite { y = Sub(b, a); } }"},
    {"W0502", "no test in which the rule fires, or none in which it must not",
     "add a test with `expect fires 1;` and one with `expect fires 0;` or `expect miss CODE;`",
     "rule R { match { y = Relu(x); } }"},
    {"W0503", "no sample: the numeric proof made no graph in which the rule fires",
     "test it with `expect same`",
     "rule R { match { y = Relu(x: [N]); where N > 100000; } rewrite { y = x; } }"},
    // Why a rule did not fire
    {"M0201", "a node is wanted, nothing makes the value",
     "make the step optional",
     "rule R { match { y = x -> Exp -> Tanh; } }",
     "g (float[2] x) => (float[2] y) { y = Tanh(x) }"},
    {"M0202", "the node is already another part of the match",
     "name the value once and use the name twice",
     "rule R { match { y = Add(Relu(a), Relu(b)); } }",
     "g (float[2] x) => (float[2] y) { r = Relu(x) y = Add(r, r) }"},
    {"M0203", "another operator stands here",
     "add an alternative",
     "rule R { match { y = Exp(x) -> Tanh; } }",
     "g (float[2] x) => (float[2] y) { a = Abs(x) y = Tanh(a) }"},
    {"M0204", "an attribute has another value",
     "widen the test",
     "rule R { match { y = Softmax(x)[axis == -1]; } }",
     "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }"},
    {"M0205", "no constant near the number",
     "add an alternative with the number that was found",
     "rule R { match { y = Mul(x, 0.5); } }",
     "g (float[2] x) => (float[2] y) <float c = {0.25}> { y = Mul(x, c) }"},
    {"M0206", "an operand is missing, or one too many is there",
     "write `b?` for one that may be absent",
     "rule R { match { y = Clip(x, 0); } }",
     "g (float[2] x) => (float[2] y) <float l = {0}, float h = {6}> { y = Clip(x, l, h) }"},
    {"M0207", "the value is not constant, scalar, an input, or has another element type",
     "leave the word out, or add the element type",
     "rule R { match { y = MatMul(x, w: const); } }",
     "g (float[2,3] x, float[3,2] w) => (float[2,2] y) { y = MatMul(x, w) }"},
    {"M0208", "a dimension or the rank differs",
     "write `_` for the dimension or `[...]` for the rank",
     "rule R { match { y = Relu(x: [2, 4]); } }",
     "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"},
    {"M0209", "a name already stands for another value",
     "give the value a name of its own",
     "rule R { match { y = Mul(Exp(x), x); } }",
     "g (float[2] x, float[2] z) => (float[2] y) { a = Exp(x) y = Mul(a, z) }"},
    {"M0210", "a node stands between two that fit, and the rule has no place for it",
     "let it stand there too, or fuse what is around it",
     "rule R { match { y = Conv(x, w) -> Relu; } }",
     "g (float[1,1,4,4] x, float[1,1,1,1] w) => (float[1,1,4,4] y)"
     "{ a = Conv(x, w) b = Tanh(a) y = Relu(b) }"},
    {"M0301", "a condition of `where` is false",
     "drop the condition, if the rule is right without it",
     "rule R { match { y = Relu(x: [N]); where N > 8; } }",
     "g (float[2] x) => (float[2] y) { y = Relu(x) }"},
    {"M0302", "too few instances of a `many`",
     "lower the number",
     "rule R { match { x: [...]; many 2..8 { m = Exp(x); } } }",
     "g (float[2] x) => (float[2] y) { y = Exp(x) }"},
    {"M0303", "a reader of the value is in no instance of `many all`",
     "leave `all` out, if readers outside do no harm",
     "rule R { match { p = Exp(x); many 2..8 all { m = Neg(p); } } escape p: export; }",
     "g (float[2] x) => (float[2] a, float[2] b, float[2] c) { p = Exp(x) a = Neg(p) b = Neg(p) c = Tanh(p) }"},
    {"M0304", "what `unless` describes is there",
     "drop the `unless`, if the rule is right without it",
     "rule R { match { s = Exp(x); unless { t = Tanh(s); } } }",
     "g (float[2] x) => (float[2] y) { a = Exp(x) y = Tanh(a) }"},
    {"M0305", "an inner value is read outside of the match",
     "add an `escape` for it",
     "rule R { match { s = Exp(x); y = Tanh(s); } }",
     "g (float[2] x) => (float[2] y, float[2] z) { a = Exp(x) y = Tanh(a) z = Relu(a) }"},
    {"M0306", "a region is smaller than wanted",
     "lower its first number",
     "class P = @elementwise; rule R { match { y = region P {3..8}; } }",
     "g (float[2] x) => (float[2] y) { a = Exp(x) y = Tanh(a) }"},
    {"M0307", "the search was cut off: too many orders and alternatives to try",
     "write fewer alternatives, or `ordered` where the order is known; `--search-steps`, and `--rule-steps` where all searches of the rule were cut off, search longer", ""},
    {"M0308", "the gate refuses: the match does not gain enough",
     "loosen the gate; where the rule has none and costs decide, write `gate always;`",
     "rule R { match { y = Softmax(x) -> Transpose; } gate gain.us > 1e9; }",
     "g (float[2,3] x) => (float[3,2] y) { a = Softmax(x) y = Transpose<perm = [1, 0]>(a) }"},
    {"M0410", "a shape or value that the rule asks for is not known",
     "give the dimension a number in the model (`--dim` sizes it for prices and runs alone), or drop the condition",
     "rule R { match { y = Relu(x: [N]); where N > 8; } }",
     "g (float[n] x) => (float[n] y) { y = Relu(x) }"},
    {"M0500", "fusing would close a cycle: a value leaves the match and comes back into it",
     "write `duplicate` for the value that leaves",
     "rule R { match { s = Exp(x); y = Add(s, t); } escape s: export; }",
     "g (float[2] x) => (float[2] y) { a = Exp(x) b = Softmax(a) y = Add(a, b) }"},
    {"M0510", "rules of a phase undo each other: a state of the graph came back",
     "mark one of them `once`", ""},
    {"M0600", "the rewrite would change the type of a value",
     "cast or reshape the result to what it was",
     "rule R { match { y = ReduceMax(x); } rewrite { y = x; } }",
     "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { m = ReduceMax(x, a) y = Neg(m) }"},
};
// clang-format on

/// `|` would end a cell of a table.
std::string cell(std::string_view text) {
    std::string out;
    for (char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string fileOf(const CodeRow& row) {
    std::string example = row.example;
    return example.starts_with("fuse ") || example.empty() ? example : "fuse 1; " + example;
}

} // namespace

std::span<const CodeRow> codeTable() {
    return rows;
}

const CodeRow* codeNamed(std::string_view code) {
    const auto* found = std::find_if(std::begin(rows), std::end(rows),
                                     [&](const CodeRow& row) { return code == row.code; });
    return found == std::end(rows) ? nullptr : found;
}

std::string explanation(const CodeRow& row) {
    std::string out = std::string(row.code) + ": " + row.meaning + "\n  fix: " + row.mend + "\n";
    if (*row.example != '\0')
        out += "  example: " + fileOf(row) + "\n";
    if (*row.graph != '\0')
        out += "  on: " + std::string(row.graph) + "\n";
    return out;
}

std::string codesAsMarkdown() {
    std::string out = "| code | what it says | what helps | for example |\n|---|---|---|---|\n";
    for (const CodeRow& row : rows) {
        std::string example = *row.example == '\0' ? "see the case" : "`" + cell(row.example) + "`";
        if (*row.graph != '\0')
            example += " on `" + cell(row.graph) + "`";
        out += "| " + std::string(row.code) + " | " + cell(row.meaning) + " | " + cell(row.mend) +
               " | " + example + " |\n";
    }
    return out;
}

} // namespace fuselage::dsl
