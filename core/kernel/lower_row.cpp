// SPDX-License-Identifier: Apache-2.0
// Bodies with reductions. The space starts as that of the largest result; the first reduction met
// on the way to the operands says which of its dims are reduced, or adds the reduced ones. All
// other reductions must agree.
#include "core/kernel/row_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

/// True when the value depends on a node of class Reduction.
bool readsReduction(const LowerBody& body, ValueId id) {
    std::vector<ValueId> work{id};
    std::vector<bool> seen(body.graph().valueBound(), false);
    while (!work.empty()) {
        const ValueId at = work.back();
        work.pop_back();
        NodeId maker = body.graph().producer(at);
        if (!maker.valid() || seen[at.index()])
            continue;
        seen[at.index()] = true;
        if (body.classOf(maker) == NodeClass::Reduction)
            return true;
        for (ValueId input : body.node(maker).inputs)
            if (input.valid())
                work.push_back(input);
    }
    return false;
}

using Attempt = std::variant<KernelProgram, DimSplit, InnerChoice, Reason>;

class RowLowering {
public:
    explicit RowLowering(const LowerBody& body) : m_body(body), m_order(outputOrder(body)) {
        // The first result leads to a reduction; what that one reads is met on the way.
        std::stable_partition(m_order.begin(), m_order.end(), [&](uint32_t number) {
            return readsReduction(body, body.graph().outputs()[number]);
        });
        m_space.extents = body.extents(body.graph().outputs()[m_order[0]]);
        m_space.first = identityMap(m_space.extents);
    }

    LowerResult run();

private:
    Attempt attempt();
    RowResults composeResults(Composer& composer) const;
    std::optional<IndexMap> writeMap(Composer& composer, uint32_t number) const;
    std::optional<IndexMap> shapedLike(Composer& composer, const IndexMap& map, const Extents& from,
                                       const Extents& to) const;
    void split(DimSplit at);
    void choose(const InnerChoice& choice);

    const LowerBody& m_body;
    std::vector<uint32_t> m_order;
    RowSpace m_space;
};

void RowLowering::split(DimSplit at) {
    refine(m_space.first, at);
    refine(m_space.extents, at);
    if (m_space.outerRank && at.dim < *m_space.outerRank)
        ++*m_space.outerRank;
}

void RowLowering::choose(const InnerChoice& choice) {
    Extents outer, inner = choice.appended;
    std::vector<uint32_t> newDim(m_space.extents.size(), 0);
    for (uint32_t dim : choice.dims)
        inner.push_back(m_space.extents[dim]);
    const auto chosen = static_cast<uint32_t>(choice.dims.size());
    const auto kept = static_cast<uint32_t>(m_space.extents.size()) - chosen;
    for (uint32_t dim = 0; dim < m_space.extents.size(); ++dim) {
        auto at = std::find(choice.dims.begin(), choice.dims.end(), dim);
        if (at != choice.dims.end()) {
            newDim[dim] = kept + static_cast<uint32_t>(at - choice.dims.begin());
            continue;
        }
        newDim[dim] = static_cast<uint32_t>(outer.size());
        outer.push_back(m_space.extents[dim]);
    }
    if (inner.empty())
        inner.push_back(1);
    renumber(m_space.first, newDim);
    m_space.outerRank = outer.size();
    m_space.extents = outer;
    m_space.extents.insert(m_space.extents.end(), inner.begin(), inner.end());
}

std::optional<IndexMap> RowLowering::shapedLike(Composer& composer, const IndexMap& map,
                                                const Extents& from, const Extents& to) const {
    MapResult shaped = reshapeMap(map, from, to, m_space.extents);
    if (auto* split = std::get_if<DimSplit>(&shaped))
        composer.fail(*split);
    auto* out = std::get_if<IndexMap>(&shaped);
    return out ? std::optional(*out) : std::nullopt;
}

