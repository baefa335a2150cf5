// SPDX-License-Identifier: Apache-2.0
// softmax(steps(scale * Q K^T)) V: two MatMuls around a Softmax. The result is walked back to the
// second MatMul, its left operand to the Softmax, that one's operand to the first MatMul.
#include "core/kernel/lower_attention_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

bool AttentionLowering::throughViews(Cursor& at) {
    for (;;) {
        NodeId maker = m_body.graph().producer(at.value);
        if (!maker.valid() || m_body.classOf(maker) != NodeClass::View)
            return true;
        ViewStepResult step = stepThroughView(
            m_body, maker, m_body.graph().value(at.value).outputSlot, at.map, m_space);
        if (auto* split = std::get_if<DimSplit>(&step)) {
            m_split = *split;
            return false;
        }
        if (auto* reason = std::get_if<Reason>(&step))
            return fail(std::move(*reason));
        auto& next = std::get<ViewStep>(step);
        at = {next.value, std::move(next.map)};
    }
}

bool AttentionLowering::throughViewsAndCasts(Cursor& at) {
    const auto isComputed = [&](ValueId id) { // as float32 inside the kernel
        const DType dtype = m_body.dtype(id);
        return dtype == DType::Float32 || isNarrowFloat(dtype);
    };
    for (;;) {
        if (!throughViews(at))
            return false;
        NodeId maker = m_body.graph().producer(at.value);
        const bool isCast = maker.valid() && (m_body.node(maker).op == Op::Cast ||
                                              m_body.node(maker).op == Op::CastLike);
        if (!isCast || m_body.strict())
            return true;
        ValueId source = m_body.node(maker).inputs[0];
        if (!isComputed(source) || !isComputed(at.value))
            return true;
        at.value = source;
    }
}

/// Where(IsNaN(weights), 0, weights), as safe softmaxes are written.
bool AttentionLowering::throughNanGuard(Cursor& at) {
    const NodeId maker = m_body.graph().producer(at.value);
    if (!maker.valid() || m_body.node(maker).op != Op::Where)
        return true;
    const Node& node = m_body.node(maker);
    const NodeId test = m_body.graph().producer(node.inputs[0]);
    const bool guards = test.valid() && m_body.node(test).op == Op::IsNaN &&
                        m_body.node(test).inputs[0] == node.inputs[2] &&
                        uniformConstant(node.inputs[1]) == 0.0 &&
                        m_body.extents(node.inputs[2]) == m_body.extents(at.value);
    if (!guards)
        return fail(notAttention(fmt::format("{} changes the weights", describe(node)),
                                 "leave it out of the match"));
    m_out.zeroesNan = true;
    at.value = node.inputs[2];
    return throughViewsAndCasts(at);
}

/// The operand behind views; with `scaled`, constant factors on the way go into the scale.
std::optional<Access> AttentionLowering::operandAt(Cursor at, bool scaled) {
    for (;;) {
        if (!throughViews(at))
            return std::nullopt;
        if (auto operand = m_body.operand(at.value))
            return Access{*operand, at.map};
        NodeId maker = m_body.graph().producer(at.value);
        const Node* node = maker.valid() ? &m_body.node(maker) : nullptr;
        if (!scaled || !node || (node->op != Op::Mul && node->op != Op::Div)) {
            fail(notAttention(node ? fmt::format("{} before the attention", describe(*node))
                                   : "an operand of the attention is a constant of the body",
                              "leave it out of the match"));
            return std::nullopt;
        }
        if (!scaleBy(at, *node))
            return std::nullopt;
    }
}

namespace {

/// The index map of a MatMul's operand from that of its result; `inner` is the reduced index.
IndexMap matMulOperand(const LowerBody& body, const Node& node, size_t slot, const IndexMap& result,
                       const DimIndex& inner) {
    const Extents& own = body.extents(node.inputs[slot]);
    IndexMap out(own.size());
    for (size_t d = 0; d + 2 < own.size(); ++d)
        if (own[d] != 1)
            out[d] = result[result.size() - own.size() + d];
    const DimIndex& free = slot == 0 ? result[result.size() - 2] : result.back();
    const bool transposed = node.attributes.integer(slot == 0 ? "transA" : "transB") != 0;
    const bool innerLast = (slot == 0) != transposed;
    out[own.size() - 2] = innerLast ? free : inner;
    out[own.size() - 1] = innerLast ? inner : free;
    return out;
}

} // namespace

