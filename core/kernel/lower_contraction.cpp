// SPDX-License-Identifier: Apache-2.0
// Bodies around one MatMul, Gemm or convolution. The outputs are walked back to the accumulator;
// its index map says how the iteration dims divide into batch, m and n, the operands' maps follow
// from it. Elementwise work after it is the epilogue, cheap work before it the prologues.
#include "core/kernel/quantized_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

/// One attempt's space: the dims that results are written over, then the reduced ones.
struct Spaces {
    Extents all;
    size_t written = 0;
    IndexMap first; ///< of the first result
    IndexMap k;     ///< one entry: the reduced index

    void split(DimSplit at) {
        refine(all, at);
        refine(first, at);
        refine(k, at);
        if (at.dim < written)
            ++written;
    }
};

bool isConvolution(const Node& node) {
    return node.op == Op::Conv || node.op == Op::ConvTranspose || node.op == Op::ConvInteger ||
           node.op == Op::QLinearConv;
}

DType accumulatorType(DType result) {
    return isNarrowFloat(result) ? DType::Float32 : result;
}

bool transposes(const Node& node, const char* name) {
    return node.attributes.integer(name) != 0;
}

class ContractionLowering {
public:
    explicit ContractionLowering(const LowerBody& body)
        : m_body(body), m_id(body.nodesOf(NodeClass::Contraction)[0]), m_node(body.node(m_id)),
          m_slots(slotsOf(m_node)), m_order(outputOrder(body)) {}

    LowerResult run();

private:
    std::optional<Reason> start();
    std::optional<Reason> startPool(NodeId pool);
    /// One attempt; a split asks for the next one.
    std::variant<KernelProgram, DimSplit, Reason> attempt();
    void composeEpilogue(Composer& composer);
    Scalar accumulator(Composer& composer, const IndexMap& map);
    std::optional<DimSplit> finishMatMul(const Composer& composer);
    bool finishConvolution(const Composer& composer);
    Scalar scaled(Composer& composer, Scalar sums);
    IndexMap operandMap(bool isA) const;
    std::variant<TracedOperand, DimSplit, Reason> trace(bool isA, IndexMap map,
                                                        const Extents& space) const;
    ValueId operandOf(bool isA) const { return m_node.inputs[isA ? m_slots.a : m_slots.b]; }
    void renumberAll(const std::vector<uint32_t>& newDim);

    const LowerBody& m_body;
    NodeId m_id;
    const Node& m_node;
    ContractionSlots m_slots;
    std::optional<IntegerOperands> m_integers; ///< none: sums of what the node reads
    std::vector<uint32_t> m_order;
    Spaces m_spaces;
    std::optional<NodeId> m_pool;
    Access m_poolWrite;

    // of the current attempt
    Contraction m_out;
    std::optional<Scalar> m_accumulator;
    IndexMap m_resultMap; ///< of the contraction's result
    Reason m_reason;
};

/// The whole space is walked again for a pool: its windows overlap, so the epilogue runs before it.
std::optional<Reason> ContractionLowering::startPool(NodeId pool) {
    const Node& node = m_body.node(pool);
    auto facts = poolOf(m_body, pool);
    if (auto* reason = std::get_if<Reason>(&facts))
        return std::move(*reason);
    if (m_order.size() != 1)
        return kindReason("Contraction", "Window",
                          "a pooled contraction has one result, this one has " +
                              std::to_string(m_order.size()),
                          "leave the pool out of the match");
    ValueId result = m_body.graph().outputs()[0];
    Composer composer(m_body, m_body.extents(result));
    IndexMap poolMap;
    std::optional<Scalar> pooled;
    composer.setAnchor([&](NodeId id, uint32_t, const IndexMap& map) -> std::optional<Scalar> {
        if (id != pool)
            return std::nullopt;
        poolMap = map;
        pooled = composer.taggedInput(DType::Float32, 0);
        return pooled;
    });
    IndexMap write = identityMap(m_body.extents(result));
    Scalar made = composer.value(result, write);
    const Extents& space = m_body.extents(node.outputs[0]);
    auto dims = composer.failed() ? std::nullopt : canonicalDims(poolMap, space, composer.space());
    if (!dims || !pooled || made.reg() != pooled->reg())
        return kindReason("Contraction", "Window",
                          fmt::format("{} is not the last step", describe(node)),
                          "leave what follows the pool out of the match");
    renumber(write, *dims);
    auto& [kind, window, p] = std::get<PoolFacts>(facts);
    if (kind == PoolKind::Lp)
        return kindReason("Contraction", "Window", "Lp pools run as programs of their own",
                          "leave the pool out of the match");
    m_poolWrite = {0, write};
    m_out.poolWindow = window;
    m_out.poolKind = kind;
    m_out.poolSpace = space;
    m_pool = pool;
    return std::nullopt;
}

