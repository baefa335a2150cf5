// SPDX-License-Identifier: Apache-2.0
// Model-local functions: calls are replaced by the function's nodes; functions of domain
// "fuselage", and of operators that this program gave a body, become fused nodes again.
#include "core/onnx/metadata_internal.h"
#include "core/onnx/provenance_internal.h"
#include "core/onnx/reader_internal.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace fuselage::model_io {

namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

// Fields that came after the protobuf types in use: kept by protobuf as unknown fields.
constexpr int functionDefaultsField = 11;

/// Names inside deeply nested calls must not grow without limit.
constexpr size_t maxPrefix = 512;

std::string keyOf(const std::string& domain, const std::string& name,
                  const std::vector<std::string>& overload) {
    return (domain == "ai.onnx" ? "" : domain) + ":" + name + ":" +
           (overload.empty() ? "" : overload.back());
}

/// Every node of a function gets what its call says: a short call must not become a long model.
constexpr size_t maxInherited = 16384;

size_t metadataBytes(const Metadata& metadata) {
    size_t sum = 0;
    for (const auto& [key, value] : metadata)
        sum += key.size() + value.size();
    return sum;
}

/// Gives the function's nodes the names and metadata that a call remembers.
BodyValues nameBody(FunctionProto& function, const BodyNames& names) {
    const Metadata none;
    auto at = [&](const std::vector<Metadata>& all, size_t i) -> const Metadata& {
        return i < all.size() ? all[i] : none;
    };
    for (int i = 0; i < function.node_size(); ++i) {
        const auto index = static_cast<size_t>(i);
        NodeProto& node = *function.mutable_node(i);
        node.set_name(index < names.nodes.size() ? names.nodes[index] : "");
        metadataTo(at(names.nodeMetadata, index), node, nodeMetadataField);
    }
    BodyValues values;
    size_t next = 0;
    auto rename = [&](const std::string& name) {
        if (next < names.values.size() && !names.values[next].empty() && !name.empty())
            values.renamed.emplace(name, names.values[next]);
        if (!at(names.valueMetadata, next).empty())
            values.metadata.emplace(name, at(names.valueMetadata, next));
        ++next;
    };
    for (const std::string& input : function.input())
        rename(input);
    for (const NodeProto& node : function.node())
        for (const std::string& output : node.output())
            rename(output);
    return values;
}

/// Constant nodes of a restored body become constants of the body, as they were before saving.
void foldConstantNodes(Graph& graph) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        TensorPtr value = node.op == Op::Constant ? node.attributes.tensor("value") : nullptr;
        if (!value || node.outputs.size() != 1 || !node.outputs[0].valid())
            continue;
        graph.makeConstant(node.outputs[0], value);
        graph.removeNode(id);
    }
}

} // namespace

Result<void> Reader::indexFunctions() {
    for (auto& function : *m_model.mutable_functions()) {
        std::string key =
            keyOf(function.domain(), function.name(), newerField(function, functionOverloadField));
        if (!m_functions.emplace(key, &function).second)
            return failure("load.function", "the function is defined twice", function.name(),
                           "rename one of them");
        OpsetVersions& opsets = m_functionOpsets[&function];
        for (const auto& opset : function.opset_import())
            opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
        // A function that imports nothing means what the model means.
        opsets.insert(m_opsets.begin(), m_opsets.end());
        for (const std::string& bytes : newerField(function, functionDefaultsField)) {
            AttributeProto attribute;
            if (!attribute.ParseFromString(bytes))
                return failure("load.function", "a default attribute cannot be read",
                               function.name(), "export the model again");
            m_defaults[&function].push_back(std::move(attribute));
        }
    }
    return {};
}

FunctionProto* Reader::functionFor(const NodeProto& node) {
    if (m_functions.empty())
        return nullptr;
    auto found =
        m_functions.find(keyOf(node.domain(), node.op_type(), newerField(node, nodeOverloadField)));
    return found == m_functions.end() ? nullptr : found->second;
}

