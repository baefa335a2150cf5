// SPDX-License-Identifier: Apache-2.0
#include "core/ops/op_table.h"
#include "core/passes/precision_constants_internal.h"
#include "core/passes/precision_pairs_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

class Pairs {
public:
    explicit Pairs(const Graph& graph)
        : m_graph(graph), m_order(topologicalOrder(graph)), m_isBetween(graph.nodeBound(), false) {}

    std::vector<bool> find() {
        for (NodeId id : m_order)
            m_isBetween[id.index()] =
                isStoredProduct(m_graph.node(id)) || readsStoredOnly(m_graph.node(id));
        for (auto id = m_order.rbegin(); id != m_order.rend(); ++id)
            m_isBetween[id->index()] =
                isStoredProduct(m_graph.node(*id)) ||
                (m_isBetween[id->index()] && isReadByPairsOnly(m_graph.node(*id)));
        return std::move(m_isBetween);
    }

private:
    /// The DequantizeLinear that makes the value, or null.
    const Node* dequantised(ValueId id) const {
        const NodeId maker = m_graph.producer(id);
        return maker.valid() && m_graph.node(maker).op == Op::DequantizeLinear
                   ? &m_graph.node(maker)
                   : nullptr;
    }

    /// What it was before it was only moved: a weight is often stored transposed.
    ValueId unmoved(ValueId id) const {
        for (NodeId maker = m_graph.producer(id); maker.valid(); maker = m_graph.producer(id)) {
            const Node& node = m_graph.node(maker);
            if (node.op != Op::Transpose && !hasTrait(node.op, View))
                break;
            id = node.inputs[0];
        }
        return id;
    }

    bool isStoredProduct(const Node& node) const {
        auto isStored = [&](ValueId id) {
            const Node* maker = dequantised(unmoved(id));
            const DType type =
                maker ? m_graph.value(maker->inputs[0]).type.dtype : DType::Undefined;
            return type == DType::Int8 || type == DType::UInt8;
        };
        const bool isProduct = node.op == Op::Conv || node.op == Op::MatMul || node.op == Op::Gemm;
        return isProduct && isStored(node.inputs[0]) && isStored(node.inputs[1]);
    }

    /// Of the floats that it reads and that are no constants.
    bool readsStoredOnly(const Node& node) const {
        if (hasTrait(node.op, ControlFlow) || node.op == Op::Unknown || node.op == Op::Fused)
            return false;
        bool any = false;
        for (ValueId id : node.inputs) {
            if (!id.valid() || !isFloat32(m_graph, id) || m_graph.isConstant(id))
                continue;
            const NodeId maker = m_graph.producer(id);
            if (!maker.valid() || (!dequantised(id) && !m_isBetween[maker.index()]))
                return false;
            any = true;
        }
        return any && node.op != Op::QuantizeLinear;
    }

    bool isReadByPairsOnly(const Node& node) const {
        return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
            if (!id.valid() || !isFloat32(m_graph, id))
                return true;
            const std::vector<Use>& uses = m_graph.value(id).uses;
            return !m_graph.isGraphOutput(id) &&
                   std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
                       return m_isBetween[use.node.index()] ||
                              m_graph.node(use.node).op == Op::QuantizeLinear;
                   });
        });
    }

    const Graph& m_graph;
    std::vector<NodeId> m_order;
    std::vector<bool> m_isBetween;
};

} // namespace

std::vector<bool> nodesBetweenPairs(const Graph& graph) {
    return Pairs(graph).find();
}

} // namespace fuselage
