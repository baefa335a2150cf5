// SPDX-License-Identifier: Apache-2.0
// Older and newer forms of operators on shapes and of reductions: axes, starts, pads and the like
// move between attributes and inputs.
#include "core/onnx/normalise_internal.h"

#include <fmt/format.h>

namespace fuselage::model_io {

Result<void> normaliseReshape(Draft& draft) {
    draft.intsToInput("shape", 1);
    return {};
}

Result<void> normaliseAxesToInput(Draft& draft) {
    draft.intsToInput("axes", 1);
    return {};
}

namespace {

/// A reduction that reduces nothing still does to each element what it does besides: the norms of a
/// number are its absolute value.
void reduceNothing(NodeSpec& spec) {
    spec.attributes = {};
    if (spec.op == Op::ReduceL1 || spec.op == Op::ReduceL2) {
        spec.op = Op::Abs;
    } else if (spec.op == Op::ReduceLogSum) {
        spec.op = Op::Log;
    } else if (spec.op == Op::ReduceSumSquare) {
        spec.op = Op::Mul;
        spec.inputs = {spec.inputs[0], spec.inputs[0]};
    } else {
        spec.op = Op::Identity;
    }
}

} // namespace

/// Opset 18: axes became an input. Known ones go back to the attribute.
Result<void> normaliseAxesToAttribute(Draft& draft) {
    NodeSpec& spec = draft.spec;
    if (spec.inputs.size() > 2)
        return {}; // no form has as many: the node is refused as it is
    bool keepsEmpty = spec.attributes.integer("noop_with_empty_axes") != 0;
    spec.attributes.erase("noop_with_empty_axes");
    std::vector<int64_t> axes;
    if (draft.hasInput(1)) {
        auto known = draft.constantInts(1);
        if (!known) {
            if (keepsEmpty)
                spec.attributes.set("noop_with_empty_axes", int64_t(1));
            return {}; // the row takes them as an input, too
        }
        axes = std::move(*known);
        spec.inputs.resize(1);
    }
    if (!axes.empty()) {
        spec.attributes.set("axes", axes);
    } else if (keepsEmpty) {
        spec.inputs.resize(1);
        reduceNothing(spec);
    }
    return {};
}

/// Opset 1..9: bounds are attributes.
Result<void> normaliseSlice(Draft& draft) {
    if (!draft.spec.attributes.has("starts") || !draft.spec.attributes.has("ends"))
        return failure("load.attribute", "Slice needs the attributes `starts` and `ends`",
                       draft.where, "set the attributes");
    draft.intsToInput("starts", 1);
    draft.intsToInput("ends", 2);
    draft.intsToInput("axes", 3);
    return {};
}

Result<void> normaliseSplit(Draft& draft) {
    draft.intsToInput("split", 1);
    return {};
}

/// Opset 1..10: pads and the value are attributes.
Result<void> normalisePad(Draft& draft) {
    NodeSpec& spec = draft.spec;
    if (spec.attributes.has("paddings")) { // its name in opset 1
        spec.attributes.set("pads", spec.attributes.integers("paddings"));
        spec.attributes.erase("paddings");
    }
    double value = spec.attributes.number("value");
    spec.attributes.erase("value");
    draft.intsToInput("pads", 1);
    if (value != 0 && draft.hasInput(0))
        draft.setInput(2, draft.scalarLike(value, spec.inputs[0], "value"));
    return {};
}

/// Opset 18: pads may be given for some axes only.
Result<void> normalisePadAxes(Draft& draft) {
    if (!draft.hasInput(3))
        return {};
    auto pads = draft.constantInts(1);
    auto axes = draft.constantInts(3);
    auto rank = rankOf(draft.graph, draft.spec.inputs[0]);
    if (!pads || !axes || !rank)
        return {}; // the operator also takes axes that are computed
    auto r = static_cast<int64_t>(*rank);
    auto count = static_cast<int64_t>(axes->size());
    if (static_cast<int64_t>(pads->size()) != 2 * count)
        return failure("load.attribute",
                       fmt::format("{} pads for {} axes", pads->size(), axes->size()), draft.where,
                       "give two pads for each axis");
    std::vector<int64_t> full(2 * *rank, 0);
    for (int64_t i = 0; i < count; ++i) {
        int64_t axis = (*axes)[static_cast<size_t>(i)];
        axis += axis < 0 ? r : 0;
        if (axis < 0 || axis >= r)
            return failure("load.attribute", fmt::format("axis {} does not exist", axis),
                           draft.where, "check the axes");
        full[static_cast<size_t>(axis)] = (*pads)[static_cast<size_t>(i)];
        full[static_cast<size_t>(axis + r)] = (*pads)[static_cast<size_t>(i + count)];
    }
    draft.spec.inputs.resize(3);
    draft.spec.inputs[1] = draft.ints(full, "pads");
    return {};
}

/// Opset 1..9: k is an attribute.
Result<void> normaliseTopK(Draft& draft) {
    if (!draft.spec.attributes.has("k"))
        return failure("load.attribute", "TopK needs the attribute `k`", draft.where,
                       "set the attribute");
    int64_t k = draft.spec.attributes.integer("k");
    draft.spec.attributes.erase("k");
    draft.setInput(1, draft.ints({k}, "k"));
    return {};
}

/// Opset 1..3: the axis had a default.
Result<void> normaliseOldConcat(Draft& draft) {
    if (!draft.spec.attributes.has("axis"))
        draft.spec.attributes.set("axis", int64_t(1));
    return {};
}

/// Renamed in opset 11.
Result<void> normaliseScatter(Draft& draft) {
    draft.spec.op = Op::ScatterElements;
    return {};
}

} // namespace fuselage::model_io