std::string Reader::prefixFor(const Scope& scope, const std::string& call) {
    std::string prefix = scope.prefix + call;
    if (prefix.size() > maxPrefix)
        prefix = "inlined";
    size_t count = ++m_prefixes[prefix];
    return count == 1 ? prefix + "/" : fmt::format("{}_{}/", prefix, count);
}

Result<void> Reader::bindAttributes(NodeProto& call, const FunctionProto& function, Scope& scope,
                                    Scope& body) {
    for (const AttributeProto& attribute : m_defaults[&function])
        body.attributes[attribute.name()] = {&attribute, nullptr};
    for (const AttributeProto& attribute : call.attribute()) {
        if (attribute.ref_attr_name().empty()) {
            body.attributes[attribute.name()] = {&attribute, &scope};
            continue;
        }
        auto bound = scope.attributes.find(attribute.ref_attr_name());
        if (bound != scope.attributes.end())
            body.attributes[attribute.name()] = bound->second;
    }
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
        return failure("load.arity",
                       fmt::format("function `{}` has {} inputs and {} outputs, the call {} and {}",
                                   function.name(), function.input_size(), function.output_size(),
                                   call.input_size(), call.output_size()),
                       nodeLabel(call), "match the call to the function");
    return {};
}

Result<std::vector<ValueId>> Reader::readCallInputs(const NodeProto& call,
                                                    const FunctionProto& function, Scope& scope) {
    std::vector<ValueId> inputs(static_cast<size_t>(function.input_size()));
    for (int i = 0; i < call.input_size(); ++i) {
        if (call.input(i).empty())
            continue;
        auto id = resolve(scope, call.input(i), nodeLabel(call));
        if (!id)
            return failure(id.error());
        inputs[static_cast<size_t>(i)] = *id;
    }
    return inputs;
}

Result<void> Reader::readFunctionNodes(FunctionProto& function, Scope& body,
                                       const std::string& where) {
    if (m_active[&function])
        return failure("load.function", fmt::format("function `{}` calls itself", function.name()),
                       where, "recursive functions are not part of ONNX");
    if (auto ok = enter(where); !ok)
        return ok;
    m_active[&function] = true;
    Result<void> read = readNodes(*function.mutable_node(), body);
    m_active[&function] = false;
    --m_depth;
    return read;
}

Metadata Reader::metadataOf(const NodeProto& node, const Scope& scope) {
    Metadata out = metadataFrom(node, nodeMetadataField);
    for (const Scope* at = &scope; at; at = at->parent)
        out.insert(at->inherited.begin(), at->inherited.end());
    return out;
}

Result<void> Reader::inlineCall(NodeProto& call, FunctionProto& function, Scope& scope) {
    std::string where = nodeLabel(call);
    Scope body;
    body.graph = scope.graph;
    body.opsets = &m_functionOpsets[&function];
    body.prefix = prefixFor(scope, call.name().empty() ? function.name() : call.name());
    body.repeated = true;
    body.inherited = metadataOf(call, scope);
    body.inherited.merge(metadataFrom(function, functionMetadataField));
    if (metadataBytes(body.inherited) > maxInherited) {
        body.inherited.clear();
        note(fmt::format("metadata of a call is longer than {} bytes: its nodes are without it",
                         maxInherited),
             where);
    }
    if (auto ok = bindAttributes(call, function, scope, body); !ok)
        return ok;
    auto inputs = readCallInputs(call, function, scope);
    if (!inputs)
        return failure(inputs.error());
    for (int i = 0; i < function.input_size(); ++i)
        if (auto ok = define(body, function.input(i), (*inputs)[static_cast<size_t>(i)]); !ok)
            return ok;
    auto outerName = [&](const std::string& name) {
        auto renamed = scope.rename.find(name);
        return renamed != scope.rename.end() ? renamed->second : scope.prefix + name;
    };
    for (int i = 0; i < call.output_size(); ++i)
        if (!call.output(i).empty())
            body.rename.emplace(function.output(i), outerName(call.output(i)));
    std::unordered_set<ValueId> returned; // values that are not the function's own, or no longer
    for (const auto& [name, id] : body.names)
        returned.insert(id);
    if (auto ok = readFunctionNodes(function, body, where); !ok)
        return ok;
    for (int i = 0; i < call.output_size(); ++i) {
        if (call.output(i).empty())
            continue;
        auto id = resolve(body, function.output(i), where);
        if (!id)
            return failure(id.error());
        if (!id->valid())
            return failure("load.undefined",
                           fmt::format("function `{}` does not make `{}`", function.name(),
                                       function.output(i)),
                           where, "pass the input that it forwards");
        // An input that is forwarded, or one value returned twice, has a name of its own already.
        std::string name = outerName(call.output(i));
        if (!returned.insert(*id).second)
            id = scope.graph->node(scope.graph->addNode({Op::Identity, where, {*id}, {name}}))
                     .outputs[0];
        if (auto ok = defineValue(scope, call.output(i), *id); !ok)
            return ok;
    }
    return {};
}

