// SPDX-License-Identifier: Apache-2.0
// Older and newer forms of the operators of neural networks.
#include "core/onnx/normalise_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::model_io {

namespace {

/// True when every dimension after `axis` is certainly 1.
bool onlyOnesAfter(const Graph& graph, ValueId id, size_t axis) {
    const Type& type = graph.value(id).type;
    return type.shape &&
           std::all_of(type.shape->begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                       type.shape->end(), [](const Dim& dim) { return dim == Dim(1); });
}

} // namespace

/// Opset 1..12: all dimensions from `axis` on count as one. That is today's operator when the axis
/// is the last one; else the tensor is flattened around it.
Result<void> normaliseFlatSoftmax(Draft& draft) {
    NodeSpec& spec = draft.spec;
    if (!draft.hasInput(0))
        return {};
    ValueId data = spec.inputs[0];
    int64_t axis = spec.attributes.integer("axis", 1);
    auto rank = rankOf(draft.graph, data);
    if (rank && axis < 0)
        axis += static_cast<int64_t>(*rank);
    bool inRange = rank && axis >= 0 && axis < static_cast<int64_t>(*rank);
    if (axis == -1 || (inRange && axis == static_cast<int64_t>(*rank) - 1)) {
        spec.attributes.set("axis", int64_t(-1));
        return {};
    }
    if (inRange && onlyOnesAfter(draft.graph, data, static_cast<size_t>(axis))) {
        spec.attributes.set("axis", axis);
        return {};
    }
    Attributes flatten;
    flatten.set("axis", axis);
    Attributes last;
    last.set("axis", int64_t(-1));
    ValueId flat = draft.before(Op::Flatten, {data}, flatten, "flat");
    ValueId result = draft.before(spec.op, {flat}, last, "rows");
    ValueId shape = draft.before(Op::Shape, {data}, {}, "shape");
    spec.op = Op::Reshape;
    spec.inputs = {result, shape};
    spec.attributes = {};
    spec.attributes.set("allowzero", int64_t(1)); // a 0 of the shape is an extent
    return {};
}

/// Opset 10..15: no choice of coordinates, and not the one that is the default today.
Result<void> normaliseRoiAlign(Draft& draft) {
    draft.spec.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
    return {};
}

/// Opset 1..13: training is said by the number of outputs.
Result<void> normaliseBatchNormalization(Draft& draft) {
    NodeSpec& spec = draft.spec;
    if (spec.attributes.integer("spatial", 1) == 0)
        return keepUnknown(draft);
    spec.attributes.erase("spatial");
    spec.attributes.erase("is_test");
    if (spec.outputs.size() > 1) {
        spec.attributes.set("training_mode", int64_t(1));
        spec.outputs.resize(std::min<size_t>(spec.outputs.size(), 3)); // the rest is gone
    }
    return {};
}

/// Opset 1..6: C is broadcast when told so, now always.
Result<void> normaliseOldGemm(Draft& draft) {
    draft.spec.attributes.erase("broadcast");
    return {};
}

/// Deprecated by Resize in opset 10; scales are two attributes, one attribute, then an input.
Result<void> normaliseUpsample(Draft& draft) {
    NodeSpec& spec = draft.spec;
    Attributes& attributes = spec.attributes;
    if (spec.inputs.size() > 2)
        return {}; // no form has as many: the node is refused as it is
    if (!draft.hasInput(1)) {
        std::vector<double> scales = attributes.numbers("scales");
        if (scales.empty() && attributes.has("height_scale"))
            scales = {1, 1, attributes.number("height_scale", 1),
                      attributes.number("width_scale", 1)};
        if (scales.empty())
            return failure("load.attribute", "Upsample has no scales", draft.where,
                           "set the scales");
        draft.setInput(1, draft.constant(Tensor::ofFloats({static_cast<int64_t>(scales.size())},
                                                          {scales.begin(), scales.end()}),
                                         "scales"));
    }
    for (const char* name : {"scales", "height_scale", "width_scale"})
        attributes.erase(name);
    return normaliseResize10(draft);
}