std::optional<Reason> ContractionLowering::start() {
    std::vector<NodeId> pools = m_body.nodesOf(NodeClass::Pool);
    if (!pools.empty()) {
        if (!isConvolution(m_node))
            return kindReason("Contraction", "Window", "only convolutions end in a pool",
                              "leave the pool out of the match");
        if (auto reason = startPool(pools[0]))
            return reason;
    }
    const bool narrowBatch = m_node.op == Op::FusedMatMul && (transposes(m_node, "transBatchA") ||
                                                              transposes(m_node, "transBatchB"));
    if (narrowBatch)
        return Reason{"unsupported-op",
                      fmt::format("{} transposes its batch dims", describe(m_node)),
                      "write the transpose as a node",
                      {{"node", m_node.name}}};
    if (m_slots.quantised()) {
        if (auto reason = checkQuantised(m_body, m_node, m_slots))
            return reason;
        m_integers = integerOperands(m_node, m_slots);
    } else if (!m_pool && !m_body.strict()) { // a pool takes floats
        m_integers = storedOperands(m_body, m_node);
    }
    const Extents& first = m_pool ? m_body.extents(m_body.node(*m_pool).inputs[0])
                                  : m_body.extents(m_body.graph().outputs()[m_order[0]]);
    m_spaces.all = first;
    m_spaces.written = first.size();
    m_spaces.first = identityMap(first);
    m_spaces.k.resize(1);
    if (!isConvolution(m_node)) {
        const Extents& a = m_body.extents(operandOf(true));
        const bool last = a.size() < 2 || !transposes(m_node, "transA");
        const int64_t k = last ? a.back() : a[a.size() - 2];
        m_spaces.k = identityMap({k}, static_cast<uint32_t>(m_spaces.all.size()));
        m_spaces.all.push_back(k);
    }
    return std::nullopt;
}

/// Sums of stored integers as what the node makes of the floats that they stand for.
Scalar ContractionLowering::scaled(Composer& composer, Scalar sums) {
    auto scale = [&](bool isA) {
        IndexMap map;
        if (!isConvolution(m_node)) {
            map = operandMap(isA);
        } else if (!isA) {
            map.resize(m_body.extents(operandOf(false)).size());
            map[0] = m_resultMap[1];
        }
        return scaleOf(composer, operandOf(isA), (*m_integers)[isA ? 0 : 1], std::move(map));
    };
    const Scalar both = scale(true) * scale(false);
    return composer.failed() ? sums : cast(sums, DType::Float32) * both;
}

Scalar ContractionLowering::accumulator(Composer& composer, const IndexMap& map) {
    if (m_accumulator && map != m_resultMap)
        return composer.fail(kindReason("Contraction", "Contraction",
                                        fmt::format("{} is read at {} and at {}", describe(m_node),
                                                    text(m_resultMap), text(map)),
                                        "leave one of the readers out of the match"));
    const DType type =
        m_slots.quantised() ? DType::Int32 : accumulatorType(m_body.dtype(m_node.outputs[0]));
    if (!m_accumulator) {
        m_resultMap = map;
        m_accumulator = composer.taggedInput(m_integers ? DType::Int32 : type, 0);
    }
    Scalar out = *m_accumulator;
    if (m_slots.yScale)
        return requantised(composer, m_node, m_slots, out, map);
    if (m_integers && !m_slots.quantised())
        out = scaled(composer, out);
    ValueId addend = m_slots.bias ? m_node.inputs[*m_slots.bias] : ValueId();
    if (isConvolution(m_node))
        return addend.valid() ? out + cast(composer.value(addend, {map[1]}), type) : out;
    if (m_node.op == Op::Gemm || m_node.op == Op::FusedMatMul) {
        const double alpha = m_node.attributes.number("alpha", 1);
        out = alpha == 1 ? out : out * alpha;
    }
    const double beta = m_node.attributes.number("beta", 1);
    if (m_node.op != Op::Gemm || !addend.valid() || beta == 0)
        return out;
    MapResult broadcast =
        broadcastMap(map, m_body.extents(m_node.outputs[0]), m_body.extents(addend));
    const IndexMap* at = composer.unwrap(broadcast, m_node);
    if (!at)
        return out;
    Scalar c = cast(composer.value(addend, *at), type);
    return out + (beta == 1 ? c : c * beta);
}

