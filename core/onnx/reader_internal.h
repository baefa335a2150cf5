// SPDX-License-Identifier: Apache-2.0
// Builds a Graph from a ModelProto. One Reader serves one model; a Scope is one namespace of it: a
// graph, a subgraph or the body of a function that is being inlined.
#pragma once

#include "core/onnx/model_file.h"
#include "core/onnx/node_order_internal.h"
#include "core/onnx/proto_internal.h"
#include "core/onnx/reading_types.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fuselage::model_io {

using OpsetVersions = std::map<std::string, int64_t>;

/// Parts that bodies of operators share. Nobody else has them: where one does not cover a node, the
/// body around it does not either.
inline constexpr const char* bodyDomain = "fuselage.body";
inline constexpr const char* bodyRefused = "load.body_refused";

struct Scope;

/// What an attribute reference of a function body stands for: the caller's attribute, and the
/// names that its subgraph may read.
struct BoundAttribute {
    const ::onnx::AttributeProto* proto = nullptr;
    Scope* scope = nullptr;
};

struct Scope {
    Graph* graph = nullptr;
    Scope* parent = nullptr; ///< of a subgraph: where it reads names that it does not define
    const OpsetVersions* opsets = nullptr;
    std::unordered_map<std::string, ValueId> names;    ///< invalid: an omitted optional input
    std::vector<std::pair<ValueId, ValueId>> captures; ///< value of `parent`'s graph, own value
    std::unordered_map<std::string_view, const ::onnx::ValueInfoProto*> declared;

    // Of a function body that is inlined:
    std::string prefix;                                  ///< put before names
    std::unordered_map<std::string, std::string> rename; ///< its outputs: the caller's names
    std::map<std::string, BoundAttribute, std::less<>> attributes;
    Metadata inherited;    ///< of the calls around its nodes and their functions
    bool repeated = false; ///< read more than once: data must not be moved out of the messages
};

/// What a call remembers about the values of its body, by their names in the function.
struct BodyValues {
    std::unordered_map<std::string, std::string> renamed;
    std::unordered_map<std::string, Metadata> metadata;
};

/// How often something was noted, and at which node first.
struct Noted {
    size_t count = 0;
    std::string node;
};

class Reader {
public:
    Reader(::onnx::ModelProto& model, ExternalData& external, const LoadOptions& options,
           Progress& progress);

    Result<Graph> read();

private:
    /// Of each subgraph attribute: the values it reads from outside, parallel to its captures.
    using Captured = std::map<std::string, std::vector<ValueId>>;
    using FunctionKey = std::string; ///< "domain:name:overload"

    // read_graph.cpp
    Result<void> readOpsets();
    Result<void> readGraph(::onnx::GraphProto& proto, Scope& scope, bool isMain);
    Result<void> readInitializers(::onnx::GraphProto& proto, Scope& scope);
    /// An initializer whose data file is not there: a node that nobody computes.
    Result<void> addAbsent(const ::onnx::TensorProto& tensor, const std::string& why, Scope& scope);
    Result<void> readInputs(const ::onnx::GraphProto& proto, Scope& scope, bool isMain);
    Result<void> readOutputs(const ::onnx::GraphProto& proto, Scope& scope);
    Result<void> readNodes(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                           Scope& scope);
    Result<void> define(Scope& scope, const std::string& name, ValueId id);
    /// The same, and the type and metadata that the file declares for it.
    Result<void> defineValue(Scope& scope, const std::string& name, ValueId id);
    /// The value of that name in this scope, captured from an outer one if need be.
    Result<ValueId> resolve(Scope& scope, const std::string& name, const std::string& where);

    // read_node.cpp
    Result<void> readNode(::onnx::NodeProto& proto, Scope& scope);
    Result<void> readAttributes(::onnx::NodeProto& proto, Scope& scope, NodeSpec& spec,
                                Captured& captured);
    Result<AttributeValue> readAttribute(::onnx::AttributeProto& proto, Scope& scope,
                                         std::vector<ValueId>& captured, const std::string& where);
    Result<std::shared_ptr<Graph>> readSubgraph(::onnx::GraphProto& proto, Scope& parent,
                                                std::vector<ValueId>& captured,
                                                const std::string& where);
    Result<TensorPtr> readTensor(::onnx::TensorProto& proto, Scope& scope,
                                 const std::string& where);
    Result<int64_t> versionOf(const std::string& domain, const Scope& scope,
                              const std::string& where);
    /// `refused`: why the operator's body does not cover the node; empty where it has none.
    Result<void> addOperator(::onnx::NodeProto& proto, Scope& scope, const std::string& refused);
    Result<void> defineOutputs(const ::onnx::NodeProto& proto, Scope& scope, NodeId id);

