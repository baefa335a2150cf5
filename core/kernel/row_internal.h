// SPDX-License-Identifier: Apache-2.0
// The parts of row lowering: what each reducing operator computes in terms of reductions
// (row_reducers.cpp), the choice of the space (lower_row.cpp), and the cut of the one composed tape
// into stages (row_stages.cpp).
#pragma once

#include "core/kernel/tape_compose_internal.h"

#include <optional>
#include <vector>

namespace fuselage {

/// Outer dims come first; `outerRank` is none until a reduction has told which dims are reduced.
struct RowSpace {
    Extents extents;
    std::optional<size_t> outerRank;
    IndexMap first; ///< of the first result
};

/// What the first reduction that was met asks for: these dims become the inner ones, or new ones.
struct InnerChoice {
    std::vector<uint32_t> dims;
    Extents appended;
};

/// One reduction over the inner dims. Its result is the tape input with tag = its number.
struct RowReduction {
    ReduceKind kind = ReduceKind::Sum;
    Scalar source;
    Scalar result;
};

/// Answers a Composer for nodes of class Reduction.
class RowReducers {
public:
    RowReducers(Composer& composer, const RowSpace& space) : m_composer(composer), m_space(space) {}

    std::optional<Scalar> answer(NodeId id, uint32_t slot, const IndexMap& map);

    Scalar reduce(ReduceKind kind, Scalar source);

    const std::vector<RowReduction>& reductions() const { return m_reductions; }

    const std::optional<InnerChoice>& choice() const { return m_choice; }

private:
    struct Moments {
        Scalar centred, inverse, mean;
    };

    Scalar result(const Node& node, uint32_t slot, const IndexMap& map);
    Scalar softmax(const Node& node, const IndexMap& map);
    Scalar normalization(const Node& node, uint32_t slot, const IndexMap& map);
    Scalar channelNormalization(const Node& node, const IndexMap& map);
    Scalar lpNormalization(const Node& node, const IndexMap& map);
    Scalar reduced(const Node& node, const IndexMap& map);
    Scalar reducedElement(const Node& node, Scalar x, int64_t count);
    Moments moments(Scalar x, int64_t count, double epsilon);

    /// True when the dims `axes` of a value at `map` are exactly the inner ones; else it failed.
    bool place(const Node& node, const IndexMap& map, const Extents& extents,
               const std::vector<size_t>& axes);
    /// Map of the reduced value from the map of its result's kept dims.
    std::optional<IndexMap> unreduced(const Node& node, const IndexMap& map, const Extents& extents,
                                      const std::vector<size_t>& axes, bool keepDims);
    Scalar operand(const Node& node, size_t slot, const IndexMap& map, const Extents& extents);
    Scalar elementOf(ValueId id, const IndexMap& map);
    Scalar mean(Scalar x, int64_t count) {
        return reduce(ReduceKind::Sum, x) / static_cast<double>(count);
    }
    Scalar refuse(const Node& node, std::string why, const std::string& left,
                  const std::string& right);

    Composer& m_composer;
    const RowSpace& m_space;
    std::vector<RowReduction> m_reductions;
    std::optional<InnerChoice> m_choice;
};

/// Results of a body with the accesses they are written with.
struct RowResults {
    std::vector<Scalar> element, row;
    std::vector<Access> elementWrites, rowWrites;
};

/// Cuts what was composed into stages: a reduction's stage is one more than the reductions that its
/// source depends on; what depends on row scalars only is computed once a row.
Row rowFromTape(Composer& composer, const std::vector<RowReduction>& reductions,
                const RowResults& results, const RowSpace& space);

} // namespace fuselage