void ContractionLowering::composeEpilogue(Composer& composer) {
    composer.setAnchor([&](NodeId id, uint32_t, const IndexMap& map) -> std::optional<Scalar> {
        if (id != m_id)
            return std::nullopt;
        return accumulator(composer, map);
    });
    ComposedResults composed;
    if (m_pool) {
        composed.results = {composer.stored(m_body.node(*m_pool).inputs[0], m_spaces.first)};
        composed.writes = {m_poolWrite};
    } else {
        composed = composeResults(composer, m_order, m_spaces.first, m_spaces.written);
    }
    if (composer.failed())
        return;
    if (!m_accumulator) {
        composer.fail(kindReason("Contraction", "Pointwise",
                                 fmt::format("no result reads {}", describe(m_node)),
                                 "leave it out of the match"));
        return;
    }
    ComposedTape tape = finishTape(composer, composed.results, m_accumulator->type());
    m_out.epilogue = {std::move(tape.reads), std::move(tape.tape), std::move(composed.writes)};
    m_out.accumulate = m_accumulator->type();
}

/// Index map of A or B from the map of the result: batch dims broadcast, then m or n and k.
IndexMap ContractionLowering::operandMap(bool isA) const {
    const Extents& a = m_body.extents(operandOf(true));
    const Extents& b = m_body.extents(operandOf(false));
    const Extents& own = isA ? a : b;
    const DimIndex& k = m_spaces.k[0];
    if (own.size() == 1)
        return {k};
    const size_t matrixDims = (a.size() > 1 ? 1U : 0U) + (b.size() > 1 ? 1U : 0U);
    const size_t batch = m_resultMap.size() - matrixDims;
    IndexMap out(own.size());
    for (size_t d = 0; d + 2 < own.size(); ++d)
        if (own[d] != 1)
            out[d] = m_resultMap[batch + 2 + d - own.size()];
    const DimIndex& free = isA ? m_resultMap[batch] : m_resultMap.back();
    // A is [m, k] and B is [k, n] unless transposed.
    const bool freeFirst = isA != transposes(m_node, isA ? "transA" : "transB");
    out[own.size() - 2] = freeFirst ? free : k;
    out[own.size() - 1] = freeFirst ? k : free;
    return out;
}

std::variant<TracedOperand, DimSplit, Reason>
ContractionLowering::trace(bool isA, IndexMap map, const Extents& space) const {
    const NodeId through = m_integers ? (*m_integers)[isA ? 0 : 1].dequantised : NodeId();
    return traceOperand(m_body, operandOf(isA), std::move(map), space, "Contraction", through);
}

void ContractionLowering::renumberAll(const std::vector<uint32_t>& newDim) {
    for (Access& read : m_out.epilogue.reads)
        renumber(read.index, newDim);
    if (!m_pool)
        for (Access& write : m_out.epilogue.writes)
            renumber(write.index, newDim);
}

bool contains(const std::vector<uint32_t>& list, uint32_t dim) {
    return std::find(list.begin(), list.end(), dim) != list.end();
}

std::optional<DimSplit> ContractionLowering::finishMatMul(const Composer& composer) {
    const Extents& all = composer.space();
    for (bool isA : {true, false}) {
        auto traced = trace(isA, operandMap(isA), all);
        if (auto* split = std::get_if<DimSplit>(&traced))
            return *split;
        if (auto* reason = std::get_if<Reason>(&traced)) {
            m_reason = std::move(*reason);
            return std::nullopt;
        }
        auto& operand = std::get<TracedOperand>(traced);
        if (m_integers)
            if (auto reason =
                    subtractZeroPoint(m_body, m_node, (*m_integers)[isA ? 0 : 1], operand)) {
                m_reason = std::move(*reason);
                return std::nullopt;
            }
        (isA ? m_out.a : m_out.b) = std::move(operand.access);
        (isA ? m_out.prologueA : m_out.prologueB) = std::move(operand.prologue);
    }
    // Which operands a dim steps through says what it is.
    const std::vector<uint32_t> inA = dimsOf(m_out.a.index), inB = dimsOf(m_out.b.index);
    std::vector<uint32_t> batch, m, n;
    const std::vector<uint32_t> ordered = dimsInOrder(m_resultMap);
    for (uint32_t dim : ordered)
        (contains(inA, dim) && contains(inB, dim) ? batch
         : contains(inA, dim)                     ? m
                                                  : n)
            .push_back(dim);
    for (uint32_t dim = 0; dim < m_spaces.written; ++dim)
        if (all[dim] != 1 && !contains(ordered, dim))
            m_reason = shapeReason(text(m_body.extents(m_node.outputs[0])), text(all),
                                   fmt::format("the result of {} is repeated along a dim of {}",
                                               describe(m_node), text(m_spaces.first)),
                                   "leave the Expand out of the match");
    std::vector<uint32_t> newDim(all.size(), 0);
    auto append = [&](const std::vector<uint32_t>& dims, Extents& to, bool atLeastOne,
                      uint32_t first) {
        for (uint32_t dim : dims) {
            newDim[dim] = first + static_cast<uint32_t>(to.size());
            to.push_back(all[dim]);
        }
        if (atLeastOne && dims.empty())
            to.push_back(1);
    };
    append(batch, m_out.space, false, 0);
    m_out.batchDims = static_cast<uint32_t>(m_out.space.size());
    append(m, m_out.space, true, 0);
    m_out.mDims = static_cast<uint32_t>(m_out.space.size()) - m_out.batchDims;
    append(n, m_out.space, true, 0);
    m_out.nDims = static_cast<uint32_t>(m_out.space.size()) - m_out.batchDims - m_out.mDims;
    append(dimsInOrder(m_spaces.k), m_out.k, true, static_cast<uint32_t>(m_out.space.size()));
    renumber(m_out.a.index, newDim);
    renumber(m_out.b.index, newDim);
    renumberAll(newDim);
    return std::nullopt;
}

