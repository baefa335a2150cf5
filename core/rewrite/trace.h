// SPDX-License-Identifier: Apache-2.0
// The log of a rewriting run as plain data: what was done, what was refused and why, and how near
// each rule came where it did not match. Reports, `explain` and the step view read it.
#pragma once

#include "core/support/reason.h"
#include "core/support/source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

/// Codes of reasons in the Trace; stable, listed for people in dsl/README.md.
namespace code {
inline constexpr const char* noProducer = "M0201";  ///< a node is wanted, nothing makes the value
inline constexpr const char* usedTwice = "M0202";   ///< the node is already part of the match
inline constexpr const char* otherOp = "M0203";     ///< another operator stands here
inline constexpr const char* attribute = "M0204";   ///< an attribute test fails
inline constexpr const char* number = "M0205";      ///< no constant near the number
inline constexpr const char* operands = "M0206";    ///< an operand is missing or not expected
inline constexpr const char* type = "M0207";        ///< not constant, scalar, input, or other dtype
inline constexpr const char* shape = "M0208";       ///< a dimension or the rank differs
inline constexpr const char* otherValue = "M0209";  ///< a name already stands for another value
inline constexpr const char* between = "M0210";     ///< a node stands between two of the pattern
inline constexpr const char* condition = "M0301";   ///< a `where` is false
inline constexpr const char* instances = "M0302";   ///< too few instances of a `many`
inline constexpr const char* allUsers = "M0303";    ///< a user is in no instance of `many all`
inline constexpr const char* unless = "M0304";      ///< an `unless` block matches
inline constexpr const char* escape = "M0305";      ///< an inner value is read outside
inline constexpr const char* region = "M0306";      ///< a region is too small
inline constexpr const char* budget = "M0307";      ///< the search was cut off
inline constexpr const char* gate = "M0308";        ///< the gate refuses
inline constexpr const char* unknown = "M0410";     ///< a shape or value is not known
inline constexpr const char* cycle = "M0500";       ///< fusing would close a cycle
inline constexpr const char* ruleCycle = "M0510";   ///< rules of a phase undo each other
inline constexpr const char* rewriteType = "M0600"; ///< the rewrite would change a type
inline constexpr const char* shadowed = "shadowed-by";
inline constexpr const char* notSelected = "not-selected";
inline constexpr const char* disabled = "disabled"; ///< a person switched this match off
} // namespace code

/// A change of the rule's text after which the step that failed would hold. Reason::flip says it in
/// words; app/pipeline/flip applies it.
struct RuleEdit {
    enum class Kind : uint8_t {
        Replace,     ///< the first `from` in the span (all of it when empty) becomes `to`
        Alternative, ///< the span becomes (itself | itself with `to` in place of `from`)
        Append,      ///< `to` is added behind the span
        Clause,      ///< `to` at the end of the rule that holds the span, `from` before the span
    };

    Kind kind = Kind::Replace;
    Span span;
    std::string from;
    std::string to;
};

/// How far the best attempt at one anchor came.
struct NearMiss {
    std::string rule;
    std::string anchor;                  ///< node the search started at
    std::string node;                    ///< node or value where it ended
    uint32_t step = 0;                   ///< nodes that matched before it ended
    uint32_t steps = 0;                  ///< nodes of the pattern
    Reason reason;                       ///< facts "found" and "expected" hold both sides
    std::optional<RuleEdit> edit;        ///< what Reason::flip says
    Span span = {};                      ///< the part of the pattern that did not fit
    std::vector<std::string> bound = {}; ///< nodes that matched
    bool isAllButOne = false;            ///< all the rest of the pattern fits: only this test fails
};

/// What a name of the rule stood for: a value, or the values of a list.
struct TraceBinding {
    std::string name;
    std::vector<std::string> values;
};

/// One read of a point's value: an operand of a node, as they were before the match was applied.
struct TraceRead {
    std::string node;
    uint32_t slot = 0;                ///< among the node's inputs
    std::vector<std::string> sources; ///< the model's nodes that the node stands for
};

/// A point of a `qdq` clause in one match.
struct TracePoint {
    std::string name;  ///< "INPUT"
    std::string value; ///< by its name in the graph, as it was before the match was applied
    std::optional<int64_t> axis;
    uint32_t line = 0;            ///< of the point, in the rule's file
    std::vector<TraceRead> reads; ///< that the pair is for
    std::string leftOut;          ///< why there is no pair; empty: there is
};

struct TraceEvent {
    enum class Kind : uint8_t {
        Fused,     ///< the match became the fused node `made[0]`
        Rewritten, ///< the match was replaced by `made`
        Refused,   ///< a match that was complete and still not applied
        Stopped,   ///< a phase ended early
    };

    Kind kind = Kind::Fused;
    std::string phase;
    uint32_t iteration = 0; ///< of the phase, from 1
    std::string rule;
    std::string file;
    uint32_t line = 0;
    std::vector<std::string> nodes;     ///< matched, in topological order
    std::vector<std::string> labels;    ///< alternatives taken
    std::vector<TraceBinding> bindings; ///< in the order of the rule's text
    std::vector<std::string> made;
    std::vector<TracePoint> points; ///< of an applied match, in the order of the clause
    double gain = 0;                ///< the number that selection used
    Reason reason;                  ///< of Refused and Stopped
    std::optional<RuleEdit> edit;   ///< of Refused: what Reason::flip says

    /// The match changed the graph.
    bool applied() const { return kind == Kind::Fused || kind == Kind::Rewritten; }
};

struct RuleCount {
    std::string rule;
    std::string phase;
    uint32_t matched = 0; ///< complete and legal matches
    uint32_t applied = 0;
    uint32_t refused = 0;
};

struct Trace {
    std::vector<TraceEvent> events;
    std::vector<NearMiss> nearMisses; ///< only when explaining
    std::vector<RuleCount> counts;    ///< in rule order

    /// Applied matches of the rule.
    uint32_t applied(const std::string& rule) const;

    RuleCount& count(const std::string& rule, const std::string& phase);
};

} // namespace fuselage
