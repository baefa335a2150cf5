// SPDX-License-Identifier: Apache-2.0
// Compiled rules as plain data: what dsl/compile makes of a .fuse file and what the matcher walks.
// Names are gone (they are kept for messages only): values, dimensions and lets are slots.
//
// Reading a pattern: a Term is matched against a *value* of the graph and, going from consumer to
// producer, against the node that makes it. A chain "x -> A -> B?" is nested Pipe terms: the step
// sees its source through the Hole. Sub-patterns are inlined before they get here.
#pragma once

#include "core/graph/graph.h"
#include "core/ops/numeric_class.h"
#include "core/rewrite/custom_operator.h"
#include "core/rewrite/expression.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage {

using TermId = Id<struct TermTag>;
using SlotIndex = uint32_t;

/// A dimension in a type constraint.
struct DimPattern {
    enum class Kind : uint8_t { Any, Rest, Variable, Value };

    Kind kind = Kind::Any; ///< _ | ... | N | an expression that must equal the dimension
    uint32_t variable = 0; ///< index in Rule::dims
    Expression value;
    Span span;
};

/// "x: const scalar float [N, 3, ...]". An absent part does not constrain.
struct TypePattern {
    bool isConst = false;  ///< an initializer or anything that folds to one
    bool isScalar = false; ///< one element, or a constant whose elements are all equal
    bool isInput = false;  ///< a graph input
    std::vector<DType> dtypes;
    std::optional<std::vector<DimPattern>> dims;
    Span span;
};

/// "axis in {-1, 3}", "kernel_shape == [3, 3]": a parameter is an attribute or, where the operator
/// moved it between opsets, a constant input of that name.
struct AttributeTest {
    std::string name;
    std::string comparison; ///< == != < <= > >= in
    Expression value;
    bool late = false; ///< its value reads names of the match: tested when the operands matched
    Span span;
};

enum class OperandOrder : uint8_t {
    Schema,  ///< commutative operators match in both orders, others in order
    Ordered, ///< always in order
    Flat,    ///< any tree of this associative-commutative operator with these leaves
};

struct Argument {
    std::string name; ///< "" for positional, else the schema's input name
    TermId term;
};

struct Term {
    enum class Kind : uint8_t {
        Any,      ///< _ outside a chain: any value, not bound
        Hole,     ///< _ in a chain step, or its implied operand: the source of the nearest Pipe
        Value,    ///< binds or compares `slot`; when it binds: follows its definition when the
                  ///< block has one, else matches `step` where that is set (see below)
        Number,   ///< a scalar or splat constant near `number`
        Node,     ///< an operator out of `ops` with arguments and attribute tests
        Region,   ///< a maximal convex set of nodes out of `ops`
        Choice,   ///< `alternatives`, tried in order
        Pipe,     ///< `step` with its Hole filled by `source`
        Optional, ///< like Pipe, or `source` alone (captures inside are then none)
        Repeat,   ///< `step` nested least..most times around `source`, greedy
    };

    struct Alternative {
        std::string label; ///< may be empty
        TermId term;
        Span span = {}; ///< as written where the choice stands
    };

    Kind kind = Kind::Any;
    Span span;
    std::string text; ///< as written, for messages: "Conv", "Act", "region Pointwise"

    // Value, and the capture "s@" of Node, Region and Choice
    std::optional<SlotIndex> slot;
    bool mayBeAbsent = false; ///< x?: an omitted optional input matches and binds none
    bool rest = false;        ///< rest...: all remaining operands
    std::optional<TypePattern> type;

    // Number
    double number = 0;
    double tolerance = 1e-4; ///< relative

    // Node, Region
    std::vector<Op> ops; ///< sorted; classes and traits are already resolved to operators
    /// Which ones are meant by Op::Unknown and Op::Fused in `ops`: those with no row of their own.
    std::vector<CustomOperatorPtr> custom;
    bool ofSpec = false; ///< the operator of a `spec`, whose forms stand beside it
    OperandOrder order = OperandOrder::Schema;
    /// False: operands are not looked at, except a Hole in `arguments` (either operand of a
    /// commutative operator).
    /// True: an operand without an argument must be absent, tested by name, or an integer constant.
    bool hasArguments = false;
    std::vector<Argument> arguments;
    std::vector<AttributeTest> tests;
    uint32_t least = 1; ///< Region, Repeat
    uint32_t most = 1;
    uint32_t maxOutputs = 1; ///< Region: live outputs

    std::vector<Alternative> alternatives; ///< Choice
    /// Pipe, Optional, Repeat: what is applied to `source`. Value: a term that the value must also
    /// match when the slot is bound first: an argument of an inlined pattern that its body names
    /// several times, or a local definition of that pattern (which is then no Definition of the
    /// block, since it only holds where the pattern is used).
    TermId step;
    TermId source; ///< Pipe, Optional, Repeat
};

/// "a, b = Split(x)": the outputs of one term get names. A statement without names has no slots.
/// One that no other definition of its block reads is a root: it must match, and its values may be
/// read outside unless a `many` of the block reads them. The others hold only where they are read.
struct Definition {
    std::vector<SlotIndex> slots; ///< by output position
    TermId term;
    Span span;
};

