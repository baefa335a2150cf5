// SPDX-License-Identifier: Apache-2.0
// Composes the elementwise part of a body into one tape: asked for an element of a value under an
// index map, it walks backwards through elementwise nodes and views until it meets operands (reads)
// or an anchor, which the program's own lowering answers for. Values are pulled, so a value needed
// under two maps is computed under both.
#pragma once

#include "core/kernel/lower_body_internal.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuselage {

class Composer {
public:
    /// Answers for a node that the composer does not look through; none leaves it to the composer.
    using Anchor =
        std::function<std::optional<Scalar>(NodeId id, uint32_t slot, const IndexMap& map)>;

    Composer(const LowerBody& body, const Extents& space) : m_body(body), m_space(space) {}

    void setAnchor(Anchor anchor) { m_anchor = std::move(anchor); }

    /// The element of `id` at `map`, at least float32 wide. After a failure the result means
    /// nothing: test failed() once at the end.
    Scalar value(ValueId id, const IndexMap& map);

    /// value() rounded to the type that the body stores.
    Scalar stored(ValueId id, const IndexMap& map);

    bool failed() const { return m_split || m_reason; }

    /// A dim that must be split before another attempt.
    const std::optional<DimSplit>& split() const { return m_split; }

    const Reason& reason() const { return *m_reason; }

    Scalar fail(Reason reason);
    Scalar fail(DimSplit split);

    /// Unwraps the result of an index map operation; null after a failure.
    const IndexMap* unwrap(MapResult& result, const Node& node);

    TapeBuilder& tape() { return m_tape; }

    const LowerBody& body() const { return m_body; }

    const Extents& space() const { return m_space; }

    /// One tape input that is no read (accumulator, row scalar); `tag` is returned by inputTags.
    Scalar taggedInput(DType type, int tag);

    /// Per tape input: the read, or none and the tag.
    struct Input {
        std::optional<Access> read;
        int tag = -1;
    };

    const std::vector<Input>& inputs() const { return m_inputs; }

    /// A register of an operand's element, widened.
    Scalar read(uint32_t operand, DType type, const IndexMap& map);

    /// A map under which this value was composed, if it was: where another result can be written.
    std::optional<IndexMap> visited(ValueId id) const;
    void noteVisited(ValueId id, const IndexMap& map);

    /// Values composed under another scope are not shared (row scope and element scope).
    void setScope(int scope) { m_scope = scope; }

    int scope() const { return m_scope; }

    /// Applied to reads made in scope 1: a row's own code takes no reads, only row scalars.
    void setRowRead(std::function<Scalar(Scalar)> rowRead) { m_rowRead = std::move(rowRead); }

    /// BatchNormalization was turned into scale and shift.
    bool reassociated() const { return m_reassociated; }

private:
    Scalar produced(ValueId id, const IndexMap& map);
    Scalar rounded(ValueId id, Scalar wide);
    bool isView(ValueId id) const;
    Scalar elementwise(NodeId id, const IndexMap& map);
    Scalar batchNormalization(NodeId id, const IndexMap& map);
    Scalar constantScalar(const Tensor& tensor);
    Scalar dummy() { return m_tape.constant(DType::Float32, 0); }
    Scalar widened(Scalar scalar) {
        return isNarrowFloat(scalar.type()) ? cast(scalar, DType::Float32) : scalar;
    }

    const LowerBody& m_body;
    Extents m_space;
    TapeBuilder m_tape;
    Anchor m_anchor;
    std::function<Scalar(Scalar)> m_rowRead;
    std::vector<Input> m_inputs;
    std::map<std::string, Scalar> m_reads;
    std::map<std::string, Scalar> m_values;
    std::map<ValueId, IndexMap> m_visited;
    std::optional<DimSplit> m_split;
    std::optional<Reason> m_reason;
    int m_scope = 0;
    size_t m_steps = 0;
    bool m_reassociated = false;
};

/// A tape with its reads: inputs that it does not use are gone.
struct ComposedTape {
    Tape tape;
    std::vector<Access> reads;
};

/// Finishes with these results. With `leading`, tape input 0 is the one with tag 0 whether used or
/// not (the accumulator), of that type.
ComposedTape finishTape(Composer& composer, const std::vector<Scalar>& results,
                        std::optional<DType> leading = std::nullopt);

/// One result of the body under composition.
struct ResultMap {
    uint32_t output = 0; ///< number in the program's outputs
    IndexMap map;
};

/// The body's outputs in the order in which to compose them: last made, largest first.
std::vector<uint32_t> outputOrder(const LowerBody& body);

/// Composes every output over the dims below `written`; the first one is written at `first`, the
/// others where they were met or under the first one's linear index. Failures lie in the composer.
struct ComposedResults {
    std::vector<Scalar> results;
    std::vector<Access> writes; ///< parallel to results
};
ComposedResults composeResults(Composer& composer, const std::vector<uint32_t>& order,
                               const IndexMap& first, size_t written);

/// The map to write an output with: where its value was met, else the dims of the first output
/// under the other's shape. Every element must be reached once over `space`.
std::variant<IndexMap, DimSplit, Reason> writeMapOf(const Composer& composer, ValueId output,
                                                    const ResultMap& first, const Extents& space);

/// Exact, wider or reassociated from what was composed.
NumericClass numericOf(const LowerBody& body, bool reassociated);

/// Where a contraction or window reads one tensor operand.
struct TracedOperand {
    Access access;
    std::optional<Prologue> prologue;
};

/// Walks from `id` at `map` over `space` through views to an operand; elementwise nodes on the way
/// become a prologue over the operand's own dims when they are cheap. `through`: an elementwise
/// node that is passed like a view, since somebody else does its work.
std::variant<TracedOperand, DimSplit, Reason> traceOperand(const LowerBody& body, ValueId id,
                                                           IndexMap map, const Extents& space,
                                                           const char* consumer,
                                                           NodeId through = {});

/// New numbers for the dims of a space in which `map` becomes the identity of `extents`; none when
/// it is not a permutation (dims of extent 1 aside).
std::optional<std::vector<uint32_t>> canonicalDims(const IndexMap& map, const Extents& extents,
                                                   const Extents& space);

/// Why canonicalDims() gave none of the results behind `anchor`, which they take at `map`.
Reason notOneToOne(const Node& anchor, const IndexMap& map, const Extents& extents,
                   const Extents& space);

/// How many splits to try before giving up.
constexpr int maxAttempts = 32;

} // namespace fuselage
