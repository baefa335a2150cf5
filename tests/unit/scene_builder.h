// SPDX-License-Identifier: Apache-2.0
// Small graphs for scenes as plain structs, without the engine.
#pragma once

#include "app/report/scene/build.h"

#include <algorithm>
#include <random>

namespace fuselage::scene_test {

using app::GraphNodeReport;
using app::GraphReport;

/// Adds nodes with one output each; values are called like the nodes that make them.
class GraphBuilder {
public:
    uint32_t input(const std::string& name) {
        m_graph.inputs.push_back(value(name));
        return m_graph.inputs.back();
    }

    uint32_t constant(const std::string& name) {
        uint32_t id = value(name);
        m_graph.values[id].constant = true;
        return id;
    }

    uint32_t node(const std::string& name, const std::string& op, std::vector<uint32_t> inputs) {
        GraphNodeReport node;
        node.name = name;
        node.op = op;
        node.inputs = std::move(inputs);
        node.outputs = {value(name + ":0")};
        m_graph.nodes.push_back(node);
        return node.outputs[0];
    }

    uint32_t fused(const std::string& name, const std::string& rule,
                   std::vector<std::string> sources, std::vector<uint32_t> inputs) {
        uint32_t out = node(name, rule, std::move(inputs));
        GraphNodeReport& made = m_graph.nodes.back();
        made.fused = true;
        made.rule = rule;
        made.file = "test.fuse";
        made.line = 1;
        made.sources = std::move(sources);
        return out;
    }

    GraphReport finish(std::vector<uint32_t> outputs) {
        m_graph.outputs = std::move(outputs);
        return m_graph;
    }

private:
    uint32_t value(const std::string& name) {
        m_graph.values.push_back({name, "float[1,64,56,56]", "float", "", 802816, false});
        return static_cast<uint32_t>(m_graph.values.size() - 1);
    }

    GraphReport m_graph;
};

/// The same graph with its nodes and values in another order.
inline GraphReport shuffled(const GraphReport& graph, uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<uint32_t> to(graph.values.size());
    for (uint32_t i = 0; i < to.size(); ++i)
        to[i] = i;
    std::shuffle(to.begin(), to.end(), engine);
    GraphReport out = graph;
    for (uint32_t i = 0; i < to.size(); ++i)
        out.values[to[i]] = graph.values[i];
    auto renumber = [&](std::vector<uint32_t>& ids) {
        for (uint32_t& id : ids)
            id = id == GraphNodeReport::omitted ? id : to[id];
    };
    for (GraphNodeReport& node : out.nodes) {
        renumber(node.inputs);
        renumber(node.outputs);
    }
    renumber(out.inputs);
    renumber(out.outputs);
    std::shuffle(out.nodes.begin(), out.nodes.end(), engine);
    return out;
}

/// `blocks` residual blocks of conv, norm, relu, conv, norm, add, relu in scopes; after: two fused
/// nodes a block.
struct Pair {
    GraphReport before, after;
};

inline Pair residualNetwork(int blocks) {
    GraphBuilder before, after;
    uint32_t x = before.input("x"), y = after.input("x");
    for (int b = 0; b < blocks; ++b) {
        std::string scope = "/stage" + std::to_string(b / 4) + "/" + std::to_string(b) + "/";
        auto weight = [&](int i) { return before.constant(scope + "w" + std::to_string(i)); };
        uint32_t c1 = before.node(scope + "conv1/Conv", "Conv", {x, weight(1)});
        uint32_t n1 = before.node(scope + "bn1/BatchNormalization", "BatchNormalization", {c1});
        uint32_t r1 = before.node(scope + "relu/Relu", "Relu", {n1});
        uint32_t c2 = before.node(scope + "conv2/Conv", "Conv", {r1, weight(2)});
        uint32_t n2 = before.node(scope + "bn2/BatchNormalization", "BatchNormalization", {c2});
        uint32_t a = before.node(scope + "Add", "Add", {n2, x});
        x = before.node(scope + "relu_1/Relu", "Relu", {a});
        uint32_t f1 = after.fused(
            "ConvBNReLU_" + std::to_string(b), "ConvBNReLU",
            {scope + "conv1/Conv", scope + "bn1/BatchNormalization", scope + "relu/Relu"}, {y});
        y = after.fused("ConvBNAddReLU_" + std::to_string(b), "ConvBNAddReLU",
                        {scope + "conv2/Conv", scope + "bn2/BatchNormalization", scope + "Add",
                         scope + "relu_1/Relu"},
                        {f1, y});
    }
    return {before.finish({x}), after.finish({y})};
}

inline scene::Scene built(const GraphReport& before, const GraphReport& after,
                          const scene::Options& options = {}) {
    Progress progress;
    scene::SideFigures figures;
    auto scene = scene::build({before, after, figures}, options, progress);
    return scene ? std::move(*scene) : scene::Scene{};
}

} // namespace fuselage::scene_test
