// SPDX-License-Identifier: Apache-2.0
// The state of compiling one rule. Split over compile_rule.cpp (clauses), compile_block.cpp
// (statements), compile_term.cpp (chains and operators), compile_inline.cpp (patterns),
// compile_spec.cpp (forms), compile_member.cpp and compile_parameter.cpp (what stands behind a dot)
// and compile_expression.cpp.
#pragma once

#include "core/ops/op_table.h"
#include "dsl/compile.h"
#include "dsl/walk.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fuselage::dsl {

/// What a name of a pattern or rule stands for: a slot, a term, or a slot whose value must also
/// match a term.
struct Bound {
    std::optional<SlotIndex> slot;
    TermId step;
    const ast::TypeSpec* type = nullptr; ///< of a parameter: holds wherever it is used
};

/// Names of one block; an inner block sees those of the blocks around it.
struct Scope {
    Scope* parent = nullptr;
    const Names* names = nullptr; ///< of the file
    std::string prefix;           ///< "Act." inside of a pattern
    std::map<std::string, Bound> values;
    std::map<std::string, uint32_t> dims;
    std::map<std::string, uint32_t> lets;
    std::map<std::string, SlotIndex> lists; ///< bound inside a `many` of this block
    std::map<std::string, uint32_t> dimLists;

    template <typename T>
    const T* find(std::map<std::string, T> Scope::*table, const std::string& name) const {
        for (const Scope* scope = this; scope; scope = scope->parent)
            if (auto found = (scope->*table).find(name); found != (scope->*table).end())
                return &found->second;
        return nullptr;
    }
};

/// What `_` means in a step: a Hole, or a named value where the step holds patterns that need one.
struct Filler {
    bool isHole = true;
    Bound bound;
    bool used = false;
};

/// What a pattern reference becomes.
struct Inlined {
    TermId term;
    std::vector<Bound> results; ///< by result position; the first only where it has a slot
};

/// What `spec` writes out besides the operator.
using Forms = std::map<Op, std::vector<const ast::Form*>>;

/// What is asked of a pattern wherever it is used, answered once for all rules.
struct PatternFacts {
    std::map<const ast::Pattern*, bool> simple;
    std::map<std::pair<const ast::Pattern*, std::string>, NameUse> uses;
};

/// A `spec` in the match of a rewrite, which may build the operator again.
struct SpecUse {
    struct Form {
        SlotIndex slot = 0; ///< bound where this form matched
        std::map<std::string, Expression> attributes;
    };

    TermId choice;
    TermId self;                     ///< the alternative that is the operator
    std::optional<SlotIndex> itself; ///< bound where that one matched
    std::vector<Form> forms;
};

/// `c.strides`, or `...c` in an operator that a rewrite builds: who makes the value is known when
/// the whole match is compiled, and so is whether that operator has the attribute.
struct ParameterUse {
    SlotIndex slot = 0;
    std::string name;               ///< empty: all of them
    Op built = Op::Unknown;         ///< of `...c`
    std::vector<std::string> given; ///< attributes written beside `...c`
    Span span;                      ///< of the name behind the dot, or of `c`
};

/// What is known of an operator, of whatever table or item.
struct OperatorFacts {
    std::string name;
    bool isKnown = false;
    std::vector<std::string> inputs;
    size_t minInputs = 0, maxInputs = SIZE_MAX, maxOutputs = SIZE_MAX;
    std::vector<AttributeSchema> attributes;
    bool isCustom = false; ///< operands are given by position only

    const AttributeSchema* attribute(const std::string& wanted) const;
    bool hasInput(const std::string& wanted) const;
    /// "Softmax has the attribute axis".
    std::string attributesText() const;
};

class RuleCompiler {
public:
    RuleCompiler(const Library& library, Diagnostics& diagnostics, const ast::File& file,
                 const Forms& forms, PatternFacts& facts);

    /// False when the rule has errors.
    bool compile(const ast::Rule& item, Rule& out);
    bool compile(const ast::Form& form, Rule& out);
    /// The body of an operator, as a rewrite from the operator to what it computes.
    bool compile(const ast::Operator& item, Rule& out);
    /// The rule with the bodies of declared operators in their places.
    bool compileWrittenOut(const ast::Rule& item, Rule& out);

private:
    // compile_rule.cpp
    bool checkClauses(const ast::Rule& item);
    void header(const ast::Rule& item);
    void clause(const ast::Match& match);
    void clause(const ast::Rewrite& rewrite);
    void clause(const ast::Gate& gate);
    void clause(const ast::Escape& escape);
    void clause(const ast::Numeric& numeric);
    void clause(const ast::Qdq& qdq);
    void addRange(const ast::With& with, VerifySpec& out);
    void clause(const ast::Verify& verify);
    void clause(const ast::Hint& hint);
    void clause(const ast::As& as);
    void clause(const ast::TestBlock& test);
    void assignment(const ast::Assign& assign);
    std::optional<SlotIndex> slotNamed(const ast::Name& name);

