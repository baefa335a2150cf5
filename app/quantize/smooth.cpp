// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/smooth.h"

#include "app/quantize/set_runner.h"
#include "core/ops/op_table.h"

#include <algorithm>
#include <cmath>

namespace fuselage::quantize {

namespace {

/// A value by whose channels constants are multiplied before, and matrices behind it.
struct Joint {
    ValueId value;
    std::vector<Use> vectors;  ///< constants of as many elements as there are channels
    std::vector<Use> matrices; ///< constant factors that sum over the channels
    int64_t channels = 0;
};

const Tensor* floatsAt(const Graph& graph, const Node& node, size_t slot) {
    if (slot >= node.explicitInputs || !node.inputs[slot].valid() ||
        !graph.isConstant(node.inputs[slot]))
        return nullptr;
    const Tensor& tensor = *graph.value(node.inputs[slot]).constant;
    return tensor.dtype() == DType::Float32 ? &tensor : nullptr;
}

bool isVector(const Tensor* tensor, int64_t channels) {
    return tensor && tensor->rank() == 1 && tensor->elementCount() == channels;
}

/// The axis of a matrix that the reader sums over; none where it is none of ours.
std::optional<size_t> summed(const Graph& graph, const Use& use) {
    const Node& node = graph.node(use.node);
    const bool isGemm = node.op == Op::Gemm && node.attributes.integer("transA") == 0;
    const Tensor* matrix = floatsAt(graph, node, 1);
    if (use.slot != 0 || (node.op != Op::MatMul && !isGemm) || !matrix || matrix->rank() != 2)
        return std::nullopt;
    return isGemm && node.attributes.integer("transB") != 0 ? 1 : 0;
}

class JointFinder {
public:
    explicit JointFinder(const Graph& graph) : m_graph(graph) {}

    std::vector<Joint> run() const {
        std::vector<Joint> out;
        for (NodeId id : topologicalOrder(m_graph))
            if (auto joint = at(id))
                out.push_back(std::move(*joint));
        return out;
    }

private:
    std::optional<Joint> at(NodeId id) const {
        const Node& node = m_graph.node(id);
        if (node.outputs.empty() || !node.outputs[0].valid())
            return std::nullopt;
        Joint out;
        out.value = node.outputs[0];
        if (m_graph.isGraphOutput(out.value) || m_graph.value(out.value).uses.empty())
            return std::nullopt;
        for (const Use& use : m_graph.value(out.value).uses) {
            const auto axis = summed(m_graph, use);
            if (!axis)
                return std::nullopt;
            const Tensor& matrix = *floatsAt(m_graph, m_graph.node(use.node), 1);
            out.channels = matrix.extents()[*axis];
            out.matrices.push_back({use.node, 1});
        }
        out.vectors = vectorsOf(id, out.channels);
        return out.vectors.empty() ? std::nullopt : std::optional(std::move(out));
    }

    /// Constants that multiply or shift the channels of the node's result; none where it has other
    /// parts too.
    std::vector<Use> vectorsOf(NodeId id, int64_t channels) const {
        const Node& node = m_graph.node(id);
        if (node.op == Op::LayerNormalization || node.op == Op::SimplifiedLayerNormalization) {
            const bool hasShift = node.explicitInputs > 2 && node.inputs[2].valid();
            if (!isVector(floatsAt(m_graph, node, 1), channels) ||
                (hasShift && !isVector(floatsAt(m_graph, node, 2), channels)))
                return {};
            return hasShift ? std::vector<Use>{{id, 1}, {id, 2}} : std::vector<Use>{{id, 1}};
        }
        if (node.op == Op::Mul)
            return vectorAt(id, channels);
        if (node.op != Op::Add)
            return {};
        std::vector<Use> out = vectorAt(id, channels);
        const NodeId before =
            out.empty() ? NodeId() : m_graph.producer(node.inputs[1 - out[0].slot]);
        if (!before.valid() || m_graph.node(before).op != Op::Mul ||
            m_graph.value(node.inputs[1 - out[0].slot]).uses.size() != 1)
            return {};
        const std::vector<Use> factor = vectorAt(before, channels);
        if (factor.empty())
            return {};
        out.push_back(factor[0]);
        return out;
    }

    std::vector<Use> vectorAt(NodeId id, int64_t channels) const {
        for (uint32_t slot : {0U, 1U})
            if (isVector(floatsAt(m_graph, m_graph.node(id), slot), channels))
                return {{id, slot}};
        return {};
    }

