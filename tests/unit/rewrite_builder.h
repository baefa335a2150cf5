// SPDX-License-Identifier: Apache-2.0
// Rules by hand and graphs from text, for tests of core/rewrite that must not depend on the
// language. Not a test itself.
#pragma once

#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/rewrite/engine.h"

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace fuselage::test {

inline Expression number(double value) {
    Expression out;
    out.kind = Expression::Kind::Number;
    out.number = value;
    out.isInteger = value == static_cast<double>(static_cast<int64_t>(value));
    return out;
}

inline Expression list(std::vector<Expression> items) {
    Expression out;
    out.kind = Expression::Kind::List;
    out.args = std::move(items);
    return out;
}

inline Expression binary(std::string symbol, Expression left, Expression right) {
    Expression out;
    out.kind = Expression::Kind::Binary;
    out.text = std::move(symbol);
    out.args = {std::move(left), std::move(right)};
    return out;
}

inline Expression member(Expression object, std::string name) {
    Expression out;
    out.kind = Expression::Kind::Member;
    out.text = std::move(name);
    out.args = {std::move(object)};
    return out;
}

inline Expression call(std::string name, std::vector<Expression> arguments,
                       std::vector<NamedExpression> named = {}) {
    Expression out;
    out.kind = Expression::Kind::Call;
    out.text = std::move(name);
    out.args = std::move(arguments);
    out.named = std::move(named);
    return out;
}

inline Expression makeNode(Op op, std::vector<Expression> arguments,
                           std::vector<NamedExpression> named = {}) {
    Expression out;
    out.kind = Expression::Kind::Node;
    out.op = op;
    out.args = std::move(arguments);
    out.named = std::move(named);
    return out;
}

/// Builds one rule term by term. Names make slots and dimension variables on first use.
class RuleBuilder {
public:
    explicit RuleBuilder(std::string name, int64_t priority = 0) {
        rule.name = std::move(name);
        rule.priority = priority;
        rule.file = "test.fuse";
        rule.line = 1;
    }

    Rule rule;

    SlotIndex slot(const std::string& name) {
        for (SlotIndex i = 0; i < rule.slots.size(); ++i)
            if (rule.slots[i].name == name)
                return i;
        rule.slots.push_back({name, false, {}});
        return static_cast<SlotIndex>(rule.slots.size() - 1);
    }

    uint32_t dim(const std::string& name) {
        for (uint32_t i = 0; i < rule.dims.size(); ++i)
            if (rule.dims[i] == name)
                return i;
        rule.dims.push_back(name);
        return static_cast<uint32_t>(rule.dims.size() - 1);
    }

    Expression slotOf(const std::string& name, Expression::Kind kind = Expression::Kind::Slot) {
        Expression out;
        out.kind = kind;
        out.slot = slot(name);
        return out;
    }

    Expression dimOf(const std::string& name, Expression::Kind kind = Expression::Kind::Dim) {
        Expression out;
        out.kind = kind;
        out.slot = dim(name);
        return out;
    }

    TermId add(Term term) {
        rule.terms.push_back(std::move(term));
        return TermId(static_cast<uint32_t>(rule.terms.size() - 1));
    }

    Term& operator[](TermId id) { return rule.terms[id.index()]; }

    TermId value(const std::string& name) {
        Term term;
        term.kind = Term::Kind::Value;
        term.text = name;
        term.slot = slot(name);
        return add(std::move(term));
    }

    TermId maybe(const std::string& name) {
        TermId id = value(name);
        (*this)[id].mayBeAbsent = true;
        return id;
    }

    TermId constant(const std::string& name) {
        TermId id = value(name);
        (*this)[id].type.emplace().isConst = true;
        return id;
    }

    /// "..." is the rest, "_" any, an upper-case name a variable.
    TermId shaped(TermId id, std::vector<std::string> dims) {
        TypePattern type = (*this)[id].type.value_or(TypePattern{});
        type.dims.emplace();
        for (const std::string& text : dims) {
            DimPattern pattern;
            if (text == "...")
                pattern.kind = DimPattern::Kind::Rest;
            else if (text != "_" && std::isdigit(static_cast<unsigned char>(text[0])) == 0)
                pattern = {DimPattern::Kind::Variable, dim(text), {}, {}};
            else if (text != "_")
                pattern = {DimPattern::Kind::Value, 0, number(std::stod(text)), {}};
            type.dims->push_back(pattern);
        }
        (*this)[id].type = type;
        return id;
    }

    TermId num(double value) {
        Term term;
        term.kind = Term::Kind::Number;
        term.number = value;
        return add(std::move(term));
    }

    TermId hole() {
        Term term;
        term.kind = Term::Kind::Hole;
        return add(std::move(term));
    }

    TermId node(Op op, std::vector<TermId> arguments) {
        TermId id = step(op);
        (*this)[id].hasArguments = true;
        for (TermId argument : arguments)
            (*this)[id].arguments.push_back({"", argument});
        return id;
    }

    /// An operator without operand list.
    TermId step(Op op) { return steps({op}); }

    TermId steps(std::vector<Op> ops) {
        Term term;
        term.kind = Term::Kind::Node;
        term.text = nameOf(ops[0]);
        std::sort(ops.begin(), ops.end());
        term.ops = std::move(ops);
        return add(std::move(term));
    }

    TermId flat(Op op, std::vector<TermId> arguments) {
        TermId id = node(op, std::move(arguments));
        (*this)[id].order = OperandOrder::Flat;
        return id;
    }

    TermId test(TermId id, std::string name, std::string comparison, Expression value) {
        (*this)[id].tests.push_back({std::move(name), std::move(comparison), std::move(value), {}});
        return id;
    }

    /// A step without operands reads what stands before it.
    void readSource(TermId step) {
        const Term term = (*this)[step]; // a copy: the table of terms grows
        for (const Term::Alternative& alternative : term.alternatives)
            readSource(alternative.term);
        if (term.source.valid())
            readSource(term.source);
        const bool isHead = term.kind == Term::Kind::Node || term.kind == Term::Kind::Region;
        if (isHead && term.arguments.empty()) {
            const TermId source = hole();
            (*this)[step].arguments.push_back({"", source});
        }
    }

    TermId pipe(TermId source, TermId step, Term::Kind kind = Term::Kind::Pipe) {
        readSource(step);
        Term term;
        term.kind = kind;
        term.step = step;
        term.source = source;
        return add(std::move(term));
    }

    TermId optional(TermId source, TermId step) { return pipe(source, step, Term::Kind::Optional); }

    TermId repeat(TermId source, TermId step, uint32_t least, uint32_t most) {
        TermId id = pipe(source, step, Term::Kind::Repeat);
        (*this)[id].least = least;
        (*this)[id].most = most;
        return id;
    }

    TermId choice(std::vector<std::pair<std::string, TermId>> alternatives) {
        Term term;
        term.kind = Term::Kind::Choice;
        for (auto& [label, id] : alternatives)
            term.alternatives.push_back({label, id});
        return add(std::move(term));
    }

    TermId region(std::vector<Op> ops, uint32_t least, uint32_t most, uint32_t outputs = 1) {
        TermId id = steps(std::move(ops));
        Term& term = (*this)[id];
        term.kind = Term::Kind::Region;
        term.text = "region";
        term.least = least;
        term.most = most;
        term.maxOutputs = outputs;
        return id;
    }

    TermId capture(TermId id, const std::string& name) {
        (*this)[id].slot = slot(name);
        return id;
    }

    void define(std::vector<std::string> names, TermId term, Block* block = nullptr) {
        Definition definition;
        for (const std::string& name : names)
            definition.slots.push_back(slot(name));
        definition.term = term;
        (block ? *block : rule.match).definitions.push_back(definition);
    }

    void where(Expression expression) { rule.match.conditions.push_back({expression, {}}); }

    void escape(const std::string& name, EscapePolicy policy) {
        rule.escapes.push_back({{slot(name)}, policy, std::nullopt, {}});
    }

    void assign(std::vector<std::string> names, Expression value, bool isList = false) {
        rule.isRewrite = true;
        Assignment assignment;
        for (const std::string& name : names)
            assignment.targets.push_back(slot(name));
        assignment.isList = isList;
        assignment.value = std::move(value);
        rule.rewrite.push_back(std::move(assignment));
    }
};

/// Conv -> BatchNormalization? -> (Relu | Clip), with or without the residual Add in between.
inline Rule convRule(const std::string& name, bool withAdd, bool withAct, int64_t priority) {
    RuleBuilder b(name, priority);
    TermId conv = b.node(Op::Conv, {b.value("x"), b.constant("w"), b.maybe("b")});
    TermId chain = b.optional(conv, b.step(Op::BatchNormalization));
    if (withAdd)
        chain = b.pipe(chain, b.capture(b.node(Op::Add, {b.hole(), b.value("res")}), "s"));
    if (withAct)
        chain = b.pipe(chain, b.choice({{"relu", b.step(Op::Relu)}, {"clip", b.step(Op::Clip)}}));
    b.define({"y"}, chain);
    return b.rule;
}

inline Graph graphOf(const std::string& text) {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    if (!graph)
        return Graph();
    Progress quiet;
    auto prepared = prepareGraph(*graph, quiet);
    EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().text());
    return std::move(*graph);
}

inline MatchResult matchesOf(const Graph& graph, const Rule& rule, MatcherOptions options = {}) {
    GraphFacts facts(graph);
    Convexity convexity(graph);
    // Matches point to the rule; it must outlive the result.
    static std::deque<Rule> alive;
    auto prepared = prepareRule(alive.emplace_back(rule));
    Matcher matcher(graph, facts, convexity, options);
    MatchResult result;
    matcher.find(*prepared, result);
    return result;
}

inline Rewritten run(Graph graph, std::vector<Rule> rules,
                     std::vector<PhaseStep> steps = {{"fuse"}}, EngineOptions options = {}) {
    RuleSet set;
    set.rules = std::move(rules);
    Pipeline pipeline{"test", std::move(steps)};
    Progress quiet;
    auto out = rewrite(std::move(graph), set, pipeline, options, quiet);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : Rewritten{Graph(), {}};
}

/// How often each rule's fused node, or each operator, stands in the graph.
inline std::map<std::string, int> opCounts(const Graph& graph) {
    std::map<std::string, int> out;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        ++out[node.op == Op::Fused || node.op == Op::Unknown ? node.customOp : nameOf(node.op)];
    }
    return out;
}

} // namespace fuselage::test
