// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/derive.h"

#include "core/ops/op_table.h"
#include "dsl/resolve.h"
#include "dsl/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::app {

namespace {

constexpr size_t opsInName = 4;
constexpr size_t longestList = 16; ///< an attribute with more numbers is left out

/// The operator as rules write it; empty when they cannot.
std::string ruleNameOf(Op op) {
    for (const std::string& name : {std::string(nameOf(op)), "Ms" + std::string(nameOf(op))})
        if (dsl::operatorNamed(name) == op)
            return name;
    return {};
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out + "\"";
}

template <typename List, typename Print>
std::optional<std::string> listText(const List& list, Print print) {
    if (list.size() > longestList)
        return std::nullopt;
    std::string out;
    for (const auto& each : list)
        out += (out.empty() ? "" : ", ") + print(each);
    return "[" + out + "]";
}

/// As an expression of the language; none for tensors, graphs and long lists.
struct AttributeText {
    using Text = std::optional<std::string>;

    static std::string number(double value) { return fmt::format("{:.9g}", value); }

    Text operator()(int64_t value) const { return std::to_string(value); }

    Text operator()(double value) const {
        return std::isfinite(value) ? Text(number(value)) : std::nullopt;
    }

    Text operator()(const std::string& value) const { return quoted(value); }

    Text operator()(const std::vector<int64_t>& list) const {
        return listText(list, [](int64_t each) { return std::to_string(each); });
    }

    Text operator()(const std::vector<double>& list) const { return listText(list, number); }

    Text operator()(const std::vector<std::string>& list) const { return listText(list, quoted); }

    Text operator()(const TensorPtr&) const { return std::nullopt; }

    Text operator()(const std::shared_ptr<Graph>&) const { return std::nullopt; }
};

class Derivation {
public:
    Derivation(const Graph& graph, std::vector<NodeId> nodes)
        : m_graph(graph), m_nodes(std::move(nodes)) {
        for (NodeId id : m_nodes)
            m_inside.insert(id.index());
    }

    std::string rule(const DeriveOptions& options) {
        std::string statements, escapes;
        for (NodeId id : m_nodes) {
            const Node& node = m_graph.node(id);
            if (isInlined(node))
                continue;
            std::string names;
            for (ValueId output : node.outputs)
                if (output.valid()) {
                    names += (names.empty() ? "" : ", ") + nameOfMade(output);
                    if (isReadInside(output) && isReadOutside(output))
                        escapes += "  escape " + nameOfMade(output) + ": export;\n";
                }
            statements += "    " + names + " = " + term(id) + ";\n";
        }
        std::string name = options.name.empty() ? nameOfRule() : options.name;
        return fmt::format("fuse 1;\n\n/// {} nodes, derived from a selection.\n"
                           "rule {} priority {} {{\n  match {{\n{}  }}\n{}}}\n",
                           m_nodes.size(), name, options.priority, statements, escapes);
    }

private:
    bool isInside(NodeId id) const { return id.valid() && m_inside.contains(id.index()); }

    bool isReadInside(ValueId id) const {
        const auto& uses = m_graph.value(id).uses;
        return std::any_of(uses.begin(), uses.end(),
                           [this](const Use& use) { return isInside(use.node); });
    }

    bool isReadOutside(ValueId id) const {
        const auto& uses = m_graph.value(id).uses;
        return m_graph.isGraphOutput(id) ||
               std::any_of(uses.begin(), uses.end(),
                           [this](const Use& use) { return !isInside(use.node); });
    }

    /// Written where its only reader stands.
    bool isInlined(const Node& node) const {
        size_t made = 0;
        for (ValueId output : node.outputs)
            made += output.valid();
        if (made != 1 || !node.outputs[0].valid())
            return false;
        ValueId value = node.outputs[0];
        return m_graph.value(value).uses.size() == 1 && isReadInside(value) &&
               !m_graph.isGraphOutput(value);
    }

    bool isInlined(ValueId id) const {
        NodeId maker = m_graph.producer(id);
        return isInside(maker) && isInlined(m_graph.node(maker));
    }

