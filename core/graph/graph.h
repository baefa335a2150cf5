// SPDX-License-Identifier: Apache-2.0
// The in-memory form of a model: nodes and values addressed by id. This class keeps producers and
// uses consistent; meaning (arity, types, shapes) belongs to core/ops and core/passes.
#pragma once

#include "core/graph/attribute.h"
#include "core/graph/op.h"
#include "core/support/id.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fuselage {

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;

/// Entries that an exporter wrote beside a model, graph, node or value (ONNX's metadata_props).
using Metadata = std::map<std::string, std::string>;

/// Where a node comes from: of one that a rule made, the rule; empty for nodes of the model but for
/// what their exporter said about them.
struct Provenance {
    std::string rule = {};                 ///< rule name
    std::string file = {};                 ///< .fuse file
    uint32_t line = 0;                     ///< line of the rule in that file
    std::vector<std::string> sources = {}; ///< names of the model's nodes it stands for
    Metadata metadata = {};                ///< of the model's node; of a made one, of its sources
};

/// One read of a value.
struct Use {
    NodeId node;
    uint32_t slot = 0; ///< index in Node::inputs

    friend bool operator==(const Use&, const Use&) = default;
};

struct Value {
    std::string name; ///< unique in its graph
    Type type;
    TensorPtr constant;      ///< the data of an initializer, else null
    NodeId producer;         ///< invalid for graph inputs, captures and initializers
    uint32_t outputSlot = 0; ///< index in the producer's outputs
    std::vector<Use> uses;
    /// A small integer tensor's contents when they are known only symbolically (a Shape's result
    /// with a dynamic batch); set by shape inference, empty otherwise.
    std::shared_ptr<const Shape> symbolicContents;
    Metadata metadata; ///< of the file's value
};

struct Node {
    Op op = Op::Unknown;
    std::string name;         ///< unique in its graph
    std::string customDomain; ///< of Op::Unknown; of Op::Fused that stands for an operator
    std::string customOp;     ///< of Op::Unknown; of Op::Fused the rule's name, or its operator's
    /// Of Op::Unknown whose operator has a row: why this node is kept and not computed, "attribute
    /// `x` is not known".
    std::string notComputed;
    /// Omitted optional inputs are invalid ids. Values that subgraphs (If, Loop, Scan bodies)
    /// read from outside are appended after the first `explicitInputs`, subgraph by subgraph in
    /// attribute order, parallel to each Graph::captures().
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs; ///< omitted optional outputs are invalid ids
    uint32_t explicitInputs = 0;
    Attributes attributes;
    /// Of Op::Fused: the replaced subgraph; its inputs and outputs are parallel to this node's.
    std::shared_ptr<const Graph> body;
    Provenance provenance;
};

/// What to create with Graph::addNode.
struct NodeSpec {
    Op op = Op::Unknown;
    std::string name; ///< made unique; "" takes the op's name
    std::vector<ValueId> inputs;
    std::vector<std::string> outputs; ///< names, made unique; "" omits an optional output
    Attributes attributes = {};
    Provenance provenance = {};
};

class Graph {
public:
    explicit Graph(std::string name = "g") : m_name(std::move(name)) {}

    const std::string& name() const { return m_name; }

    void setName(std::string name) { m_name = std::move(name); }

    // --- reading ---------------------------------------------------------------------------

    const Node& node(NodeId id) const { return m_nodes[id.index()]; }

    const Value& value(ValueId id) const { return m_values[id.index()]; }

    bool alive(NodeId id) const { return m_nodeAlive[id.index()]; }

    bool alive(ValueId id) const { return m_valueAlive[id.index()]; }

    const std::vector<ValueId>& inputs() const { return m_inputs; }

    const std::vector<ValueId>& outputs() const { return m_outputs; }

    /// Of a subgraph: its own values that stand for values of the graph around it.
    const std::vector<ValueId>& captures() const { return m_captures; }

    /// Live nodes in creation order (not a topological order).
    std::vector<NodeId> nodes() const;
    std::vector<ValueId> values() const;

    size_t nodeCount() const { return m_liveNodes; }

    /// One past the largest index ever used; for tables indexed by id.
    size_t nodeBound() const { return m_nodes.size(); }

    size_t valueBound() const { return m_values.size(); }

