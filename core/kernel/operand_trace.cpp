// SPDX-License-Identifier: Apache-2.0
// How contractions and windows find their tensor operands: through views to an operand, with cheap
// elementwise work on the way as a prologue. Also the geometry of sliding windows.
#include "core/kernel/tape_compose_internal.h"
#include "core/ops/tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage {

namespace {

Reason prologueRefusal(const LowerBody& body, ValueId id, const char* consumer, std::string why) {
    const Node& maker = body.node(body.graph().producer(id));
    Reason out = kindReason("Pointwise", consumer,
                            fmt::format("{} before the {}: {}", describe(maker), consumer, why),
                            "fuse it with what makes its operand");
    out.facts.push_back({"node", maker.name});
    return out;
}

/// The read over all of the operand's own dims, data before constants.
std::optional<size_t> primaryRead(const LowerBody& body, const std::vector<Access>& reads,
                                  const Extents& extents) {
    std::optional<size_t> out;
    for (size_t i = 0; i < reads.size(); ++i) {
        ValueId operand = body.graph().inputs()[reads[i].operand];
        if (body.extents(operand) != extents || reads[i].index != identityMap(extents))
            continue;
        if (!out ||
            (body.constant(body.graph().inputs()[reads[*out].operand]) && !body.constant(operand)))
            out = i;
    }
    return out;
}

/// Moves tape input `index` to the front.
void makeFirstInput(Tape& tape, std::vector<Access>& reads, size_t index) {
    auto rotate = [&](auto& list) {
        std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(index),
                    list.begin() + static_cast<std::ptrdiff_t>(index) + 1);
    };
    rotate(tape.inputs);
    rotate(reads);
    for (TapeInstruction& at : tape.code)
        if (at.op == TapeOp::Input && at.index <= index)
            at.index = at.index == index ? 0 : static_cast<uint16_t>(at.index + 1);
}

std::variant<TracedOperand, DimSplit, Reason> prologueAt(const LowerBody& body, ValueId id,
                                                         IndexMap map, const char* consumer) {
    const Extents& extents = body.extents(id);
    Composer composer(body, extents);
    Scalar result = composer.value(id, identityMap(extents));
    if (composer.split())
        return prologueRefusal(body, id, consumer, "its operands have other dims");
    if (composer.failed())
        return composer.reason();
    ComposedTape composed = finishTape(composer, {result});
    for (const TapeInstruction& at : composed.tape.code)
        if (rowOf(at.op).cost.expensive())
            return prologueRefusal(
                body, id, consumer,
                fmt::format("`{}` would be repeated for every reuse", nameOf(at.op)));
    auto primary = primaryRead(body, composed.reads, extents);
    if (!primary)
        return prologueRefusal(body, id, consumer,
                               fmt::format("no operand of it is {} in that order", text(extents)));
    makeFirstInput(composed.tape, composed.reads, *primary);
    TracedOperand out{{composed.reads[0].operand, std::move(map)}, Prologue{}};
    out.prologue->reads.assign(composed.reads.begin() + 1, composed.reads.end());
    out.prologue->tape = std::move(composed.tape);
    return out;
}

Extents orDefault(std::vector<int64_t> values, size_t rank, int64_t fallback) {
    values.resize(rank, fallback);
    return values;
}

void resolvePads(const Node& node, SlidingWindow& window, const Extents& x, const Extents& y) {
    const size_t rank = window.kernel.size();
    const std::string autoPad = node.attributes.string("auto_pad", "NOTSET");
    const bool transposed = node.op == Op::ConvTranspose;
    const bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    const bool fromShape = transposed && node.attributes.has("output_shape");
    std::vector<int64_t> pads = orDefault(node.attributes.integers("pads"), 2 * rank, 0);
    Extents outputPadding = orDefault(node.attributes.integers("output_padding"), rank, 0);
    for (size_t d = 0; d < rank; ++d) {
        const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
        int64_t begin = autoPad == "VALID" ? 0 : pads[d];
        int64_t end = autoPad == "VALID" ? 0 : pads[rank + d];
        if (same || fromShape) {
            int64_t total = transposed ? (x[d + 2] - 1) * window.strides[d] + outputPadding[d] +
                                             reach - y[d + 2]
                                       : (y[d + 2] - 1) * window.strides[d] + reach - x[d + 2];
            total = std::max<int64_t>(total, 0);
            const bool smallFirst = transposed ? autoPad == "SAME_UPPER" : autoPad != "SAME_LOWER";
            begin = smallFirst ? total / 2 : total - total / 2;
            end = total - begin;
        }
        window.padsBegin.push_back(begin);
        window.padsEnd.push_back(end);
    }
}

} // namespace

