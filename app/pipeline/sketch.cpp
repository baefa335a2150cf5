// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/sketch.h"

#include "app/pipeline/summary.h"
#include "core/onnx/outline.h"

#include <filesystem>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::app {

namespace {

constexpr uint32_t omitted = GraphNodeReport::omitted;

/// Values by name, as they come up.
class ValueList {
public:
    explicit ValueList(GraphReport& graph) : m_graph(graph) {}

    uint32_t at(const std::string& name) {
        auto [entry, isNew] =
            m_known.try_emplace(name, static_cast<uint32_t>(m_graph.values.size()));
        if (isNew)
            m_graph.values.push_back({name, {}, {}, {}, -1, false});
        return entry->second;
    }

    std::vector<uint32_t> at(const std::vector<std::string>& names) {
        std::vector<uint32_t> out;
        for (const std::string& name : names)
            out.push_back(name.empty() ? omitted : at(name));
        return out;
    }

private:
    GraphReport& m_graph;
    std::unordered_map<std::string, uint32_t> m_known;
};

/// The same value twice among inputs or outputs would be two boxes of one name.
std::vector<uint32_t> once(std::vector<uint32_t> list) {
    std::unordered_set<uint32_t> seen;
    std::erase_if(list,
                  [&](uint32_t value) { return value == omitted || !seen.insert(value).second; });
    return list;
}

} // namespace

Result<Report> sketchOfFile(const std::string& path) {
    auto outline = model_io::outlineOf(path);
    if (!outline)
        return failure(outline.error());
    Report out;
    GraphReport& graph = out.before.graph;
    graph.name = outline->name;
    ValueList values(graph);
    for (model_io::Outline::Value& value : outline->values) {
        GraphValueReport& at = graph.values[values.at(value.name)];
        if (at.type.empty())
            at.type = std::move(value.type);
        if (at.dtype.empty())
            at.dtype = std::move(value.dtype);
        at.constant |= value.constant;
    }
    for (model_io::Outline::Node& node : outline->nodes) {
        GraphNodeReport made;
        made.name = std::move(node.name);
        made.op = std::move(node.op);
        made.inputs = values.at(node.inputs);
        made.outputs = values.at(node.outputs);
        made.attributes = std::move(node.attributes);
        graph.nodes.push_back(std::move(made));
    }
    graph.inputs = once(values.at(outline->inputs));
    graph.outputs = once(values.at(outline->outputs));
    out.model.path = path;
    out.model.name = graph.name.empty() ? std::filesystem::path(path).stem().string() : graph.name;
    out.model.nodes = out.before.nodes = graph.nodes.size();
    return out;
}

Report sketchOf(const LoadedModel& model) {
    Report out;
    out.model = summariseModel(model, {});
    out.before.graph = summariseGraph(model.graph);
    out.before.nodes = out.before.graph.nodes.size();
    return out;
}

std::string placeOf(const Error& error, const Report& sketch) {
    std::unordered_map<std::string_view, std::string_view> nodes; // by name of node or of a result
    const GraphReport& graph = sketch.before.graph;
    for (const GraphNodeReport& node : graph.nodes)
        for (uint32_t value : node.outputs)
            if (value != omitted)
                nodes.try_emplace(graph.values[value].name, node.name);
    for (const GraphNodeReport& node : graph.nodes)
        nodes[node.name] = node.name;
    const auto known = [&](std::string_view name) {
        auto found = nodes.find(name);
        return found == nodes.end() ? std::string() : std::string(found->second);
    };
    // "model.onnx: node", "model.onnx: node: attribute"
    for (size_t at = 0, end = 0; at < error.where.size(); at = end + 2) {
        end = std::min(error.where.find(": ", at), error.where.size());
        if (std::string name = known(std::string_view(error.where).substr(at, end - at));
            !name.empty())
            return name;
    }
    // What a message quotes.
    for (size_t at = error.message.find('`'); at != std::string::npos;) {
        const size_t end = error.message.find('`', at + 1);
        if (end == std::string::npos)
            break;
        if (std::string name = known(std::string_view(error.message).substr(at + 1, end - at - 1));
            !name.empty())
            return name;
        at = error.message.find('`', end + 1);
    }
    return {};
}

} // namespace fuselage::app
