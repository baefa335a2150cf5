// SPDX-License-Identifier: Apache-2.0
// Bodies of fused nodes as model-local functions of domain "fuselage", or of the operator that a
// node stands for. Names inside depend on the structure only, so equal bodies share one function;
// the real names go with each call.
#include "core/onnx/metadata_internal.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/own_operators.h"
#include "core/support/hash.h"

#include <fmt/format.h>

#include <cctype>

namespace fuselage::model_io {

namespace {

/// A rule's name as the name of a function.
std::string identifier(const std::string& name) {
    std::string out;
    for (char c : name)
        out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return out.empty() ? "Fused" : out;
}

/// Gives inputs, constants that are read and outputs names by position.
void nameByOrder(WriteScope& scope) {
    size_t next = 0;
    auto name = [&](ValueId id) {
        if (!id.valid() || scope.names.contains(id))
            return;
        std::string text = fmt::format("v{}", next++);
        scope.used.insert(text);
        scope.names.emplace(id, std::move(text));
    };
    for (ValueId id : scope.graph->inputs())
        name(id);
    for (NodeId id : topologicalOrder(*scope.graph)) {
        for (ValueId input : scope.graph->node(id).inputs)
            name(input);
        for (ValueId output : scope.graph->node(id).outputs)
            name(output);
    }
    for (ValueId id : scope.graph->outputs())
        name(id);
}

/// Constants in the order of their names by position.
std::vector<ValueId> constantsByOrder(const Graph& graph) {
    std::vector<ValueId> out;
    std::unordered_set<ValueId> seen;
    auto add = [&](ValueId id) {
        if (graph.isConstant(id) && seen.insert(id).second)
            out.push_back(id);
    };
    for (NodeId id : topologicalOrder(graph))
        for (ValueId input : graph.node(id).inputs)
            add(input);
    for (ValueId id : graph.outputs())
        add(id);
    return out;
}

} // namespace

bool isOwnOperator(Op op) {
    return domainOf(op) == std::string_view(fusedDomain);
}

Node asFused(const Graph& graph, const Node& node, bool few) {
    Node out = node;
    out.op = Op::Fused;
    out.customOp = nameOf(node.op);
    out.body = writtenOut(graph, node, few);
    return out;
}

Writer::Call Writer::addFunction(const Node& node) {
    const Graph& body = *node.body;
    Function function;
    Call call;
    WriteScope scope;
    scope.graph = &body;
    scope.isFunction = true;
    scope.nodes = function.proto.mutable_node();
    nameByOrder(scope);
    function.proto.set_domain(functionDomain(node));
    for (const Attributes::Entry& attribute : node.attributes)
        function.proto.add_attribute(attribute.name);
    for (ValueId id : body.inputs()) {
        function.proto.add_input(nameOfValue(scope, id));
        call.names.addValue(body.value(id).name, body.value(id).metadata);
    }
    for (ValueId id : constantsByOrder(body)) {
        addConstant(*body.value(id).constant, nameOfValue(scope, id), scope);
        call.names.addNode("", {});
        call.names.addValue(body.value(id).name, body.value(id).metadata);
    }
    std::set<std::string> outside;
    std::swap(outside, m_domains); // collects what the body imports
    writeNodes(scope, &call.names);
    import("");
    addImports(*function.proto.mutable_opset_import());
    m_domains.insert(outside.begin(), outside.end());
    for (ValueId id : body.outputs())
        function.proto.add_output(nameOfValue(scope, id));
    function.name = node.customDomain.empty() ? identifier(node.customOp) : node.customOp;
    function.key = function.proto.domain() + "." + function.name + "#" +
                   Hasher().text(function.proto.SerializeAsString()).hex();
    call.key = function.key;
    if (m_functionKeys.insert(function.key).second)
        m_functions.push_back(std::move(function));
    return call;
}

::onnx::FunctionProto functionOf(const Graph& graph, const Node& fused, int64_t opset) {
    Writer writer(graph, opset);
    writer.addFunction(fused);
    return std::move(writer.m_functions.back().proto);
}

void Writer::collectFunctions(const Graph& graph) {
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        forSubgraphs(node,
                     [&](const std::string&, const Graph& inner) { collectFunctions(inner); });
        if (isOwnOperator(node.op)) {
            const Node whole = asFused(graph, node, asksForFew(graph, node));
            m_calls.emplace(whole.body.get(), addFunction(whole));
            m_ownBodies.emplace(&node, whole.body);
        }
        if (!node.body || m_calls.contains(node.body.get()))
            continue;
        collectFunctions(*node.body); // functions that it calls come first
        m_calls.emplace(node.body.get(), addFunction(node));
    }
}

