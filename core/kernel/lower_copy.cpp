// SPDX-License-Identifier: Apache-2.0
// Bodies that only move elements. Each output starts as one piece that is walked back to an
// operand; Concat and Pad cut a piece where the operand changes. Pieces have spaces of their own.
// QuantizeLinear takes back what DequantizeLinear with the same numbers did: between them stored
// integers only move.
#include "core/kernel/lower_body_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>

namespace fuselage {

namespace {

/// More pieces than this are no program but a loop over nodes.
constexpr size_t maxPieces = 256;

struct Pending {
    Extents space;
    Access write;
    ValueId value;
    IndexMap map; ///< of value
};

/// The term that moves furthest along an index, for which bounds must be whole multiples of
/// `granularity`: 1 when it is alone.
struct MovingTerm {
    IndexTerm term;
    int64_t granularity = 1;
};

/// None when the index stands still, or when its terms overlap.
std::optional<MovingTerm> movingTerm(const DimIndex& index, const Extents& space) {
    if (index.terms.empty())
        return std::nullopt;
    MovingTerm out{index.terms[0], 1};
    for (const IndexTerm& term : index.terms)
        if (std::abs(term.scale) > std::abs(out.term.scale))
            out.term = term;
    if (index.terms.size() == 1)
        return out;
    int64_t below = 0;
    for (const IndexTerm& term : index.terms)
        below += term.dim == out.term.dim ? 0 : term.scale * (space[term.dim] - 1);
    const bool ordered = std::all_of(index.terms.begin(), index.terms.end(),
                                     [](const IndexTerm& term) { return term.scale > 0; });
    out.granularity = out.term.scale;
    return ordered && below < out.term.scale ? std::optional(out) : std::nullopt;
}

/// True when a cut of the index at `bound` falls between two steps of its moving term.
bool cutsCleanly(const DimIndex& index, const Extents& space, int64_t bound) {
    if (index.terms.size() <= 1)
        return true;
    auto moving = movingTerm(index, space);
    return moving && (bound - index.offset) % moving->granularity == 0;
}

/// What a Pad adds along its axes, as far as it is known.
struct Padding {
    struct Along {
        size_t axis = 0;
        int64_t before = 0, after = 0; ///< negative: cuts
    };

    std::string mode;
    double fill = 0;
    std::vector<Along> axes;
};

/// None where it is not known, or takes an element more often than a few boxes can.
std::optional<Padding> paddingOf(const LowerBody& body, const Node& node) {
    const Extents& x = body.extents(node.inputs[0]);
    auto pads = body.integers(node, "pads");
    auto axes = body.integers(node, "axes");
    const Tensor* value = body.constant(LowerBody::input(node, 2));
    if (!pads || (!value && LowerBody::input(node, 2).valid()) ||
        (value && value->elementCount() != 1) || (!axes && LowerBody::input(node, 3).valid()) ||
        pads->size() != 2 * (axes ? axes->size() : x.size()))
        return std::nullopt;
    Padding out{node.attributes.string("mode", "constant"),
                value ? value->at(0) : node.attributes.number("value"),
                {}};
    constexpr int64_t most = int64_t(1) << 40; // keeps index arithmetic far from overflow
    const size_t count = pads->size() / 2;
    for (size_t i = 0; i < count; ++i) {
        const int64_t before = (*pads)[i], after = (*pads)[count + i];
        auto axis = normalizedAxis(axes ? (*axes)[i] : static_cast<int64_t>(i), x.size());
        if (!axis || std::min(before, after) < -most || std::max(before, after) > most)
            return std::nullopt;
        // Elements of the input are taken once: from both sides of a border, or around.
        const int64_t taken = out.mode == "reflect" ? x[*axis] - 1 : x[*axis];
        if (out.mode != "constant" && (std::min(before, after) < 0 || x[*axis] == 0 ||
                                       (out.mode != "edge" && std::max(before, after) > taken)))
            return std::nullopt;
        out.axes.push_back({*axis, before, after});
    }
    return out;
}

/// The padding before or behind the input along one axis, read from the input; `piece` counts from
/// the padding's first position.
void readBorder(Pending& piece, const Padding& padding, const Padding::Along& along, int64_t extent,
                bool before) {
    DimIndex& index = piece.map[along.axis];
    if (padding.mode == "edge") {
        index = {before ? 0 : extent - 1, {}};
    } else if (padding.mode == "wrap") {
        index.offset += before ? extent - along.before : 0;
    } else {
        index.offset = (before ? along.before : extent - 2) - index.offset;
        for (IndexTerm& term : index.terms)
            term.scale = -term.scale;
    }
}

/// How QuantizeLinear and DequantizeLinear store a float.
struct StoredForm {
    double scale = 1, zero = 0;
    DType type = DType::Undefined;

