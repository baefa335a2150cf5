// SPDX-License-Identifier: Apache-2.0
#include "dsl/body_pattern.h"

#include "core/ops/op_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage::dsl {

namespace {

class PatternWriter {
public:
    explicit PatternWriter(const Graph& graph) : m_graph(graph) {
        for (ValueId input : graph.inputs())
            m_names.emplace(input, fmt::format("p{}", m_names.size()));
    }

    std::optional<std::string> write() {
        const std::vector<std::string> parameters = parameterNames();
        const ValueId result = behindIdentities(m_graph.outputs().at(0));
        const NodeId root = m_graph.producer(result);
        if (!root.valid())
            return std::nullopt;
        const std::optional<std::string> made = step(root);
        if (!made)
            return std::nullopt;
        return fmt::format("fuse 1;\npattern Body({}) -> y {{\n{}  y = {};\n}}\n",
                           fmt::join(parameters, ", "), m_statements, *made);
    }

private:
    std::vector<std::string> parameterNames() const {
        std::vector<std::string> out;
        for (ValueId input : m_graph.inputs())
            out.push_back(m_names.at(input));
        return out;
    }

    ValueId behindIdentities(ValueId id) const {
        for (NodeId maker = m_graph.producer(id);
             maker.valid() && m_graph.node(maker).op == Op::Identity; maker = m_graph.producer(id))
            id = m_graph.node(maker).inputs[0];
        return id;
    }

    /// Also of a constant in another type.
    TensorPtr constantOf(ValueId id) const {
        id = behindIdentities(id);
        if (TensorPtr constant = m_graph.value(id).constant)
            return constant;
        const NodeId maker = m_graph.producer(id);
        if (!maker.valid())
            return nullptr;
        const Node& node = m_graph.node(maker);
        if (node.op == Op::CastLike)
            return constantOf(node.inputs[0]);
        return node.op == Op::Constant ? node.attributes.tensor("value") : nullptr;
    }

    /// A name, or the literal of a number.
    std::optional<std::string> operand(ValueId id) {
        if (const TensorPtr constant = constantOf(id)) {
            if (constant->elementCount() != 1 || !std::isfinite(constant->at(0)))
                return std::nullopt;
            return fmt::format("{:.9g}", constant->at(0));
        }
        id = behindIdentities(id);
        if (auto known = m_names.find(id); known != m_names.end())
            return known->second;
        const NodeId maker = m_graph.producer(id);
        const std::optional<std::string> made = maker.valid() ? step(maker) : std::nullopt;
        if (!made)
            return std::nullopt;
        const std::string name = fmt::format("t{}", m_names.size());
        m_names.emplace(id, name);
        m_statements += fmt::format("  {} = {};\n", name, *made);
        return name;
    }

    static std::optional<std::string> literal(const AttributeValue& value) {
        if (const auto* whole = std::get_if<int64_t>(&value))
            return std::to_string(*whole);
        if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real))
            return fmt::format("{:.17g}", *real); // a test compares all digits
        if (const auto* word = std::get_if<std::string>(&value))
            return "\"" + *word + "\"";
        if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value))
            return fmt::format("[{}]", fmt::join(*numbers, ", "));
        return std::nullopt;
    }

    /// Axes are tested like an attribute, wherever the opset has them.
    bool isAxes(const Node& node, size_t slot) const {
        const std::vector<std::string>& names = inputNamesOf(node.op);
        return slot < names.size() && names[slot] == "axes" && constantOf(node.inputs[slot]);
    }

    std::optional<std::string> step(NodeId id) {
        const Node& node = m_graph.node(id);
        if (node.op == Op::Unknown || node.op == Op::Fused || node.op == Op::Cast ||
            node.op == Op::CastLike || node.outputs.size() != 1)
            return std::nullopt;
        std::vector<std::string> operands, tests;
        for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
            if (!node.inputs[slot].valid())
                return std::nullopt;
            if (isAxes(node, slot)) {
                const TensorPtr axes = constantOf(node.inputs[slot]);
                std::vector<int64_t> numbers;
                for (int64_t i = 0; i < axes->elementCount(); ++i)
                    numbers.push_back(axes->intAt(i));
                tests.push_back(fmt::format("axes == [{}]", fmt::join(numbers, ", ")));
                continue;
            }
            const std::optional<std::string> made = operand(node.inputs[slot]);
            if (!made)
                return std::nullopt;
            operands.push_back(*made);
        }
        for (const Attributes::Entry& entry : node.attributes) {
            const std::optional<std::string> value = literal(entry.value);
            if (!value)
                return std::nullopt;
            tests.push_back(entry.name + " == " + *value);
        }
        const std::string domain = domainOf(node.op);
        const std::string name = (domain.empty() ? "" : domain + ".") + nameOf(node.op);
        // Functions of one operand are written out by exporters, too.
        const bool mayBeWrittenOut =
            operands.size() == 1 && hasTrait(node.op, Elementwise | Normalization);
        return fmt::format("{}{}({}){}", mayBeWrittenOut ? "spec " : "", name,
                           fmt::join(operands, ", "),
                           tests.empty() ? "" : fmt::format("[{}]", fmt::join(tests, ", ")));
    }

    const Graph& m_graph;
    std::unordered_map<ValueId, std::string> m_names;
    std::string m_statements;
};

} // namespace

std::optional<std::string> patternText(const Graph& graph) {
    return PatternWriter(graph).write();
}

} // namespace fuselage::dsl
