// SPDX-License-Identifier: Apache-2.0
// Views keep the elements and their order, so that contents pass through them unchanged.
#include "core/ops/shape.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

/// The same elements under other extents.
Results viewed(const Node& node, const ReferenceValue& x, Extents extents) {
    if (elementCount(extents) != x.count())
        return badInput(
            node, fmt::format("{} elements cannot be viewed as {}", x.count(), text(extents)));
    ReferenceValue out = x;
    out.extents = std::move(extents);
    return single(std::move(out));
}

// --- Reshape, Flatten ---------------------------------------------------------------------

void inferReshape(InferContext& context) {
    const bool allowZero = context.node().attributes.integer("allowzero") != 0;
    const auto target = partialContents(context, 1);
    std::optional<Shape> shape;
    if (target)
        shape = reshapedShape(context, shapeOf(context, 0), *target, allowZero);
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    passContents(context, 0, 0);
}

Results runReshape(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const bool allowZero = node.attributes.integer("allowzero") != 0;
    Extents target =
        inputs.size() > 1 && inputs[1] ? intsOf(*inputs[1]) : node.attributes.integers("shape");
    int64_t known = 1;
    std::optional<size_t> open;
    for (size_t i = 0; i < target.size(); ++i) {
        if (target[i] == 0 && !allowZero) {
            if (i >= x.extents.size())
                return badInput(node, fmt::format("dimension {} is copied from an input of rank {}",
                                                  i, x.extents.size()));
            target[i] = x.extents[i];
        }
        if (target[i] == -1 && !open) {
            open = i;
            continue;
        }
        if (target[i] < 0 || __builtin_mul_overflow(known, target[i], &known))
            return badInput(node, fmt::format("the target {} is not a shape", text(target)));
    }
    if (open) {
        if (known == 0 || x.count() % known != 0)
            return badInput(
                node, fmt::format("{} elements cannot be viewed as {}", x.count(), text(target)));
        target[*open] = x.count() / known;
    }
    return viewed(node, x, std::move(target));
}

