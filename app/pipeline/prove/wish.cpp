// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/wish_internal.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// What a window moves over: images mostly, rows and volumes too, larger than most windows.
Wish windowWish(OperandContext& context) {
    constexpr uint32_t percentOfAnySize = 40;
    if (context.choices.rarely(percentOfAnySize))
        return {};
    constexpr size_t ranks[] = {4, 4, 3, 5};
    const size_t drawn = ranks[context.choices.pick(4)];
    const size_t rank = context.leastSpatial > 0                        ? 4
                        : context.result && context.result->size() >= 3 ? context.result->size()
                                                                        : drawn;
    Extents x{1 + context.choices.pick(2), 1 + context.choices.pick(4)};
    const uint32_t more = rank == 5 ? 3 : 8;
    while (x.size() < rank)
        x.push_back(context.leastSpatial + 1 + context.choices.pick(more));
    return ofExtents(std::move(x));
}

int64_t groupOf(const OperandContext& context) {
    return std::max<int64_t>(1, context.node.attributes.integer("group", 1));
}

/// Of a convolution over x, which has a channel at least: no larger than what it moves over.
Extents kernelFor(OperandContext& context, const Extents& x) {
    const int64_t group = groupOf(context), made = 1 + context.choices.pick(3);
    Extents out = context.node.op == Op::ConvTranspose
                      ? Extents{x[1], made}
                      : Extents{made * group, std::max<int64_t>(1, x[1] / group)};
    for (size_t i = 2; i < x.size(); ++i)
        out.push_back(std::min<int64_t>(1 + context.choices.pick(3), std::max<int64_t>(1, x[i])));
    return out;
}

Wish convolutionWish(OperandContext& context, size_t operand) {
    const bool integers = context.node.op == Op::ConvInteger;
    const std::optional<DType> dtype = integers ? std::optional(DType::UInt8) : std::nullopt;
    auto x = context.extents(0);
    if (integers && operand >= 2) { // zero points
        Wish wish = ofExtents({}, dtype);
        wish.stored = true;
        return wish;
    }
    if (operand == 0) {
        Wish wish = windowWish(context);
        wish.dtype = dtype;
        wish.stored = integers;
        return wish;
    }
    if (!x || x->size() < 3)
        return {dtype};
    if (operand == 1) {
        Wish wish = ofExtents(kernelFor(context, *x), dtype);
        wish.stored = integers;
        return wish;
    }
    if (operand == 3) // what the activation takes with it: of the result's shape
        return context.result ? ofExtents(*context.result) : leftOut();
    auto w = context.extents(1);
    const bool transposed = context.node.op == Op::ConvTranspose;
    return w && w->size() > 1 ? ofExtents({transposed ? (*w)[1] * groupOf(context) : (*w)[0]})
                              : Wish{};
}

/// A convolution of bytes: each of its three tensors has a scale and a zero point behind it.
Wish storedConvolutionWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0), w = context.extents(3);
    Wish wish;
    switch (operand) {
    case 0:
        wish = windowWish(context);
        break;
    case 3:
        if (x && x->size() > 2)
            wish = ofExtents(kernelFor(context, *x));
        break;
    case 1:
    case 4:
    case 6:
        wish = ofExtents({}, DType::Float32);
        wish.positive = true;
        return wish;
    case 8:
        wish = w && !w->empty() ? ofExtents({w->front()}) : Wish{};
        wish.dtype = DType::Int32;
        wish.stored = true;
        return wish;
    default:
        wish = ofExtents({});
        break;
    }
    wish.dtype = DType::UInt8;
    wish.stored = true;
    return wish;
}

/// One side of a product for a result that is asked for: mostly a matrix for each of its batches,
/// at times a vector (which the result lacks), or batches that the other side has.
Extents leftFactor(OperandContext& context, const Extents& result) {
    const int64_t terms = context.dimension();
    Extents out = result;
    if (context.choices.rarely(12)) { // the other side is a vector
        out.push_back(terms);
        return out;
    }
    out.back() = terms;
    if (context.choices.rarely(12)) // this one is
        return {terms};
    for (size_t i = 0; i + 2 < out.size(); ++i)
        if (context.choices.rarely(20))
            out[i] = 1;
    if (out.size() > 2 && context.choices.rarely(20))
        out.erase(out.begin());
    return out;
}