bool Reader::isNamed(const NodeProto& call) const {
    const std::string& domain = call.domain();
    const bool isOnnx = domain.empty() || domain == "ai.onnx";
    return m_options.whole.contains(isOnnx ? call.op_type() : domain + "." + call.op_type());
}

namespace {

bool isNameGiven(const std::string& name) {
    return !name.empty();
}

/// Operands for all inputs, of which some may be left out; every output has a name here, and a node
/// of its own in the function.
bool isCallOfAll(const NodeProto& call, const FunctionProto& function) {
    if (call.input_size() != function.input_size() ||
        call.output_size() != function.output_size() || call.output_size() == 0 ||
        !std::all_of(call.output().begin(), call.output().end(), isNameGiven))
        return false;
    std::unordered_set<std::string> made;
    for (const NodeProto& node : function.node())
        if (node.op_type() != "Constant")
            made.insert(node.output().begin(), node.output().end());
    return std::all_of(function.output().begin(), function.output().end(),
                       [&](const std::string& name) { return made.erase(name) > 0; });
}

} // namespace

bool Reader::isPlainCall(const NodeProto& call, const FunctionProto& function) {
    return std::all_of(call.input().begin(), call.input().end(), isNameGiven) &&
           isCallOfAll(call, function);
}

bool Reader::isFusedCall(const NodeProto& call, const FunctionProto& function) {
    return (function.domain() == "fuselage" || isDocumented(call.doc_string())) &&
           isPlainCall(call, function);
}

std::optional<Op> Reader::ownOperatorOf(const NodeProto& call, const FunctionProto& function,
                                        Scope& scope) {
    const std::string name = call.op_type().substr(0, call.op_type().find('_'));
    const auto op = opFromName(fusedDomain, name);
    if (!op || function.domain() != fusedDomain || !isCallOfAll(call, function) ||
        call.input_size() < rowOf(*op).minInputs || call.input_size() > rowOf(*op).maxInputs)
        return std::nullopt;
    Graph graph;
    NodeSpec spec{*op, name, {}, {call.output().begin(), call.output().end()}};
    for (const std::string& input : call.input()) {
        if (input.empty()) {
            spec.inputs.emplace_back();
            continue;
        }
        auto id = resolve(scope, input, name);
        if (!id || !id->valid())
            return std::nullopt;
        spec.inputs.push_back(graph.addInput(input, typeOf(*scope.graph, *id)));
    }
    const std::vector<AttributeSchema>& known = attributesOf(*op);
    for (const auto& attribute : call.attribute())
        if (std::none_of(known.begin(), known.end(), [&](const AttributeSchema& schema) {
                return schema.name == attribute.name();
            }))
            return std::nullopt;
        else if (attribute.has_i())
            spec.attributes.set(attribute.name(), static_cast<int64_t>(attribute.i()));
    const Node& node = graph.node(graph.addNode(std::move(spec)));
    const auto text = [](const FunctionProto& of) {
        FunctionProto meaning;
        *meaning.mutable_input() = of.input();
        *meaning.mutable_output() = of.output();
        *meaning.mutable_node() = of.node();
        return meaning.SerializeAsString();
    };
    const int64_t opset = m_functionOpsets[&function][""];
    for (const bool few : {false, true})
        if (text(functionOf(graph, asFused(graph, node, few), opset)) == text(function))
            return op;
    return std::nullopt;
}

