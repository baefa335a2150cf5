// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's operators on stored values, each a float operator between DequantizeLinear and
// QuantizeLinear: written out so, they run and fuse as all others do. What a node says that this
// form cannot keeps the node as it is.
#include "core/onnx/normalise_internal.h"

#include <algorithm>
#include <string_view>

namespace fuselage::model_io {

namespace {

/// False: the node cannot be written out, and nothing was changed.
using Expander = bool (*)(Draft&);

class Pieces {
public:
    explicit Pieces(Draft& draft) : m_draft(draft) {}

    ValueId at(size_t slot) const {
        return m_draft.hasInput(slot) ? m_draft.spec.inputs[slot] : ValueId();
    }

    /// The float value of a stored one, its scale and zero point at the slots behind it.
    ValueId loaded(size_t slot, const char* suffix, int64_t axis = 1) {
        return loaded(at(slot), at(slot + 1), at(slot + 2), suffix, axis);
    }

    ValueId loaded(ValueId stored, ValueId scale, ValueId zero, const char* suffix,
                   int64_t axis = 1) {
        Attributes attributes;
        attributes.set("axis", axis);
        std::vector<ValueId> inputs{stored, scale};
        if (zero.valid())
            inputs.push_back(zero);
        return m_draft.before(Op::DequantizeLinear, std::move(inputs), std::move(attributes),
                              suffix);
    }

    /// The node itself becomes what stores the value. Without a zero point it is that of `like`.
    bool store(ValueId value, size_t scaleSlot, ValueId like) {
        ValueId zero = at(scaleSlot + 1);
        if (!zero.valid())
            zero = m_draft.scalarLike(0, like, "zero_point");
        NodeSpec& spec = m_draft.spec;
        const ValueId scale = at(scaleSlot);
        spec.op = Op::QuantizeLinear;
        spec.inputs = {value, scale, zero};
        spec.attributes = {};
        return true;
    }