    // compile_block.cpp
    void block(const std::vector<ast::Statement>& body, Scope& scope, Block& out);
    void declare(const std::vector<ast::Statement>& body, Scope& scope,
                 const ast::Define* unnamed = nullptr);
    void declareDims(const ast::TypeSpec& type, Scope& scope);
    void define(const ast::Define& define, Scope& scope, Block& out);
    void checkOutputs(TermId id, const ast::Define& define);
    void oneInAll(const std::string& name, Span span);
    void many(const ast::Many& many, Scope& scope, Block& out);
    void unless(const ast::Unless& unless, Scope& scope, Block& out, std::optional<SlotIndex> when);
    void conditions(const std::vector<ast::Statement>& body, Scope& scope, Block& out,
                    std::optional<SlotIndex> when);

    // compile_term.cpp
    TermId choice(const std::vector<ast::Alternative>& alternatives, const Span& span,
                  Filler* filler, bool implied, Scope& scope);
    TermId chain(const ast::Chain& chain, Filler* filler, bool implied, Scope& scope);
    TermId quantified(const ast::Step& step, TermId source, Scope& scope);
    TermId term(const ast::Term& term, Filler* filler, bool implied, Scope& scope);
    TermId value(const ast::Term& term, Scope& scope);
    TermId number(const ast::Term& term);
    TermId region(const ast::Term& term, Filler* filler, bool implied, Scope& scope);
    TermId node(const ast::Term& term, Filler* filler, bool implied, Scope& scope);
    TermId captured(TermId term, const std::optional<ast::Name>& capture, Scope& scope);
    TermId holeTerm(Filler& filler, const Span& span);
    TermId boundTerm(const Bound& bound, const Span& span, const std::string& text);
    bool checkRange(const ast::Range& range, uint32_t limit);
    OperatorSet opsNamed(const ast::Name& name, const Scope& scope);
    TypePattern type(const ast::TypeSpec& spec, Scope& scope);
    SlotIndex freshSlot(const std::string& name, const Span& span);
    TermId add(Term term);
    Term makeTerm(Term::Kind kind, const Span& span, std::string text = {});

    // compile_inline.cpp
    Inlined inlined(const ast::Term& reference, const ast::Pattern& pattern, Filler* filler,
                    bool implied, Scope& scope);
    bool bindParameters(const ast::Term& reference, const ast::Pattern& pattern, Filler* filler,
                        bool implied, Scope& scope, Scope& inner);
    Bound actual(TermId term, const ast::Parameter& parameter, const NameUse& use,
                 const ast::Pattern& pattern);
    Inlined writtenOut(const ast::Pattern& pattern, const char* what, const Span& use,
                       Scope& inner);
    TermId inlinedBody(const ast::Pattern& pattern, const ast::Define& root, Scope& inner);
    const ast::Pattern* patternNamed(const ast::Term& term, const Scope& scope) const;
    bool needsSlot(const ast::Term& term, const Scope& scope);
    bool isSimple(const ast::Pattern& pattern, size_t depth);
    const NameUse& useIn(const ast::Pattern& pattern, const std::string& name);

    // compile_spec.cpp
    TermId spec(const ast::Term& term, Filler* filler, bool implied, Scope& scope);
    TermId formTerm(const ast::Form& form, Op op, const Term& self, SpecUse& use);
    const ast::Pattern* bodyPattern(const std::string& domain, const std::string& name,
                                    const Term& self) const;
    TermId bodyTerm(const ast::Pattern& body, const Term& self);
    bool passes(const ast::Form& form, Op op, const std::vector<AttributeTest>& tests,
                const Scope& scope);
    bool fits(const ast::Form& form, Op op, const Term& self) const;
    const SpecUse* specOf(Op op) const;
    void carryAttributes(Expression& built) const;
    void leaveItselfOut(const Assignment& assignment);
    void refuseItself(const ast::Form& form);

    // compile_operator.cpp
    void declareInner(const ast::Rewrite& rewrite);
    const DeclaredOperator* declaredBody(const std::string& name, const Scope& scope) const;
    void bindAttributes(const ast::Term& reference, const DeclaredOperator& declared, Scope& scope,
                        Scope& inner);
    Expression writtenOutNode(const ast::Expr& expr, const DeclaredOperator& declared,
                              Expression built);

