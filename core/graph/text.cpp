// SPDX-License-Identifier: Apache-2.0
#include "core/graph/text.h"

#include "core/support/hash.h"

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace fuselage {

namespace {

/// A name as the textual syntax takes it: plain identifiers, all else in backticks.
std::string quoted(const std::string& name) {
    bool plain =
        !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) != 0 || name[0] == '_');
    for (char c : name)
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
    return plain ? name : "`" + name + "`";
}

/// "float[N,3]", "float" without dimensions, "float[]" when even their number is unknown.
std::string typeText(const Type& type) {
    if (type.kind == TypeKind::Foreign)
        return type.foreign->text;
    std::string tensor = nameOf(type.dtype);
    if (!type.shape)
        tensor += "[]";
    else if (!type.shape->empty()) {
        tensor += "[";
        for (size_t i = 0; i < type.shape->size(); ++i) {
            const Dim& dim = (*type.shape)[i];
            tensor += (i ? "," : "") + (dim.isSymbolic() ? quoted(dim.text()) : dim.text());
        }
        tensor += "]";
    }
    if (type.kind == TypeKind::Sequence || type.ofSequence)
        tensor = "seq(" + tensor + ")";
    return type.kind == TypeKind::Optional ? "optional(" + tensor + ")" : tensor;
}

std::string elementText(const Tensor& tensor, int64_t index) {
    if (tensor.dtype() == DType::String)
        return "\"" + tensor.strings()[static_cast<size_t>(index)] + "\"";
    if (tensor.dtype() == DType::Float64)
        return fmt::format("{}", tensor.at(index));
    if (isFloat(tensor.dtype()))
        return fmt::format("{}", static_cast<float>(tensor.at(index)));
    if (tensor.dtype() == DType::UInt64)
        return fmt::format("{}", static_cast<uint64_t>(tensor.intAt(index)));
    return fmt::format("{}", tensor.intAt(index));
}

/// "{1, 2}", or nothing for tensors above the limit.
std::string dataText(const Tensor& tensor, size_t limit) {
    if (static_cast<size_t>(tensor.elementCount()) > limit)
        return {};
    std::string out = "{";
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        out += (i ? ", " : "") + elementText(tensor, i);
    return out + "}";
}

/// Functions that stand for the distinct bodies of fused nodes, in order of appearance.
struct Bodies {
    struct Function {
        std::string name;
        std::shared_ptr<const Graph> body;
    };

    std::vector<Function> functions;
    std::unordered_map<std::string, std::string> byContent; ///< rule and canonical text -> name
    std::unordered_map<const Graph*, std::string> byBody;
    std::set<std::string> names;
};

class Printer {
public:
    Printer(const Graph& graph, const TextOptions& options, Bodies* bodies)
        : m_graph(graph), m_options(options), m_bodies(bodies) {}

    /// `outer` names the values that captures stand for.
    std::string graphText(const std::vector<std::string>& outer, const std::string& indent) {
        const std::vector<ValueId>& captures = m_graph.captures();
        for (size_t i = 0; i < captures.size() && i < outer.size(); ++i)
            m_names[captures[i]] = outer[i];
        std::vector<NodeId> order = topologicalOrder(m_graph);
        std::string out = indent.empty() ? quoted(m_graph.name().empty() ? "g" : m_graph.name())
                                         : quoted(m_graph.name().empty() ? "body" : m_graph.name());
        out +=
            fmt::format(" ({}) => ({})", valueList(m_graph.inputs()), valueList(m_graph.outputs()));
        std::string constants = constantList(order, indent);
        if (!constants.empty())
            out += "\n" + indent + "<" + constants + ">";
        out += "\n" + indent + "{\n";
        for (NodeId id : order)
            out += indent + "   " + nodeText(id, indent + "   ") + comment(id) + "\n";
        return out + indent + "}";
    }

