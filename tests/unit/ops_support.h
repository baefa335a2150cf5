// SPDX-License-Identifier: Apache-2.0
// Runs one operator on small values, and asks its shape function, without a graph pass.
#pragma once

#include "core/ops/evaluate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::testing_ops {

inline ReferenceValue floats(Extents extents, std::vector<double> values) {
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, std::move(extents));
    EXPECT_EQ(out.floats.size(), values.size());
    out.floats = std::move(values);
    return out;
}

inline ReferenceValue ints(DType dtype, Extents extents, std::vector<int64_t> values) {
    ReferenceValue out = ReferenceValue::tensor(dtype, std::move(extents));
    EXPECT_EQ(out.ints.size(), values.size());
    out.ints = std::move(values);
    return out;
}

struct Context : ReferenceContext {
    ThreadPool pool{1};

    ThreadPool& threads() override { return pool; }

    Result<std::vector<ReferenceValue>> runSubgraph(const std::string&,
                                                    std::vector<ReferenceValue>) override {
        return failure("test", "no subgraphs here");
    }

    uint64_t seed() override { return 1; }
};

using Attribute = std::pair<std::string, AttributeValue>;

inline Node makeNode(Op op, size_t inputs, const std::vector<Attribute>& attributes,
                     size_t outputs = 1) {
    Node node;
    node.op = op;
    node.name = "n";
    for (const auto& [name, value] : attributes)
        node.attributes.set(name, value);
    fillDefaults(node);
    for (size_t i = 0; i < inputs; ++i)
        node.inputs.emplace_back(static_cast<uint32_t>(i));
    node.explicitInputs = static_cast<uint32_t>(inputs);
    for (size_t i = 0; i < outputs; ++i)
        node.outputs.emplace_back(static_cast<uint32_t>(inputs + i));
    return node;
}

inline std::vector<ReferenceValue> runAll(Op op, const std::vector<ReferenceValue>& inputs,
                                          const std::vector<Attribute>& attributes = {},
                                          size_t outputs = 1) {
    Node node = makeNode(op, inputs.size(), attributes, outputs);
    std::vector<const ReferenceValue*> pointers;
    for (const ReferenceValue& input : inputs)
        pointers.push_back(&input);
    Context context;
    auto results = evaluateNode(node, pointers, context);
    EXPECT_TRUE(results) << (results ? "" : results.error().text());
    return results ? std::move(*results) : std::vector<ReferenceValue>(outputs);
}

inline ReferenceValue run(Op op, const std::vector<ReferenceValue>& inputs,
                          const std::vector<Attribute>& attributes = {}) {
    return runAll(op, inputs, attributes)[0];
}

/// Types and contents in, types and contents out.
struct Inference : InferContext {
    Node subject;
    std::vector<Type> types;
    std::map<size_t, Shape> known; ///< contents of inputs
    std::vector<Type> results;
    std::map<size_t, Shape> resultContents;
    std::vector<std::string> problems;

    const Node& node() const override { return subject; }

    size_t inputCount() const override { return types.size(); }

    bool has(size_t input) const override { return input < types.size(); }

    const Type& input(size_t input) const override { return types[input]; }

    const Tensor* constant(size_t) const override { return nullptr; }

    std::optional<Shape> contents(size_t input) const override {
        auto found = known.find(input);
        return found == known.end() ? std::nullopt : std::optional(found->second);
    }

    size_t outputCount() const override { return subject.outputs.size(); }

    void setOutput(size_t output, Type type) override { results[output] = std::move(type); }

    void setContents(size_t output, Shape contents) override {
        resultContents[output] = std::move(contents);
    }

    std::vector<Type> inferSubgraph(const std::string&, const std::vector<Type>&) override {
        return {};
    }

    void fail(std::string message) override { problems.push_back(std::move(message)); }
};

inline Inference inferOp(Op op, std::vector<Type> inputs,
                         const std::vector<Attribute>& attributes = {},
                         std::map<size_t, Shape> contents = {}, size_t outputs = 1) {
    Inference out;
    out.subject = makeNode(op, inputs.size(), attributes, outputs);
    out.types = std::move(inputs);
    out.known = std::move(contents);
    out.results.resize(outputs);
    EXPECT_NE(rowOf(op).infer, nullptr) << nameOf(op);
    if (rowOf(op).infer)
        rowOf(op).infer(out);
    return out;
}

inline Dim symbol(const char* name) {
    return Dim::symbol(name);
}

} // namespace fuselage::testing_ops
