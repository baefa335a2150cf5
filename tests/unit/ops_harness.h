// SPDX-License-Identifier: Apache-2.0
// Runs one operator on literal tensors, and infers it on literal types, for the tests of operator
// families. Holds no expectations.
#pragma once

#include "core/ops/evaluate.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::testing {

inline ReferenceValue floats(Extents extents, std::vector<double> values) {
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, std::move(extents));
    out.floats = std::move(values);
    return out;
}

inline ReferenceValue ints(Extents extents, std::vector<int64_t> values,
                           DType dtype = DType::Int64) {
    ReferenceValue out = ReferenceValue::tensor(dtype, std::move(extents));
    out.ints = std::move(values);
    return out;
}

inline ReferenceValue strings(Extents extents, std::vector<std::string> values) {
    ReferenceValue out = ReferenceValue::tensor(DType::String, std::move(extents));
    out.strings = std::move(values);
    return out;
}

/// 0, 1, 2 ... under these extents.
inline ReferenceValue counting(Extents extents) {
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, std::move(extents));
    for (size_t i = 0; i < out.floats.size(); ++i)
        out.floats[i] = static_cast<double>(i);
    return out;
}

using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

inline Node nodeOf(Op op, const AttributeList& attributes, size_t inputs, size_t outputs) {
    Node node;
    node.op = op;
    node.name = "test";
    node.inputs.resize(inputs);
    node.explicitInputs = static_cast<uint32_t>(inputs);
    node.outputs.resize(outputs);
    for (const auto& [name, value] : attributes)
        node.attributes.set(name, value);
    fillDefaults(node);
    return node;
}

class PlainContext final : public ReferenceContext {
public:
    ThreadPool& threads() override {
        static ThreadPool pool(1);
        return pool;
    }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string&,
                                                    std::vector<ReferenceValue>) override {
        return failure("test", "no subgraphs here");
    }

    uint64_t seed() override { return 42; }
};

/// Runs the operator; an input of kind Optional without elements stands for an omitted one.
inline Result<std::vector<ReferenceValue>> run(Op op, const std::vector<ReferenceValue>& inputs,
                                               const AttributeList& attributes = {},
                                               size_t outputs = 1) {
    const Node node = nodeOf(op, attributes, inputs.size(), outputs);
    std::vector<const ReferenceValue*> pointers;
    for (const ReferenceValue& input : inputs) {
        const bool omitted = input.kind == TypeKind::Optional && input.elements.empty();
        pointers.push_back(omitted ? nullptr : &input);
    }
    PlainContext context;
    return evaluateNode(node, pointers, context);
}

inline ReferenceValue omitted() {
    ReferenceValue out;
    out.kind = TypeKind::Optional;
    return out;
}

/// What inference knows of one input.
struct Known {
    Type type;
    std::optional<Shape> contents = std::nullopt;
};

inline Known known(Shape shape, DType dtype = DType::Float32) {
    return {tensorType(dtype, std::move(shape))};
}

/// A one-dimensional int64 tensor with these contents.
inline Known contents(Shape values) {
    return {tensorType(DType::Int64, {static_cast<int64_t>(values.size())}), std::move(values)};
}

inline Known scalarContents(Dim value) {
    return {tensorType(DType::Int64, {}), Shape{value}};
}

/// Collects what a shape function says.
class Inference final : public InferContext {
public:
    Inference(Op op, std::vector<std::optional<Known>> inputs, const AttributeList& attributes = {},
              size_t outputs = 1)
        : m_node(nodeOf(op, attributes, inputs.size(), outputs)), m_inputs(std::move(inputs)) {
        rowOf(op).infer(*this);
    }

    const Node& node() const override { return m_node; }

    size_t inputCount() const override { return m_inputs.size(); }

    bool has(size_t input) const override {
        return input < m_inputs.size() && m_inputs[input].has_value();
    }

    const Type& input(size_t input) const override { return m_inputs[input]->type; }

    const Tensor* constant(size_t) const override { return nullptr; }

    std::optional<Shape> contents(size_t input) const override {
        return has(input) ? m_inputs[input]->contents : std::nullopt;
    }

    size_t outputCount() const override { return m_node.outputs.size(); }

    void setOutput(size_t output, Type type) override { m_types[output] = std::move(type); }

    void setContents(size_t output, Shape contents) override {
        m_contents[output] = std::move(contents);
    }

    std::vector<Type> inferSubgraph(const std::string&, const std::vector<Type>&) override {
        return {};
    }

    void fail(std::string message) override { m_problems += message; }

    /// "float[2,N]"; "" when the function did not set it.
    std::string type(size_t output = 0) const {
        auto found = m_types.find(output);
        return found == m_types.end() ? "" : found->second.text();
    }

    std::string contentsText(size_t output = 0) const {
        auto found = m_contents.find(output);
        return found == m_contents.end() ? "" : text(found->second);
    }

    const std::string& problems() const { return m_problems; }

private:
    Node m_node;
    std::vector<std::optional<Known>> m_inputs;
    std::map<size_t, Type> m_types;
    std::map<size_t, Shape> m_contents;
    std::string m_problems;
};

} // namespace fuselage::testing