Extents rightFactor(OperandContext& context, const Extents& left,
                    const std::optional<Extents>& result) {
    const bool isAsked = result && !result->empty();
    if (isAsked ? left.size() == result->size() + 1 : context.choices.rarely(12))
        return {left.back()};
    const int64_t columns = isAsked ? result->back() : context.dimension();
    // Batches, the innermost first: what the left side lacks of the result, else as it comes.
    const Extents batches(left.begin(), left.size() > 2 ? left.end() - 2 : left.begin());
    const size_t wanted = isAsked ? std::max<size_t>(result->size(), 2) - 2 : batches.size();
    // Has more batches than the left side, of which a vector has none.
    const bool isHigher = !isAsked && context.choices.rarely(left.size() == 1 ? 50 : 20);
    const bool isWhole = context.choices.pick(2) == 1 || isHigher;
    Extents out;
    size_t needed = 0; // of `out`
    for (size_t i = 0; i < wanted; ++i) {
        const int64_t of =
            isAsked ? (*result)[result->size() - 3 - i] : batches[batches.size() - 1 - i];
        const bool isThere = i < batches.size() && batches[batches.size() - 1 - i] == of;
        out.push_back(!isThere || !context.choices.rarely(20) ? of : 1);
        if (isWhole || !isThere)
            needed = out.size();
    }
    out.resize(needed);
    if (isHigher)
        out.push_back(context.dimension());
    std::reverse(out.begin(), out.end());
    out.push_back(left.back());
    out.push_back(columns);
    return out;
}

Wish matmulWish(OperandContext& context, size_t operand) {
    bool integers = context.node.op == Op::MatMulInteger;
    std::optional<DType> dtype = integers ? std::optional(DType::UInt8) : std::nullopt;
    if (operand >= 2)
        return ofExtents({}, dtype);
    auto a = context.extents(0);
    const std::optional<Extents>& y = context.result;
    if (operand == 0)
        return !y || y->empty() ? Wish{dtype} : ofExtents(leftFactor(context, *y), dtype);
    if (!a || a->empty())
        return {dtype};
    return ofExtents(rightFactor(context, *a, y), dtype);
}

Wish gemmWish(OperandContext& context, size_t operand) {
    bool transA = context.node.attributes.integer("transA") != 0;
    bool transB = context.node.attributes.integer("transB") != 0;
    if (operand == 0)
        return ofExtents({context.dimension(), context.dimension()});
    auto a = context.extents(0);
    if (!a || a->size() != 2)
        return {};
    int64_t m = (*a)[transA ? 1 : 0], k = (*a)[transA ? 0 : 1];
    if (operand == 1) {
        int64_t n = context.dimension();
        return ofExtents(transB ? Extents{n, k} : Extents{k, n});
    }
    auto b = context.extents(1);
    if (!b || b->size() != 2)
        return {};
    int64_t n = (*b)[transB ? 0 : 1];
    const Extents forms[] = {{n}, {m, n}, {1, n}, {m, 1}, {}, {1}};
    return ofExtents(forms[context.choices.pick(6)]);
}

/// Scale, shift and statistics of normalisations.
Wish normalizationWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x || x->size() < 2)
        return {};
    Wish wish;
    switch (context.node.op) {
    case Op::BatchNormalization:
        wish = ofExtents({(*x)[1]});
        wish.positive = operand == 4;
        return wish;
    case Op::InstanceNormalization:
    case Op::GroupNormalization:
        return ofExtents({(*x)[1]});
    default:
        break;
    }
    Extents scale(x->begin() + static_cast<std::ptrdiff_t>(axisOf(context, x->size())), x->end());
    wish = ofExtents(scale);
    if (context.choices.rarely(15))
        wish.extents = Extents{x->back()};
    return wish;
}

Wish quantizeWish(OperandContext& context, size_t operand) {
    bool quantizes = context.node.op == Op::QuantizeLinear;
    if (operand == 0) {
        Wish wish;
        wish.dtype = quantizes ? DType::Float32 : DType::UInt8;
        wish.extents = context.result;
        wish.stored = !quantizes;
        return wish;
    }
    auto x = context.extents(0);
    size_t axis = x ? axisOf(context, x->size(), 1) : 0;
    const int64_t block = context.node.attributes.integer("block_size");
    Extents extents;
    if (operand == 2 && context.extents(1)) {
        extents = *context.extents(1);
    } else if (x && axis < x->size() && block > 0) {
        extents = *x;
        extents[axis] = ((*x)[axis] + block - 1) / block;
    } else if (x && axis < x->size() && context.choices.rarely(30))
        extents = {(*x)[axis]};
    DType stored = DType::UInt8;
    if (!quantizes && context.types[0])
        stored = context.types[0]->dtype;
    Wish wish = ofExtents(extents, operand == 1 ? DType::Float32 : stored);
    wish.positive = operand == 1;
    wish.stored = operand == 2;
    return wish;
}

/// One number that is no axis of its own: a probability, a switch.
Wish scalarWish(std::optional<DType> dtype = {}) {
    return ofExtents({}, dtype);
}

Wish dropoutWish(size_t operand) {
    if (operand == 0)
        return {};
    Wish wish = operand == 1 ? scalarWish() : scalarWish(DType::Bool);
    if (operand == 1) {
        wish.constant = true;
        wish.numbers = std::vector<double>{0.5};
        wish.dtype = DType::Float32;
    }
    return wish;
}

/// The axis of a running sum, counted from either end.
Wish runningAxisWish(OperandContext& context) {
    auto x = context.extents(0);
    const auto rank = static_cast<uint32_t>(x && !x->empty() ? x->size() : 1);
    return wholeNumber(int64_t{context.choices.pick(rank)} -
                       (context.choices.rarely(30) ? int64_t{rank} : 0));
}

