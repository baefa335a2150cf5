// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantized.h"

#include "core/ops/contraction_infer.h"
#include "core/ops/conv.h"
#include "core/ops/matmul.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// A zero point or scale: one number for all, or one for each index of an axis (negative axes
/// count from the end).
struct Parameter {
    const ReferenceValue* value;
    int axis;
};

/// Strides that read the parameter at every index of `extents`; none when it does not fit.
std::optional<Extents> parameterStrides(const Parameter& p, const Extents& extents) {
    Extents own = p.value->extents;
    if (p.value->count() == 1)
        return Extents(extents.size(), 0);
    const size_t rank = extents.size();
    auto axis = normalizedAxis(p.axis, rank);
    if (own.size() == 1 && axis) {
        int64_t count = own[0];
        own.assign(rank, 1);
        own[*axis] = count;
    }
    auto joined = broadcastExtents(own, extents);
    if (!joined || *joined != extents)
        return std::nullopt;
    return broadcastStrides(own, extents);
}

/// x minus its zero point. As doubles, whose products are fast and hold every sum of fewer than
/// 2^36 of them: differences have 8 bits and a sign.
Result<ReferenceValue> withoutZeroPoint(const Node& node, const ReferenceValue& x,
                                        const Parameter& zeroPoint) {
    if (!isInteger(x.dtype) || sizeOf(x.dtype) != 1) // wider ones could overflow the sums
        return badInput(node, fmt::format("operand of type {} is not quantised", nameOf(x.dtype)));
    ReferenceValue out = ReferenceValue::tensor(DType::Float64, x.extents);
    std::copy(x.ints.begin(), x.ints.end(), out.floats.begin());
    if (!zeroPoint.value)
        return out;
    auto strides = parameterStrides(zeroPoint, x.extents);
    if (!strides || zeroPoint.value->dtype != x.dtype)
        return badInput(node, fmt::format("zero point of shape {} does not fit {}",
                                          text(zeroPoint.value->extents), text(x.extents)));
    for (StridedWalk walk(x.extents, {*strides}); walk.valid(); walk.next())
        out.floats[static_cast<size_t>(walk.position())] -= zeroPoint.value->at(walk.offset(0));
    return out;
}

/// Sums of products as integers, wrapped to the type.
Result<ReferenceValue> asIntegers(Result<ReferenceValue> sums, DType dtype) {
    if (!sums)
        return sums;
    ReferenceValue out = ReferenceValue::tensor(dtype, sums->extents);
    std::transform(sums->floats.begin(), sums->floats.end(), out.ints.begin(),
                   [&](double sum) { return wrapTo(dtype, static_cast<int64_t>(sum)); });
    return out;
}

double stored(double value) {
    return roundTo(DType::Float32, value);
}

/// Integer sums times a * b / y, rounded half to even, plus y's zero point, saturated to its type.
/// In float32 as ONNX has it: rounding jumps, so more digits would not be a better answer.
Result<ReferenceValue> requantized(const Node& node, const ReferenceValue& sums, const Parameter& a,
                                   const Parameter& b, const ReferenceValue& y,
                                   const ReferenceValue& zeroPoint) {
    auto out = allocateResult(node, zeroPoint.dtype, sums.extents);
    if (!out)
        return out;
    auto aStrides = parameterStrides(a, sums.extents), bStrides = parameterStrides(b, sums.extents);
    if (!aStrides || !bStrides || !isFloat(a.value->dtype) || !isFloat(b.value->dtype) ||
        !isFloat(y.dtype) || y.count() != 1 || zeroPoint.count() != 1 ||
        !isInteger(zeroPoint.dtype) || sizeOf(zeroPoint.dtype) > 2)
        return badInput(node, "scales and zero points do not fit the operands");
    const auto width = static_cast<int>(sizeOf(zeroPoint.dtype) * 8);
    const bool sign = isSigned(zeroPoint.dtype);
    const double low = sign ? -std::ldexp(1.0, width - 1) : 0.0;
    const double high = std::ldexp(1.0, sign ? width - 1 : width) - 1;
    for (StridedWalk walk(sums.extents, {*aStrides, *bStrides}); walk.valid(); walk.next()) {
        auto i = static_cast<size_t>(walk.position());
        const double product = stored(a.value->at(walk.offset(0)) * b.value->at(walk.offset(1)));
        const double scale = stored(product / y.at(0));
        const double steps = stored(stored(static_cast<double>(sums.ints[i])) * scale);
        double value = std::nearbyint(steps) + zeroPoint.at(0);
        out->ints[i] = static_cast<int64_t>(std::clamp(std::isnan(value) ? 0 : value, low, high));
    }
    return out;
}