std::optional<IndexMap> RowLowering::writeMap(Composer& composer, uint32_t number) const {
    const std::vector<ValueId>& outputs = m_body.graph().outputs();
    const Extents& extents = m_body.extents(outputs[number]);
    if (number == m_order[0])
        return m_space.first;
    const auto outerRank = static_cast<std::ptrdiff_t>(*m_space.outerRank);
    Extents rowsOnly = m_space.extents;
    std::fill(rowsOnly.begin() + outerRank, rowsOnly.end(), 1);
    auto met = composer.visited(outputs[number]);
    if (met && (coversOnce(*met, extents, m_space.extents) || coversOnce(*met, extents, rowsOnly)))
        return met;
    const Extents& first = m_body.extents(outputs[m_order[0]]);
    const Extents outer(m_space.extents.begin(), m_space.extents.begin() + outerRank);
    std::optional<IndexMap> out;
    if (elementCount(extents) == elementCount(first))
        out = shapedLike(composer, m_space.first, first, extents);
    else if (elementCount(extents) == elementCount(outer))
        out = shapedLike(composer, identityMap(outer), outer, extents);
    if (!out)
        composer.fail(shapeReason(text(extents), text(m_space.extents),
                                  fmt::format("result `{}` is {}, the program runs over rows {}",
                                              m_body.graph().value(outputs[number]).name,
                                              text(extents), text(m_space.extents)),
                                  "fuse only results of whole rows or one element a row"));
    return out;
}

RowResults RowLowering::composeResults(Composer& composer) const {
    RowResults out;
    for (uint32_t number : m_order) {
        // Before the inner dims are known only the first result is walked, to meet a reduction.
        if (!m_space.outerRank && number != m_order[0])
            break;
        auto map = m_space.outerRank ? writeMap(composer, number) : m_space.first;
        if (!map || composer.failed())
            break;
        const std::vector<uint32_t> dims = dimsOf(*map);
        const bool perRow = m_space.outerRank &&
                            std::all_of(dims.begin(), dims.end(),
                                        [&](uint32_t dim) { return dim < *m_space.outerRank; });
        const Extents inner(m_space.extents.begin() +
                                static_cast<std::ptrdiff_t>(m_space.outerRank.value_or(0)),
                            m_space.extents.end());
        const bool oneElement = elementCount(inner) == 1;
        composer.setScope(perRow && !oneElement ? 1 : 0);
        Scalar made = composer.stored(m_body.graph().outputs()[number], *map);
        composer.setScope(0);
        (perRow && !oneElement ? out.row : out.element).push_back(made);
        (perRow && !oneElement ? out.rowWrites : out.elementWrites).push_back({number, *map});
    }
    return out;
}

Attempt RowLowering::attempt() {
    Composer composer(m_body, m_space.extents);
    RowReducers reducers(composer, m_space);
    composer.setAnchor([&](NodeId id, uint32_t slot, const IndexMap& map) {
        return reducers.answer(id, slot, map);
    });
    // A read that all elements of a row share becomes a row scalar as its own maximum.
    composer.setRowRead([&](Scalar read) { return reducers.reduce(ReduceKind::Max, read); });
    RowResults results = composeResults(composer);
    if (reducers.choice() && !m_space.outerRank)
        return *reducers.choice();
    if (composer.split())
        return *composer.split();
    if (composer.failed())
        return composer.reason();
    if (!m_space.outerRank)
        return kindReason("Row", "Pointwise", "the largest result reads no reduction",
                          "match results that the reduction feeds");
    const bool sums = std::any_of(
        reducers.reductions().begin(), reducers.reductions().end(),
        [](const RowReduction& reduction) { return reduction.kind <= ReduceKind::Product; });
    const bool several = m_body.order().size() > m_body.nodesOf(NodeClass::View).size() + 1;
    Row row = rowFromTape(composer, reducers.reductions(), results, m_space);
    return m_body.program(std::move(row),
                          numericOf(m_body, composer.reassociated() || (sums && several)));
}

LowerResult RowLowering::run() {
    for (int i = 0; i < maxAttempts; ++i) {
        Attempt result = attempt();
        if (auto* program = std::get_if<KernelProgram>(&result))
            return std::move(*program);
        if (auto* reason = std::get_if<Reason>(&result))
            return std::move(*reason);
        if (auto* choice = std::get_if<InnerChoice>(&result))
            choose(*choice);
        else
            split(std::get<DimSplit>(result));
    }
    return shapeReason(text(m_space.extents), text(m_space.first),
                       "the shapes of the body cannot be brought to rows");
}

} // namespace

LowerResult lowerRow(const LowerBody& body) {
    return RowLowering(body).run();
}

} // namespace fuselage
