// SPDX-License-Identifier: Apache-2.0
// The written-out forms. Each is a function from a FormBuilder to the root term; order of operands
// and nesting of products are the matcher's business (commutative operators, flat).
#include "core/rewrite/spec_forms.h"

#include "core/rewrite/quantity.h"

#include <algorithm>
#include <map>

namespace fuselage {

namespace {

/// Makes the terms of one form inside a rule. Operand i of the operator is a hidden slot that must
/// also match the i-th argument of the `spec` term.
class FormBuilder {
public:
    FormBuilder(Rule& rule, const Term& spec) : m_rule(rule), m_spec(spec) {}

    TermId operand(size_t index) {
        m_used = std::max(m_used, index + 1);
        TermId& term = m_operands[index];
        if (!term.valid()) {
            term = bound("operand",
                         index < m_spec.arguments.size() ? m_spec.arguments[index].term : TermId());
        }
        return term;
    }

    TermId node(std::vector<Op> ops, std::vector<TermId> arguments) {
        Term term;
        term.kind = Term::Kind::Node;
        std::sort(ops.begin(), ops.end());
        term.ops = std::move(ops);
        term.hasArguments = true;
        for (TermId argument : arguments)
            term.arguments.push_back({"", argument});
        return add(std::move(term));
    }

    TermId node(Op op, std::vector<TermId> arguments) {
        // Sum of two is Add.
        return node(op == Op::Add ? std::vector{Op::Add, Op::Sum} : std::vector{op},
                    std::move(arguments));
    }

    TermId product(std::vector<TermId> factors) {
        TermId id = node(Op::Mul, std::move(factors));
        m_rule.terms[id.index()].order = OperandOrder::Flat;
        return id;
    }

    TermId number(double value) {
        Term term;
        term.kind = Term::Kind::Number;
        term.number = value;
        return add(std::move(term));
    }

    TermId choice(std::vector<TermId> terms) {
        Term term;
        term.kind = Term::Kind::Choice;
        for (TermId id : terms)
            term.alternatives.push_back({"", id});
        return add(std::move(term));
    }

    /// A value that several places read.
    TermId shared(TermId definition) { return bound("shared", definition); }

    /// A scalar constant of any value: an epsilon.
    TermId epsilon() {
        TermId id = bound("epsilon", {});
        TypePattern type;
        type.isConst = type.isScalar = true;
        m_rule.terms[id.index()].type = std::move(type);
        return id;
    }

    TermId test(TermId id, const char* name, double value, bool isInteger = true) {
        AttributeTest test;
        test.name = name;
        test.comparison = "==";
        test.value.kind = Expression::Kind::Number;
        test.value.number = value;
        test.value.isInteger = isInteger;
        m_rule.terms[id.index()].tests.push_back(std::move(test));
        return id;
    }

    /// A reduction along the last dimension, which stays as 1.
    TermId alongLast(Op op, TermId operand) {
        TermId id = node(op, {operand});
        AttributeTest axes{"axes", "=="};
        axes.value.kind = Expression::Kind::List;
        axes.value.args.resize(1);
        axes.value.args[0].kind = Expression::Kind::Number;
        axes.value.args[0].number = -1;
        axes.value.args[0].isInteger = true;
        m_rule.terms[id.index()].tests.push_back(std::move(axes));
        return test(id, "keepdims", 1);
    }

    TermId square(TermId x) {
        return choice({node(Op::Pow, {x, number(2)}), node(Op::Mul, {x, x})});
    }

    /// a / b in its usual spellings.
    TermId quotient(TermId a, TermId b) {
        return choice({node(Op::Div, {a, b}), node(Op::Mul, {a, node(Op::Reciprocal, {b})}),
                       node(Op::Mul, {a, node(Op::Div, {number(1), b})})});
    }

    size_t used() const { return m_used; }

private:
    TermId add(Term term) {
        term.span = m_spec.span;
        term.text = m_spec.text;
        m_rule.terms.push_back(std::move(term));
        return TermId(static_cast<uint32_t>(m_rule.terms.size() - 1));
    }