    bool operator==(const StoredForm&) const = default;
};

bool isQuantisation(const Node& node) {
    return node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear;
}

/// None where it is not one for all elements, or where rounding might not give the integer back.
std::optional<StoredForm> storedForm(const LowerBody& body, const Node& node) {
    const bool stores = node.op == Op::QuantizeLinear;
    const ValueId data = stores ? node.outputs[0] : node.inputs[0];
    const ValueId number = stores ? node.inputs[0] : node.outputs[0];
    const ValueId zeroPoint = LowerBody::input(node, 2);
    const Tensor* scale = body.constant(LowerBody::input(node, 1));
    const Tensor* zero = zeroPoint.valid() ? body.constant(zeroPoint) : nullptr;
    if (!scale || scale->elementCount() != 1 ||
        (zeroPoint.valid() && (!zero || zero->elementCount() != 1)))
        return std::nullopt;
    const StoredForm out{scale->at(0), zero ? zero->at(0) : 0, body.dtype(data)};
    const bool isByte = out.type == DType::Int8 || out.type == DType::UInt8;
    const bool isUsual = out.scale > 1e-30 && out.scale < 1e30;
    return isByte && isUsual && scale->dtype() == DType::Float32 &&
                   body.dtype(number) == DType::Float32
               ? std::optional(out)
               : std::nullopt;
}

class CopyLowering {
public:
    explicit CopyLowering(const LowerBody& body) : m_body(body) {}

    LowerResult run();

private:
    std::optional<Reason> advance(Pending piece);
    std::optional<Reason> throughView(Pending piece, NodeId maker);
    std::optional<Reason> throughConcat(const Pending& piece, const Node& node);
    std::optional<Reason> throughPad(const Pending& piece, const Node& node);
    void cutBorders(const Pending& piece, const Padding& padding, const Padding::Along& along,
                    int64_t extent, std::vector<Pending>& out);
    std::optional<Reason> constantPiece(const Pending& piece, const Tensor& tensor);
    std::optional<Pending> part(const Pending& piece, size_t axis, int64_t begin, int64_t end);
    Reason notAffine(const Node& node, const Pending& piece) const;
    void fill(const Pending& piece, double value) {
        m_out.pieces.push_back({piece.space, std::nullopt, piece.write, value});
    }

