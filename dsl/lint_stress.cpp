// SPDX-License-Identifier: Apache-2.0
#include "dsl/lint_stress.h"

#include "core/graph/text.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <random>

namespace fuselage::dsl {

namespace {

constexpr size_t levels = 32;  ///< of a graph
constexpr size_t section = 10; ///< levels of one operator where they follow each other
constexpr size_t shuffled = 3; ///< graphs with the operators in random order
constexpr size_t depth = 5;    ///< of a tree whose leaves are inputs, each another

using Ops = std::vector<Op>;

/// Those that the rule names, the root's first.
Ops opsOf(const Rule& rule) {
    Ops out;
    for (size_t i = rule.terms.size(); i-- > 0;)
        for (const Op op : rule.terms[i].ops)
            if (op != Op::Unknown && op != Op::Fused &&
                std::find(out.begin(), out.end(), op) == out.end())
                out.push_back(op);
    return out;
}

/// Which operator stands at each level, from the inputs up.
std::vector<Ops> sequences(const Ops& ops) {
    std::vector<Ops> out;
    for (const Op op : ops)
        out.emplace_back(levels, op);
    Ops sections;
    for (size_t i = ops.size(); i-- > 0;)
        sections.insert(sections.end(), section, ops[i]);
    out.push_back(std::move(sections));
    std::mt19937 random(1);
    for (size_t i = 0; i < shuffled; ++i) {
        Ops mixed;
        for (size_t level = 0; level < levels; ++level)
            mixed.push_back(ops[random() % ops.size()]);
        out.push_back(std::move(mixed));
    }
    return out;
}

/// What stands beside the value of the level below.
enum class Beside : uint8_t { Constant, Input, Other };

class Stress {
public:
    explicit Stress(Beside beside) : m_beside(beside) {
        m_constant = m_graph.addConstant("c", std::make_shared<Tensor>(DType::Float32, m_extents));
        m_input = m_graph.addInput("x", m_type);
        m_first = m_graph.addInput("a", m_type);
        m_second = m_graph.addInput("b", m_type);
    }

    Graph chain(const Ops& sequence) {
        for (const Op op : sequence) {
            const ValueId first = add(op, m_first, m_second);
            m_second = m_beside == Beside::Other ? add(op, m_second, m_first) : m_second;
            m_first = first;
        }
        m_graph.addOutput(m_first);
        return std::move(m_graph);
    }

    /// `layers`: the operator of each level, the root's first.
    Graph tree(const Ops& layers) {
        m_graph.addOutput(grow(layers, 0));
        return std::move(m_graph);
    }

private:
    ValueId grow(const Ops& layers, size_t level) {
        if (level == layers.size())
            return m_graph.addInput(m_graph.freshName("leaf"), m_type);
        const ValueId first = grow(layers, level + 1);
        return add(layers[level], first, grow(layers, level + 1));
    }

    ValueId add(Op op, ValueId below, ValueId other) {
        NodeSpec spec{op, "", {below}, {m_graph.freshName("t")}};
        const OpRow& row = rowOf(op);
        const auto most = static_cast<size_t>(std::max(row.minInputs, 1));
        const size_t count = row.maxInputs == variadic ? std::max<size_t>(most, 2) : most;
        for (size_t i = 1; i < count; ++i)
            spec.inputs.push_back(m_beside == Beside::Other && i == 1 ? other
                                  : m_beside == Beside::Input         ? m_input
                                                                      : m_constant);
        const NodeId node = m_graph.addNode(std::move(spec));
        const ValueId made = m_graph.node(node).outputs[0];
        m_graph.setType(made, m_type);
        return made;
    }

    Graph m_graph;
    Extents m_extents = {4, 4};
    Type m_type = tensorType(DType::Float32, toShape(m_extents));
    Beside m_beside;
    ValueId m_constant, m_input, m_first, m_second;
};

} // namespace

std::vector<Graph> stressGraphs(const Rule& rule) {
    std::vector<Graph> out;
    const Ops ops = opsOf(rule);
    if (ops.empty())
        return out;
    for (const Op op : ops)
        out.push_back(Stress(Beside::Other).tree(Ops(depth, op)));
    for (const Ops& sequence : sequences(ops))
        for (const Beside beside : {Beside::Constant, Beside::Input, Beside::Other})
            out.push_back(Stress(beside).chain(sequence));
    return out;
}

bool isCutOff(const PreparedRule& rule) {
    for (const Graph& graph : stressGraphs(rule.rule)) {
        const GraphFacts facts(graph);
        const Convexity convexity(graph, facts.order);
        MatchResult found;
        Matcher(graph, facts, convexity, {}).find(rule, found);
        if (std::any_of(found.refused.begin(), found.refused.end(),
                        [](const RefusedMatch& it) { return it.reason.code == code::budget; }))
            return true;
    }
    return false;
}

} // namespace fuselage::dsl