std::variant<TracedOperand, DimSplit, Reason> traceOperand(const LowerBody& body, ValueId id,
                                                           IndexMap map, const Extents& space,
                                                           const char* consumer, NodeId through) {
    while (!body.operand(id)) {
        NodeId maker = body.graph().producer(id);
        if (!maker.valid())
            return Reason{"io-count",
                          fmt::format("constant `{}` lies inside the body and is no operand",
                                      body.graph().value(id).name),
                          "make it an input of the fused node",
                          {}};
        if (maker == through) {
            id = body.node(maker).inputs[0];
            continue;
        }
        const NodeClass cls = body.classOf(maker);
        if (cls == NodeClass::Elementwise)
            return prologueAt(body, id, std::move(map), consumer);
        if (cls != NodeClass::View)
            return kindReason(
                "Library", consumer,
                fmt::format("{} before the {} is no view", describe(body.node(maker)), consumer),
                "leave it out of the match");
        ViewStepResult step =
            stepThroughView(body, maker, body.graph().value(id).outputSlot, map, space);
        if (auto* split = std::get_if<DimSplit>(&step))
            return *split;
        if (auto* reason = std::get_if<Reason>(&step))
            return std::move(*reason);
        auto& next = std::get<ViewStep>(step);
        id = next.value;
        map = std::move(next.map);
    }
    return TracedOperand{{*body.operand(id), std::move(map)}, std::nullopt};
}

std::optional<std::vector<uint32_t>> canonicalDims(const IndexMap& map, const Extents& extents,
                                                   const Extents& space) {
    std::vector<uint32_t> out(space.size(), 0);
    std::vector<bool> seen(space.size(), false);
    for (size_t d = 0; d < map.size(); ++d) {
        const DimIndex& index = map[d];
        if (index.offset != 0 || index.terms.size() > 1)
            return std::nullopt;
        if (index.terms.empty()) {
            if (extents[d] != 1)
                return std::nullopt;
            continue;
        }
        const IndexTerm& term = index.terms[0];
        if (term.scale != 1 || seen[term.dim] || space[term.dim] != extents[d])
            return std::nullopt;
        seen[term.dim] = true;
        out[term.dim] = static_cast<uint32_t>(d);
    }
    for (size_t d = 0; d < space.size(); ++d)
        if (!seen[d] && space[d] != 1)
            return std::nullopt;
    return out;
}

Reason notOneToOne(const Node& anchor, const IndexMap& map, const Extents& extents,
                   const Extents& space) {
    std::set<uint32_t> read;
    for (const DimIndex& index : map)
        for (const IndexTerm& term : index.terms)
            read.insert(term.dim);
    bool isSpread = false;
    for (uint32_t d = 0; d < space.size(); ++d)
        isSpread |= space[d] > 1 && !read.contains(d);
    return shapeReason(text(extents), text(space),
                       fmt::format("results take {} at {}, which is {}", describe(anchor),
                                   text(map),
                                   isSpread ? "one element for many results" : "not one to one"),
                       isSpread ? "leave what is spread over more elements out of the match"
                                : "leave the reshape out of the match");
}

SlidingWindow slidingWindowOf(const Node& node, const Extents& x, const Extents& y,
                              const Extents& kernel) {
    const size_t rank = kernel.size();
    SlidingWindow out;
    out.kernel = kernel;
    out.strides = orDefault(node.attributes.integers("strides"), rank, 1);
    out.dilations = orDefault(node.attributes.integers("dilations"), rank, 1);
    out.ceilMode = node.attributes.integer("ceil_mode") != 0;
    resolvePads(node, out, x, y);
    return out;
}

std::variant<PoolFacts, Reason> poolOf(const LowerBody& body, NodeId id) {
    const Node& node = body.node(id);
    const Extents& x = body.extents(node.inputs[0]);
    const Extents kernel = node.attributes.integers("kernel_shape");
    if (node.outputs.size() != 1 || !node.outputs[0].valid() || kernel.size() + 2 != x.size())
        return Reason{"unsupported-op",
                      fmt::format("{} has a result besides the pooled values", describe(node)),
                      "leave it out of the match",
                      {{"node", node.name}}};
    PoolFacts out;
    out.window = slidingWindowOf(node, x, body.extents(node.outputs[0]), kernel);
    if (node.op == Op::AveragePool)
        out.kind = node.attributes.integer("count_include_pad") != 0 ? PoolKind::AverageIncludingPad
                                                                     : PoolKind::Average;
    if (node.op == Op::LpPool) {
        out.kind = PoolKind::Lp;
        out.p = node.attributes.integer("p", 2);
    }
    return out;
}

} // namespace fuselage
