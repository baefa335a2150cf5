// SPDX-License-Identifier: Apache-2.0
// A scale belongs to the whole tensor, to one index of `axis`, or to a block along it. Rounding to
// integers jumps, so these see what a float32 graph stores and divide as float32: with more digits
// another integer would come out next to a tie, and no runtime has them.
#include "core/ops/quantize.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

/// Nearest integer within `dtype`, ties to even; NaN becomes 0.
int64_t saturated(DType dtype, double value) {
    const int bits = bitsOf(dtype);
    const double high = std::ldexp(1.0, isSigned(dtype) ? bits - 1 : bits) - 1;
    const double low = isSigned(dtype) ? -std::ldexp(1.0, bits - 1) : 0.0;
    if (std::isnan(value))
        return 0;
    return static_cast<int64_t>(std::clamp(std::nearbyint(value), low, high));
}

double stored(double value) {
    return roundTo(DType::Float32, value);
}

/// Steps of a scale to the nearest integer. Both sides are float32, so rounding the quotient of
/// doubles to float32 gives exactly float32's quotient.
double stepsOf(double value, double scale) {
    return std::nearbyint(stored(stored(value) / stored(scale)));
}

bool isFloat8(DType dtype) {
    return isFloat(dtype) && isStorageOnly(dtype);
}

bool isQuantized(DType dtype) {
    return (isInteger(dtype) && sizeOf(dtype) <= 4) || isFloat8(dtype);
}

Type typeOf(const ReferenceValue& value) {
    return tensorType(value.dtype, toShape(value.extents));
}

/// The only axis with so many indices.
std::optional<size_t> axisOf(const Shape& shape, const Dim& extent) {
    std::optional<size_t> out;
    for (size_t d = 0; d < shape.size(); ++d)
        if (extent.isNumber() && shape[d] == extent) {
            if (out)
                return std::nullopt;
            out = d;
        }
    return out;
}

std::optional<Misfit> typeMisfit(const Node& node, const Type& x, const Type& scale,
                                 const Type* zero) {
    if (scale.dtype != DType::Undefined && !isFloat(scale.dtype))
        return Misfit{fmt::format("the scale is {}, not a float type", nameOf(scale.dtype)),
                      "store the scale as float"};
    if (!zero || zero->dtype == DType::Undefined)
        return std::nullopt;
    if (!isQuantized(zero->dtype))
        return Misfit{
            fmt::format("the zero point is {}, which stores no steps", nameOf(zero->dtype)),
            "give it the type of the stored numbers, as int8 or uint8"};
    if (node.op == Op::DequantizeLinear && x.dtype != DType::Undefined && x.dtype != zero->dtype)
        return Misfit{fmt::format("the stored numbers are {}, their zero point is {}",
                                  nameOf(x.dtype), nameOf(zero->dtype)),
                      fmt::format("store the zero point as {}", nameOf(x.dtype))};
    const auto counts = std::pair(scale.elementCount(), zero->elementCount());
    if (counts.first && counts.second && counts.first != counts.second)
        return Misfit{fmt::format("{} zero points for {} scales", *counts.second, *counts.first),
                      fmt::format("give a zero point for each of the {} scales", *counts.first)};
    return std::nullopt;
}

/// Of a scale with a rank; one for the tensor has been dealt with.
std::optional<Misfit> shapeMisfit(const Node& node, const Shape& x, const Shape& scale) {
    const int64_t wanted = node.attributes.integer("axis", 1);
    const int64_t block = node.attributes.integer("block_size");
    const auto axis = normalizedAxis(wanted, x.size());
    const std::string both =
        fmt::format("scales of extents {} do not fit {}", text(scale), text(x));
    if (!axis && x.empty())
        return Misfit{both, "one number has one scale"};
    if (scale.size() == 1 && block == 0) {
        if (axis && (!x[*axis].isNumber() || !scale[0].isNumber() || x[*axis] == scale[0]))
            return std::nullopt;
        const auto other = axisOf(x, scale[0]);
        const std::string at =
            axis ? fmt::format(" along axis {}", *axis) : fmt::format(" along axis {}", wanted);
        return Misfit{both + at, other ? fmt::format("write axis = {}", *other)
                                 : axis
                                     ? fmt::format("give {} scales, or one", x[*axis].text())
                                     : fmt::format("an axis from {} to {}",
                                                   -static_cast<int64_t>(x.size()), x.size() - 1)};
    }
    if (!axis)
        return Misfit{
            fmt::format("{}: there is no axis {}", both, wanted),
            fmt::format("an axis from {} to {}", -static_cast<int64_t>(x.size()), x.size() - 1)};
    if (block < 1)
        return Misfit{both, fmt::format("give one scale, {} of them in one dimension, or a "
                                        "block_size",
                                        x[*axis].text())};
    Shape fitting = x;
    if (x[*axis].isNumber())
        fitting[*axis] = Dim(x[*axis].value() < 1 ? 0 : (x[*axis].value() - 1) / block + 1);
    bool fits = scale.size() == x.size();
    for (size_t d = 0; fits && d < x.size(); ++d)
        fits = !x[d].isNumber() || !scale[d].isNumber() || scale[d] == fitting[d];
    if (fits)
        return std::nullopt;
    return Misfit{fmt::format("{} in blocks of {} along axis {}", both, block, *axis),
                  fmt::format("give scales of extents {}, or another block_size", text(fitting))};
}