    /// A body as a function: no types, constants as nodes.
    std::string functionText(const std::string& name) {
        std::string out = quoted(name) + " (" + nameList(m_graph.inputs()) + ") => (" +
                          nameList(m_graph.outputs()) + ")\n{\n";
        std::vector<NodeId> order = topologicalOrder(m_graph);
        for (ValueId id : usedConstants(order)) {
            const Tensor& tensor = *m_graph.value(id).constant;
            out += fmt::format("   {} = Constant <value = {} {}> ()\n", nameOfValue(id),
                               typeText(tensor.type()), data(tensor));
        }
        for (NodeId id : order)
            out += "   " + nodeText(id, "   ") + comment(id) + "\n";
        return out + "}";
    }

    std::string nodeText(NodeId id, const std::string& indent) {
        const Node& node = m_graph.node(id);
        std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + node.explicitInputs);
        std::string attributes = attributeList(node, indent);
        return fmt::format("{} = {}{}({})", nameList(node.outputs), operatorText(node),
                           attributes.empty() ? "" : " " + attributes + " ", nameList(inputs));
    }

private:
    std::string nameOfValue(ValueId id) const {
        if (!id.valid())
            return "``";
        auto renamed = m_names.find(id);
        return quoted(renamed != m_names.end() ? renamed->second : m_graph.value(id).name);
    }

    std::string nameList(const std::vector<ValueId>& ids) const {
        std::string out;
        for (size_t i = 0; i < ids.size(); ++i)
            out += (i ? ", " : "") + nameOfValue(ids[i]);
        return out;
    }

    std::string valueList(const std::vector<ValueId>& ids) const {
        std::string out;
        for (size_t i = 0; i < ids.size(); ++i) {
            const Type& type = m_graph.value(ids[i]).type;
            out += i ? ", " : "";
            if (type.dtype != DType::Undefined)
                out += typeText(type) + " ";
            out += nameOfValue(ids[i]);
        }
        return out;
    }

    /// Constants in the order in which they are first read; then graph outputs that are constant.
    std::vector<ValueId> usedConstants(const std::vector<NodeId>& order) const {
        std::vector<ValueId> out;
        std::vector<bool> seen(m_graph.valueBound(), false);
        auto add = [&](ValueId id) {
            if (m_graph.isConstant(id) && !seen[id.index()]) {
                seen[id.index()] = true;
                out.push_back(id);
            }
        };
        for (NodeId id : order)
            for (ValueId input : m_graph.node(id).inputs)
                add(input);
        for (ValueId output : m_graph.outputs())
            add(output);
        return out;
    }

    std::string constantList(const std::vector<NodeId>& order, const std::string& indent) const {
        std::string out;
        for (ValueId id : usedConstants(order)) {
            const Tensor& tensor = *m_graph.value(id).constant;
            std::string contents = data(tensor);
            out += (out.empty() ? "" : ",\n " + indent) + typeText(tensor.type()) + " " +
                   nameOfValue(id) + (contents.empty() ? "" : " = " + contents);
        }
        return out;
    }

    std::string data(const Tensor& tensor) const {
        std::string out = dataText(tensor, m_options.maxConstant);
        // When bodies are compared, large constants must differ too.
        if (out.empty() && m_comparing)
            out = Hasher().bytes(tensor.bytes(), tensor.byteCount()).hex();
        return out;
    }

    std::string operatorText(const Node& node) {
        if (node.op != Op::Fused || !m_bodies || !node.body)
            return opText(node);
        return functionName(node);
    }

    /// The function that stands for a fused node's body; equal bodies of a rule share one.
    std::string functionName(const Node& node) {
        auto known = m_bodies->byBody.find(node.body.get());
        if (known != m_bodies->byBody.end())
            return known->second;
        Printer canonical(*node.body, m_options, m_bodies);
        canonical.renameByOrder();
        canonical.m_comparing = true;
        std::string content = node.customOp + "\n" + canonical.functionText("f");
        auto [at, added] = m_bodies->byContent.emplace(content, std::string());
        if (added) {
            std::string name = quoted(node.customOp);
            for (int i = 2; !m_bodies->names.insert(name).second; ++i)
                name = quoted(fmt::format("{}_{}", node.customOp, i));
            at->second = name;
            m_bodies->functions.push_back({name, node.body});
        }
        m_bodies->byBody.emplace(node.body.get(), at->second);
        return at->second;
    }

    /// Names that depend on the structure only, to compare bodies.
    void renameByOrder() {
        size_t next = 0;
        auto rename = [&](ValueId id) {
            if (id.valid() && m_names.try_emplace(id, "v" + std::to_string(next)).second)
                ++next;
        };
        for (ValueId id : m_graph.inputs())
            rename(id);
        for (NodeId id : topologicalOrder(m_graph)) {
            for (ValueId input : m_graph.node(id).inputs)
                rename(input);
            for (ValueId output : m_graph.node(id).outputs)
                rename(output);
        }
    }

    std::string attributeList(const Node& node, const std::string& indent) {
        std::string out;
        size_t captured = node.explicitInputs;
        for (const auto& [name, value] : node.attributes) {
            const auto* subgraph = std::get_if<std::shared_ptr<Graph>>(&value);
            if (!subgraph && !m_options.defaults && isSchemaDefault(node.op, name, value))
                continue;
            out += (out.empty() ? "" : ", ") + quoted(name) + " = ";
            if (subgraph && *subgraph)
                out += subgraphText(**subgraph, node, captured, indent);
            else if (const auto* tensor = std::get_if<TensorPtr>(&value); tensor && *tensor)
                out += typeText((*tensor)->type()) + " " + data(**tensor);
            else
                out += text(value);
        }
        return out.empty() ? "" : "<" + out + ">";
    }

    std::string subgraphText(const Graph& subgraph, const Node& node, size_t& captured,
                             const std::string& indent) {
        std::vector<std::string> outer;
        for (size_t i = 0; i < subgraph.captures().size(); ++i, ++captured) {
            ValueId id = captured < node.inputs.size() ? node.inputs[captured] : ValueId();
            auto renamed = m_names.find(id);
            outer.push_back(renamed != m_names.end() ? renamed->second
                            : id.valid()             ? m_graph.value(id).name
                                                     : "");
        }
        return Printer(subgraph, m_options, m_bodies).graphText(outer, indent + "   ");
    }

    std::string comment(NodeId id) const {
        if (!m_options.types)
            return {};
        std::string out;
        for (ValueId output : m_graph.node(id).outputs)
            if (output.valid())
                out += (out.empty() ? "  # " : ", ") + m_graph.value(output).type.text();
        return out;
    }

    const Graph& m_graph;
    const TextOptions& m_options;
    Bodies* m_bodies;
    std::unordered_map<ValueId, std::string> m_names; ///< where they differ from the graph's
    bool m_comparing = false;                         ///< the text is compared, not read
};

} // namespace