// A's parameters may be given per row, B's per column.
constexpr int perRow = -2, perColumn = -1;

Outputs runMatMulInteger(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto a = withoutZeroPoint(node, *inputs[0], {inputAt(inputs, 2), perRow});
    auto b = withoutZeroPoint(node, *inputs[1], {inputAt(inputs, 3), perColumn});
    if (!a || !b)
        return failure(a ? b.error() : a.error());
    return single(
        asIntegers(matrixProduct(node, *a, *b, DType::Float64, context.threads()), DType::Int32));
}

Outputs runQLinearMatMul(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto a = withoutZeroPoint(node, *inputs[0], {inputs[2], perRow});
    auto b = withoutZeroPoint(node, *inputs[3], {inputs[5], perColumn});
    if (!a || !b)
        return failure(a ? b.error() : a.error());
    auto sums =
        asIntegers(matrixProduct(node, *a, *b, DType::Float64, context.threads()), DType::Int64);
    if (!sums)
        return failure(sums.error());
    return single(requantized(node, *sums, {inputs[1], perRow}, {inputs[4], perColumn}, *inputs[6],
                              *inputs[7]));
}

Outputs runConvInteger(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto x = withoutZeroPoint(node, *inputs[0], {inputAt(inputs, 2), 0});
    auto w = withoutZeroPoint(node, *inputs[1], {inputAt(inputs, 3), 0});
    if (!x || !w)
        return failure(x ? w.error() : x.error());
    return single(asIntegers(convolve(node, *x, *w, nullptr, DType::Float64, context.threads()),
                             DType::Int32));
}

Outputs runQLinearConv(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto x = withoutZeroPoint(node, *inputs[0], {inputs[2], 0});
    auto w = withoutZeroPoint(node, *inputs[3], {inputs[5], 0});
    if (!x || !w)
        return failure(x ? w.error() : x.error());
    std::optional<ReferenceValue> bias;
    if (const ReferenceValue* given = inputAt(inputs, 8)) {
        if (given->dtype != DType::Int32)
            return badInput(node, fmt::format("B must be int32, not {}", nameOf(given->dtype)));
        bias = ReferenceValue::tensor(DType::Float64, given->extents);
        std::copy(given->ints.begin(), given->ints.end(), bias->floats.begin());
    }
    auto sums = asIntegers(
        convolve(node, *x, *w, bias ? &*bias : nullptr, DType::Float64, context.threads()),
        DType::Int64);
    if (!sums)
        return failure(sums.error());
    return single(requantized(node, *sums, {inputs[1], 0}, {inputs[4], 1}, *inputs[6], *inputs[7]));
}

constexpr const char* convAttributes =
    "auto_pad:string='NOTSET' dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints";

} // namespace

std::span<const OpRow> quantizedContractionRows() {
    static const OpRow rows[] = {
        {.op = Op::MatMulInteger,
         .name = "MatMulInteger",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 4,
         .traits = ContractionOp,
         .inputs = "A B a_zero_point b_zero_point",
         .infer = inferMatMulInteger,
         .reference = onTensors<runMatMulInteger>},
        {.op = Op::QLinearMatMul,
         .name = "QLinearMatMul",
         .since = 10,
         .minInputs = 8,
         .maxInputs = 8,
         .traits = ContractionOp,
         .inputs = "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point",
         .infer = inferQLinearMatMul,
         .reference = onTensors<runQLinearMatMul>},
        {.op = Op::ConvInteger,
         .name = "ConvInteger",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 4,
         .traits = ContractionOp,
         .inputs = "x w x_zero_point w_zero_point",
         .attributes = convAttributes,
         .infer = inferConvInteger,
         .reference = onTensors<runConvInteger>},
        {.op = Op::QLinearConv,
         .name = "QLinearConv",
         .since = 10,
         .minInputs = 8,
         .maxInputs = 9,
         .traits = ContractionOp,
         .inputs = "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B",
         .attributes = convAttributes,
         .infer = inferQLinearConv,
         .reference = onTensors<runQLinearConv>},
    };
    return rows;
}

} // namespace fuselage