bool ContractionLowering::finishConvolution(const Composer& composer) {
    const Extents& x = m_body.extents(operandOf(true));
    const Extents& w = m_body.extents(operandOf(false));
    m_out.space = m_body.extents(m_node.outputs[0]);
    m_out.kind =
        m_node.op == Op::ConvTranspose ? Contraction::Kind::ConvTranspose : Contraction::Kind::Conv;
    m_out.groups = m_node.attributes.integer("group", 1);
    m_out.window = slidingWindowOf(m_node, x, m_out.space, Extents(w.begin() + 2, w.end()));
    auto dims = canonicalDims(m_resultMap, m_out.space, composer.space());
    if (!dims) {
        m_reason = notOneToOne(m_node, m_resultMap, m_out.space, composer.space());
        return false;
    }
    // Windows slide over the dims of what the pool reads: they must be the convolution's own.
    if (m_pool && (m_body.extents(m_body.node(*m_pool).inputs[0]) != m_out.space ||
                   composer.space() != m_out.space || m_resultMap != identityMap(m_out.space))) {
        m_reason = kindReason("Contraction", "Window",
                              fmt::format("{} reads the result of {} rearranged",
                                          describe(m_body.node(*m_pool)), describe(m_node)),
                              "leave the rearrangement or the pool out of the match");
        return false;
    }
    renumberAll(*dims);
    for (bool isA : {true, false}) {
        const Extents& own = isA ? x : w;
        auto traced = trace(isA, identityMap(own), own);
        if (auto* reason = std::get_if<Reason>(&traced)) {
            m_reason = std::move(*reason);
            return false;
        }
        auto* operand = std::get_if<TracedOperand>(&traced);
        if (!operand || operand->access.index != identityMap(own) ||
            m_body.extents(m_body.graph().inputs()[operand->access.operand]) != own) {
            m_reason = kindReason(
                "Copy", "Contraction",
                fmt::format("operand {} of {} is rearranged", isA ? 0 : 1, describe(m_node)),
                "leave the rearrangement out of the match");
            return false;
        }
        if (m_integers)
            if (auto reason =
                    subtractZeroPoint(m_body, m_node, (*m_integers)[isA ? 0 : 1], *operand)) {
                m_reason = std::move(*reason);
                return false;
            }
        (isA ? m_out.a : m_out.b) = std::move(operand->access);
        (isA ? m_out.prologueA : m_out.prologueB) = std::move(operand->prologue);
    }
    return true;
}

std::variant<KernelProgram, DimSplit, Reason> ContractionLowering::attempt() {
    Contraction fresh;
    fresh.poolWindow = m_out.poolWindow;
    fresh.poolKind = m_out.poolKind;
    fresh.poolSpace = m_out.poolSpace;
    m_out = std::move(fresh);
    m_accumulator.reset();
    m_reason = {};
    Composer composer(m_body, m_spaces.all);
    composeEpilogue(composer);
    if (composer.split())
        return *composer.split();
    if (composer.failed())
        return composer.reason();
    if (isConvolution(m_node))
        finishConvolution(composer);
    else if (auto split = finishMatMul(composer))
        return *split;
    if (!m_reason.code.empty())
        return m_reason;
    const bool rescaled = m_integers && !m_slots.quantised();
    return m_body.program(std::move(m_out), numericOf(m_body, composer.reassociated() || rescaled));
}

LowerResult ContractionLowering::run() {
    if (auto reason = start())
        return *reason;
    for (int i = 0; i < maxAttempts; ++i) {
        auto result = attempt();
        if (auto* program = std::get_if<KernelProgram>(&result))
            return std::move(*program);
        if (auto* reason = std::get_if<Reason>(&result))
            return std::move(*reason);
        m_spaces.split(std::get<DimSplit>(result));
    }
    return shapeReason(text(m_spaces.all), text(m_spaces.first),
                       "the shapes of the body cannot be brought to one space");
}

} // namespace

LowerResult lowerContraction(const LowerBody& body) {
    return ContractionLowering(body).run();
}

} // namespace fuselage