    /// "Conv(x, w: const) -> Relu": the first operand that is made here stands before the arrow.
    std::string term(NodeId id) {
        const Node& node = m_graph.node(id);
        size_t chained = node.explicitInputs;
        for (size_t i = 0; i < node.explicitInputs && chained == node.explicitInputs; ++i)
            if (node.inputs[i].valid() && isInlined(node.inputs[i]))
                chained = i;
        std::string before;
        if (chained < node.explicitInputs)
            before = term(m_graph.producer(node.inputs[chained])) + " -> ";
        std::string operands;
        bool omitted = false;
        size_t last = node.explicitInputs;
        while (last > 0 && !node.inputs[last - 1].valid())
            --last;
        for (size_t i = 0; i < last; ++i) {
            if (!node.inputs[i].valid()) {
                omitted = true;
                continue;
            }
            std::string text = i == chained ? "_" : operand(node, i);
            if (omitted)
                text = inputNamesOf(node.op)[i] + " = " + text;
            operands += (operands.empty() ? "" : ", ") + text;
        }
        bool alone = chained == 0 && last == 1;
        return before + ruleNameOf(node.op) + (alone ? "" : "(" + operands + ")") + tests(node);
    }

    std::string operand(const Node& node, size_t slot) {
        ValueId id = node.inputs[slot];
        NodeId maker = m_graph.producer(id);
        if (isInside(maker))
            return isInlined(id) ? term(maker) : nameOfMade(id);
        if (const TensorPtr& data = m_graph.value(id).constant)
            return constant(node, slot, *data);
        auto known = m_names.find(id.index());
        return known != m_names.end() ? known->second : named(id, "x");
    }

    std::string constant(const Node& node, size_t slot, const Tensor& data) {
        bool isNumber = data.elementCount() == 1 && isFloat(data.dtype()) &&
                        std::isfinite(data.at(0)) && hasTrait(node.op, Elementwise);
        if (isNumber)
            return fmt::format("{:.7g}", data.at(0));
        ValueId id = node.inputs[slot];
        if (auto known = m_names.find(id.index()); known != m_names.end())
            return known->second;
        const auto& names = inputNamesOf(node.op);
        return named(id, names.empty() ? "c" : names[std::min(slot, names.size() - 1)]) + ": const";
    }

    std::string tests(const Node& node) const {
        std::string out;
        for (const auto& entry : node.attributes) {
            if (isSchemaDefault(node.op, entry.name, entry.value))
                continue;
            if (auto value = std::visit(AttributeText{}, entry.value))
                out += (out.empty() ? "" : ", ") + entry.name + " == " + *value;
        }
        return out.empty() ? out : "[" + out + "]";
    }

    std::string nameOfMade(ValueId id) {
        auto known = m_names.find(id.index());
        if (known != m_names.end())
            return known->second;
        return named(id, isReadInside(id) ? "t" : "y");
    }

    /// A name of its own that begins like the wish.
    std::string named(ValueId id, const std::string& wish) {
        std::string base;
        for (char c : wish)
            if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
                base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (base.empty() || !std::isalpha(static_cast<unsigned char>(base[0])))
            base = "v" + base;
        std::string name = base;
        for (int number = 2; m_taken.contains(name) || dsl::isReserved(name); ++number)
            name = base + std::to_string(number);
        m_taken.insert(name);
        return m_names[id.index()] = name;
    }

    std::string nameOfRule() const {
        std::string out = "My";
        for (size_t i = 0; i < std::min(m_nodes.size(), opsInName); ++i)
            out += nameOf(m_graph.node(m_nodes[i]).op);
        return m_nodes.size() > opsInName ? out + std::to_string(m_nodes.size()) : out;
    }

    const Graph& m_graph;
    std::vector<NodeId> m_nodes; ///< producers first
    std::unordered_set<uint32_t> m_inside;
    std::unordered_map<uint32_t, std::string> m_names; ///< of values
    std::unordered_set<std::string> m_taken;
};

} // namespace

Result<std::string> deriveRule(const Graph& graph, const std::vector<std::string>& nodes,
                               const DeriveOptions& options) {
    std::unordered_set<std::string> wanted(nodes.begin(), nodes.end());
    std::vector<NodeId> chosen;
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        if (!wanted.erase(node.name))
            continue;
        if (ruleNameOf(node.op).empty())
            return failure("derive.operator",
                           "rules cannot name the operator of `" + node.name + "`", node.name,
                           "leave it out of the selection");
        chosen.push_back(id);
    }
    if (!wanted.empty())
        return failure("derive.nodes", "the graph has no node `" + *wanted.begin() + "`");
    if (chosen.empty())
        return failure("derive.nodes", "no nodes to derive a rule from", "",
                       "select nodes of the graph before fusion");
    return Derivation(graph, std::move(chosen)).rule(options);
}

} // namespace fuselage::app