    const LowerBody& m_body;
    Copy m_out;
    std::deque<Pending> m_work;
};

Reason CopyLowering::notAffine(const Node& node, const Pending& piece) const {
    return shapeReason(text(piece.map), text(piece.space),
                       fmt::format("{} is read at {}, which cannot be cut into boxes",
                                   describe(node), text(piece.map)),
                       "leave it out of the match");
}

/// The part of a piece whose index along `axis` is in [begin, end), rebased to begin; none when
/// empty. The index must move with one dim, or stand still.
std::optional<Pending> CopyLowering::part(const Pending& piece, size_t axis, int64_t begin,
                                          int64_t end) {
    Pending out = piece;
    DimIndex& index = out.map[axis];
    auto moving = movingTerm(index, piece.space);
    if (!moving) {
        if (index.offset < begin || index.offset >= end)
            return std::nullopt;
        index.offset -= begin;
        return out;
    }
    // offset + scale * i in [begin, end) for i in [low, high)
    const int64_t scale = moving->term.scale;
    const uint32_t dim = moving->term.dim;
    auto ceilDivide = [](int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); };
    int64_t low = scale > 0 ? ceilDivide(begin - index.offset, scale)
                            : ceilDivide(index.offset - (end - 1), -scale);
    int64_t high = scale > 0 ? ceilDivide(end - index.offset, scale)
                             : ceilDivide(index.offset - begin + 1, -scale);
    low = std::max<int64_t>(low, 0);
    high = std::min(high, piece.space[dim]);
    if (low >= high)
        return std::nullopt;
    out.space[dim] = high - low;
    auto shift = [&](std::vector<DimIndex>& map) {
        for (DimIndex& at : map) {
            for (const IndexTerm& term : at.terms)
                if (term.dim == dim)
                    at.offset += term.scale * low;
            if (high - low == 1) // a dim of extent 1 has no terms
                std::erase_if(at.terms, [&](const IndexTerm& term) { return term.dim == dim; });
        }
    };
    shift(out.map);
    shift(out.write.index);
    out.map[axis].offset -= begin;
    return out;
}

std::optional<Reason> CopyLowering::throughConcat(const Pending& piece, const Node& node) {
    auto axis = normalizedAxis(node.attributes.integer("axis"), piece.map.size());
    if (!axis)
        return notAffine(node, piece);
    int64_t begin = 0;
    for (ValueId input : node.inputs) {
        const int64_t end = begin + m_body.extents(input)[*axis];
        if (!cutsCleanly(piece.map[*axis], piece.space, end))
            return notAffine(node, piece);
        if (auto next = part(piece, *axis, begin, end)) {
            next->value = input;
            m_work.push_back(std::move(*next));
        }
        begin = end;
    }
    return std::nullopt;
}

/// Cuts a piece of the padded value along one axis: what is inside, and borders that are read from
/// the input. Constant borders are filled here.
void CopyLowering::cutBorders(const Pending& piece, const Padding& padding,
                              const Padding::Along& along, int64_t extent,
                              std::vector<Pending>& out) {
    const int64_t before = std::max<int64_t>(along.before, 0);
    const int64_t end = along.before + extent;
    auto low = part(piece, along.axis, 0, before);
    auto high = part(piece, along.axis, end, end + along.after);
    for (auto* border : {&low, &high}) {
        if (!*border)
            continue;
        if (padding.mode == "constant") {
            fill(**border, padding.fill);
            continue;
        }
        readBorder(**border, padding, along, extent, border == &low);
        out.push_back(std::move(**border));
    }
    if (auto inside = part(piece, along.axis, before, end)) {
        inside->map[along.axis].offset += before - along.before;
        out.push_back(std::move(*inside));
    }
}

std::optional<Reason> CopyLowering::throughPad(const Pending& piece, const Node& node) {
    const auto padding = paddingOf(m_body, node);
    if (!padding)
        return Reason{"unsupported-op",
                      fmt::format("{} does not pad with constant amounts", describe(node)),
                      "leave it out of the match",
                      {{"node", node.name}}};
    const Extents& x = m_body.extents(node.inputs[0]);
    std::vector<Pending> pieces{piece};
    for (const Padding::Along& along : padding->axes) {
        if (piece.map[along.axis].terms.size() > 1)
            return notAffine(node, piece);
        std::vector<Pending> next;
        for (const Pending& each : pieces)
            cutBorders(each, *padding, along, x[along.axis], next);
        pieces = std::move(next);
        if (pieces.size() > maxPieces)
            break; // run() says so
    }
    for (Pending& each : pieces) {
        each.value = node.inputs[0];
        m_work.push_back(std::move(each));
    }
    return std::nullopt;
}

std::optional<Reason> CopyLowering::throughView(Pending piece, NodeId maker) {
    for (int i = 0; i < 32; ++i) {
        ViewStepResult step = stepThroughView(
            m_body, maker, m_body.graph().value(piece.value).outputSlot, piece.map, piece.space);
        if (auto* reason = std::get_if<Reason>(&step))
            return std::move(*reason);
        if (auto* next = std::get_if<ViewStep>(&step)) {
            piece.value = next->value;
            piece.map = std::move(next->map);
            m_work.push_back(std::move(piece));
            return std::nullopt;
        }
        refine(piece.map, std::get<DimSplit>(step));
        refine(piece.write.index, std::get<DimSplit>(step));
        refine(piece.space, std::get<DimSplit>(step));
    }
    return notAffine(m_body.node(maker), piece);
}

std::optional<Reason> CopyLowering::constantPiece(const Pending& piece, const Tensor& tensor) {
    for (int64_t i = 1; i < tensor.elementCount(); ++i)
        if (tensor.at(i) != tensor.at(0))
            return Reason{"io-count",
                          fmt::format("constant `{}` lies inside the body and is no operand",
                                      m_body.graph().value(piece.value).name),
                          "make it an input of the fused node",
                          {}};
    fill(piece, tensor.at(0));
    return std::nullopt;
}

std::optional<Reason> CopyLowering::advance(Pending piece) {
    if (auto operand = m_body.operand(piece.value)) {
        m_out.pieces.push_back({piece.space, Access{*operand, piece.map}, piece.write, 0});
        return std::nullopt;
    }
    if (const Tensor* tensor = m_body.constant(piece.value))
        return constantPiece(piece, *tensor);
    NodeId maker = m_body.graph().producer(piece.value);
    const Node& node = m_body.node(maker);
    if (node.op == Op::Concat)
        return throughConcat(piece, node);
    if (node.op == Op::Pad)
        return throughPad(piece, node);
    if (isQuantisation(node)) { // movesStored()
        piece.value = node.inputs[0];
        m_work.push_back(std::move(piece));
        return std::nullopt;
    }
    return throughView(std::move(piece), maker);
}

LowerResult CopyLowering::run() {
    const std::vector<ValueId>& outputs = m_body.graph().outputs();
    for (uint32_t i = 0; i < outputs.size(); ++i) {
        const Extents& extents = m_body.extents(outputs[i]);
        IndexMap identity = identityMap(extents);
        m_work.push_back({extents, {i, identity}, outputs[i], identity});
    }
    while (!m_work.empty()) {
        Pending piece = std::move(m_work.front());
        m_work.pop_front();
        if (auto reason = advance(std::move(piece)))
            return *reason;
        if (m_out.pieces.size() + m_work.size() > maxPieces)
            return Reason{"io-count",
                          fmt::format("more than {} pieces in one copy", maxPieces),
                          "match fewer nodes",
                          {{"limit", std::to_string(maxPieces)}}};
    }
    return m_body.program(std::move(m_out), NumericClass::Exact);
}

} // namespace

bool movesStored(const LowerBody& body) {
    std::optional<StoredForm> common;
    for (NodeId id : body.order()) {
        const Node& node = body.node(id);
        if (!isQuantisation(node)) {
            if (body.classOf(id) == NodeClass::Elementwise)
                return false;
            for (ValueId input : node.inputs) // floats come from a DequantizeLinear
                if (input.valid() && body.dtype(input) == DType::Float32 &&
                    !body.graph().producer(input).valid())
                    return false;
            continue;
        }
        const auto form = storedForm(body, node);
        const bool isFirst = node.op == Op::DequantizeLinear;
        if (!form || (common && *common != *form) || (isFirst && !body.operand(node.inputs[0])) ||
            (!isFirst && !body.graph().producer(node.inputs[0]).valid()))
            return false;
        common = form;
    }
    const auto& outputs = body.graph().outputs();
    return common && std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
               const NodeId maker = body.graph().producer(output);
               return maker.valid() && body.node(maker).op == Op::QuantizeLinear;
           });
}

LowerResult lowerCopy(const LowerBody& body) {
    return CopyLowering(body).run();
}

} // namespace fuselage
