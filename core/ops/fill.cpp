// SPDX-License-Identifier: Apache-2.0
#include "core/ops/fill.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// --- ConstantOfShape ----------------------------------------------------------------------

void inferConstantOfShape(InferContext& context) {
    const TensorPtr value = context.node().attributes.tensor("value");
    const DType dtype = value ? value->dtype() : DType::Float32;
    auto shape = partialContents(context, 0);
    if (shape && std::any_of(shape->begin(), shape->end(),
                             [](const Dim& dim) { return dim.isNumber() && dim.value() < 0; }))
        return context.fail(fmt::format("a result of extents {} has a negative one", text(*shape)));
    if (shape && shape->size() == 1 && shape->front().isNumber() && isInteger(dtype) &&
        value->elementCount() > 0) {
        const int64_t count = shape->front().value();
        if (count >= 0 && count <= maxContents)
            context.setContents(0, Shape(static_cast<size_t>(count), Dim(value->intAt(0))));
    }
    setTensor(context, 0, dtype, std::move(shape));
}

Results runConstantOfShape(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const TensorPtr value = node.attributes.tensor("value");
    if (value && value->elementCount() != 1)
        return badInput(node, "`value` must hold one element");
    auto out = allocateResult(node, value ? value->dtype() : DType::Float32, intsOf(*inputs[0]));
    if (out && value)
        onElements(ReferenceValue::from(*value), *out,
                   [](const auto& from, auto& to) { std::fill(to.begin(), to.end(), from[0]); });
    return single(std::move(out));
}

// --- Range --------------------------------------------------------------------------------

/// Steps from start to limit; none when delta is 0.
std::optional<double> rangeCount(double start, double limit, double delta) {
    if (delta == 0 || !std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
        return std::nullopt;
    return std::max(0.0, std::ceil((limit - start) / delta));
}

Dim rangeDim(InferContext& context) {
    const Tensor* constants[3] = {context.constant(0), context.constant(1), context.constant(2)};
    if (std::all_of(std::begin(constants), std::end(constants),
                    [](const Tensor* t) { return t && t->elementCount() == 1; })) {
        const auto count =
            rangeCount(constants[0]->at(0), constants[1]->at(0), constants[2]->at(0));
        if (!count)
            context.fail("delta is 0");
        return count && *count < 9e15 ? Dim(static_cast<int64_t>(*count)) : Dim();
    }
    const auto start = context.contents(0);
    const auto limit = context.contents(1);
    const auto delta = scalarOf(context, 2);
    if (!start || start->empty() || !limit || limit->empty() || !delta || *delta == 0)
        return {};
    // Steps down count from the other end, so that the divisor stays positive.
    const Dim span = *delta > 0 ? limit->front() - start->front() : start->front() - limit->front();
    return Dim::ceilDivide(span, Dim(*delta > 0 ? *delta : -*delta));
}

void inferRange(InferContext& context) {
    const Dim count = rangeDim(context);
    setTensor(context, 0, dtypeOf(context, 0), Shape{count});
    const auto start = scalarOf(context, 0);
    const auto delta = scalarOf(context, 2);
    if (!start || !delta || !count.isNumber() || count.value() > maxContents)
        return;
    Shape contents;
    for (int64_t i = 0; i < count.value(); ++i)
        contents.push_back(Dim(*start) + Dim(i) * Dim(*delta));
    context.setContents(0, std::move(contents));
}

Results runRange(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    for (size_t i = 0; i < 3; ++i)
        if (inputs[i]->count() != 1 || !sameClass(*inputs[0], *inputs[i]))
            return badInput(node, "start, limit and delta must be scalars of one type");
    const auto count = rangeCount(inputs[0]->at(0), inputs[1]->at(0), inputs[2]->at(0));
    if (!count)
        return badInput(node, fmt::format("a range from {} to {} in steps of {} has no end",
                                          inputs[0]->at(0), inputs[1]->at(0), inputs[2]->at(0)));
    if (*count > static_cast<double>(maxReferenceElements))
        return badInput(node, fmt::format("a range of {} elements is too large", *count));
    auto out = allocateResult(node, inputs[0]->dtype, {static_cast<int64_t>(*count)});
    if (!out)
        return single(std::move(out));
    for (size_t i = 0; i < out->floats.size(); ++i)
        out->floats[i] = inputs[0]->floats[0] + static_cast<double>(i) * inputs[2]->floats[0];
    // Unsigned, because intermediate values of hostile ranges may wrap.
    for (size_t i = 0; i < out->ints.size(); ++i)
        out->ints[i] = static_cast<int64_t>(static_cast<uint64_t>(inputs[0]->ints[0]) +
                                            i * static_cast<uint64_t>(inputs[2]->ints[0]));
    return single(std::move(out));
}

// --- EyeLike, Trilu -----------------------------------------------------------------------

/// A diagonal offset far outside of any matrix behaves like one just outside.
int64_t clampedDiagonal(int64_t k) {
    return std::clamp(k, -maxReferenceElements, maxReferenceElements);
}

DType eyeDtype(const Node& node, DType input) {
    const int64_t number = node.attributes.integer("dtype");
    return number ? dtypeFromOnnx(number).value_or(DType::Undefined) : input;
}

void inferEyeLike(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    setTensor(context, 0, eyeDtype(context.node(), dtypeOf(context, 0)),
              x ? std::optional(*x) : std::nullopt);
}

Results runEyeLike(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const Extents& extents = inputs[0]->extents;
    if (extents.size() != 2)
        return badInput(node, "the input must be a matrix");
    auto out = allocateResult(node, eyeDtype(node, inputs[0]->dtype), extents);
    if (!out)
        return single(std::move(out));
    const int64_t k = clampedDiagonal(node.attributes.integer("k"));
    for (int64_t row = 0; row < extents[0]; ++row) {
        const int64_t column = row + k;
        if (column < 0 || column >= extents[1])
            continue;
        const auto at = static_cast<size_t>(row * extents[1] + column);
        if (isFloat(out->dtype))
            out->floats[at] = 1;
        else if (out->dtype != DType::String)
            out->ints[at] = 1;
    }
    return single(std::move(out));
}

void inferTrilu(InferContext& context) {
    setSameAs(context, 0, 0);
}

Results runTrilu(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    if (x.extents.size() < 2)
        return badInput(node, "the input must have at least two dimensions");
    const ReferenceValue* diagonal = inputAt(inputs, 1);
    if (diagonal && diagonal->count() < 1)
        return badInput(node, "`k` is empty");
    const int64_t k = clampedDiagonal(diagonal ? diagonal->intAt(0) : 0);
    const bool upper = node.attributes.integer("upper", 1) != 0;
    const int64_t columns = x.extents.back();
    const int64_t matrix = columns * x.extents[x.extents.size() - 2];
    return single(mapElements(node, x, x.extents, [&](int64_t i) {
        const int64_t offset = i % columns - i % matrix / columns;
        return (upper ? offset >= k : offset <= k) ? i : -1;
    }));
}

// --- OneHot -------------------------------------------------------------------------------

void inferOneHot(InferContext& context) {
    const Shape* indices = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (indices) {
        const auto axis = checkedAxis(context, context.node().attributes.integer("axis", -1),
                                      indices->size() + 1);
        const auto depth = context.has(1) ? context.contents(1) : std::nullopt;
        Dim count = depth && !depth->empty() ? depth->front() : Dim();
        if (const Tensor* known = context.constant(1); known && known->elementCount() == 1)
            count = Dim(known->intAt(0));
        if (axis) {
            shape = *indices;
            shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*axis), count);
        }
    }
    setTensor(context, 0, dtypeOf(context, 2), std::move(shape));
}