bool AttentionLowering::start() {
    std::vector<NodeId> products = m_body.nodesOf(NodeClass::Contraction);
    m_softmaxId = m_body.nodesOf(NodeClass::Reduction)[0];
    m_firstId = products[0];
    m_secondId = products[1];
    if (m_body.graph().outputs().size() != 1)
        return fail(notAttention("attention has one result, this body has more",
                                 "leave readers of the scores out of the match"));
    for (NodeId id : products) {
        const Node& node = m_body.node(id);
        const bool plain = node.op == Op::MatMul || node.op == Op::FusedMatMul;
        const bool matrices = plain && m_body.extents(node.inputs[0]).size() >= 2 &&
                              m_body.extents(node.inputs[1]).size() >= 2 &&
                              node.attributes.integer("transBatchA") == 0 &&
                              node.attributes.integer("transBatchB") == 0;
        if (!matrices)
            return fail(notAttention(fmt::format("{} is no product of matrices", describe(node)),
                                     "leave it out of the match"));
    }
    const Node& softmax = m_body.node(m_softmaxId);
    const size_t rank = m_body.extents(softmax.inputs[0]).size();
    if (normalizedAxis(softmax.attributes.integer("axis", -1), rank) != rank - 1)
        return fail(notAttention(fmt::format("{} is not along the last dim", describe(softmax)),
                                 "softmax along the keys"));
    const Extents& v = m_body.extents(m_body.node(m_secondId).inputs[1]);
    const Node& firstNode = m_body.node(m_firstId);
    const Extents& q = m_body.extents(firstNode.inputs[0]);
    const bool vTransposed = m_body.node(m_secondId).attributes.integer("transB") != 0;
    const bool qTransposed = firstNode.attributes.integer("transA") != 0;
    const int64_t s = v[v.size() - (vTransposed ? 1 : 2)];
    const int64_t d = q[q.size() - (qTransposed ? 2 : 1)];
    m_keys = s;
    m_s = identityMap({s}, static_cast<uint32_t>(m_space.size()));
    m_space.push_back(s);
    m_d = identityMap({d}, static_cast<uint32_t>(m_space.size()));
    m_space.push_back(d);
    return true;
}

bool AttentionLowering::walkResult() {
    Cursor at{m_body.graph().outputs()[0], m_first};
    if (!throughViews(at))
        return false;
    const Node& second = m_body.node(m_secondId);
    if (m_body.graph().producer(at.value) != m_secondId)
        return fail(notAttention(fmt::format("{} is not the last step", describe(second)),
                                 "leave what follows the attention out of the match"));
    if (second.attributes.number("alpha", 1) != 1)
        return fail(notAttention(fmt::format("{} scales its result", describe(second)),
                                 "scale the scores instead"));
    m_resultMap = at.map;
    Cursor weights{second.inputs[0], matMulOperand(m_body, second, 0, at.map, m_s[0])};
    if (!throughViewsAndCasts(weights) || !throughNanGuard(weights))
        return false;
    const Node& softmax = m_body.node(m_softmaxId);
    if (m_body.graph().producer(weights.value) != m_softmaxId || weights.map.back() != m_s[0])
        return fail(notAttention(
            fmt::format("{} does not feed {} directly", describe(softmax), describe(second)),
            "leave what lies between out of the match"));
    auto v = operandAt({second.inputs[1], matMulOperand(m_body, second, 1, at.map, m_s[0])}, false);
    if (!v)
        return false;
    m_out.v = std::move(*v);
    Cursor scores{softmax.inputs[0], weights.map};
    return walkScores(scores) && walkFirstMatMul(scores);
}

bool AttentionLowering::walkFirstMatMul(const Cursor& scores) {
    const Node& node = m_body.node(m_firstId);
    m_out.scale *= node.attributes.number("alpha", 1);
    auto q = operandAt({node.inputs[0], matMulOperand(m_body, node, 0, scores.map, m_d[0])}, true);
    if (!q)
        return false;
    auto k = operandAt({node.inputs[1], matMulOperand(m_body, node, 1, scores.map, m_d[0])}, true);
    if (!k)
        return false;
    m_out.q = std::move(*q);
    m_out.k = std::move(*k);
    return true;
}

