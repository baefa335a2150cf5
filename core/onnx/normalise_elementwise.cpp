// SPDX-License-Identifier: Apache-2.0
// Older forms of elementwise operators and constants.
#include "core/onnx/normalise_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace fuselage::model_io {

namespace {

Failure unknownRank(const Draft& draft, const char* what) {
    return failure(
        "load.rank",
        fmt::format("the rank of {} must be known to read this operator's old form", what),
        draft.where, "export the model with opset 7 or newer");
}

/// `value` with `count` dimensions of 1 after its own.
ValueId withTrailingOnes(Draft& draft, ValueId value, size_t rank, size_t count) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < count; ++i)
        axes.push_back(static_cast<int64_t>(rank + i));
    return draft.before(Op::Unsqueeze, {value, draft.ints(axes, "axes")}, {}, "aligned");
}

} // namespace

/// Opset 1..6: `broadcast` allows B to be smaller, `axis` says where its dimensions begin in A.
Result<void> normaliseOldBroadcast(Draft& draft) {
    Attributes& attributes = draft.spec.attributes;
    bool broadcast = attributes.integer("broadcast") != 0;
    bool hasAxis = attributes.has("axis");
    int64_t axis = attributes.integer("axis");
    attributes.erase("broadcast");
    attributes.erase("axis");
    if (!broadcast || !hasAxis || !draft.hasInput(0) || !draft.hasInput(1))
        return {};
    auto a = rankOf(draft.graph, draft.spec.inputs[0]);
    auto b = rankOf(draft.graph, draft.spec.inputs[1]);
    if (!a || !b)
        return unknownRank(draft, "both operands");
    if (axis < 0)
        axis += static_cast<int64_t>(*a);
    if (axis < 0 || static_cast<size_t>(axis) + *b > *a)
        return failure("load.attribute",
                       fmt::format("axis {} does not fit operands of rank {} and {}", axis, *a, *b),
                       draft.where, "export the model again");
    size_t trailing = *a - static_cast<size_t>(axis) - *b;
    if (trailing != 0)
        draft.spec.inputs[1] = withTrailingOnes(draft, draft.spec.inputs[1], *b, trailing);
    return {};
}

/// Opset 1..6: a slope of one dimension belongs to the channels, not to the last dimension.
Result<void> normalisePRelu(Draft& draft) {
    if (!draft.hasInput(0) || !draft.hasInput(1))
        return {};
    auto slope = rankOf(draft.graph, draft.spec.inputs[1]);
    TensorPtr constant = constantOf(draft.graph, draft.spec.inputs[1]);
    if (slope && *slope != 1)
        return {};
    if (constant && constant->elementCount() == 1)
        return {};
    auto data = rankOf(draft.graph, draft.spec.inputs[0]);
    if (!slope || !data)
        return unknownRank(draft, "X and slope");
    if (*data > 2)
        draft.spec.inputs[1] = withTrailingOnes(draft, draft.spec.inputs[1], 1, *data - 2);
    return {};
}

/// Opset 1..10: the bounds are attributes.
Result<void> normaliseClip(Draft& draft) {
    Attributes& attributes = draft.spec.attributes;
    auto bound = [&](const char* name, size_t slot, double none) {
        double value = attributes.number(name, none);
        attributes.erase(name);
        if (static_cast<float>(value) != static_cast<float>(none) && draft.hasInput(0))
            draft.setInput(slot, draft.scalarLike(value, draft.spec.inputs[0], name));
    };
    bound("min", 1, std::numeric_limits<float>::lowest());
    bound("max", 2, std::numeric_limits<float>::max());
    return {};
}

/// Opset 1..5: the element type is a word.
Result<void> normaliseCastName(Draft& draft) {
    const AttributeValue* to = draft.spec.attributes.find("to");
    const auto* word = to ? std::get_if<std::string>(to) : nullptr;
    if (!word)
        return {};
    std::string name = *word;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto dtype = dtypeFromName(name);
    if (!dtype || *dtype == DType::Undefined)
        return failure("load.dtype", fmt::format("element type `{}` is not supported", *word),
                       draft.where, "convert it to a float, integer, bool or string type");
    draft.spec.attributes.set("to", onnxNumber(*dtype));
    return {};
}

/// Opset 1..11: the ratio is an attribute, and there is no training mode.
Result<void> normaliseDropout(Draft& draft) {
    Attributes& attributes = draft.spec.attributes;
    double ratio = attributes.number("ratio", 0.5);
    attributes.erase("ratio");
    attributes.erase("is_test");
    if (ratio != 0.5)
        draft.setInput(1, draft.constant(Tensor::scalar(static_cast<float>(ratio)), "ratio"));
    return {};
}

/// Opset 1..5: other default constants.
Result<void> normaliseOldSelu(Draft& draft) {
    if (!draft.spec.attributes.has("alpha"))
        draft.spec.attributes.set("alpha", 1.6732);
    if (!draft.spec.attributes.has("gamma"))
        draft.spec.attributes.set("gamma", 1.0507);
    return {};
}

/// All spellings of a constant become the tensor `value`.
Result<void> normaliseConstant(Draft& draft) {
    Attributes& attributes = draft.spec.attributes;
    if (TensorPtr sparse = attributes.tensor("sparse_value")) {
        attributes.set("value", sparse);
        attributes.erase("sparse_value");
    }
    auto replace = [&](const char* name, Tensor tensor) {
        attributes.set("value", TensorPtr(std::make_shared<const Tensor>(std::move(tensor))));
        attributes.erase(name);
    };
    if (attributes.has("value_float"))
        replace("value_float",
                Tensor::scalar(static_cast<float>(attributes.number("value_float"))));
    if (attributes.has("value_int")) {
        Tensor scalar(DType::Int64, {});
        scalar.setInt(0, attributes.integer("value_int"));
        replace("value_int", std::move(scalar));
    }
    if (attributes.has("value_ints"))
        replace("value_ints", Tensor::ofInts(attributes.integers("value_ints")));
    if (attributes.has("value_floats")) {
        std::vector<double> numbers = attributes.numbers("value_floats");
        replace("value_floats", Tensor::ofFloats({static_cast<int64_t>(numbers.size())},
                                                 {numbers.begin(), numbers.end()}));
    }
    if (attributes.has("value_string")) {
        Tensor scalar(DType::String, {});
        scalar.strings()[0] = attributes.string("value_string");
        replace("value_string", std::move(scalar));
    }
    if (attributes.has("value_strings")) {
        std::vector<std::string> words = attributes.strings("value_strings");
        Tensor list(DType::String, {static_cast<int64_t>(words.size())});
        list.strings() = std::move(words);
        replace("value_strings", std::move(list));
    }
    if (!attributes.tensor("value"))
        return failure("load.attribute", "the Constant has no value", draft.where,
                       "export the model again");
    return {};
}

} // namespace fuselage::model_io
