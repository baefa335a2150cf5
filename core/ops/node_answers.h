// SPDX-License-Identifier: Apache-2.0
// What one node's inference says of its results, for whoever walks a graph with it: the walk
// answers what it asks (input, constant, contents, subgraphs) and takes types and contents from
// here.
#pragma once

#include "core/ops/op_table.h"
#include "core/ops/tensor_index.h"

#include <memory>
#include <utility>

namespace fuselage {

/// Tensors whose elements may be dimensions.
inline bool holdsContents(DType type) {
    return isInteger(type) || type == DType::Bool;
}

/// The elements of a small integer constant; none of another one, or of null.
inline std::optional<Shape> contentsOfConstant(const TensorPtr& constant) {
    if (!constant || !holdsContents(constant->dtype()) || constant->elementCount() > maxContents)
        return std::nullopt;
    return toShape(constant->toInts());
}

class NodeAnswers : public InferContext {
public:
    explicit NodeAnswers(size_t outputs) : types(outputs), contentsOut(outputs) {}

    size_t inputCount() const override { return node().explicitInputs; }

    bool has(size_t input) const override {
        return input < inputCount() && node().inputs[input].valid();
    }

    size_t outputCount() const override { return types.size(); }

    void setOutput(size_t output, Type type) override {
        if (output < types.size())
            types[output] = std::move(type);
    }

    void setContents(size_t output, Shape contents) override {
        if (output < types.size() && static_cast<int64_t>(contents.size()) <= maxContents)
            contentsOut[output] = std::make_shared<const Shape>(std::move(contents));
    }

    std::vector<std::optional<Type>> types;
    std::vector<std::shared_ptr<const Shape>> contentsOut;
};

} // namespace fuselage
