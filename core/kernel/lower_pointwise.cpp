// SPDX-License-Identifier: Apache-2.0
// Bodies of elementwise nodes and index maps. The space is that of the largest result made last;
// the others are written where they were met on the way. Where a Concat of equal parts is among
// them, the space is that of one part, and the tape computes every part of the result.
#include "core/kernel/tape_compose_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

struct Space {
    Extents space;
    IndexMap first; ///< map of the first output in outputOrder
};

/// More parts than this are a long tape over a small space.
constexpr size_t maxParts = 8;

/// Dim `dim` of the space must shrink to `extent`, with one part of the result for each multiple.
struct Cut {
    uint32_t dim = 0;
    int64_t extent = 0;
};

class PiecesLowering {
public:
    explicit PiecesLowering(const LowerBody& body) : m_body(body) {
        const Extents& extents = body.extents(body.graph().outputs()[0]);
        m_space = extents;
        m_parts.push_back(identityMap(extents));
    }

    LowerResult run();

private:
    std::optional<Scalar> throughConcat(Composer& composer, NodeId id, const IndexMap& map);
    Scalar cutAt(Composer& composer, const Node& node, const DimIndex& index, int64_t bound);
    void apply(const Cut& cut);
    Reason refusal(const Node& node) const;

    const LowerBody& m_body;
    Extents m_space;
    std::vector<IndexMap> m_parts; ///< maps of the result over the space
    std::optional<Cut> m_cut;
};

Reason PiecesLowering::refusal(const Node& node) const {
    const NodeId other = m_body.nodesOf(NodeClass::Elementwise)[0];
    return kindReason("Copy", "Pointwise",
                      fmt::format("{} and {}: pieces of several operands have no common tape",
                                  describe(node), describe(m_body.node(other))),
                      "match one of them only");
}

/// The index crosses `bound`, where the operand changes: asks for a space that ends there.
Scalar PiecesLowering::cutAt(Composer& composer, const Node& node, const DimIndex& index,
                             int64_t bound) {
    const auto most = std::max_element(index.terms.begin(), index.terms.end(),
                                       [](IndexTerm a, IndexTerm b) { return a.scale < b.scale; });
    const int64_t steps = bound - index.offset;
    const int64_t extent = most->scale > 0 && steps % most->scale == 0 ? steps / most->scale : 0;
    const int64_t whole = m_space[most->dim];
    const bool equalParts = extent > 0 && extent < whole && whole % extent == 0;
    if (equalParts && m_parts.size() * static_cast<size_t>(whole / extent) <= maxParts)
        m_cut = Cut{most->dim, extent};
    return composer.fail(refusal(node));
}

std::optional<Scalar> PiecesLowering::throughConcat(Composer& composer, NodeId id,
                                                    const IndexMap& map) {
    const Node& node = m_body.node(id);
    if (m_body.classOf(id) != NodeClass::Copying)
        return std::nullopt;
    auto axis = normalizedAxis(node.attributes.integer("axis"), map.size());
    if (node.op != Op::Concat || !axis)
        return composer.fail(refusal(node));
    const DimIndex& index = map[*axis];
    const int64_t low = smallestIndex(index, m_space), high = largestIndex(index, m_space);
    int64_t begin = 0;
    for (ValueId input : node.inputs) {
        const int64_t extent = m_body.extents(input)[*axis], end = begin + extent;
        if (low < end && high >= end)
            return cutAt(composer, node, index, end);
        if (low < end) {
            IndexMap part = map;
            part[*axis].offset -= begin;
            if (extent == 1)
                part[*axis] = DimIndex{};
            return composer.value(input, part);
        }
        begin = end;
    }
    return composer.fail(refusal(node));
}

void PiecesLowering::apply(const Cut& cut) {
    std::vector<IndexMap> parts;
    for (const IndexMap& map : m_parts)
        for (int64_t begin = 0; begin < m_space[cut.dim]; begin += cut.extent) {
            IndexMap& part = parts.emplace_back(map);
            for (DimIndex& index : part) {
                for (const IndexTerm& term : index.terms)
                    index.offset += term.dim == cut.dim ? term.scale * begin : 0;
                if (cut.extent == 1) // a dim of extent 1 has no terms
                    std::erase_if(index.terms,
                                  [&](const IndexTerm& term) { return term.dim == cut.dim; });
            }
        }
    m_parts = std::move(parts);
    m_space[cut.dim] = cut.extent;
}

LowerResult PiecesLowering::run() {
    if (m_body.graph().outputs().size() != 1)
        return refusal(m_body.node(m_body.nodesOf(NodeClass::Copying)[0]));
    const ValueId result = m_body.graph().outputs()[0];
    for (int attempt = 0; attempt < maxAttempts; ++attempt) {
        m_cut.reset();
        Composer composer(m_body, m_space);
        composer.setAnchor([&](NodeId id, uint32_t, const IndexMap& map) {
            return throughConcat(composer, id, map);
        });
        std::vector<Scalar> results;
        Pointwise out{m_space, {}, {}, {}};
        for (const IndexMap& part : m_parts) {
            results.push_back(composer.stored(result, part));
            out.writes.push_back({0, part});
        }
        if (composer.split()) {
            for (IndexMap& part : m_parts)
                refine(part, *composer.split());
            refine(m_space, *composer.split());
            continue;
        }
        if (m_cut) {
            apply(*m_cut);
            continue;
        }
        if (composer.failed())
            return composer.reason();
        ComposedTape finished = finishTape(composer, results);
        out.reads = std::move(finished.reads);
        out.tape = std::move(finished.tape);
        return m_body.program(std::move(out), numericOf(m_body, composer.reassociated()));
    }
    return shapeReason(text(m_body.extents(result)), text(m_space),
                       "the shapes of the body cannot be brought to one space");
}

} // namespace

LowerResult lowerPieces(const LowerBody& body) {
    return PiecesLowering(body).run();
}

LowerResult lowerPointwise(const LowerBody& body) {
    const std::vector<uint32_t> order = outputOrder(body);
    const Extents& extents = body.extents(body.graph().outputs()[order[0]]);
    Space at{extents, identityMap(extents)};
    for (int attempt = 0; attempt < maxAttempts; ++attempt) {
        Composer composer(body, at.space);
        ComposedResults composed = composeResults(composer, order, at.first, at.space.size());
        if (composer.split()) {
            refine(at.first, *composer.split());
            refine(at.space, *composer.split());
            continue;
        }
        if (composer.failed())
            return composer.reason();
        ComposedTape finished = finishTape(composer, composed.results);
        Pointwise out{at.space, std::move(finished.reads), std::move(finished.tape),
                      std::move(composed.writes)};
        return body.program(std::move(out), numericOf(body, composer.reassociated()));
    }
    return shapeReason(text(extents), text(at.space),
                       "the shapes of the body cannot be brought to one space");
}

} // namespace fuselage