Result<void> Reader::restoreFused(NodeProto& call, FunctionProto& function, Scope& scope) {
    const BodyValues values = nameBody(function, bodyNamesFrom(call.doc_string()));
    return readFused(call, function, values, scope);
}

Result<void> Reader::readWhole(NodeProto& call, FunctionProto& function, Scope& scope) {
    auto inputs = readCallInputs(call, function, scope);
    if (!inputs)
        return failure(inputs.error());
    // An operand has a name here and may be one that the call around leaves out.
    const bool hasAll =
        std::all_of(inputs->begin(), inputs->end(), [](ValueId input) { return input.valid(); });
    return hasAll ? readFused(call, function, {}, scope) : inlineCall(call, function, scope);
}

Result<void> Reader::readFused(NodeProto& call, FunctionProto& function, const BodyValues& values,
                               Scope& scope) {
    std::string where = nodeLabel(call);
    const InnerGraph reading(*this, {});
    const std::shared_ptr<Graph>& body = reading.graph();
    Scope inner;
    inner.graph = body.get();
    inner.opsets = &m_functionOpsets[&function];
    inner.repeated = true;
    if (auto ok = bindAttributes(call, function, scope, inner); !ok)
        return ok;
    inner.rename = values.renamed;
    auto bodyName = [&](const std::string& name) {
        auto found = inner.rename.find(name);
        return found != inner.rename.end() ? found->second : name;
    };
    NodeSpec spec;
    spec.op = Op::Fused;
    spec.name = scope.prefix + (call.name().empty() ? function.name() : call.name());
    spec.provenance = provenanceFrom(call.doc_string());
    spec.provenance.metadata = metadataOf(call, scope);
    auto inputs = readCallInputs(call, function, scope);
    if (!inputs)
        return failure(inputs.error());
    spec.inputs = std::move(*inputs);
    for (int i = 0; i < function.input_size(); ++i) {
        ValueId given = spec.inputs[static_cast<size_t>(i)];
        Type type = given.valid() ? typeOf(*scope.graph, given) : Type();
        ValueId input = body->addInput(bodyName(function.input(i)), type);
        if (auto ok = define(inner, function.input(i), input); !ok)
            return ok;
    }
    if (auto ok = readFunctionNodes(function, inner, where); !ok)
        return ok;
    for (const auto& [name, metadata] : values.metadata)
        if (auto known = inner.names.find(name);
            known != inner.names.end() && known->second.valid())
            body->setMetadata(known->second, metadata);
    for (const std::string& name : function.output()) {
        auto id = resolve(inner, name, where);
        if (!id)
            return failure(id.error());
        if (!id->valid())
            return failure("load.undefined", "an output of the function has no name", where);
        body->addOutput(*id);
    }
    foldConstantNodes(*body);
    for (int i = 0; i < function.output_size(); ++i) {
        std::string name = i < call.output_size() ? call.output(i) : std::string();
        auto renamed = scope.rename.find(name);
        spec.outputs.push_back(name.empty()                    ? name
                               : renamed != scope.rename.end() ? renamed->second
                                                               : scope.prefix + name);
    }
    const bool isOperator = function.domain() != "fuselage";
    const std::string domain = function.domain().empty() ? "ai.onnx" : function.domain();
    std::string rule =
        spec.provenance.rule.empty() || isOperator ? function.name() : spec.provenance.rule;
    body->setName(rule);
    Captured none;
    if (auto ok = readAttributes(call, scope, spec, none); !ok)
        return ok;
    NodeId id = scope.graph->addNode(std::move(spec));
    scope.graph->edit(id).customDomain = isOperator ? domain : "";
    scope.graph->edit(id).customOp = rule;
    scope.graph->edit(id).body = body;
    return defineOutputs(call, scope, id);
}

} // namespace fuselage::model_io
