// SPDX-License-Identifier: Apache-2.0
// One way through a rule: alternatives, optional steps and repetitions are decided by a list of
// small numbers, and what is left is a tree whose leaves are variables. `match` gives what the
// pattern makes, `rewrite` what is put in its place.
#pragma once

#include "core/algebra/cases.h"
#include "core/algebra/meaning.h"
#include "core/rewrite/matcher_index.h"

#include <functional>

namespace fuselage::algebra {

/// The decisions of one way; `next` goes to the next one.
class Ways {
public:
    uint32_t pick(uint32_t count);

    /// Another number of answers than when the way was first gone: nothing can be said of it.
    bool isLost() const { return m_isLost; }

    /// False when all ways were tried.
    bool next();

private:
    std::vector<std::pair<uint32_t, uint32_t>> m_taken; ///< answer, count
    size_t m_at = 0;
    bool m_isLost = false;
};

/// A node of the pattern.
struct SymbolicNode {
    Op op = Op::Unknown;
    std::string name;
    std::map<std::string, Known> attributes;
    std::vector<std::optional<size_t>> operands;
};

/// What conditions of the rule settle; found by one walk, used by the next one.
struct Settled {
    std::map<std::string, std::string> words; ///< words that stand for the same thing
    std::map<std::string, double> values;     ///< of variables
    std::map<std::string, size_t> lengths;    ///< of lists

    bool operator==(const Settled&) const = default;
};

struct Replacement {
    std::string name;
    Expr before, after;
};

class Walk {
public:
    /// `ranked`: variables whose ranks are tried one after the other.
    Walk(const PreparedRule& rule, Algebra& algebra, Ways& ways, const Settled& settled,
         const std::set<std::string>& ranked);

    /// False where something stands in the way; `obstacle` says what.
    bool match();
    bool rewrite();

    const std::string& obstacle() const { return m_obstacle; }

    /// No model is like this.
    bool isImpossible() const { return m_isImpossible; }

    const std::vector<Fact>& facts() const { return m_facts; }

    const Settled& found() const { return m_found; }

    /// Variables whose ranks the rule computes with.
    const std::set<std::string>& needsRanks() const { return m_needsRanks; }

    const std::vector<Replacement>& replacements() const { return m_replacements; }

    /// Names of operands that may hold NaN: not of constants that a condition compares.
    std::vector<std::string> variables() const;

    /// What the proof takes for granted, in words.
    const std::set<std::string>& conditions() const { return m_conditions; }

    bool mayComputeFloats() const { return mayCompute(isFloat); }

    bool mayComputeIntegers() const { return mayCompute(isInteger); }

private:
    struct Hole {
        TermId source;
        const Hole* around = nullptr;
        TermId repeat;
        uint32_t rounds = 0;
        mutable bool isBuilt = false;
        mutable std::optional<size_t> built;
    };

    using Operand = std::optional<size_t>;

    // walk.cpp: the pattern
    void matchBlock(const BlockPlan& plan);
    Operand definition(const Definition& definition, uint32_t position);
    Operand term(TermId id, const Hole* hole, size_t outputs = 1);
    Operand choice(const Term& term, TermId id, const Hole* hole, size_t outputs);
    Operand hole(const Hole* hole);
    Operand value(const Term& term, const Hole* hole);
    Operand number(const Term& term);
    Operand node(const Term& term, const Hole* hole, size_t outputs);
    void operands(const Term& term, SymbolicNode& node, const Hole* hole);
    void attributes(const Term& term, SymbolicNode& node);
    Known tested(const Term& term, const SymbolicNode& node, const std::string& name,
                 const std::string& type);
    Operand leaf(const TypePattern* type, const std::string& name);
    void bind(SlotIndex slot, Operand value);
    void limit(const TypePattern& type, size_t value);

    // walk_nodes.cpp: values and nodes of both sides
    size_t addValue(SymbolicValue value);
    size_t applied(const SymbolicNode& node, size_t output, size_t outputs);
    void unite(const SymbolicNode& node, size_t result);
    /// Whether numbers of such a type go through anything of the pattern that computes.
    bool mayCompute(bool (*isOfType)(DType)) const;
    void listParameters(SymbolicNode& node);
    bool takeBorder(SymbolicNode& node);
    bool isZero(const Known& number) const;
    size_t kindOf(size_t kind) const;
    void keepTypes(size_t value, const std::function<bool(DType)>& allows);
    Operand obstruct(std::string why);
    void settleBounds();

    // walk_channels.cpp
    Operand reshapedTo(size_t value, size_t items) const;
    std::optional<Expr> perChannel(size_t value, size_t rank);
    std::optional<Expr> convolved(const SymbolicNode& node);

    // walk_expressions.cpp: conditions and right-hand sides
    void assume(const Expression& expression);
    void assumeOrder(const std::string& symbol, const Known& a, const Known& b);
    void assumeCall(const Expression& call, const std::string& symbol, const Known& other);
    Known evaluate(const Expression& expression, size_t outputs = 1);
    Known member(const Known& object, const std::string& name);
    Known call(const Expression& expression);
    Known binary(const Expression& expression);
    Known arithmetic(const std::string& symbol, const Known& a, const Known& b);
    Known parameter(const Expression& expression);
    Known built(const Expression& expression, size_t outputs);
    Known contents(const Known& known);
    Known integer(const std::string& name);
    std::optional<Expr> asElement(const Known& known);
    Expr stored(const Known& number);
    Operand asOperand(const Known& known);
    std::string aliased(const std::string& word) const;
    bool mayBeMinusZero(const Known& symbol, double value) const;

    const PreparedRule& m_prepared;
    const Rule& m_rule;
    Algebra& m_algebra;
    Ways& m_ways;
    const Settled& m_settled;
    const std::set<std::string>& m_ranked;
    std::set<std::string> m_needsRanks;
    Settled m_found;
    std::vector<SymbolicValue> m_values;
    std::vector<SymbolicNode> m_nodes;
    std::map<SlotIndex, Operand> m_slots;
    std::map<SlotIndex, std::vector<size_t>> m_outputs; ///< of definitions with several names
    std::map<uint32_t, Known> m_dims;
    std::map<std::string, Known> m_integers;
    std::vector<size_t> m_kinds;   ///< parents
    std::vector<uint32_t> m_types; ///< bits of the element types that are possible
    std::vector<Fact> m_facts;
    std::vector<Replacement> m_replacements;
    std::vector<std::string> m_variables;
    std::vector<Expr> m_borders; ///< that must not cut
    std::set<std::string> m_conditions;
    size_t m_matched = 0;         ///< values of the pattern
    std::set<std::string> m_used; ///< names of variables
    std::string m_obstacle;
    std::string m_lateObstacle; ///< one that leaves the rest of the pattern to be walked
    bool m_isImpossible = false;
    int m_depth = 0;
    size_t m_names = 0;
};

} // namespace fuselage::algebra