/// Numbers the dims [batch..., rows, columns] and checks that each operand uses only its own.
bool AttentionLowering::placeDims() {
    auto only = [&](const DimIndex& index, int64_t& extent, uint32_t& dim) {
        if (index.terms.size() > 1 || index.offset != 0)
            return false;
        dim = index.terms.empty() ? UINT32_MAX : index.terms[0].dim;
        extent = index.terms.empty() ? 1 : m_space[dim];
        return index.terms.empty() || index.terms[0].scale == 1;
    };
    uint32_t l = 0, e = 0, s = 0, d = 0;
    const size_t rank = m_resultMap.size();
    if (!only(m_resultMap[rank - 2], m_out.l, l) || !only(m_resultMap.back(), m_out.e, e) ||
        !only(m_s[0], m_out.s, s) || !only(m_d[0], m_out.d, d))
        return fail(shapeReason(text(m_resultMap), text(m_space),
                                "rows, keys or depth of the attention are split",
                                "keep each of them one dim"));
    std::vector<uint32_t> newDim(m_space.size(), 0);
    for (uint32_t dim = 0; dim < m_written; ++dim) {
        if (m_space[dim] == 1 || dim == l || dim == e)
            continue;
        newDim[dim] = static_cast<uint32_t>(m_out.batch.size());
        m_out.batch.push_back(m_space[dim]);
    }
    const auto row = static_cast<uint32_t>(m_out.batch.size()), column = row + 1;
    auto renumbered = [&](Access& access, uint32_t rowDim, uint32_t columnDim) {
        std::vector<uint32_t> numbers = newDim;
        for (uint32_t dim : dimsOf(access.index)) {
            const bool isBatch = dim < m_written && dim != l && dim != e;
            if (!isBatch && dim != rowDim && dim != columnDim)
                return false;
        }
        if (rowDim != UINT32_MAX)
            numbers[rowDim] = row;
        if (columnDim != UINT32_MAX)
            numbers[columnDim] = column;
        renumber(access.index, numbers);
        return true;
    };
    bool fits = renumbered(m_out.q, l, d) && renumbered(m_out.k, s, d) &&
                renumbered(m_out.v, s, e) && renumbered(m_out.output, l, e);
    for (ScoreStep& step : m_out.steps)
        fits = fits && (!step.reads() || renumbered(step.access, l, s));
    if (m_out.sink && m_out.sink->read)
        fits = fits && renumbered(*m_out.sink->read, l, UINT32_MAX);
    return fits || fail(shapeReason(text(m_resultMap), text(m_space),
                                    "an operand of the attention moves along a foreign dim"));
}

std::variant<KernelProgram, DimSplit, Reason> AttentionLowering::attempt() {
    m_out = Attention{};
    m_split.reset();
    m_reason.reset();
    m_out.output = {0, m_first};
    const bool done = walkResult() && placeDims();
    if (m_split)
        return *m_split;
    if (!done)
        return m_reason.value_or(notAttention("no attention", ""));
    return m_body.program(std::move(m_out), NumericClass::Reassociated);
}

LowerResult AttentionLowering::run() {
    if (!start())
        return *m_reason;
    for (int i = 0; i < maxAttempts; ++i) {
        auto result = attempt();
        if (auto* program = std::get_if<KernelProgram>(&result))
            return std::move(*program);
        if (auto* reason = std::get_if<Reason>(&result))
            return std::move(*reason);
        const DimSplit at = std::get<DimSplit>(result);
        refine(m_space, at);
        refine(m_first, at);
        refine(m_s, at);
        refine(m_d, at);
        m_written += at.dim < m_written ? 1 : 0;
    }
    return shapeReason(text(m_space), text(m_first),
                       "the shapes of the body cannot be brought to one space");
}

LowerResult lowerAttention(const LowerBody& body) {
    return AttentionLowering(body).run();
}

} // namespace fuselage