const Graph* Writer::calledBody(const Node& node) const {
    const auto own = m_ownBodies.find(&node);
    return own == m_ownBodies.end() ? node.body.get() : own->second.get();
}

/// The rule's name; with the content's hash where a rule has several contents. An operator keeps
/// its name, and the hash is its overload. Calls between functions were written with keys, which
/// are replaced here; runtimes find no overloads from inside of functions, so that such calls get a
/// function of their own name.
void Writer::nameFunctions() {
    std::map<std::pair<std::string, std::string>, int> contents;
    for (const Function& function : m_functions)
        ++contents[{function.proto.domain(), function.name}];
    for (const Function& function : m_functions) {
        const bool isOne = contents[{function.proto.domain(), function.name}] == 1;
        const bool isOurs = function.proto.domain() == fusedDomain;
        const std::string hash = function.key.substr(function.key.size() - 16, 8);
        m_functionNames[function.key] = {isOne || !isOurs ? function.name
                                                          : function.name + "_" + hash,
                                         isOne || isOurs ? "" : hash};
        m_hasOverloads = m_hasOverloads || !(isOne || isOurs);
    }
    std::set<std::string> copied;
    for (Function& function : m_functions)
        for (auto& node : *function.proto.mutable_node()) {
            const auto known = m_functionNames.find(node.op_type());
            if (known == m_functionNames.end())
                continue;
            const auto& [name, overload] = known->second;
            node.set_op_type(overload.empty() ? name : name + "_" + overload);
            if (overload.empty())
                continue;
            copied.insert(known->first);
            node.set_domain(fusedDomain);
            const auto& imports = function.proto.opset_import();
            if (std::none_of(imports.begin(), imports.end(),
                             [](const auto& each) { return each.domain() == fusedDomain; })) {
                auto* import = function.proto.add_opset_import();
                import->set_domain(fusedDomain);
                import->set_version(1);
            }
        }
    for (Function& function : m_functions) {
        const auto& [name, overload] = m_functionNames[function.key];
        if (copied.contains(function.key)) {
            auto* copy = m_model.add_functions();
            *copy = function.proto;
            copy->set_domain(fusedDomain);
            copy->set_name(name + "_" + overload);
        }
        function.proto.set_name(name);
        if (!overload.empty())
            setNewerField(function.proto, functionOverloadField, overload);
        *m_model.add_functions() = std::move(function.proto);
    }
    if (!copied.empty())
        m_domains.insert(fusedDomain);
}

void Writer::nameCall(::onnx::NodeProto& call, const std::string& key) const {
    const auto known = m_functionNames.find(key);
    if (known == m_functionNames.end()) { // of a function: replaced when all are known
        call.set_op_type(key);
        return;
    }
    call.set_op_type(known->second.name);
    if (!known->second.overload.empty())
        setNewerField(call, nodeOverloadField, known->second.overload);
}

void Writer::addImports(
    google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& list) const {
    for (const std::string& domain : m_domains) {
        auto* opset = list.Add();
        opset->set_domain(domain);
        auto known = m_graph.opsetImports.find(domain);
        opset->set_version(domain.empty()                        ? m_opset
                           : known != m_graph.opsetImports.end() ? known->second
                                                                 : 1);
    }
}

} // namespace fuselage::model_io