    // compile_expression.cpp
    Expression expression(const ast::Expr& expr, const Scope& scope);
    Expression lower(const ast::Expr& expr, const Scope& scope);
    Expression upper(const ast::Expr& expr, const Scope& scope);
    Expression listOf(const ast::Expr& expr, const Scope& scope);
    Expression call(const ast::Expr& expr, const Scope& scope);
    Expression callFunction(const ast::Expr& expr, const ast::Function& function,
                            const Scope& scope);
    Expression builtNode(const ast::Expr& expr, const Scope& scope, const Expression* source);
    Expression builtChain(const ast::Expr& expr, const Scope& scope);
    void unbound(const ast::Expr& expr, const Scope& scope);

    // compile_member.cpp
    Expression member(const ast::Expr& expr, const Scope& scope);
    bool namesRoot(const ast::Expr& expr, const Scope& scope) const;
    bool knowsRoot(std::string_view root) const;
    std::string rootMeant(const std::string& name) const;
    void checkRoot(const ast::Expr& expr);
    void checkMember(const ast::Expr& expr, const Expression& object);
    void checkCondition(const Expression& condition);
    void checkComparisons(const Expression& expr);
    void checkChoice(const Expression& figure, const Expression& text);

    // compile_parameter.cpp
    Expression parameter(const ast::Expr& expr, const Expression& object);
    void copyAttributes(const ast::Expr& expr, Expression& built, const Scope& scope);
    void checkParameters();
    void checkAxis(const Expression& comparison);
    void checkDivisor(const Expression& quotient);
    void checkGivenOnce(const ast::Expr& built);
    void checkCopied(const ParameterUse& use, const std::vector<Op>& makers);

    // check_escape.cpp
    void checkEscapes(const ast::Rule& item);

    // check_node.cpp
    void checkNode(const ast::Term& term, const OperatorSet& ops, size_t operands, bool open);
    void checkCount(const std::string& name, const Span& span, size_t operands,
                    const OperatorFacts& facts);
    void checkBuilt(const ast::Expr& expr, const OperatorFacts& facts, size_t operands,
                    bool mayCarry);
    void checkGiven(const ast::NamedExpr& named, const OperatorFacts& facts);
    void checkRequired(const std::string& op, const Span& span,
                       const std::vector<ast::NamedExpr>& named, const OperatorFacts& facts);

    Diagnostic& error(const char* code, const Span& span, std::string message);
    bool withinBudget(const Span& span);

    const Library& m_library;
    Diagnostics& m_diagnostics;
    const ast::File& m_file;
    const Forms& m_forms;
    PatternFacts& m_facts;
    Rule* m_rule = nullptr;
    Block* m_block = nullptr; ///< where conditions of inlined patterns go
    Scope m_top;
    size_t m_errors = 0;
    bool m_inRewrite = false;
    bool m_isForm = false;                 ///< what is built is its head
    bool m_isWrittenOut = false;           ///< operators with a body are their bodies
    bool m_namesBody = false;              ///< some operator with a body was written out
    const ast::Operator* m_body = nullptr; ///< whose body the rewrite is
    enum class Known { Match, Escape, Gate } m_known = Known::Match; ///< which roots may stand
    bool m_overBudget = false;
    size_t m_expressions = 0;
    std::vector<const ast::Pattern*> m_patternStack;
    std::vector<const ast::Function*> m_functionStack;
    std::vector<SpecUse> m_specs;
    std::vector<ParameterUse> m_parameterUses;
    const std::map<std::string, Expression>* m_arguments = nullptr; ///< of the function written out
    const Expression* m_hole = nullptr;                             ///< of a chain in a rewrite
    size_t m_holeUses = 0;
};

/// Declared operators with their defaults and bodies, in the order of the files.
void compileOperators(const Library& library, Diagnostics& diagnostics, PatternFacts& facts,
                      const Forms& forms, RuleSet& out);

/// Whether a syntax error lies inside: what it left would only raise follow-up errors.
bool overlapsError(const Diagnostics& problems, const Span& span);

OperatorFacts factsOf(Op op);
OperatorFacts factsOf(const CustomOperator& custom);

/// What the op table says of one attribute of an operator; null when it has none of that name.
const AttributeSchema* attributeNamed(Op op, const std::string& name);
bool isInputName(Op op, const std::string& name);

/// Names of members that every value has.
std::vector<std::string> membersOfValues();

/// Errors of operators against the op table, shared by patterns and rewrites; see check_node.cpp.
std::string schemaText(Op op);

} // namespace fuselage::dsl
