// SPDX-License-Identifier: Apache-2.0
// Builds a ModelProto from a Graph. A WriteScope is one namespace of the file: the main graph, a
// subgraph, or the function of a fused node's body.
#pragma once

#include "core/onnx/file_opset.h"
#include "core/onnx/model_bytes_internal.h"
#include "core/onnx/proto_internal.h"
#include "core/onnx/provenance_internal.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fuselage::model_io {

using NodeProtoList = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

struct WriteScope {
    const Graph* graph = nullptr;
    WriteScope* parent = nullptr; ///< of a subgraph
    bool isFunction = false;      ///< constants become nodes
    std::unordered_map<ValueId, std::string> names;
    std::unordered_set<std::string> used;
    std::unordered_map<const Tensor*, std::string> constants; ///< written here, by their data
    ::onnx::GraphProto* proto = nullptr;                      ///< null for functions
    NodeProtoList* nodes = nullptr;
};

/// A node's inputs and attributes as the opset of the file has them.
struct FileNode {
    Op op = Op::Unknown;
    std::vector<std::string> inputs;
    Attributes attributes; ///< without those that have their default
};

class Writer {
public:
    Writer(const Graph& graph, int64_t leastOpset) : m_graph(graph), m_opset(leastOpset) {}

    ::onnx::ModelProto write();

    /// What write() left out of the model that it gave.
    const std::vector<LargeInitializer>& large() const { return m_large; }

private:
    friend ::onnx::FunctionProto functionOf(const Graph& graph, const Node& fused, int64_t opset);

    // write_graph.cpp
    void writeGraph(const Graph& graph, WriteScope& scope, const std::vector<std::string>& outer);
    void writeConstants(WriteScope& scope);
    void writeNodes(WriteScope& scope, BodyNames* names);
    void writeNode(const Node& node, WriteScope& scope);
    void writeAbsent(const Node& node, WriteScope& scope);
    void writeAttributes(const Node& node, const Attributes& attributes, WriteScope& scope,
                         ::onnx::NodeProto& proto);
    void writeTypes(const WriteScope& scope);
    void addConstant(const Tensor& tensor, const std::string& name, WriteScope& scope,
                     const Metadata& metadata = {});
    std::string nameOfValue(WriteScope& scope, ValueId id);
    std::string freshName(const WriteScope& scope, const std::string& base) const;
    void import(const std::string& domain);

    // write_function.cpp
    /// A fused node's call: which function, and the names inside its own body.
    struct Call {
        std::string key; ///< rule and content; the function's name until all are known
        BodyNames names;
    };

    struct Function {
        ::onnx::FunctionProto proto;
        std::string key;
        std::string name;
    };

    void collectFunctions(const Graph& graph);
    /// Of a node that calls a function, else null.
    const Graph* calledBody(const Node& node) const;
    Call addFunction(const Node& node);
    void nameFunctions();
    /// The function that a call means: by its key until all are known.
    void nameCall(::onnx::NodeProto& call, const std::string& key) const;
    void addImports(google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& list) const;

    const Graph& m_graph;
    ::onnx::ModelProto m_model;
    std::vector<LargeInitializer> m_large;
    int64_t m_opset; ///< the least, once it is written the file's
    std::set<std::string> m_domains;
    std::vector<Function> m_functions;    ///< in order of appearance, callees first
    std::map<const Graph*, Call> m_calls; ///< by body
    std::map<const Node*, std::shared_ptr<const Graph>> m_ownBodies; ///< of our own operators
    std::set<std::string> m_functionKeys;
    struct FunctionName {
        std::string name, overload;
    };
    std::map<std::string, FunctionName> m_functionNames; ///< by key
    bool m_hasOverloads = false;
};

/// Overloads of functions came with this version of the format.
constexpr int64_t overloadIrVersion = 10;
constexpr const char* fusedDomain = "fuselage"; ///< of functions that are no operator's but ours

/// The domain of a fused node's function: of the operator that it stands for, else "fuselage".
std::string functionDomain(const Node& node);

/// Operators that no runtime knows: in files they are functions.
bool isOwnOperator(Op op);

/// The node, of our own operator, as one that is fused around its body.
Node asFused(const Graph& graph, const Node& node, bool few);

/// What the body of a fused node of the graph becomes in a file of this opset.
::onnx::FunctionProto functionOf(const Graph& graph, const Node& fused, int64_t opset);

/// IR version that goes with an opset.
int64_t irVersionFor(int64_t opset);

/// Calls `body` for the node's subgraphs with their attribute names.
template <typename Body> void forSubgraphs(const Node& node, Body&& body) {
    for (const auto& [name, value] : node.attributes)
        if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&value); graph && *graph)
            body(name, **graph);
}

} // namespace fuselage::model_io