    ValueId findValue(std::string_view name) const; ///< invalid when there is none
    NodeId findNode(std::string_view name) const;   ///< invalid when there is none

    bool isConstant(ValueId id) const { return id.valid() && value(id).constant != nullptr; }

    bool isGraphOutput(ValueId id) const;

    /// The node that makes this value; invalid for inputs, captures, initializers, omitted inputs.
    NodeId producer(ValueId id) const { return id.valid() ? value(id).producer : NodeId(); }

    // --- changing --------------------------------------------------------------------------

    ValueId addInput(std::string name, Type type);
    ValueId addCapture(std::string name, Type type);
    ValueId addConstant(std::string name, TensorPtr data);
    NodeId addNode(NodeSpec spec);
    void addOutput(ValueId id);

    Node& edit(NodeId id) { return m_nodes[id.index()]; } ///< not for inputs and outputs
    void setType(ValueId id, Type type) { m_values[id.index()].type = std::move(type); }
    void setSymbolicContents(ValueId id, std::shared_ptr<const Shape> contents) {
        m_values[id.index()].symbolicContents = std::move(contents);
    }
    void setMetadata(ValueId id, Metadata metadata) {
        m_values[id.index()].metadata = std::move(metadata);
    }

    void setInput(NodeId id, uint32_t slot, ValueId value);
    /// Adds an input at the end (before captured inputs it would be misplaced: nodes without
    /// subgraphs only).
    void appendInput(NodeId id, ValueId value);
    void eraseInputsFrom(NodeId id, uint32_t slot);
    /// Adds a captured value to a node with subgraphs.
    void appendCapturedInput(NodeId id, ValueId value);
    /// A new output at the end of the node's outputs.
    ValueId appendOutput(NodeId id, std::string name);

    /// `value`, which keeps its name, readers and type, becomes what output `slot` of this node
    /// makes, instead of the value that stands there (which must be unused and goes away) and
    /// instead of its own producer (whose output becomes omitted).
    void moveOutput(ValueId value, NodeId id, uint32_t slot);

    /// Every reader of `from`, and the graph's outputs, read `to` instead.
    void replaceUses(ValueId from, ValueId to);
    /// Gives `to` the name of `from` (which gets a fresh one): keeps the names of outputs.
    void takeName(ValueId to, ValueId from);
    /// The same of nodes.
    void takeName(NodeId to, NodeId from);
    /// Turns a produced value into an initializer; its producer loses that output.
    void makeConstant(ValueId id, TensorPtr data);

    void removeNode(NodeId id);   ///< its outputs must be unused
    void removeValue(ValueId id); ///< must be unused and unproduced
    void removeInput(size_t position);
    void setOutput(size_t position, ValueId id);
    void removeOutput(size_t position);
    /// Removes nodes and initializers that no output needs; returns how many nodes went.
    size_t removeDead();

    /// A name not in use, starting with `base`.
    std::string freshName(const std::string& base) const;

    Graph clone() const { return *this; }

    // --- facts of the file -------------------------------------------------------------------

    std::map<std::string, int64_t> opsetImports; ///< of the file it came from
    Metadata metadata;                           ///< of the model
    Metadata graphMetadata; ///< of this graph; of a fused node's body, of its function
    std::string documentation;

private:
    ValueId addValue(std::string name);
    void addUse(ValueId id, Use use);
    void removeUse(ValueId id, Use use);
    std::string uniqueNodeName(const std::string& base) const;

    std::string m_name;
    std::vector<Node> m_nodes;
    std::vector<Value> m_values;
    std::vector<bool> m_nodeAlive;
    std::vector<bool> m_valueAlive;
    std::vector<ValueId> m_inputs;
    std::vector<ValueId> m_outputs;
    std::vector<ValueId> m_captures;
    std::unordered_map<std::string, ValueId> m_valueNames;
    std::unordered_map<std::string, NodeId> m_nodeNames;
    mutable std::unordered_map<std::string, uint32_t> m_nextSuffix;
    size_t m_liveNodes = 0;
};

/// Live nodes so that producers come first. The order depends only on the structure (depth first
/// from the outputs, inputs in slot order, then the rest by name), never on creation order. Nodes
/// on a cycle are left out: compare with nodeCount().
std::vector<NodeId> topologicalOrder(const Graph& graph);

} // namespace fuselage