struct Condition {
    Expression expression; ///< must be true; unknown refuses the match with M0410
    /// Set for a condition of an inlined pattern: it counts only where the pattern was used, that
    /// is where this slot (the pattern's result) is bound.
    std::optional<SlotIndex> when;
    Span span;
};

struct Many;

/// Statements that hold together: a rule's match, or the inside of `many` or `unless`.
struct Block {
    std::vector<Definition> definitions; ///< the last one is the root of the search
    std::vector<Condition> conditions;
    std::vector<Many> manys;
    std::vector<Block> unless; ///< none of these may match
    /// Set for the `unless` of an inlined pattern, as in Condition.
    std::optional<SlotIndex> when;
    Span span = {}; ///< of an `unless`: the whole statement
};

/// "many 2..16 all { ... }": disjoint instances of a block; slots bound inside become lists.
struct Many {
    uint32_t least = 1;
    uint32_t most = 1;
    bool all = false; ///< every user of the shared values must be in an instance
    Block block;
    std::vector<SlotIndex> slots; ///< bound inside
    std::vector<uint32_t> dims;   ///< dimension variables bound inside
    Span span;
};

struct Slot {
    std::string name;    ///< as written; "Act.x" for a name of an inlined pattern
    bool isList = false; ///< bound inside a `many`
    Span span;
};

struct Let {
    std::string name;
    Expression expression;
};

enum class EscapePolicy : uint8_t { Forbid, Export, Duplicate };

struct Escape {
    std::vector<SlotIndex> slots;
    EscapePolicy policy = EscapePolicy::Forbid;
    std::optional<Expression> condition;
    Span span;
};

struct Gate {
    enum class Kind : uint8_t { Default, Always, Condition };

    Kind kind = Kind::Default;
    std::optional<Expression> condition;
    bool measured = false; ///< each match is timed on the device at hand, whatever decides
};

/// A point where quantisation puts a QuantizeLinear/DequantizeLinear pair (points.h binds it).
struct QdqPoint {
    std::string name; ///< "INPUT", "RESIDUAL_INPUT"
    SlotIndex slot = 0;
    std::optional<int64_t> axis;         ///< of a constant: one scale for each index along it
    std::optional<Expression> condition; ///< no pair where it is not true
    uint32_t line = 0;                   ///< in the rule's file
};

/// "y = LayerNormalization(x, g)[axis = -1];": one assignment of a rewrite.
struct Assignment {
    std::vector<SlotIndex> targets;
    bool isList = false; ///< m[] = split(...): one result for each instance
    Expression value;
    Span span;
};

/// "as com.acme.Gated(x, w)[alpha = a]": as what operator a fuse rule exports its nodes.
struct ExportAs {
    CustomOperatorPtr custom;
    std::vector<SlotIndex> operands; ///< none: what the rule names, in the order of its names
    std::vector<NamedExpression> attributes;
    Span span;
};

struct VerifySpec {
    /// What the elements of a value lie between, both ends included.
    struct Values {
        SlotIndex slot = 0;
        double least = 0, most = 0;
    };

    uint32_t samples = 16;
    std::optional<double> tolerance;
    std::vector<std::pair<uint32_t, std::vector<int64_t>>> dims; ///< dimension variable, values
    std::vector<Values> values;
};

struct Rule {
    std::string name;
    std::string documentation; ///< its /// comment
    std::string phase = "fuse";
    int64_t priority = 0;
    bool once = false;
    std::string replaces; ///< the rule of that name is switched off

    std::vector<Term> terms;
    Block match;
    std::vector<Slot> slots;
    std::vector<std::string> dims; ///< names of the dimension variables
    std::vector<Let> lets;

    bool isRewrite = false; ///< false: the match becomes one fused node
    std::vector<Assignment> rewrite;

    Gate gate;
    std::vector<Escape> escapes;
    NumericClass numeric = NumericClass::Reassociated;
    std::vector<QdqPoint> qdq;
    std::optional<ExportAs> exportAs;
    std::optional<VerifySpec> verify;
    std::vector<std::string> hints;

    Span span;            ///< of the rule's name
    std::string file;     ///< name of its .fuse file
    uint32_t line = 0;    ///< of the rule's name
    int64_t minOpset = 0; ///< 0: any; from `opset >=` and `<`
    int64_t maxOpset = 0; ///< exclusive; 0: any
    /// The rule with the bodies of declared operators in their places, for proofs; null where it
    /// names none that has a body.
    std::shared_ptr<const Rule> writtenOut;

    const Term& term(TermId id) const { return terms[id.index()]; }
};

/// One step of a pipeline: "convert*", "fuse by exact".
struct PhaseStep {
    enum class Selection : uint8_t { Order, Gain, Exact };

    std::string phase;
    bool repeat = false;
    Selection selection = Selection::Gain;
};

struct Pipeline {
    std::string name;
    std::vector<PhaseStep> steps;
    /// "com.microsoft.MoE": what the graph is read with as one node each, and written with again.
    std::vector<std::string> kept;
};

/// Everything that the loaded .fuse files say.
struct RuleSet {
    std::vector<Rule> rules; ///< in file order, imports first
    std::vector<Pipeline> pipelines;
    std::vector<CustomOperatorPtr> operators; ///< that `op` items declare
};

} // namespace fuselage