Wish axesWish(OperandContext& context) {
    auto x = context.extents(0);
    const auto rank = static_cast<uint32_t>(x ? x->size() : 1);
    if (context.node.op != Op::Unsqueeze)
        return parameter(someOf(rank, 1, context.choices));
    const uint32_t made = 1 + (context.choices.rarely(15) ? 1 : 0);
    return parameter(someOf(rank + made, made, context.choices));
}

Wish elementwiseWish(OperandContext& context, size_t operand) {
    Wish wish;
    Op op = context.node.op;
    if ((op == Op::Where && operand == 0) || op == Op::And || op == Op::Or || op == Op::Not ||
        op == Op::Xor)
        wish.dtype = DType::Bool;
    for (size_t other = 0; other < context.types.size(); ++other)
        if (context.types[other] && context.types[other]->extents()) {
            wish.extents = context.types[other]->extents();
            wish.broadcast = true;
            if (!wish.dtype && !(op == Op::Where && other == 0))
                wish.dtype = context.types[other]->dtype;
        }
    if (!wish.extents) {
        wish.extents = context.result;
    } else if (op == Op::Clip && operand > 0) {
        wish.extents = Extents{};
        wish.broadcast = false;
    }
    wish.divides = operand == 1 && (op == Op::Div || op == Op::Mod);
    return wish;
}

} // namespace

std::optional<Extents> OperandContext::extents(size_t operand) const {
    return operand < types.size() && types[operand] ? types[operand]->extents() : std::nullopt;
}

Ints someOf(uint32_t count, size_t wanted, Choices& choices) {
    constexpr uint32_t percentFromBehind = 35;
    Ints out;
    while (out.size() < std::min<size_t>(wanted, count)) {
        int64_t axis = choices.pick(count);
        while (std::any_of(out.begin(), out.end(),
                           [&](int64_t other) { return (other - axis) % int64_t{count} == 0; }))
            axis = (axis + 1) % int64_t{count};
        out.push_back(axis - (choices.rarely(percentFromBehind) ? int64_t{count} : 0));
    }
    return out.empty() ? Ints{0} : out;
}

Extents broadcastOf(const Extents& extents, Choices& choices) {
    Extents out = extents;
    switch (choices.pick(6)) {
    case 1: // one of the dimensions
        if (!out.empty())
            out[choices.pick(static_cast<uint32_t>(out.size()))] = 1;
        return out;
    case 2: // the last ones
        if (!out.empty())
            out.erase(out.begin(),
                      out.begin() + 1 + choices.pick(static_cast<uint32_t>(out.size())));
        return out;
    case 3: // one more in front
        out.insert(out.begin(), 1 + choices.pick(2));
        return out;
    case 4: // wider where it was one
        for (int64_t& dimension : out)
            if (dimension == 1) {
                dimension = 2;
                break;
            }
        return out;
    default:
        return out;
    }
}

Wish operandWish(OperandContext& context, size_t operand) {
    for (const auto& family : {movementWish, imageWish, signalWish})
        if (auto wish = family(context, operand))
            return *wish;
    Op op = context.node.op;
    switch (op) {
    case Op::Conv:
    case Op::ConvInteger:
    case Op::ConvTranspose:
    case Op::FusedConv:
        return convolutionWish(context, operand);
    case Op::QLinearConv:
        return storedConvolutionWish(context, operand);
    case Op::Einsum:
        return einsumWish(context, operand);
    case Op::GRU:
    case Op::LSTM:
    case Op::RNN:
        return recurrentWish(context, operand);
    case Op::AveragePool:
    case Op::LpPool:
    case Op::MaxPool:
    case Op::GlobalAveragePool:
    case Op::GlobalLpPool:
    case Op::GlobalMaxPool:
        return windowWish(context);
    case Op::MatMul:
    case Op::MatMulInteger:
        return matmulWish(context, operand);
    case Op::Gemm:
        return gemmWish(context, operand);
    case Op::QuantizeLinear:
    case Op::DequantizeLinear:
        return quantizeWish(context, operand);
    case Op::TopK:
        return operand == 1 ? parameter({1 + int64_t{context.choices.pick(2)}}) : Wish{};
    case Op::Dropout:
        return dropoutWish(operand);
    case Op::CumSum:
    case Op::CumProd:
        return operand == 1 ? runningAxisWish(context) : Wish{};
    case Op::Attention:
    case Op::MsAttention:
    case Op::MultiHeadAttention:
    case Op::MatMulNBits:
        return transformerWish(context, operand);
    default:
        break;
    }
    if (hasTrait(op, Normalization) && rowOf(op).minInputs > 1)
        return normalizationWish(context, operand);
    if (operand > 0 && (hasTrait(op, Reduction) || op == Op::Squeeze || op == Op::Unsqueeze))
        return axesWish(context);
    if (hasTrait(op, Elementwise))
        return elementwiseWish(context, operand);
    Wish wish;
    if (operand == 0 && op == Op::Softmax)
        wish.extents = context.result;
    return wish;
}

} // namespace fuselage::app