/// For every element of x the position of its scale, and of its zero point if there is one.
Result<std::vector<int64_t>> scalePositions(const Node& node, const ReferenceValue& x,
                                            const ReferenceValue& scale,
                                            const ReferenceValue* zero) {
    const Type zeroType = zero ? typeOf(*zero) : Type{};
    if (auto misfit = scaleMisfit(node, typeOf(x), typeOf(scale), zero ? &zeroType : nullptr))
        return misfitFailure(node, std::move(*misfit));
    std::vector<int64_t> out(static_cast<size_t>(x.count()), 0);
    if (scale.count() == 1)
        return out;
    const size_t axis = *normalizedAxis(node.attributes.integer("axis", 1), x.extents.size());
    const int64_t block = node.attributes.integer("block_size");
    if (scale.extents.size() == 1 && block == 0) {
        const int64_t inner = countOf(x.extents, axis + 1, x.extents.size());
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<int64_t>(i) / inner % x.extents[axis];
        return out;
    }
    const Extents strides = rowMajorStrides(scale.extents);
    for (StridedWalk walk(x.extents); walk.valid(); walk.next()) {
        int64_t at = 0;
        for (size_t d = 0; d < strides.size(); ++d)
            at += (d == axis ? walk.index()[d] / block : walk.index()[d]) * strides[d];
        out[static_cast<size_t>(walk.position())] = at;
    }
    return out;
}

DType quantizedDtype(const Node& node, DType zeroPoint) {
    if (zeroPoint != DType::Undefined)
        return zeroPoint;
    const int64_t number = node.attributes.integer("output_dtype");
    return number ? dtypeFromOnnx(number).value_or(DType::Undefined) : DType::UInt8;
}

void inferQuantizeLinear(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, quantizedDtype(context.node(), dtypeOf(context, 2)),
              x ? std::optional(*x) : std::nullopt);
}

Results runQuantizeLinear(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue& scale = *inputs[1];
    const ReferenceValue* zero = inputAt(inputs, 2);
    const auto positions = scalePositions(node, x, scale, zero);
    if (!positions)
        return failure(positions.error());
    const DType dtype = quantizedDtype(node, zero ? zero->dtype : DType::Undefined);
    if (!isQuantized(dtype) || x.dtype == DType::String)
        return badInput(node,
                        fmt::format("cannot quantize {} to {}", nameOf(x.dtype), nameOf(dtype)));
    ReferenceValue out = ReferenceValue::tensor(dtype, x.extents);
    const bool saturates = node.attributes.integer("saturate", 1) != 0;
    for (size_t i = 0; i < out.floats.size(); ++i) { // no zero point but 0
        const double scaled =
            stored(x.at(static_cast<int64_t>(i))) / stored(scale.at((*positions)[i]));
        out.floats[i] =
            float8ToFloat(dtype, floatToFloat8(dtype, static_cast<float>(scaled), saturates));
    }
    for (size_t i = 0; i < out.ints.size(); ++i) {
        const int64_t at = (*positions)[i];
        out.ints[i] = quantized(x.at(static_cast<int64_t>(i)), scale.at(at),
                                zero ? zero->at(at) : 0.0, dtype);
    }
    return single(std::move(out));
}

void inferDequantizeLinear(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, dtypeOf(context, 1), x ? std::optional(*x) : std::nullopt);
}

