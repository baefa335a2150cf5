// SPDX-License-Identifier: Apache-2.0
#include "app/report/quantised.h"
#include "app/report/scene/pairs_internal.h"

#include <algorithm>

namespace fuselage::scene {

namespace {

using app::GraphNodeReport;
using app::GraphReport;

bool isStore(const GraphNodeReport& node) {
    return node.op == "QuantizeLinear" && node.inputs.size() >= 2 && node.outputs.size() == 1 &&
           node.inputs[0] != GraphNodeReport::omitted &&
           node.outputs[0] != GraphNodeReport::omitted;
}

bool isLoad(const GraphNodeReport& node) {
    return node.op == "DequantizeLinear" && node.inputs.size() >= 2 && node.outputs.size() == 1 &&
           node.inputs[0] != GraphNodeReport::omitted &&
           node.outputs[0] != GraphNodeReport::omitted;
}

/// One graph: which nodes go, what their readers read instead.
class Folding {
public:
    Folding(GraphReport& graph, uint8_t side, FoldedPairs& out)
        : m_graph(graph), m_side(side), m_out(out), m_maker(graph.values.size(), none),
          m_isOutput(graph.values.size(), false), m_gone(graph.nodes.size(), false),
          m_readers(graph.values.size()) {
        for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
            for (uint32_t value : graph.nodes[n].outputs)
                if (value != GraphNodeReport::omitted)
                    m_maker[value] = n;
            for (uint32_t value : graph.nodes[n].inputs)
                if (value != GraphNodeReport::omitted)
                    m_readers[value].push_back(n);
        }
        for (uint32_t value : graph.outputs)
            m_isOutput[value] = true;
    }

    void run() {
        for (uint32_t n = 0; n < m_graph.nodes.size(); ++n)
            m_gone[n] = isLoad(m_graph.nodes[n]) && goes(m_graph.nodes[n]);
        for (uint32_t n = 0; n < m_graph.nodes.size(); ++n)
            if (isStore(m_graph.nodes[n]))
                m_gone[n] = onlyFoldedRead(m_graph.nodes[n].outputs[0]);
        for (uint32_t n = 0; n < m_graph.nodes.size(); ++n)
            if (!m_gone[n])
                rewire(n);
        for (uint32_t n = 0; n < m_graph.nodes.size(); ++n)
            if (m_gone[n])
                keepPlace(n);
        removeGone();
    }

private:
    bool goes(const GraphNodeReport& load) const {
        const uint32_t stored = load.inputs[0], maker = m_maker[stored];
        return !m_isOutput[load.outputs[0]] && !m_readers[load.outputs[0]].empty() &&
               (m_graph.values[stored].constant ||
                (maker != none && isStore(m_graph.nodes[maker])));
    }

    bool onlyFoldedRead(uint32_t stored) const {
        return !m_isOutput[stored] && !m_readers[stored].empty() &&
               std::all_of(m_readers[stored].begin(), m_readers[stored].end(),
                           [&](uint32_t n) { return m_gone[n]; });
    }

    void say(const GraphNodeReport& reader, uint32_t value, const GraphNodeReport& by) {
        if (const auto form = app::storedFormOf(m_graph, by))
            m_out.stored[FoldedPairs::key(reader.name, m_graph.values[value].name)] =
                app::storedText(*form);
    }

    /// The value behind what is folded. `by` becomes the last node that was passed. A graph that
    /// was read from a file may go in circles.
    uint32_t behind(uint32_t value, const GraphNodeReport*& by) const {
        for (size_t steps = 0; steps <= m_graph.nodes.size(); ++steps) {
            const uint32_t maker = m_maker[value];
            if (maker == none || !m_gone[maker])
                return value;
            if (by == nullptr)
                by = &m_graph.nodes[maker];
            value = m_graph.nodes[maker].inputs[0];
        }
        return value;
    }

    /// What is behind folded nodes is read straight.
    void rewire(uint32_t n) {
        GraphNodeReport& reader = m_graph.nodes[n];
        for (uint32_t& value : reader.inputs) {
            if (value == GraphNodeReport::omitted)
                continue;
            const GraphNodeReport* by = nullptr;
            value = behind(value, by);
            const uint32_t maker = m_maker[value];
            if (by == nullptr && maker != none && isStore(m_graph.nodes[maker]))
                by = &m_graph.nodes[maker];
            if (by != nullptr && !m_graph.values[value].constant)
                say(reader, value, *by);
        }
    }

    void keepPlace(uint32_t n) {
        const GraphNodeReport& node = m_graph.nodes[n];
        if (isStore(node)) {
            const GraphNodeReport* by = nullptr;
            const uint32_t source = behind(node.inputs[0], by), maker = m_maker[source];
            const bool made = maker != none && !m_gone[maker];
            m_out.folded.push_back({node.name,
                                    made ? m_graph.nodes[maker].name : m_graph.values[source].name,
                                    m_side});
            return;
        }
        for (uint32_t reader : m_readers[node.outputs[0]])
            if (!m_gone[reader]) {
                m_out.folded.push_back({node.name, m_graph.nodes[reader].name, m_side});
                return;
            }
    }

    void removeGone() {
        std::vector<GraphNodeReport> kept;
        kept.reserve(m_graph.nodes.size());
        for (uint32_t n = 0; n < m_graph.nodes.size(); ++n)
            if (!m_gone[n])
                kept.push_back(std::move(m_graph.nodes[n]));
        m_graph.nodes = std::move(kept);
    }

    GraphReport& m_graph;
    uint8_t m_side;
    FoldedPairs& m_out;
    std::vector<uint32_t> m_maker;
    std::vector<bool> m_isOutput, m_gone;
    std::vector<std::vector<uint32_t>> m_readers;
};

/// What is stored keeps its name through every fusion: readers after that take it as it is.
void sayOfStoredValues(const GraphReport& before, const GraphReport& after, FoldedPairs& out) {
    std::unordered_map<std::string, std::string> texts;
    for (const GraphNodeReport& node : before.nodes)
        if (isStore(node))
            if (const auto form = app::storedFormOf(before, node))
                texts[before.values[node.outputs[0]].name] = app::storedText(*form);
    for (const GraphNodeReport& node : after.nodes)
        for (uint32_t value : node.inputs)
            if (value != GraphNodeReport::omitted && !isLoad(node))
                if (auto found = texts.find(after.values[value].name); found != texts.end())
                    out.stored.try_emplace(FoldedPairs::key(node.name, after.values[value].name),
                                           found->second);
}

} // namespace

bool hasPairs(const Input& input) {
    const auto any = [](const GraphReport& graph) {
        return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                           [](const GraphNodeReport& node) { return isLoad(node); });
    };
    return any(input.before) || any(input.after);
}

FoldedPairs foldPairs(const Input& input) {
    FoldedPairs out;
    out.before = input.before;
    out.after = input.after;
    sayOfStoredValues(input.before, input.after, out);
    Folding(out.before, Before, out).run();
    Folding(out.after, After, out).run();
    return out;
}

} // namespace fuselage::scene