/// Opset 10: no choice of coordinates, and no region of interest. The nearest pixel is the one
/// before where an axis grows and the one behind where it shrinks: two nodes where both happen, or
/// may, since the scales are computed.
Result<void> normaliseResize10(Draft& draft) {
    NodeSpec& spec = draft.spec;
    const bool mayShrink = spec.op == Op::Resize; // Upsample only grows
    spec.op = Op::Resize;
    Attributes& attributes = spec.attributes;
    attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
    attributes.set("nearest_mode", std::string("floor"));
    if (attributes.string("mode") == "bilinear") // spelled so in opset 1
        attributes.set("mode", std::string("linear"));
    if (spec.inputs.size() != 2)
        return {};
    const TensorPtr scales = constantOf(draft.graph, spec.inputs[1]);
    spec.inputs = {spec.inputs[0], ValueId(), spec.inputs[1]};
    if (!mayShrink || attributes.string("mode", "nearest") != "nearest")
        return {};
    bool shrinks = !scales, grows = !scales;
    for (int64_t i = 0; scales && i < scales->elementCount(); ++i) {
        shrinks = shrinks || scales->at(i) < 1;
        grows = grows || scales->at(i) > 1;
    }
    if (!shrinks)
        return {};
    Attributes behind = attributes;
    behind.set("nearest_mode", std::string("ceil"));
    if (!grows) {
        attributes = std::move(behind);
        return {};
    }
    const ValueId one = draft.constant(Tensor::ofFloats({1}, {1.0F}), "one");
    const ValueId least = draft.before(Op::Min, {spec.inputs[2], one}, {}, "shrinking");
    spec.inputs[0] =
        draft.before(Op::Resize, {spec.inputs[0], ValueId(), least}, std::move(behind), "shrunk");
    spec.inputs[2] = draft.before(Op::Max, {spec.inputs[2], one}, {}, "growing");
    return {};
}

/// Exporters fill unused inputs with empty tensors; they are omitted here.
Result<void> normaliseResizeInputs(Draft& draft) {
    for (size_t slot = 1; slot < draft.spec.inputs.size(); ++slot) {
        TensorPtr tensor = constantOf(draft.graph, draft.spec.inputs[slot]);
        if (tensor && tensor->elementCount() == 0)
            draft.spec.inputs[slot] = ValueId();
    }
    return {};
}

/// Opset 1: p is a float.
Result<void> normaliseOldPower(Draft& draft) {
    const double power = draft.spec.attributes.number("p", 2);
    if (!(std::fabs(power) < 1e9)) // a NaN, too
        return failure("load.attribute", "the power `p` is out of range", draft.where,
                       "set `p` to a small number");
    draft.spec.attributes.set("p", static_cast<int64_t>(power));
    return {};
}

/// Opset 1..6: output_sequence is implied by the outputs that are connected.
Result<void> normaliseOldRecurrent(Draft& draft) {
    draft.spec.attributes.erase("output_sequence");
    return {};
}

/// Opset 10..15: rois were not shifted by half a pixel.
Result<void> normaliseRoiAlign10(Draft& draft) {
    draft.spec.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
    return {};
}

/// Opset 20: the axis became an input.
Result<void> normaliseDft20(Draft& draft) {
    if (!draft.hasInput(2)) {
        draft.spec.attributes.set("axis", int64_t(-2));
        return {};
    }
    auto axis = draft.constantInts(2);
    if (!axis || axis->size() != 1 || draft.spec.inputs.size() > 3)
        return {}; // the operator also takes an axis that is computed
    draft.spec.attributes.set("axis", axis->front());
    draft.spec.inputs.resize(2);
    return {};
}

/// Opset 20 renamed the modes, since it also takes volumes.
Result<void> normaliseGridSample20(Draft& draft) {
    std::string mode = draft.spec.attributes.string("mode", "linear");
    if (mode == "linear")
        mode = "bilinear";
    if (mode == "cubic")
        mode = "bicubic";
    draft.spec.attributes.set("mode", mode);
    return {};
}

/// Opset 18..20: scale and bias are given for each group, since opset 21 for each channel.
Result<void> normaliseGroupNormalization18(Draft& draft) {
    NodeSpec& spec = draft.spec;
    if (!draft.hasInput(0))
        return {};
    const Type type = draft.graph.value(spec.inputs[0]).type;
    int64_t groups = spec.attributes.integer("num_groups");
    bool known = type.shape && type.shape->size() > 1 && (*type.shape)[1].isNumber() &&
                 groups > 0 && (*type.shape)[1].value() % groups == 0;
    if (!known)
        return keepUnknown(draft);
    int64_t perGroup = (*type.shape)[1].value() / groups;
    for (size_t slot = 1; slot < std::min<size_t>(3, spec.inputs.size()); ++slot) {
        TensorPtr given = constantOf(draft.graph, spec.inputs[slot]);
        if (!given) {
            const char* suffix = slot == 1 ? "scale" : "bias";
            const ValueId column = draft.before(
                Op::Reshape, {spec.inputs[slot], draft.ints({groups, 1}, suffix)}, {}, suffix);
            const ValueId wide =
                draft.before(Op::Expand, {column, draft.ints({1, perGroup}, suffix)}, {}, suffix);
            spec.inputs[slot] =
                draft.before(Op::Reshape, {wide, draft.ints({-1}, suffix)}, {}, suffix);
            continue;
        }
        if (given->elementCount() != groups || sizeOf(given->dtype()) == 0 ||
            perGroup > (int64_t(1) << 24))
            return keepUnknown(draft);
        Tensor repeated(given->dtype(), {groups * perGroup});
        for (int64_t i = 0; i < groups * perGroup; ++i)
            repeated.set(i, given->at(i / perGroup));
        spec.inputs[slot] = draft.constant(std::move(repeated), slot == 1 ? "scale" : "bias");
    }
    return {};
}

} // namespace fuselage::model_io