    // read_body.cpp
    /// The function that the operator's body makes of the node; null where it has none, or none
    /// that covers the node: then `refused` says why.
    Result<::onnx::FunctionProto*> bodyFor(const ::onnx::NodeProto& node, Scope& scope,
                                           std::string& refused);

    const Type& typeOf(const Graph& graph, ValueId id);

    /// Of a graph inside another one: once it is read, or refused, nobody asks for its types, and
    /// another graph may come to lie where it lay.
    class InnerGraph {
    public:
        InnerGraph(Reader& reader, std::string name)
            : m_reader(reader), m_graph(std::make_shared<Graph>(std::move(name))) {}

        ~InnerGraph() { m_reader.m_types.erase(m_graph.get()); }

        InnerGraph(const InnerGraph&) = delete;
        InnerGraph& operator=(const InnerGraph&) = delete;

        const std::shared_ptr<Graph>& graph() const { return m_graph; }

    private:
        Reader& m_reader;
        std::shared_ptr<Graph> m_graph;
    };

    /// Reads the body in place of the node, and takes back what it read where a part of it does not
    /// cover the node: then `refused` says why.
    Result<void> readBody(::onnx::NodeProto& node, ::onnx::FunctionProto& body, Scope& scope,
                          std::string& refused);

    // read_function.cpp
    /// What the file says about a node; what it does not, the calls that it is inlined from.
    static Metadata metadataOf(const ::onnx::NodeProto& node, const Scope& scope);
    Result<void> indexFunctions();
    /// What to put before the names inside one call, different for each.
    std::string prefixFor(const Scope& scope, const std::string& call);
    ::onnx::FunctionProto* functionFor(const ::onnx::NodeProto& node);
    Result<void> bindAttributes(::onnx::NodeProto& call, const ::onnx::FunctionProto& function,
                                Scope& scope, Scope& body);
    /// One value for each input of the function; bindAttributes has checked their number.
    Result<std::vector<ValueId>> readCallInputs(const ::onnx::NodeProto& call,
                                                const ::onnx::FunctionProto& function,
                                                Scope& scope);
    Result<void> readFunctionNodes(::onnx::FunctionProto& function, Scope& body,
                                   const std::string& where);
    Result<void> inlineCall(::onnx::NodeProto& call, ::onnx::FunctionProto& function, Scope& scope);
    /// A rule names what is called: it stays one node.
    bool isNamed(const ::onnx::NodeProto& call) const;
    /// True when the call gives and takes everything and the function makes each result itself:
    /// only then can it be a fused node.
    static bool isPlainCall(const ::onnx::NodeProto& call, const ::onnx::FunctionProto& function);
    /// The same for functions that were saved here.
    static bool isFusedCall(const ::onnx::NodeProto& call, const ::onnx::FunctionProto& function);
    /// The operator of our own whose body the function is, as it is saved here; none for others.
    std::optional<Op> ownOperatorOf(const ::onnx::NodeProto& call,
                                    const ::onnx::FunctionProto& function, Scope& scope);
    Result<void> restoreFused(::onnx::NodeProto& call, ::onnx::FunctionProto& function,
                              Scope& scope);
    /// A call that stays one node of the function's domain and name, its nodes in the body.
    Result<void> readWhole(::onnx::NodeProto& call, ::onnx::FunctionProto& function, Scope& scope);
    Result<void> readFused(::onnx::NodeProto& call, ::onnx::FunctionProto& function,
                           const BodyValues& values, Scope& scope);
    Result<void> enter(const std::string& where);

    /// Of a node, or of the whole model where that is empty.
    void note(const std::string& text, const std::string& node = {});

    ::onnx::ModelProto& m_model;
    ExternalData& m_external;
    const LoadOptions& m_options;
    Progress& m_progress;
    NodeOrder m_order;
    OpsetVersions m_opsets;
    size_t m_bodiesAround = 0; ///< operators' bodies that are being read, one inside the other
    std::map<FunctionKey, ::onnx::FunctionProto*> m_functions;
    std::map<const ::onnx::FunctionProto*, OpsetVersions> m_functionOpsets;
    std::unordered_map<const Graph*, ReadingTypes> m_types; ///< for bodies
    std::map<std::string, ::onnx::FunctionProto> m_bodies;  ///< of operators, by their text
    std::map<const ::onnx::FunctionProto*, std::vector<::onnx::AttributeProto>> m_defaults;
    std::map<const ::onnx::FunctionProto*, bool> m_active;
    std::unordered_map<const ::onnx::TensorProto*, TensorPtr> m_tensors; ///< of function bodies
    std::unordered_map<std::string, size_t> m_prefixes; ///< how often each was asked for
    std::map<std::string, Noted> m_notes;               ///< by text
    size_t m_nodes = 0;
    size_t m_totalNodes = 0;
    int m_depth = 0;
};

} // namespace fuselage::model_io
