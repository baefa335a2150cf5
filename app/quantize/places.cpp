// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/places.h"

#include "core/graph/bodies.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fuselage::quantize {

bool movesOnly(Op op) {
    return hasTrait(op, View) || op == Op::Transpose;
}

namespace {

/// Of the model, or of one of its bodies.
class Finder {
public:
    Finder(const Graph& model, std::string path, Placement& out)
        : m_model(model), m_path(std::move(path)), m_out(out) {
        for (NodeId id : model.nodes()) {
            const Node& node = model.node(id);
            m_nodes[node.name].insert(id);
            for (const std::string& source : node.provenance.sources)
                m_nodes[source].insert(id);
        }
    }

    const std::string& path() const { return m_path; }

    void add(const TraceEvent& event, const TracePoint& point, size_t fused) {
        if (!point.leftOut.empty()) {
            leaveOut(event, point, point.leftOut);
            return;
        }
        const ValueId value = m_model.findValue(inside(point.value));
        std::vector<Use> reads;
        for (const TraceRead& read : point.reads)
            find(value, read, reads);
        if (reads.empty()) {
            leaveOut(event, point,
                     point.reads.empty() ? "no node reads it"
                                         : "a rewrite made this value, and no single read of the "
                                           "model stands for it");
            return;
        }
        for (const Use& read : reads) {
            if (read.slot >= m_model.node(read.node).explicitInputs) {
                leaveOut(event, point, "a branch or loop body reads it");
                continue;
            }
            const ValueId input = m_model.node(read.node).inputs[read.slot];
            const Type& type = m_model.value(input).type;
            if (type.kind != TypeKind::Tensor || type.dtype != DType::Float32)
                leaveOut(event, point, notFloat + type.text() + ", not float");
            else if (!m_taken.insert({read.node, read.slot}).second)
                leaveOut(event, point, "another point has the same read");
            else
                m_out.places.push_back({read, input, fused, point.name, event.rule, event.file,
                                        point.line, point.axis, &m_model, m_path});
        }
    }

private:
    /// A name without the path in front of it.
    std::string inside(const std::string& name) const {
        return name.starts_with(m_path) ? name.substr(m_path.size()) : name;
    }

    void leaveOut(const TraceEvent& event, const TracePoint& point, std::string why) {
        m_out.leftOut.push_back({event.rule, point.name, point.value, std::move(why)});
    }

    /// The reads of the model that one read of the rewritten graph stands for.
    void find(ValueId value, const TraceRead& read, std::vector<Use>& out) const {
        std::set<NodeId> sources;
        for (const std::string& name : read.sources)
            if (const auto nodes = m_nodes.find(inside(name)); nodes != m_nodes.end())
                sources.insert(nodes->second.begin(), nodes->second.end());
        const bool exists = value.valid() && m_model.alive(value);
        if (exists && !m_model.isConstant(value)) {
            for (const Use& use : m_model.value(value).uses)
                follow(use, sources, out);
            return;
        }
        for (NodeId node : sources) {
            const Node& it = m_model.node(node);
            const bool same = exists ? read.slot < it.inputs.size() && it.inputs[read.slot] == value
                                     : hasTrait(it.op, ContractionOp) &&
                                           read.slot < it.explicitInputs &&
                                           m_model.isConstant(it.inputs[read.slot]);
            if (same)
                out.push_back({node, read.slot});
        }
    }

    /// The use itself, or where it goes through views among the sources.
    void follow(const Use& use, const std::set<NodeId>& sources, std::vector<Use>& out) const {
        if (!sources.contains(use.node))
            return;
        const Node& node = m_model.node(use.node);
        if (!movesOnly(node.op) || sources.size() == 1) {
            out.push_back(use);
            return;
        }
        const size_t before = out.size();
        for (const Use& next : m_model.value(node.outputs[0]).uses)
            follow(next, sources, out);
        if (out.size() == before)
            out.push_back(use);
    }

    const Graph& m_model;
    /// By name, and by the names of what a node of a rewritten file stands for.
    std::unordered_map<std::string, std::set<NodeId>> m_nodes;
    std::string m_path;
    Placement& m_out;
    std::set<std::pair<NodeId, uint32_t>> m_taken;
};

} // namespace

Placement placesOf(const Graph& model, const Trace& trace) {
    Placement out;
    std::vector<Finder> finders; // bodies inside others first, the model last
    for (const BodyPlace& body : bodiesOf(model))
        finders.emplace_back(*body.graph, body.path, out);
    finders.emplace_back(model, "", out);
    const auto finderOf = [&](const TracePoint& point) -> Finder& {
        return *std::find_if(finders.begin(), finders.end(), [&](const Finder& finder) {
            return point.value.starts_with(finder.path());
        });
    };
    size_t fused = 0;
    for (const TraceEvent& event : trace.events) {
        if (!event.applied())
            continue;
        for (const TracePoint& point : event.points)
            finderOf(point).add(event, point, fused);
        ++fused;
    }
    return out;
}

std::optional<int64_t> channelAxis(const Graph& graph, const Use& read) {
    const Node& node = graph.node(read.node);
    const Type& type = graph.value(node.inputs[read.slot]).type;
    if (!type.hasRank())
        return std::nullopt;
    const auto rank = static_cast<int64_t>(type.rank());
    if (node.op == Op::Conv && read.slot == 1)
        return 0;
    if (node.op == Op::ConvTranspose && read.slot == 1 && node.attributes.integer("group", 1) == 1)
        return 1;
    if (node.op == Op::Gemm && read.slot == 1)
        return node.attributes.integer("transB") != 0 ? 0 : 1;
    if (node.op == Op::Gemm && read.slot == 0)
        return node.attributes.integer("transA") != 0 ? 1 : 0;
    // Of stacked matrices ONNX Runtime's integer products take one scale.
    if (node.op == Op::MatMul && rank == 2)
        return read.slot == 1 ? 1 : 0;
    return std::nullopt;
}

std::optional<int64_t> summedAxis(const Graph& graph, const Use& read) {
    const Node& node = graph.node(read.node);
    const Type& type = graph.value(node.inputs[read.slot]).type;
    const bool matrices = node.op == Op::MatMul || node.op == Op::Gemm;
    if (!matrices || read.slot != 1 || !type.hasRank() || type.rank() < 2)
        return std::nullopt;
    const auto rank = static_cast<int64_t>(type.rank());
    return node.attributes.integer("transB") != 0 ? rank - 1 : rank - 2;
}

} // namespace fuselage::quantize