Results runOneHot(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& indices = *inputs[0];
    const ReferenceValue& values = *inputs[2];
    if (inputs[1]->count() != 1 || values.count() != 2 || indices.dtype == DType::String)
        return badInput(node, "`depth` must hold one element and `values` two");
    const auto axis =
        normalizedAxis(node.attributes.integer("axis", -1), indices.extents.size() + 1);
    const int64_t depth = inputs[1]->intAt(0);
    if (!axis || depth < 0)
        return badInput(node, "the axis or the depth is out of range");
    Extents extents = indices.extents;
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(*axis), depth);
    const int64_t inner = countOf(indices.extents, *axis, indices.extents.size());
    return single(mapElements(node, values, extents, [&](int64_t i) -> int64_t {
        const int64_t index = indices.intAt(i / (depth * inner) * inner + i % inner);
        const int64_t position = i / inner % depth;
        return index == position || index == position - depth ? 1 : 0;
    }));
}

} // namespace

std::span<const OpRow> fillRows() {
    static const OpRow rows[] = {
        {.op = Op::ConstantOfShape,
         .name = "ConstantOfShape",
         .since = 9,
         .inputs = "input",
         .attributes = "value:tensor",
         .infer = inferConstantOfShape,
         .reference = onTensors<runConstantOfShape>},
        {.op = Op::EyeLike,
         .name = "EyeLike",
         .since = 9,
         .traits = ShapeQuery,
         .inputs = "input",
         .attributes = "dtype:int k:int=0",
         .infer = inferEyeLike,
         .reference = onTensors<runEyeLike>},
        {.op = Op::OneHot,
         .name = "OneHot",
         .since = 9,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = Discontinuous,
         .inputs = "indices depth values",
         .attributes = "axis:int=-1",
         .infer = inferOneHot,
         .reference = onTensors<runOneHot>},
        {.op = Op::Range,
         .name = "Range",
         .since = 11,
         .minInputs = 3,
         .maxInputs = 3,
         .inputs = "start limit delta",
         .infer = inferRange,
         .reference = onTensors<runRange>},
        {.op = Op::Trilu,
         .name = "Trilu",
         .since = 14,
         .maxInputs = 2,
         .inputs = "input k",
         .attributes = "upper:int=1",
         .infer = inferTrilu,
         .reference = onTensors<runTrilu>},
    };
    return rows;
}

} // namespace fuselage