Results runDequantizeLinear(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue& scale = *inputs[1];
    const ReferenceValue* zero = inputAt(inputs, 2);
    const auto positions = scalePositions(node, x, scale, zero);
    if (!positions)
        return failure(positions.error());
    if (!isQuantized(x.dtype))
        return badInput(node, fmt::format("cannot dequantize {}", nameOf(x.dtype)));
    ReferenceValue out = ReferenceValue::tensor(scale.dtype, x.extents);
    for (size_t i = 0; i < out.floats.size(); ++i) {
        const int64_t at = (*positions)[i];
        out.floats[i] =
            (x.at(static_cast<int64_t>(i)) - (zero ? zero->at(at) : 0.0)) * scale.at(at);
    }
    return single(std::move(out));
}

void inferDynamicQuantizeLinear(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, DType::UInt8, x ? std::optional(*x) : std::nullopt);
    setTensor(context, 1, DType::Float32, Shape{});
    setTensor(context, 2, DType::UInt8, Shape{});
}

Results runDynamicQuantizeLinear(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    if (!isFloat(x.dtype))
        return badInput(node, fmt::format("cannot quantize {}", nameOf(x.dtype)));
    DynamicRange range;
    for (double value : x.floats)
        range.add(value);
    const double scale = range.scale();
    const int64_t zero = range.zeroPoint();
    std::vector<ReferenceValue> out;
    out.push_back(ReferenceValue::tensor(DType::UInt8, x.extents));
    out.push_back(ReferenceValue::tensor(DType::Float32, {}));
    out.push_back(ReferenceValue::tensor(DType::UInt8, {}));
    for (size_t i = 0; i < x.floats.size(); ++i)
        out[0].ints[i] = quantized(x.floats[i], scale, static_cast<double>(zero), DType::UInt8);
    out[1].floats[0] = scale;
    out[2].ints[0] = zero;
    return trimmed(node, std::move(out));
}

} // namespace

std::optional<Misfit> scaleMisfit(const Node& node, const Type& x, const Type& scale,
                                  const Type* zero) {
    if (auto misfit = typeMisfit(node, x, scale, zero))
        return misfit;
    if (!x.hasRank() || !scale.hasRank() || scale.elementCount() == 1)
        return std::nullopt;
    const bool isKnown = std::all_of(scale.shape->begin(), scale.shape->end(),
                                     [](const Dim& dim) { return dim.isNumber(); });
    return isKnown ? shapeMisfit(node, *x.shape, *scale.shape) : std::nullopt;
}

Failure misfitFailure(const Node& node, Misfit misfit) {
    Failure out = badInput(node, misfit.message);
    out.error.fix = std::move(misfit.fix);
    return out;
}

void DynamicRange::add(double value) {
    m_low = std::min(m_low, stored(value));
    m_high = std::max(m_high, stored(value));
}

double DynamicRange::scale() const {
    return m_high > m_low ? stored(stored(m_high - m_low) / 255) : 1;
}

int64_t DynamicRange::zeroPoint() const {
    return saturated(DType::UInt8, stored(-m_low / scale()));
}

int64_t quantized(double value, double scale, double zeroPoint, DType dtype) {
    return saturated(dtype, stepsOf(value, scale) + zeroPoint);
}

std::span<const OpRow> quantizeRows() {
    static const OpRow rows[] = {
        {.op = Op::DequantizeLinear,
         .name = "DequantizeLinear",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 3,
         .inputs = "x x_scale x_zero_point",
         .attributes = "axis:int=1 block_size:int=0",
         .infer = inferDequantizeLinear,
         .reference = onTensors<runDequantizeLinear>},
        {.op = Op::DynamicQuantizeLinear,
         .name = "DynamicQuantizeLinear",
         .since = 11,
         .minOutputs = 3,
         .maxOutputs = 3,
         .traits = Discontinuous,
         .inputs = "x",
         .infer = inferDynamicQuantizeLinear,
         .reference = onTensors<runDynamicQuantizeLinear>},
        {.op = Op::QuantizeLinear,
         .name = "QuantizeLinear",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 3,
         .traits = Discontinuous,
         .inputs = "x y_scale y_zero_point",
         .attributes = "axis:int=1 block_size:int=0 output_dtype:int=0 saturate:int=1",
         .infer = inferQuantizeLinear,
         .reference = onTensors<runQuantizeLinear>},
    };
    return rows;
}

} // namespace fuselage
