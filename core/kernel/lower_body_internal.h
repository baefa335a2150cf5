// SPDX-License-Identifier: Apache-2.0
// The body under lowering: static extents, operand numbers, constants and parameters. Every
// lower_*.cpp reads the graph through this; it never changes the body.
#pragma once

#include "core/kernel/index_map_internal.h"
#include "core/kernel/lower.h"
#include "core/ops/op_table.h"
#include "core/ops/tensor_index.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage {

/// What a node is to lower(): decides which program kind a body becomes.
enum class NodeClass : uint8_t {
    Elementwise, ///< has a tape, or BatchNormalization
    View,        ///< an index map: Reshape, Transpose, Slice ... see view_step.cpp
    Copying,     ///< Concat, Pad: several index maps
    Contraction,
    Reduction, ///< reduces along dims, alone or inside a normalization
    Pool,
    Other,
};

class LowerBody {
public:
    /// Checks that every value is a tensor of static extents; a Reason otherwise.
    static std::variant<LowerBody, Reason> make(const LowerRequest& request);

    const Graph& graph() const { return m_graph; }

    /// Live nodes that the outputs need, producers first.
    const std::vector<NodeId>& order() const { return m_order; }

    const Node& node(NodeId id) const { return m_graph.node(id); }

    NodeClass classOf(NodeId id) const;

    /// Nodes of a class in topological order.
    std::vector<NodeId> nodesOf(NodeClass wanted) const;

    const Extents& extents(ValueId id) const { return m_extents[id.index()]; }

    DType dtype(ValueId id) const { return m_graph.value(id).type.dtype; }

    /// Input number of the program, for values that are inputs of the body.
    std::optional<uint32_t> operand(ValueId id) const;

    /// Position in the topological order of the maker; inputs and constants come first.
    size_t position(ValueId id) const;

    /// Data of a constant, also of a body input that is constant around the body.
    const Tensor* constant(ValueId id) const;

    /// Integers of an attribute or of the constant input with that schema name.
    std::optional<std::vector<int64_t>> integers(const Node& node, std::string_view name) const;
    std::optional<int64_t> integer(const Node& node, std::string_view name) const;

    /// Input or omitted (invalid).
    static ValueId input(const Node& node, size_t slot) {
        return slot < node.explicitInputs ? node.inputs[slot] : ValueId();
    }

    static ValueId output(const Node& node, size_t slot) {
        return slot < node.outputs.size() ? node.outputs[slot] : ValueId();
    }

    /// An empty program with the operand types of this body.
    KernelProgram program(ProgramCode code, NumericClass numeric) const;

    /// True when a value made by a node of the body is stored narrower than float32 although its
    /// reader computes wider.
    bool hasNarrowInnerEdges() const;

    /// Inner edges are rounded to their types.
    bool strict() const { return m_strict; }

private:
    Graph m_graph{"body"}; ///< a copy in which constant inputs hold their data
    std::shared_ptr<const Graph> m_source;
    bool m_strict = false;
    std::vector<NodeId> m_order;
    std::vector<Extents> m_extents;
    std::unordered_map<ValueId, uint32_t> m_operands;
    std::unordered_map<NodeId, size_t> m_positions;
};

/// A Reason when a node lacks an operand, or when its operator would not infer the declared types.
std::optional<Reason> checkShapes(const LowerBody& body);

/// Sorted axes without duplicates; none when one is out of range.
std::optional<std::vector<size_t>> axesOf(const std::vector<int64_t>& axes, size_t rank);

/// "Conv `conv1`"
std::string describe(const Node& node);

/// The refusal of two anchors in one program, e.g. kind(Contraction, Row).
Reason kindReason(const char* producer, const char* consumer, std::string message,
                  std::string flip);
Reason shapeReason(const std::string& left, const std::string& right, std::string message,
                   std::string flip = {});

/// One step from a result of a View node towards its operand.
struct ViewStep {
    ValueId value;
    IndexMap map;
};

using ViewStepResult = std::variant<ViewStep, DimSplit, Reason>;

/// `map` is of output `slot` of a node of class View over `space`.
ViewStepResult stepThroughView(const LowerBody& body, NodeId id, uint32_t slot, const IndexMap& map,
                               const Extents& space);

/// True when the node is an index map with what is known about its parameters.
bool isViewNode(const LowerBody& body, const Node& node);

/// Geometry of a Conv, ConvTranspose or pool with auto_pad and defaults resolved; `x` and `y` are
/// the extents of its input and result, `kernel` those of the window.
SlidingWindow slidingWindowOf(const Node& node, const Extents& x, const Extents& y,
                              const Extents& kernel);

struct PoolFacts {
    PoolKind kind = PoolKind::Max;
    SlidingWindow window;
    int64_t p = 2;
};

/// A Reason for a pool with a second result.
std::variant<PoolFacts, Reason> poolOf(const LowerBody& body, NodeId id);

LowerResult lowerPointwise(const LowerBody& body);
LowerResult lowerPieces(const LowerBody& body);
LowerResult lowerRow(const LowerBody& body);
LowerResult lowerContraction(const LowerBody& body);
LowerResult lowerAttention(const LowerBody& body);
LowerResult lowerWindow(const LowerBody& body);
/// Whether QuantizeLinear at the end takes back what DequantizeLinear did to each operand, so that
/// lowerCopy() may leave both out.
bool movesStored(const LowerBody& body);
LowerResult lowerCopy(const LowerBody& body);

} // namespace fuselage
