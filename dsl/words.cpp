// SPDX-License-Identifier: Apache-2.0
#include "dsl/words.h"

#include "core/ops/op_table.h"
#include "core/rewrite/members.h"
#include "dsl/resolve.h"

#include <fmt/format.h>

#include <vector>

namespace fuselage::dsl {

namespace {

using P = WordPlace;

constexpr WordRow ownRows[] = {
    {P::Item, "rule", "nodes that belong together, or with `rewrite` their replacement"},
    {P::Item, "pattern", "statements with a name, written out where they are used"},
    {P::Item, "form",
     "another way to write an operator; `spec` and every rule that uses it find it"},
    {P::Item, "op", "an operator of any domain, with or without what it computes"},
    {P::Item, "class", "a set of operators, by name or trait"},
    {P::Item, "fn", "an expression with parameters"},
    {P::Item, "import", "makes the names of another file known and loads its rules"},
    {P::Item, "opset", "the rules below apply to these opsets only"},
    {P::Item, "pipeline", "the order of phases"},
    {P::Clause, "match", "what the rule looks for; the last definition is where the search starts"},
    {P::Clause, "rewrite", "operators that replace the match"},
    {P::Clause, "gate", "when the match is worth it"},
    {P::Clause, "escape", "what happens to an inner value that is read outside"},
    {P::Clause, "numeric", "how far results may differ"},
    {P::Clause, "qdq", "where `fuselage quantize` puts its pairs"},
    {P::Clause, "verify", "how to sample the rule for the soundness check"},
    {P::Clause, "hint", "a sentence shown beside the rule"},
    {P::Clause, "as", "as what operator the fused node is exported"},
    {P::Clause, "test", "a graph and what the rule must do with it"},
    {P::Statement, "where", "conditions; one that is unknown refuses the match"},
    {P::Statement, "let", "a name for an expression"},
    {P::Statement, "many", "disjoint instances; names bound inside become lists"},
    {P::Statement, "unless", "none of this may match"},
    {P::Term, "ordered", "takes the operands in no other order"},
    {P::Term, "flat", "any tree of this operator with these leaves"},
    {P::Term, "spec", "the operator, or any of its forms"},
    {P::Term, "region", "a maximal convex set of these operators"},
    {P::Term, "inf", "infinity"},
    {P::Flag, "const", "an initializer, or anything that folds to one"},
    {P::Flag, "scalar", "one element, or a constant whose elements are all equal"},
    {P::Flag, "input", "an input of the graph"},
    {P::Modifier, "in", "the phase of the rule; `fuse` when not given"},
    {P::Modifier, "priority", "higher ones are taken first; 0 when not given"},
    {P::Modifier, "once", "in a phase that repeats, only in its first round"},
    {P::Modifier, "replaces", "switches the rule of that name off"},
    {P::Gate, "always", "every legal match is taken"},
    {P::Gate, "measured", "each match is timed on the device at hand"},
    {P::Numeric, "exact", "bit for bit as before"},
    {P::Numeric, "wider", "inner values may be held wider"},
    {P::Numeric, "reassociated", "sums may be taken in another order"},
    {P::Numeric, "approximate", "another function nearby"},
    {P::Policy, "forbid", "no match then"},
    {P::Policy, "export", "the value becomes another output of the fused node"},
    {P::Policy, "duplicate", "its producer stays for outside and is computed again inside"},
    {P::Test, "graph", "a graph in ONNX's textual syntax"},
    {P::Test, "zoo", "a network of the zoo"},
    {P::Test, "model", "a model file, relative to the rule file"},
    {P::Test, "expect", "what must come out"},
    {P::Expect, "fires", "how often the rule applies"},
    {P::Expect, "miss", "the code of a near miss"},
    {P::Expect, "same", "both sides agree within this relative tolerance"},
    {P::Expect, "nodes", "nodes of the graph afterwards"},
    {P::Pipeline, "then", "the next phase"},
    {P::Pipeline, "keep", "operators of this class stay one node each, as their runtime has them"},
    {P::Phase, "canonicalize", "brings exporters' forms to one"},
    {P::Phase, "convert", "replaces spelled-out operators by single ones"},
    {P::Phase, "fuse", "makes fused nodes"},
    {P::Phase, "quantize", "inserts quantisation"},
    {P::Selection, "order", "overlapping matches: the first in order wins"},
    {P::Selection, "gain", "overlapping matches: the greatest gain first"},
    {P::Selection, "exact", "overlapping matches: the greatest total gain"},
    {P::Trait, "elementwise", "computes element by element"},
    {P::Trait, "commutative", "the first two operands may be swapped"},
    {P::Trait, "associative", "trees of it may be regrouped"},
    {P::Trait, "reduction", "reduces along axes"},
    {P::Trait, "view", "same elements in the same order"},
    {P::Trait, "movement", "copies elements"},
    {P::Trait, "contraction", "sums of products"},
    {P::Trait, "window", "pooling and resampling"},
    {P::Trait, "normalization", "softmax, layer normalisation ..."},
    {P::Root, "gain", "before minus after the match"},
    {P::Root, "device", "figures of the device that costs are predicted for"},
    {P::Root, "total", "sums over the whole model"},
};

/// With the members of values and roots, which have a table of their own.
std::vector<WordRow> rowsOfWords() {
    std::vector<WordRow> out(std::begin(ownRows), std::end(ownRows));
    for (const MemberRow& row : memberRows())
        out.push_back({P::Member, row.name, row.documentation});
    for (const RootRow& row : rootRows())
        out.push_back({P::RootMember, row.name, row.documentation, row.root, row.unit});
    return out;
}

} // namespace

std::span<const WordRow> wordRows() {
    static const std::vector<WordRow> all = rowsOfWords();
    return all;
}

const WordRow* findWord(std::string_view word, std::string_view of) {
    for (const WordRow& row : wordRows())
        if (word == row.word && of == row.of)
            return &row;
    return nullptr;
}

const WordRow* findWord(std::string_view word, WordPlace place) {
    for (const WordRow& row : wordRows())
        if (word == row.word && place == row.place)
            return &row;
    return nullptr;
}

std::span<const std::string_view> jointWords() {
    static constexpr std::string_view words[] = {"and",  "or",   "not",       "by",   "if",  "all",
                                                 "with", "outs", "tolerance", "axis", "fuse"};
    return words;
}

std::string membersAsMarkdown() {
    std::string out = "| member | what it is |\n|---|---|\n";
    for (const MemberRow& row : memberRows())
        out += fmt::format("| `x.{}` | {} |\n", row.name, row.documentation);
    return out;
}

std::string traitsAsMarkdown() {
    std::string out = "| trait | operators that have it |\n|---|---|\n";
    for (const WordRow& row : wordRows()) {
        if (row.place != WordPlace::Trait)
            continue;
        std::string operators;
        for (const auto& [name, op] : operatorsByName())
            if (hasTrait(op, *traitFromName(row.word)))
                operators += (operators.empty() ? "" : ", ") + name;
        out += fmt::format("| `@{}` | {}: {} |\n", row.word, row.documentation, operators);
    }
    return out;
}

} // namespace fuselage::dsl
