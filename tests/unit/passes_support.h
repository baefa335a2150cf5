// SPDX-License-Identifier: Apache-2.0
// Short ways to build graphs by hand or from text, and to run them, for the tests of core/passes.
#pragma once

#include "core/graph/graph.h"
#include "core/onnx/model_file.h"
#include "core/ops/op_table.h"
#include "core/plan/backend.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace fuselage::test {

/// Symbolic extents: a batch and a length.
inline const Dim N = Dim::symbol("N");
inline const Dim L = Dim::symbol("L");

/// Of ONNX's textual syntax.
inline Graph parsed(const std::string& text, int opset) {
    auto graph = model_io::loadText(
        fmt::format("<ir_version: 8, opset_import: [\"\" : {}]> {}", opset, text));
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text()) << text;
    return graph ? std::move(*graph) : Graph();
}

/// By the reference functions.
inline std::vector<ReferenceValue> resultsOf(const Graph& graph,
                                             const std::vector<ReferenceValue>& inputs) {
    ThreadPool threads(1);
    Progress progress;
    auto out = interpret(graph, inputs, threads, progress);
    EXPECT_TRUE(out) << (out ? "" : out.error().text());
    return out ? std::move(*out) : std::vector<ReferenceValue>();
}

struct GraphMaker {
    Graph graph;

    ValueId input(const std::string& name, Shape shape, DType dtype = DType::Float32) {
        return graph.addInput(name, tensorType(dtype, std::move(shape)));
    }

    ValueId ints(const std::string& name, const std::vector<int64_t>& values) {
        return graph.addConstant(name, std::make_shared<Tensor>(Tensor::ofInts(values)));
    }

    ValueId scalarInt(const std::string& name, int64_t value) {
        return graph.addConstant(name,
                                 std::make_shared<Tensor>(Tensor::ofInts({value}).reshaped({})));
    }

    ValueId floats(const std::string& name, Extents extents, const std::vector<float>& values) {
        return graph.addConstant(
            name, std::make_shared<Tensor>(Tensor::ofFloats(std::move(extents), values)));
    }

    ValueId boolean(const std::string& name, bool value) {
        Tensor data(DType::Bool, {});
        data.setInt(0, value);
        return graph.addConstant(name, std::make_shared<Tensor>(std::move(data)));
    }

    /// One node with one output; defaults are filled in.
    ValueId node(Op op, const std::vector<ValueId>& inputs, const std::string& output,
                 const std::vector<Attributes::Entry>& attributes = {}) {
        Attributes given;
        for (const Attributes::Entry& entry : attributes)
            given.set(entry.name, entry.value);
        NodeId id = graph.addNode({op, output + "_node", inputs, {output}, std::move(given)});
        fillDefaults(graph.edit(id));
        return graph.node(id).outputs[0];
    }

    void output(ValueId id) { graph.addOutput(id); }

    std::string typeOf(const std::string& name) const {
        return graph.value(graph.findValue(name)).type.text();
    }

    std::string contentsOf(const std::string& name) const {
        const auto& contents = graph.value(graph.findValue(name)).symbolicContents;
        return contents ? text(*contents) : "unknown";
    }

    size_t count(Op op) const {
        size_t out = 0;
        for (NodeId id : graph.nodes())
            out += graph.node(id).op == op;
        return out;
    }
};

} // namespace fuselage::test