std::string text(const Graph& graph, const TextOptions& options) {
    Bodies bodies;
    std::string out =
        Printer(graph, options, options.fusedBodies ? &bodies : nullptr).graphText({}, "") + "\n";
    // Bodies may hold fused nodes themselves: the list grows while it is printed.
    for (size_t i = 0; i < bodies.functions.size(); ++i) {
        auto [name, body] = bodies.functions[i];
        out += Printer(*body, options, &bodies).functionText(name) + "\n";
    }
    return out;
}

std::string text(const Graph& graph, NodeId node) {
    TextOptions options;
    return Printer(graph, options, nullptr).nodeText(node, "");
}

std::string opText(const Node& node) {
    if (node.op == Op::Fused)
        return quoted(node.customOp);
    if (node.op == Op::Unknown)
        return (node.customDomain.empty() ? "" : node.customDomain + ".") + node.customOp;
    std::string domain = domainOf(node.op);
    return (domain.empty() ? "" : domain + ".") + nameOf(node.op);
}

std::vector<std::string> namesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> out;
    for (NodeId node : nodes)
        out.push_back(graph.node(node).name);
    return out;
}

std::vector<std::string> sourcesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> out;
    std::unordered_set<std::string> seen;
    auto add = [&](const std::string& name) {
        if (seen.insert(name).second)
            out.push_back(name);
    };
    for (NodeId id : nodes) {
        const Node& node = graph.node(id);
        if (node.provenance.sources.empty())
            add(node.name);
        for (const std::string& source : node.provenance.sources)
            add(source);
    }
    return out;
}

} // namespace fuselage