void inferFlatten(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape = Shape(2);
    const int64_t axis = context.node().attributes.integer("axis", 1);
    if (x) {
        const auto rank = static_cast<int64_t>(x->size());
        if (axis < -rank || axis > rank)
            return context.fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
        const auto split = static_cast<size_t>(axis < 0 ? axis + rank : axis);
        shape = Shape{productOf(*x, 0, split), productOf(*x, split, x->size())};
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    passContents(context, 0, 0);
}

Results runFlatten(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const int64_t axis = node.attributes.integer("axis", 1);
    const auto rank = static_cast<int64_t>(x.extents.size());
    if (axis < -rank || axis > rank)
        return badInput(node, fmt::format("axis {} is out of range for rank {}", axis, rank));
    const auto split = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    return viewed(node, x,
                  {countOf(x.extents, 0, split), countOf(x.extents, split, x.extents.size())});
}

// --- Squeeze, Unsqueeze -------------------------------------------------------------------

void inferSqueeze(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    std::optional<std::vector<int64_t>> axes;
    if (context.has(1))
        axes = numbersOf(context, 1);
    else if (x && std::all_of(x->begin(), x->end(), [](const Dim& d) { return d.isNumber(); })) {
        axes.emplace();
        for (size_t i = 0; i < x->size(); ++i)
            if ((*x)[i] == Dim(1))
                axes->push_back(static_cast<int64_t>(i));
    }
    if (x && axes) {
        const auto drop = normalizedAxes(*axes, x->size());
        if (!drop)
            return context.fail(fmt::format("axes {} do not fit rank {}", text(*axes), x->size()));
        shape.emplace();
        for (size_t i = 0; i < x->size(); ++i) {
            if (std::find(drop->begin(), drop->end(), i) == drop->end())
                shape->push_back((*x)[i]);
            else if (certainlyDifferent((*x)[i], 1))
                context.fail(fmt::format("axis {} has {} elements", i, (*x)[i].text()));
        }
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    passContents(context, 0, 0);
}

Results runSqueeze(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    Extents out;
    const ReferenceValue* axes = inputAt(inputs, 1);
    if (!axes) {
        std::copy_if(x.extents.begin(), x.extents.end(), std::back_inserter(out),
                     [](int64_t extent) { return extent != 1; });
        return viewed(node, x, std::move(out));
    }
    const auto drop = normalizedAxes(intsOf(*axes), x.extents.size());
    if (!drop)
        return badInput(
            node, fmt::format("axes {} do not fit rank {}", text(intsOf(*axes)), x.extents.size()));
    for (size_t i = 0; i < x.extents.size(); ++i)
        if (std::find(drop->begin(), drop->end(), i) == drop->end())
            out.push_back(x.extents[i]);
    return viewed(node, x, std::move(out)); // refuses axes of more than one element
}

/// `shape` with ones inserted so that they stand at `axes` of the result.
template <typename Dims>
std::optional<Dims> unsqueezed(const Dims& shape, const std::vector<int64_t>& axes) {
    const auto at = normalizedAxes(axes, shape.size() + axes.size());
    if (!at)
        return std::nullopt;
    Dims out;
    size_t next = 0;
    for (size_t i = 0; i < shape.size() + axes.size(); ++i)
        out.push_back(std::find(at->begin(), at->end(), i) != at->end()
                          ? typename Dims::value_type(1)
                          : shape[next++]);
    return out;
}

void inferUnsqueeze(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto axes = numbersOf(context, 1);
    std::optional<Shape> shape;
    if (x && axes) {
        shape = unsqueezed(*x, *axes);
        if (!shape)
            context.fail(
                fmt::format("axes {} do not fit rank {}", text(*axes), x->size() + axes->size()));
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    passContents(context, 0, 0);
}

Results runUnsqueeze(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const std::vector<int64_t> axes = intsOf(*inputs[1]);
    auto out = unsqueezed(inputs[0]->extents, axes);
    if (!out)
        return badInput(node, fmt::format("axes {} do not fit rank {}", text(axes),
                                          inputs[0]->extents.size() + axes.size()));
    return viewed(node, *inputs[0], std::move(*out));
}

// --- Identity, Shape, Size ----------------------------------------------------------------

void inferIdentity(InferContext& context) {
    setSameAs(context, 0, 0);
    passContents(context, 0, 0);
}

Results runIdentity(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    if (!inputAt(inputs, 0))
        return badInput(node, "input 0 is missing");
    return single(*inputs[0]);
}

/// The dimensions that Shape's start and end ask for: [first, second).
std::pair<size_t, size_t> shapeRange(const Node& node, size_t rank) {
    const auto signedRank = static_cast<int64_t>(rank);
    const auto clamped = [&](int64_t at) {
        return std::clamp<int64_t>(at < 0 ? at + signedRank : at, 0, signedRank);
    };
    const int64_t begin = clamped(node.attributes.integer("start"));
    const int64_t end = clamped(node.attributes.integer("end", signedRank));
    return {static_cast<size_t>(begin), static_cast<size_t>(std::max(begin, end))};
}

void inferShape(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (!x)
        return setTensor(context, 0, DType::Int64, Shape(1));
    const auto [begin, end] = shapeRange(context.node(), x->size());
    setTensor(context, 0, DType::Int64, Shape{static_cast<int64_t>(end - begin)});
    context.setContents(0, Shape(x->begin() + static_cast<std::ptrdiff_t>(begin),
                                 x->begin() + static_cast<std::ptrdiff_t>(end)));
}

Results runShape(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const Extents& extents = inputs[0]->extents;
    const auto [begin, end] = shapeRange(node, extents.size());
    return single(ReferenceValue::ofInts({extents.begin() + static_cast<std::ptrdiff_t>(begin),
                                          extents.begin() + static_cast<std::ptrdiff_t>(end)}));
}

void inferSize(InferContext& context) {
    setTensor(context, 0, DType::Int64, Shape{});
    if (const Shape* x = shapeOf(context, 0))
        context.setContents(0, {productOf(*x, 0, x->size())});
}

Results runSize(const Node&, ReferenceInputs inputs, ReferenceContext&) {
    ReferenceValue out = ReferenceValue::tensor(DType::Int64, {});
    out.ints[0] = inputs[0]->count();
    return single(std::move(out));
}

// --- Constant -----------------------------------------------------------------------------

/// What a Constant node holds, whichever attribute holds it; undefined when none does.
Tensor constantOf(const Attributes& attributes) {
    if (const TensorPtr value = attributes.tensor("value"))
        return *value;
    const auto filled = [](DType dtype, Extents extents, size_t count, auto&& set) {
        Tensor out(dtype, std::move(extents));
        for (size_t i = 0; i < count; ++i)
            set(out, i);
        return out;
    };
    if (attributes.has("value_float"))
        return Tensor::scalar(static_cast<float>(attributes.number("value_float")));
    if (attributes.has("value_int"))
        return filled(DType::Int64, {}, 1,
                      [&](Tensor& out, size_t) { out.setInt(0, attributes.integer("value_int")); });
    if (attributes.has("value_string"))
        return filled(DType::String, {}, 1, [&](Tensor& out, size_t) {
            out.strings()[0] = attributes.string("value_string");
        });
    if (attributes.has("value_ints"))
        return Tensor::ofInts(attributes.integers("value_ints"));
    if (attributes.has("value_floats")) {
        const auto values = attributes.numbers("value_floats");
        return filled(DType::Float32, {static_cast<int64_t>(values.size())}, values.size(),
                      [&](Tensor& out, size_t i) { out.set(static_cast<int64_t>(i), values[i]); });
    }
    if (attributes.has("value_strings")) {
        const auto values = attributes.strings("value_strings");
        return filled(DType::String, {static_cast<int64_t>(values.size())}, values.size(),
                      [&](Tensor& out, size_t i) { out.strings()[i] = values[i]; });
    }
    return {};
}

void inferConstant(InferContext& context) {
    const Tensor value = constantOf(context.node().attributes);
    if (!value.defined())
        return context.fail("the node holds no value");
    context.setOutput(0, value.type());
    if (isInteger(value.dtype()) && value.rank() <= 1 && value.elementCount() <= maxContents)
        context.setContents(0, toShape(value.toInts()));
}

Results runConstant(const Node& node, ReferenceInputs, ReferenceContext&) {
    const Tensor value = constantOf(node.attributes);
    if (!value.defined())
        return badInput(node, "the node holds no value");
    return single(ReferenceValue::from(value));
}

} // namespace

std::span<const OpRow> shapeRows() {
    static const OpRow rows[] = {
        {.op = Op::Constant,
         .name = "Constant",
         .minInputs = 0,
         .maxInputs = 0,
         .inputs = "",
         .attributes = "value:tensor value_float:float value_floats:floats value_int:int "
                       "value_ints:ints value_string:string value_strings:strings",
         .infer = inferConstant,
         .reference = runConstant},
        {.op = Op::Flatten,
         .name = "Flatten",
         .traits = View,
         .inputs = "input",
         .attributes = "axis:int=1",
         .infer = inferFlatten,
         .reference = onTensors<runFlatten>},
        {.op = Op::Identity,
         .name = "Identity",
         .traits = View,
         .inputs = "input",
         .infer = inferIdentity,
         .reference = runIdentity},
        {.op = Op::Reshape,
         .name = "Reshape",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = View,
         .inputs = "data shape",
         .attributes = "allowzero:int=0",
         .infer = inferReshape,
         .reference = onTensors<runReshape>},
        {.op = Op::Shape,
         .name = "Shape",
         .traits = ShapeQuery,
         .inputs = "data",
         .attributes = "start:int=0 end:int",
         .infer = inferShape,
         .reference = onTensors<runShape>},
        {.op = Op::Size,
         .name = "Size",
         .traits = ShapeQuery,
         .inputs = "data",
         .infer = inferSize,
         .reference = onTensors<runSize>},
        {.op = Op::Squeeze,
         .name = "Squeeze",
         .maxInputs = 2,
         .traits = View,
         .inputs = "data axes",
         .infer = inferSqueeze,
         .reference = onTensors<runSqueeze>},
        {.op = Op::Unsqueeze,
         .name = "Unsqueeze",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = View,
         .inputs = "data axes",
         .infer = inferUnsqueeze,
         .reference = onTensors<runUnsqueeze>},
    };
    return rows;
}

} // namespace fuselage
