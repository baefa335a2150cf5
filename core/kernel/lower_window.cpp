// SPDX-License-Identifier: Apache-2.0
// Bodies around one pool: elementwise work after it is the epilogue, cheap work before it the
// prologue. Pools that end a convolution belong to lower_contraction.cpp.
#include "core/kernel/tape_compose_internal.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

/// The pooled value as tape input 0 wherever the pool is met, at one map only.
struct PooledInput {
    std::optional<Scalar> scalar;
    IndexMap map;

    Composer::Anchor anchorFor(Composer& composer, NodeId pool) {
        return [this, &composer, pool](NodeId id, uint32_t,
                                       const IndexMap& at) -> std::optional<Scalar> {
            if (id != pool)
                return std::nullopt;
            if (scalar && at != map)
                return composer.fail(kindReason("Window", "Window",
                                                fmt::format("{} is read at {} and at {}",
                                                            describe(composer.body().node(pool)),
                                                            text(map), text(at)),
                                                "leave one of the readers out of the match"));
            if (!scalar) {
                map = at;
                DType type = composer.body().dtype(composer.body().node(pool).outputs[0]);
                scalar = composer.taggedInput(isNarrowFloat(type) ? DType::Float32 : type, 0);
            }
            return *scalar;
        };
    }
};

std::variant<TracedOperand, Reason> inputOf(const LowerBody& body, const Node& pool) {
    const Extents& x = body.extents(pool.inputs[0]);
    auto traced = traceOperand(body, pool.inputs[0], identityMap(x), x, "Window");
    if (auto* reason = std::get_if<Reason>(&traced))
        return std::move(*reason);
    auto* operand = std::get_if<TracedOperand>(&traced);
    if (!operand || operand->access.index != identityMap(x) ||
        body.extents(body.graph().inputs()[operand->access.operand]) != x)
        return kindReason("Copy", "Window",
                          fmt::format("the operand of {} is rearranged", describe(pool)),
                          "leave the rearrangement out of the match");
    return std::move(*operand);
}

/// Fills the epilogue of `out`; a split asks for the next attempt.
std::variant<KernelProgram, DimSplit, Reason> attempt(const LowerBody& body, NodeId pool,
                                                      const std::vector<uint32_t>& order,
                                                      const Extents& space, const IndexMap& first,
                                                      Window out) {
    Composer composer(body, space);
    PooledInput pooled;
    composer.setAnchor(pooled.anchorFor(composer, pool));
    ComposedResults composed = composeResults(composer, order, first, space.size());
    if (composer.split())
        return *composer.split();
    if (composer.failed())
        return composer.reason();
    auto dims = pooled.scalar ? canonicalDims(pooled.map, out.space, space) : std::nullopt;
    if (!dims)
        return notOneToOne(body.node(pool), pooled.map, out.space, space);
    ComposedTape tape = finishTape(composer, composed.results, pooled.scalar->type());
    out.epilogue = {std::move(tape.reads), std::move(tape.tape), std::move(composed.writes)};
    for (Access& read : out.epilogue.reads)
        renumber(read.index, *dims);
    for (Access& write : out.epilogue.writes)
        renumber(write.index, *dims);
    return body.program(std::move(out), numericOf(body, composer.reassociated()));
}

} // namespace

LowerResult lowerWindow(const LowerBody& body) {
    const NodeId pool = body.nodesOf(NodeClass::Pool)[0];
    const Node& node = body.node(pool);
    auto facts = poolOf(body, pool);
    if (auto* reason = std::get_if<Reason>(&facts))
        return std::move(*reason);
    auto input = inputOf(body, node);
    if (auto* reason = std::get_if<Reason>(&input))
        return std::move(*reason);
    Window out;
    auto& [kind, window, p] = std::get<PoolFacts>(facts);
    out.kind = kind;
    out.window = std::move(window);
    out.p = p;
    out.space = body.extents(node.outputs[0]);
    out.operand = std::get<TracedOperand>(input).access.operand;
    out.prologue = std::get<TracedOperand>(input).prologue;

    const std::vector<uint32_t> order = outputOrder(body);
    Extents space = body.extents(body.graph().outputs()[order[0]]);
    IndexMap first = identityMap(space);
    for (int i = 0; i < maxAttempts; ++i) {
        auto result = attempt(body, pool, order, space, first, out);
        if (auto* program = std::get_if<KernelProgram>(&result))
            return std::move(*program);
        if (auto* reason = std::get_if<Reason>(&result))
            return std::move(*reason);
        refine(first, std::get<DimSplit>(result));
        refine(space, std::get<DimSplit>(result));
    }
    return shapeReason(text(out.space), text(space),
                       "the shapes of the body cannot be brought to one space");
}

} // namespace fuselage