    const Graph& m_graph;
};

/// The largest magnitude of each channel of each joint's value, over all sets.
Result<std::vector<std::vector<double>>> largestOf(const Graph& graph,
                                                   const std::vector<Joint>& joints,
                                                   const ObserveRequest& request,
                                                   Progress& progress) {
    Graph shown = graph.clone();
    const size_t first = shown.outputs().size();
    for (const Joint& joint : joints) {
        const std::string name = shown.value(joint.value).name;
        const auto rank = static_cast<int64_t>(shown.value(joint.value).type.rank());
        std::vector<int64_t> axes;
        for (int64_t axis = 0; axis + 1 < rank; ++axis)
            axes.push_back(axis);
        auto add = [&](Op op, ValueId input, Attributes attributes, const std::string& what) {
            const NodeId node = shown.addNode(
                {op, name + what, {input}, {name + what + "_out"}, std::move(attributes), {}});
            fillDefaults(shown.edit(node));
            const ValueId made = shown.node(node).outputs[0];
            Type type;
            type.dtype = DType::Float32;
            shown.setType(made, std::move(type));
            return made;
        };
        Attributes reduce;
        reduce.set("axes", axes);
        reduce.set("keepdims", int64_t{0});
        const ValueId magnitude = add(Op::Abs, joint.value, {}, "_magnitude");
        shown.addOutput(axes.empty() ? magnitude
                                     : add(Op::ReduceMax, magnitude, std::move(reduce), "_most"));
    }
    CompileOptions run = request.run;
    run.oneKernelPerNode = true;
    SetRunner runner(std::move(shown), run);
    std::vector<std::vector<double>> out(joints.size());
    for (size_t set = 0; set < request.sets->size(); ++set) {
        progress.report("largest of channels", set, request.sets->size());
        auto inputs = request.sets->read(graph, request.dims, set);
        if (!inputs)
            return failure(inputs.error());
        auto outputs = runner.run(*inputs, progress);
        if (!outputs)
            return failure(outputs.error());
        for (size_t i = 0; i < joints.size(); ++i) {
            const Tensor& seen = (*outputs)[first + i];
            out[i].resize(static_cast<size_t>(joints[i].channels), 0);
            for (int64_t c = 0; c < std::min(seen.elementCount(), joints[i].channels); ++c)
                out[i][static_cast<size_t>(c)] =
                    std::max(out[i][static_cast<size_t>(c)], seen.at(c));
        }
        if (progress.cancelled())
            return cancelledFailure("looking at channels");
    }
    return out;
}

/// Of a channel over all matrices that sum over it.
std::vector<double> largestWeights(const Graph& graph, const Joint& joint) {
    std::vector<double> out(static_cast<size_t>(joint.channels), 0);
    for (const Use& use : joint.matrices) {
        const Tensor& matrix = *floatsAt(graph, graph.node(use.node), 1);
        const size_t axis = *summed(graph, {use.node, 0});
        const int64_t columns = matrix.extents()[1];
        for (int64_t i = 0; i < matrix.elementCount(); ++i) {
            double& most = out[static_cast<size_t>(axis == 0 ? i / columns : i % columns)];
            most = std::max(most, std::abs(matrix.at(i)));
        }
    }
    return out;
}

/// The constant of a read, element by element times what `factorOf` says.
template <typename FactorOf> void scaleConstant(Graph& graph, const Use& use, FactorOf factorOf) {
    const ValueId value = graph.node(use.node).inputs[use.slot];
    auto scaled = std::make_shared<Tensor>(graph.value(value).constant->clone());
    for (int64_t i = 0; i < scaled->elementCount(); ++i)
        scaled->set(i, scaled->at(i) * factorOf(i));
    const std::string name = graph.freshName(graph.value(value).name + "_smooth");
    graph.setInput(use.node, use.slot, graph.addConstant(name, std::move(scaled)));
}

bool migrate(Graph& graph, const Joint& joint, const std::vector<double>& seen, double strength) {
    std::vector<double> factors = largestWeights(graph, joint);
    for (size_t c = 0; c < factors.size(); ++c) {
        const double most = std::pow(seen[c], strength), least = std::pow(factors[c], 1 - strength);
        const bool told = std::isfinite(most) && most > 0 && least > 0;
        factors[c] = told ? std::clamp(most / least, 1e-5, 1e5) : 1;
    }
    if (std::all_of(factors.begin(), factors.end(), [](double factor) { return factor == 1; }))
        return false;
    for (const Use& use : joint.vectors)
        scaleConstant(graph, use, [&](int64_t i) { return 1 / factors[static_cast<size_t>(i)]; });
    for (const Use& use : joint.matrices) {
        const size_t axis = *summed(graph, {use.node, 0});
        const int64_t columns = graph.value(graph.node(use.node).inputs[1]).constant->extents()[1];
        scaleConstant(graph, use, [&](int64_t i) {
            return factors[static_cast<size_t>(axis == 0 ? i / columns : i % columns)];
        });
    }
    return true;
}

} // namespace

Result<size_t> migrateScales(Graph& graph, const ObserveRequest& request, double strength,
                             Progress& progress) {
    const std::vector<Joint> joints = JointFinder(graph).run();
    if (joints.empty())
        return size_t{0};
    auto seen = largestOf(graph, joints, request, progress);
    if (!seen)
        return failure(seen.error());
    size_t moved = 0;
    for (size_t i = 0; i < joints.size(); ++i)
        moved += migrate(graph, joints[i], (*seen)[i], strength) ? 1 : 0;
    graph.removeDead();
    return moved;
}

} // namespace fuselage::quantize
