// SPDX-License-Identifier: Apache-2.0
#include "core/passes/specialise.h"

#include "core/passes/inference.h"
#include "core/passes/open_shapes.h"

#include <algorithm>
#include <set>

namespace fuselage {

namespace {

/// Shapes may depend on shapes that depend on data, and so on; more links than this stay open.
constexpr int maxLinks = 64;

class Specialiser {
public:
    Specialiser(Graph& graph, const RunShapes& seen) : m_graph(graph), m_seen(seen) {}

    /// All shapes that open where everything before is known. False: there was nothing to take.
    bool takeOneLink() {
        std::vector<NodeId> openers; // before anything is taken: what follows may settle itself
        for (NodeId id : topologicalOrder(m_graph))
            if (opensShape(m_graph, m_graph.node(id)))
                openers.push_back(id);
        bool changed = false;
        for (NodeId id : openers)
            changed = takeContents(id) || takeExtents(id) || changed;
        return changed;
    }

    /// With outputs for the values whose contents were taken.
    AssumedShapes assumed(const std::vector<ValueId>& outputs) && {
        AssumedShapes out;
        out.outputs = outputs.size();
        out.values = std::move(m_extents);
        for (const auto& [value, constant] : m_constants) {
            const auto& all = m_graph.outputs();
            auto at = std::find(all.begin(), all.end(), value);
            out.contents.push_back({m_graph.value(value).name,
                                    static_cast<size_t>(at - all.begin()),
                                    m_graph.value(constant).constant});
            if (at == all.end())
                m_graph.addOutput(value);
        }
        return out;
    }

private:
    bool takeContents(NodeId id) {
        if (!m_asked.insert(id).second) // they did not settle it
            return false;
        bool changed = false;
        for (uint32_t i = 0; i < m_graph.node(id).explicitInputs; ++i) {
            const ValueId value = m_graph.node(id).inputs[i];
            if (!value.valid() || m_graph.isConstant(value) || !givesShape(m_graph.node(id), i))
                continue;
            if (const ValueId constant = constantFor(value); constant.valid()) {
                m_graph.setInput(id, i, constant);
                changed = true;
            }
        }
        return changed;
    }

    bool takeExtents(NodeId id) {
        bool changed = false;
        const std::vector<ValueId> outputs = m_graph.node(id).outputs;
        for (ValueId output : outputs) {
            if (!output.valid() || isStaticShape(m_graph.value(output).type))
                continue;
            const Value& value = m_graph.value(output);
            auto seen = m_seen.extents.find(value.name);
            if (seen == m_seen.extents.end() || value.type.dtype == DType::Undefined)
                continue;
            m_extents.push_back(value.name);
            m_graph.setType(output, tensorType(value.type.dtype, toShape(seen->second)));
            changed = true;
        }
        return changed;
    }

    /// Invalid when the run did not show it.
    ValueId constantFor(ValueId id) {
        for (const auto& [value, constant] : m_constants)
            if (value == id)
                return constant;
        const Value& value = m_graph.value(id);
        auto seen = m_seen.contents.find(value.name);
        if (seen == m_seen.contents.end() || seen->second->dtype() != value.type.dtype)
            return {};
        Tensor assumed = seen->second->clone();
        assumed.setAssumed();
        m_constants.emplace_back(
            id, m_graph.addConstant(m_graph.freshName(value.name + "_seen"),
                                    std::make_shared<const Tensor>(std::move(assumed))));
        return m_constants.back().second;
    }

    Graph& m_graph;
    const RunShapes& m_seen;
    std::set<NodeId> m_asked;
    std::vector<std::pair<ValueId, ValueId>> m_constants; ///< in the place of which value
    std::vector<std::string> m_extents;
};

} // namespace

bool dependsOnData(const Graph& graph) {
    const std::vector<ValueId> values = graph.values();
    return !std::all_of(values.begin(), values.end(), [&](ValueId id) {
        return graph.isConstant(id) || isStaticShape(graph.value(id).type);
    });
}

Result<AssumedShapes> specialise(Graph& graph, const RunShapes& seen, Progress& progress) {
    const std::vector<ValueId> outputs = graph.outputs();
    Specialiser specialiser(graph, seen);
    for (int link = 0; link < maxLinks && dependsOnData(graph); ++link) {
        if (!specialiser.takeOneLink())
            break;
        inferShownShapes(graph);
        if (progress.cancelled())
            return cancelledFailure("specialise");
    }
    AssumedShapes out = std::move(specialiser).assumed(outputs);
    if (out.empty() && !dependsOnData(graph))
        return out;
    if (auto prepared = prepareShownGraph(graph, progress); !prepared)
        return failure(prepared.error());
    return out;
}

} // namespace fuselage