    /// The node itself becomes this one.
    bool become(Op op, std::vector<ValueId> inputs, Attributes attributes = {}) {
        m_draft.spec.op = op;
        m_draft.spec.inputs = std::move(inputs);
        m_draft.spec.attributes = std::move(attributes);
        return true;
    }

private:
    Draft& m_draft;
};

bool hasTypes(const Draft& draft, std::initializer_list<size_t> slots) {
    for (size_t slot : slots)
        if (!draft.hasInput(slot) ||
            dtypeOf(draft.graph, draft.spec.inputs[slot]) == DType::Undefined)
            return false;
    return true;
}

bool given(const Draft& draft, std::initializer_list<size_t> slots) {
    for (size_t slot : slots)
        if (!draft.hasInput(slot))
            return false;
    return true;
}

/// A, its scale and zero point, B, its, those of the result.
template <Op op> bool binary(Draft& draft) {
    if (!given(draft, {0, 1, 3, 4, 6}) || (!draft.hasInput(7) && !hasTypes(draft, {0})))
        return false;
    Pieces pieces(draft);
    const ValueId like = pieces.at(0);
    const ValueId a = pieces.loaded(0, "a"), b = pieces.loaded(3, "b");
    return pieces.store(draft.before(op, {a, b}, {}, "float"), 6, like);
}

/// X, its scale and zero point, those of the result; the operator's own attributes stay.
template <Op op> bool unary(Draft& draft) {
    const bool lastChannels = draft.spec.attributes.integer("channels_last") != 0;
    if (lastChannels || !given(draft, {0, 1, 3}) || (!draft.hasInput(4) && !hasTypes(draft, {0})))
        return false;
    Attributes attributes = draft.spec.attributes;
    attributes.erase("channels_last");
    Pieces pieces(draft);
    const ValueId like = pieces.at(0);
    const ValueId x = pieces.loaded(0, "x");
    return pieces.store(draft.before(op, {x}, std::move(attributes), "float"), 3, like);
}

/// Before opset 13 the axis meant all that is behind it as well.
bool softmax(Draft& draft) {
    const bool flat = draft.spec.attributes.integer("opset", 13) < 13;
    if (flat && draft.spec.attributes.integer("axis", -1) != -1)
        return false;
    draft.spec.attributes.erase("opset");
    return unary<Op::Softmax>(draft);
}

/// Scale and zero point of the result, then threes of a part.
bool concat(Draft& draft) {
    const size_t inputs = draft.spec.inputs.size();
    if (inputs < 5 || (inputs - 2) % 3 != 0 || !given(draft, {0, 1}))
        return false;
    for (size_t slot = 2; slot < inputs; slot += 3)
        if (!given(draft, {slot, slot + 1}))
            return false;
    Attributes attributes;
    attributes.set("axis", draft.spec.attributes.integer("axis", 0));
    Pieces pieces(draft);
    std::vector<ValueId> parts;
    for (size_t slot = 2; slot < inputs; slot += 3)
        parts.push_back(pieces.loaded(slot, "part"));
    return pieces.store(draft.before(Op::Concat, parts, std::move(attributes), "float"), 0, {});
}

/// condition, X and its, Y and its, those of the result.
bool where(Draft& draft) {
    if (!given(draft, {0, 1, 2, 4, 5, 7, 8}))
        return false;
    Pieces pieces(draft);
    const ValueId condition = pieces.at(0);
    const ValueId x = pieces.loaded(1, "x"), y = pieces.loaded(4, "y");
    return pieces.store(draft.before(Op::Where, {condition, x, y}, {}, "float"), 7, {});
}

/// A and its, B and its, a bias in steps of both scales, those of a result that is stored.
bool gemm(Draft& draft) {
    const Attributes& own = draft.spec.attributes;
    if (!given(draft, {0, 1, 3, 4}) ||
        (draft.hasInput(7) && !draft.hasInput(8) && !hasTypes(draft, {0})))
        return false;
    Attributes attributes;
    for (const char* side : {"transA", "transB"})
        attributes.set(side, own.integer(side));
    const double alpha = own.number("alpha", 1);
    attributes.set("alpha", alpha);
    const int64_t columns = own.integer("transB") != 0 ? 0 : 1;
    Pieces pieces(draft);
    const ValueId like = pieces.at(0);
    std::vector<ValueId> inputs{pieces.loaded(0, "a"), pieces.loaded(3, "b", columns)};
    if (const ValueId bias = pieces.at(6); bias.valid()) {
        ValueId steps = draft.before(Op::Mul, {pieces.at(1), pieces.at(4)}, {}, "bias_scale");
        if (alpha != 1)
            steps = draft.before(Op::Mul, {steps, draft.scalarLike(alpha, steps, "alpha")}, {},
                                 "bias_step");
        inputs.push_back(pieces.loaded(bias, steps, {}, "bias", 0));
    }
    if (!draft.hasInput(7))
        return pieces.become(Op::Gemm, std::move(inputs), std::move(attributes));
    return pieces.store(draft.before(Op::Gemm, std::move(inputs), std::move(attributes), "float"),
                        7, like);
}

/// (sums of integers, as floats) * scale + bias; the node itself becomes the last of it.
bool scaledSums(Draft& draft, ValueId sums, ValueId scaleA, ValueId scaleB, ValueId bias) {
    Attributes toFloat;
    toFloat.set("to", onnxNumber(DType::Float32));
    const ValueId floats = draft.before(Op::Cast, {sums}, std::move(toFloat), "sums");
    const ValueId scale = draft.before(Op::Mul, {scaleA, scaleB}, {}, "scale");
    Pieces pieces(draft);
    if (!bias.valid())
        return pieces.become(Op::Mul, {floats, scale});
    return pieces.become(Op::Add, {draft.before(Op::Mul, {floats, scale}, {}, "scaled"), bias});
}

ValueId integerProduct(Draft& draft, std::vector<ValueId> inputs) {
    while (!inputs.back().valid())
        inputs.pop_back();
    return draft.before(Op::MatMulInteger, std::move(inputs), {}, "integer");
}

/// A, B, their scales, their zero points, a bias.
bool matMulToFloat(Draft& draft) {
    if (!given(draft, {0, 1, 2, 3}))
        return false;
    Pieces pieces(draft);
    const ValueId sums =
        integerProduct(draft, {pieces.at(0), pieces.at(1), pieces.at(4), pieces.at(5)});
    return scaledSums(draft, sums, pieces.at(2), pieces.at(3), pieces.at(6));
}

/// A, which is float and stored when it runs, B, its scale and zero point, a bias.
bool dynamicMatMul(Draft& draft) {
    if (!given(draft, {0, 1, 2}))
        return false;
    Pieces pieces(draft);
    const std::string name = draft.spec.name + "_a";
    const NodeId store = draft.graph.addNode({Op::DynamicQuantizeLinear,
                                              name + "_quantize",
                                              {pieces.at(0)},
                                              {name, name + "_scale", name + "_zero_point"}});
    const std::vector<ValueId> stored = draft.graph.node(store).outputs;
    const ValueId sums = integerProduct(draft, {stored[0], pieces.at(1), stored[2], pieces.at(3)});
    return scaledSums(draft, sums, stored[1], pieces.at(2), pieces.at(4));
}

/// input, weight, bias, their scales, a mask, their zero points, past.
bool attention(Draft& draft) {
    constexpr std::string_view kept[] = {"num_heads", "unidirectional", "scale",
                                         "mask_filter_value"};
    NodeSpec& spec = draft.spec;
    if (!given(draft, {0, 1, 2, 3, 4}))
        return false;
    for (const Attributes::Entry& entry : spec.attributes)
        if (std::find(std::begin(kept), std::end(kept), entry.name) == std::end(kept))
            return false;
    Pieces pieces(draft);
    const ValueId x = pieces.loaded(pieces.at(0), pieces.at(3), pieces.at(6), "input");
    const ValueId w = pieces.loaded(pieces.at(1), pieces.at(4), pieces.at(7), "weight");
    return pieces.become(Op::MsAttention, {x, w, pieces.at(2), pieces.at(5), pieces.at(8)},
                         Attributes(spec.attributes));
}

struct Row {
    const char* name;
    Expander expand;
};

constexpr Row rows[] = {
    {"QLinearAdd", binary<Op::Add>},
    {"QLinearMul", binary<Op::Mul>},
    {"QLinearLeakyRelu", unary<Op::LeakyRelu>},
    {"QLinearSigmoid", unary<Op::Sigmoid>},
    {"QLinearSoftmax", softmax},
    {"QLinearAveragePool", unary<Op::AveragePool>},
    {"QLinearGlobalAveragePool", unary<Op::GlobalAveragePool>},
    {"QLinearReduceMean", unary<Op::ReduceMean>},
    {"QLinearConcat", concat},
    {"QLinearWhere", where},
    {"QGemm", gemm},
    {"QAttention", attention},
    {"MatMulIntegerToFloat", matMulToFloat},
    {"DynamicQuantizeMatMul", dynamicMatMul},
};

} // namespace

void writeOutQuantized(Graph& graph, NodeSpec& spec, const std::string& name,
                       const std::string& where) {
    Draft draft{graph, spec, where};
    for (const Row& row : rows)
        if (name == row.name) {
            const NodeSpec written = spec;
            if (!row.expand(draft))
                spec = written;
        }
    while (!spec.inputs.empty() && !spec.inputs.back().valid())
        spec.inputs.pop_back();
}

} // namespace fuselage::model_io