    TermId bound(const char* name, TermId definition) {
        Term term;
        term.kind = Term::Kind::Value;
        term.slot = static_cast<SlotIndex>(m_rule.slots.size());
        term.step = definition;
        m_rule.slots.push_back({name, false, m_spec.span});
        return add(std::move(term));
    }

    Rule& m_rule;
    Term m_spec; // a copy: the table of terms grows
    std::map<size_t, TermId> m_operands;
    size_t m_used = 0;
};

using F = FormBuilder;

constexpr double sqrtHalf = 0.70710678118654752;
constexpr double sqrtTwoOverPi = 0.79788456080286536;

TermId geluErf(F& f) {
    TermId x = f.operand(0);
    TermId scaled = f.choice(
        {f.node(Op::Div, {x, f.number(2 * sqrtHalf)}), f.node(Op::Mul, {x, f.number(sqrtHalf)})});
    TermId erf = f.node(Op::Erf, {scaled});
    TermId sum = f.node(Op::Add, {erf, f.number(1)});
    TermId half = f.node(Op::Add, {f.node(Op::Mul, {erf, f.number(0.5)}), f.number(0.5)});
    return f.choice({f.product({x, f.number(0.5), sum}),
                     f.node(Op::Div, {f.node(Op::Mul, {x, sum}), f.number(2)}),
                     f.node(Op::Mul, {f.node(Op::Div, {x, f.number(2)}), sum}),
                     f.node(Op::Mul, {x, half})});
}

TermId geluTanh(F& f) {
    TermId x = f.operand(0);
    TermId cubic = f.choice({f.product({f.number(0.044715), f.node(Op::Pow, {x, f.number(3)})}),
                             f.product({f.number(0.044715), x, x, x})});
    TermId quadratic =
        f.choice({f.product({f.number(0.044715), x, x}),
                  f.node(Op::Mul, {f.number(0.044715), f.node(Op::Pow, {x, f.number(2)})})});
    TermId inner = f.choice(
        {f.product({f.number(sqrtTwoOverPi), f.node(Op::Add, {x, cubic})}),
         f.product({x, f.number(sqrtTwoOverPi), f.node(Op::Add, {quadratic, f.number(1)})})});
    TermId sum = f.node(Op::Add, {f.node(Op::Tanh, {inner}), f.number(1)});
    return f.choice({f.product({x, f.number(0.5), sum}),
                     f.node(Op::Mul, {f.node(Op::Div, {x, f.number(2)}), sum})});
}

TermId quickGelu(F& f) {
    TermId x = f.operand(0);
    return f.node(Op::Mul, {x, f.node(Op::Sigmoid, {f.node(Op::Mul, {x, f.number(1.702)})})});
}

TermId swish(F& f) {
    TermId x = f.operand(0);
    return f.node(Op::Mul, {x, f.node(Op::Sigmoid, {x})});
}

TermId clipOfSix(F& f) {
    return f.node(Op::Clip,
                  {f.node(Op::Add, {f.operand(0), f.number(3)}), f.number(0), f.number(6)});
}

TermId hardSigmoid(F& f) {
    TermId x = f.operand(0);
    TermId line = f.node(Op::Add, {f.choice({f.node(Op::Mul, {x, f.number(1.0 / 6)}),
                                             f.node(Op::Div, {x, f.number(6)})}),
                                   f.number(0.5)});
    return f.choice({f.node(Op::Div, {clipOfSix(f), f.number(6)}),
                     f.node(Op::Mul, {clipOfSix(f), f.number(1.0 / 6)}),
                     f.node(Op::Clip, {line, f.number(0), f.number(1)})});
}

TermId hardSwish(F& f) {
    TermId x = f.operand(0);
    TermId gate = f.node(Op::HardSigmoid, {x});
    f.test(gate, "alpha", 1.0 / 6, false);
    f.test(gate, "beta", 0.5, false);
    return f.choice({f.node(Op::Mul, {x, gate}), f.product({x, f.number(1.0 / 6), clipOfSix(f)}),
                     f.node(Op::Div, {f.node(Op::Mul, {x, clipOfSix(f)}), f.number(6)}),
                     f.node(Op::Mul, {x, hardSigmoid(f)})});
}

TermId softplus(F& f) {
    TermId power = f.node(Op::Exp, {f.operand(0)});
    return f.node(Op::Log, {f.node(Op::Add, {power, f.number(1)})});
}

TermId mish(F& f) {
    TermId smooth = f.choice({f.node(Op::Softplus, {f.operand(0)}), softplus(f)});
    return f.node(Op::Mul, {f.operand(0), f.node(Op::Tanh, {smooth})});
}

TermId relu(F& f) {
    return f.choice({f.node(Op::Max, {f.operand(0), f.number(0)}),
                     f.node(Op::Clip, {f.operand(0), f.number(0)})});
}

TermId sigmoid(F& f) {
    TermId sum = f.node(Op::Add, {f.node(Op::Exp, {f.node(Op::Neg, {f.operand(0)})}), f.number(1)});
    return f.choice({f.node(Op::Div, {f.number(1), sum}), f.node(Op::Reciprocal, {sum})});
}

TermId softsign(F& f) {
    TermId x = f.operand(0);
    return f.node(Op::Div, {x, f.node(Op::Add, {f.node(Op::Abs, {x}), f.number(1)})});
}

TermId softmax(F& f) {
    TermId x = f.operand(0);
    TermId shifted = f.node(Op::Sub, {x, f.alongLast(Op::ReduceMax, x)});
    TermId power = f.shared(f.node(Op::Exp, {f.choice({shifted, x})}));
    return f.quotient(power, f.alongLast(Op::ReduceSum, power));
}

TermId logSoftmax(F& f) {
    TermId x = f.operand(0);
    TermId plain = f.node(Op::Softmax, {x});
    f.test(plain, "axis", -1);
    return f.choice({f.node(Op::Sub, {x, f.alongLast(Op::ReduceLogSumExp, x)}),
                     f.node(Op::Log, {plain}), f.node(Op::Log, {softmax(f)})});
}

TermId standardised(F& f) {
    TermId x = f.operand(0);
    TermId mean = f.shared(f.alongLast(Op::ReduceMean, x));
    TermId deviation = f.shared(f.node(Op::Sub, {x, mean}));
    // Some exporters compute the difference twice.
    TermId again = f.choice({deviation, f.shared(f.node(Op::Sub, {x, mean}))});
    TermId variance = f.alongLast(Op::ReduceMean, f.square(again));
    TermId root = f.node(Op::Sqrt, {f.node(Op::Add, {variance, f.epsilon()})});
    return f.quotient(deviation, root);
}

TermId layerNorm(F& f) {
    TermId scaled = f.node(Op::Mul, {standardised(f), f.operand(1)});
    return f.node(Op::Add, {scaled, f.operand(2)});
}

TermId layerNormWithoutBias(F& f) {
    return f.node(Op::Mul, {standardised(f), f.operand(1)});
}

TermId rmsNorm(F& f) {
    TermId x = f.operand(0);
    TermId sum = f.node(Op::Add, {f.alongLast(Op::ReduceMean, f.square(x)), f.epsilon()});
    TermId scaled = f.choice({f.quotient(x, f.node(Op::Sqrt, {sum})),
                              f.node(Op::Mul, {x, f.node(Op::Pow, {sum, f.number(-0.5)})})});
    return f.node(Op::Mul, {scaled, f.operand(1)});
}

struct Form {
    Op op;
    TermId (*build)(FormBuilder&);
    /// What the form computes in terms of the operator's attributes; a test on another attribute
    /// excludes the form.
    std::vector<std::pair<std::string, AttributeValue>> attributes;
};

const std::vector<Form>& forms() {
    static const std::vector<Form> table = {
        {Op::Gelu, geluErf, {{"approximate", std::string("none")}}},
        {Op::Gelu, geluTanh, {{"approximate", std::string("tanh")}}},
        {Op::FastGelu, geluTanh, {}},
        {Op::QuickGelu, quickGelu, {{"alpha", 1.702}}},
        {Op::Swish, swish, {{"alpha", 1.0}}},
        {Op::HardSigmoid, hardSigmoid, {{"alpha", 1.0 / 6}, {"beta", 0.5}}},
        {Op::HardSwish, hardSwish, {}},
        {Op::Softplus, softplus, {}},
        {Op::Mish, mish, {}},
        {Op::Relu, relu, {}},
        {Op::Sigmoid, sigmoid, {}},
        {Op::Softsign, softsign, {}},
        {Op::Softmax, softmax, {{"axis", int64_t{-1}}}},
        {Op::LogSoftmax, logSoftmax, {{"axis", int64_t{-1}}}},
        {Op::LayerNormalization, layerNorm, {{"axis", int64_t{-1}}}},
        {Op::LayerNormalization, layerNormWithoutBias, {{"axis", int64_t{-1}}}},
        {Op::RMSNormalization, rmsNorm, {{"axis", int64_t{-1}}}},
        {Op::SimplifiedLayerNormalization, rmsNorm, {{"axis", int64_t{-1}}}},
    };
    return table;
}

/// A literal of a test; unknown when it needs the match.
Quantity literal(const Expression& expression) {
    switch (expression.kind) {
    case Expression::Kind::Number:
        return {Number{expression.number, expression.isInteger}};
    case Expression::Kind::Text:
        return Quantity::ofText(expression.text);
    case Expression::Kind::Unary: {
        std::optional<double> value = literal(expression.args[0]).number();
        return value && expression.text == "-" ? Quantity::real(-*value)
                                               : Quantity::unknown("an operand");
    }
    case Expression::Kind::List: {
        Quantity::List items;
        for (const Expression& item : expression.args)
            items.push_back(literal(item));
        return Quantity::list(std::move(items));
    }
    default:
        return Quantity::unknown("an expression");
    }
}

bool passes(const Form& form, const std::vector<AttributeTest>& tests) {
    return std::all_of(tests.begin(), tests.end(), [&](const AttributeTest& test) {
        auto found = std::find_if(form.attributes.begin(), form.attributes.end(),
                                  [&](const auto& entry) { return entry.first == test.name; });
        return found != form.attributes.end() &&
               compare(test.comparison, Quantity::attribute(found->second), literal(test.value)) ==
                   Truth::True;
    });
}

void writeOut(Rule& rule, TermId id) {
    Term self = rule.term(id);
    self.byFunction = false;
    if (self.arguments.empty()) {
        Term hole;
        hole.kind = Term::Kind::Hole;
        hole.text = "_";
        rule.terms.push_back(std::move(hole));
        self.arguments.push_back({"", TermId(static_cast<uint32_t>(rule.terms.size() - 1))});
    }
    std::vector<TermId> found;
    for (const Form& form : forms()) {
        if (std::find(self.ops.begin(), self.ops.end(), form.op) == self.ops.end() ||
            !passes(form, self.tests))
            continue;
        FormBuilder builder(rule, self);
        TermId root = form.build(builder);
        // An argument that the form has no place for must be one that may be absent.
        bool complete = true;
        for (size_t i = builder.used(); i < self.arguments.size(); ++i)
            complete = complete && rule.term(self.arguments[i].term).mayBeAbsent;
        if (complete && (!self.hasArguments || builder.used() <= self.arguments.size()))
            found.push_back(root);
    }
    Term choice;
    choice.kind = Term::Kind::Choice;
    choice.span = self.span;
    choice.text = self.text;
    choice.slot = self.slot;
    self.slot.reset();
    rule.terms.push_back(std::move(self));
    choice.alternatives.push_back({"", TermId(static_cast<uint32_t>(rule.terms.size() - 1))});
    for (TermId root : found)
        choice.alternatives.push_back({"", root});
    rule.terms[id.index()] = std::move(choice);
}

} // namespace

bool hasSpecForm(Op op) {
    return std::any_of(forms().begin(), forms().end(),
                       [&](const Form& form) { return form.op == op; });
}

void writeOutSpecs(Rule& rule) {
    size_t written = rule.terms.size();
    for (size_t i = 0; i < written; ++i)
        if (rule.terms[i].byFunction)
            writeOut(rule, TermId(static_cast<uint32_t>(i)));
}

} // namespace fuselage
