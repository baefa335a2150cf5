// SPDX-License-Identifier: Apache-2.0
#include "tests/studio/odd_models.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::studio::testing {

namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using Names = std::vector<std::string>;
using Dims = std::vector<int64_t>;

constexpr const char* ownDomain = "odd.domain";
const Dims image{1, 8, 4, 4};

ModelProto blank() {
    ModelProto out;
    out.set_ir_version(8);
    for (auto [domain, version] : {std::pair{"", 17}, std::pair{ownDomain, 1}}) {
        auto* opset = out.add_opset_import();
        opset->set_domain(domain);
        opset->set_version(version);
    }
    out.mutable_graph()->set_name("g");
    return out;
}

void declare(::onnx::ValueInfoProto& value, const std::string& name, const Dims& dims,
             int32_t type) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (int64_t dim : dims)
        tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

void addInput(GraphProto& graph, const std::string& name, const Dims& dims = image,
              int32_t type = TensorProto::FLOAT) {
    declare(*graph.add_input(), name, dims, type);
}

void addOutput(GraphProto& graph, const std::string& name, const Dims& dims = image,
               int32_t type = TensorProto::FLOAT) {
    declare(*graph.add_output(), name, dims, type);
}

NodeProto& addNode(GraphProto& graph, const std::string& op, const Names& inputs,
                   const Names& outputs, const std::string& name = {}) {
    NodeProto& out = *graph.add_node();
    out.set_op_type(op);
    out.set_name(name);
    for (const std::string& each : inputs)
        out.add_input(each);
    for (const std::string& each : outputs)
        out.add_output(each);
    return out;
}

TensorProto tensor(const std::string& name, const Dims& dims) {
    TensorProto out;
    out.set_name(name);
    out.set_data_type(TensorProto::FLOAT);
    int64_t size = 1;
    for (int64_t dim : dims) {
        out.add_dims(dim);
        size *= dim;
    }
    for (int64_t i = 0; i < size; ++i)
        out.add_float_data(0.01F * static_cast<float>(i % 7));
    return out;
}

AttributeProto& addAttribute(NodeProto& node, const std::string& name,
                             AttributeProto::AttributeType type) {
    AttributeProto& out = *node.add_attribute();
    out.set_name(name);
    out.set_type(type);
    return out;
}

/// x -> one node for each name -> y
ModelProto chain(const Names& names, const std::string& op = "Relu") {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    std::string from = "x";
    for (size_t i = 0; i < names.size(); ++i) {
        const std::string to = i + 1 == names.size() ? "y" : fmt::format("v{}", i);
        addNode(graph, op, {from}, {to}, names[i]);
        from = to;
    }
    return out;
}

Names numbered(int count, const std::function<std::string(int)>& name) {
    Names out;
    for (int i = 0; i < count; ++i)
        out.push_back(name(i));
    return out;
}

/// Conv and Relu, whose weight the caller declares.
ModelProto convolution() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    AttributeProto& pads =
        addAttribute(addNode(graph, "Conv", {"x", "w"}, {"a"}, "c"), "pads", AttributeProto::INTS);
    for (int i = 0; i < 4; ++i)
        pads.add_ints(1);
    addNode(graph, "Relu", {"a"}, {"y"});
    return out;
}

ModelProto noWeights() {
    ModelProto out = convolution();
    addInput(*out.mutable_graph(), "w", {8, 8, 3, 3});
    return out;
}

ModelProto externalAbsent() {
    ModelProto out = convolution();
    TensorProto& weight = *out.mutable_graph()->add_initializer();
    weight = tensor("w", {8, 8, 3, 3});
    weight.clear_float_data();
    weight.set_data_location(TensorProto::EXTERNAL);
    for (auto [key, value] : {std::pair{"location", "gone.bin"}, std::pair{"offset", "0"},
                              std::pair{"length", "2304"}}) {
        auto* entry = weight.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    }
    return out;
}

ModelProto contradiction() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x", {2, 3});
    addOutput(graph, "y", {2, 5});
    *graph.add_initializer() = tensor("w", {4, 5});
    addNode(graph, "Relu", {"x"}, {"a"});
    addNode(graph, "MatMul", {"a", "w"}, {"y"}, "wrong");
    return out;
}

ModelProto unknownOperator() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    addNode(graph, "Relu", {"x"}, {"a"});
    addNode(graph, "Wonder", {"a"}, {"y"}, "w").set_domain(ownDomain);
    return out;
}

ModelProto unknownType() {
    ModelProto out = chain({"a", "b"});
    constexpr int32_t noType = 77;
    out.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        noType);
    out.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
        noType);
    return out;
}

GraphProto& addBranch(NodeProto& node, const std::string& name, const std::string& output) {
    GraphProto& out = *addAttribute(node, name, AttributeProto::GRAPH).mutable_g();
    out.set_name(output);
    addOutput(out, output);
    return out;
}

ModelProto nestedIf() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addInput(graph, "c", {}, TensorProto::BOOL);
    addOutput(graph, "y");
    NodeProto& outer = addNode(graph, "If", {"c"}, {"y"}, "outer");
    addNode(addBranch(outer, "else_branch", "e"), "Tanh", {"x"}, {"e"});
    NodeProto& inner = addNode(addBranch(outer, "then_branch", "t"), "If", {"c"}, {"t"}, "inner");
    addNode(addBranch(inner, "then_branch", "p"), "Relu", {"x"}, {"p"});
    addNode(addBranch(inner, "else_branch", "q"), "Sigmoid", {"x"}, {"q"});
    return out;
}

ModelProto cycle() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    addNode(graph, "Add", {"x", "b"}, {"a"}, "one");
    addNode(graph, "Relu", {"a"}, {"b"}, "two");
    addNode(graph, "Relu", {"b"}, {"y"}, "three");
    return out;
}

ModelProto fanOut() {
    constexpr int readers = 400;
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    addNode(graph, "Relu", {"x"}, {"a"});
    Names all;
    for (int i = 0; i < readers; ++i) {
        all.push_back(fmt::format("b{}", i));
        addNode(graph, "Sigmoid", {"a"}, {all.back()}, fmt::format("leaf{}", i));
    }
    addNode(graph, "Sum", all, {"y"});
    return out;
}

ModelProto constantsOnly() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addOutput(graph, "y", {2});
    for (const char* name : {"a", "b"})
        *addAttribute(addNode(graph, "Constant", {}, {name}), "value", AttributeProto::TENSOR)
             .mutable_t() = tensor("t", {2});
    addNode(graph, "Add", {"a", "b"}, {"y"});
    return out;
}

ModelProto sequences() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    auto* made = graph.add_output();
    made->set_name("s");
    made->mutable_type()
        ->mutable_sequence_type()
        ->mutable_elem_type()
        ->mutable_tensor_type()
        ->set_elem_type(TensorProto::FLOAT);
    addNode(graph, "SequenceConstruct", {"x", "x"}, {"q"});
    addNode(graph, "SequenceInsert", {"q", "x"}, {"s"});
    return out;
}

ModelProto sparse() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    auto* weight = graph.add_sparse_initializer();
    *weight->mutable_values() = tensor("w", {2});
    TensorProto& places = *weight->mutable_indices();
    places.set_name("i");
    places.set_data_type(TensorProto::INT64);
    places.add_dims(2);
    for (int64_t place : {0, 5})
        places.add_int64_data(place);
    weight->add_dims(4);
    weight->add_dims(4);
    addNode(graph, "MatMul", {"x", "w"}, {"y"});
    return out;
}

ModelProto localFunction() {
    ModelProto out = blank();
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "x");
    addOutput(graph, "y");
    for (auto [from, to] : {std::pair{"x", "a"}, std::pair{"a", "y"}})
        addNode(graph, "Gate", {from}, {to}).set_domain(ownDomain);
    auto* function = out.add_functions();
    function->set_domain(ownDomain);
    function->set_name("Gate");
    *function->add_opset_import() = out.opset_import(0);
    function->add_input("u");
    function->add_output("o");
    GraphProto body;
    addNode(body, "Sigmoid", {"u"}, {"g"});
    addNode(body, "Mul", {"u", "g"}, {"o"});
    *function->mutable_node() = body.node();
    return out;
}

/// What a classifier of scikit-learn becomes: operators of a domain of its own in a chain.
ModelProto classicalNames() {
    constexpr const char* classical = "ai.onnx.ml";
    ModelProto out = blank();
    auto* opset = out.add_opset_import();
    opset->set_domain(classical);
    opset->set_version(3);
    GraphProto& graph = *out.mutable_graph();
    addInput(graph, "X", {4, 3});
    addOutput(graph, "variable", {4, 3});
    NodeProto& scaler = addNode(graph, "Scaler", {"X"}, {"scaled"}, "Sc_Scaler");
    scaler.set_domain(classical);
    for (const char* name : {"offset", "scale"})
        addAttribute(scaler, name, AttributeProto::FLOATS).add_floats(0.5F);
    NodeProto& normalizer = addNode(graph, "Normalizer", {"scaled"}, {"variable"}, "No_Normalizer");
    normalizer.set_domain(classical);
    addAttribute(normalizer, "norm", AttributeProto::STRING).set_s("L1");
    return out;
}

struct Odd {
    const char* name;
    std::function<ModelProto()> make;
};

std::vector<Odd> oddModels(int large) {
    auto named = [](int count, std::function<std::string(int)> name) {
        return [count, name = std::move(name)] { return chain(numbered(count, name)); };
    };
    return {
        {"no_weights", noWeights},
        {"external_absent", externalAbsent},
        {"contradiction", contradiction},
        {"unknown_operator", unknownOperator},
        {"unknown_type", unknownType},
        {"nested_if", nestedIf},
        {"one_node", [] { return chain({"only"}); }},
        {"empty", blank},
        {"input_is_output",
         [] {
             ModelProto out = blank();
             addInput(*out.mutable_graph(), "x");
             addOutput(*out.mutable_graph(), "x");
             return out;
         }},
        {"cycle", cycle},
        {"torch_names",
         named(12,
               [](int i) { return fmt::format("/encoder/layers.{}/act_{}/Relu", i / 3, i % 3); })},
        {"dynamo_names",
         named(12, [](int i) { return i == 0 ? "node_relu" : fmt::format("node_relu_{}", i); })},
        {"tf_names", named(12,
                           [](int i) {
                               return fmt::format("StatefulPartitionedCall/net/block_{}/Relu;{}",
                                                  i / 4, i);
                           })},
        {"tf2onnx_names", named(12,
                                [](int i) {
                                    return fmt::format("StatefulPartitionedCall/model/re_lu_{}/"
                                                       "Relu__{}",
                                                       i, 40 + i);
                                })},
        {"keras_names", named(12,
                              [](int i) {
                                  return fmt::format("functional_1/block{}_1/re_lu_{}_1/Relu",
                                                     i / 4, i);
                              })},
        {"optimum_names", named(12,
                                [](int i) {
                                    return fmt::format("/model/layers.{}/mlp/act_fn/{}", i / 2,
                                                       i % 2 ? "Relu_1" : "Relu");
                                })},
        {"optimised_names", named(12, [](int i) { return fmt::format("Attention_{}", i); })},
        {"classical_names", classicalNames},
        {"paddle_names", named(12, [](int i) { return fmt::format("p2o.Relu.{}", i); })},
        {"unicode_names",
         [] {
             std::string faces;
             for (int i = 0; i < 20; ++i)
                 faces += "\U0001F600";
             return chain({"слой.1", "层/二", "\u202eright to left", "a\nb\tc", faces});
         }},
        {"markup_names",
         [] {
             return chain({"<b>bold</b>", "<img src='bold'>/<i>bold</i>", "&bold;", "%1 bold %n",
                           "\"bold\" 'quoted'", "bold, with; signs|{of} tables"});
         }},
        {"empty_names", named(12, [](int) { return ""; })},
        {"duplicated_names", named(12, [](int) { return "same"; })},
        {"long_names",
         [] {
             std::string scopes, modules;
             for (int i = 0; i < 250; ++i) {
                 scopes += "m/";
                 modules += "k.";
             }
             return chain({std::string(500, 'n'), scopes, modules});
         }},
        {"fan_out", fanOut},
        {"deep", named(2000, [](int i) { return fmt::format("r{}", i); })},
        {"constants_only", constantsOnly},
        {"sequences", sequences},
        {"sparse", sparse},
        {"local_function", localFunction},
        {"large", named(large,
                        [](int i) {
                            return fmt::format("/blocks.{}/layer.{}/Relu_{}", i / 500, i % 500 / 10,
                                               i % 10);
                        })},
    };
}

} // namespace

bool writeOddModels(const QString& folder, int large) {
    for (const Odd& odd : oddModels(large)) {
        std::ofstream file(folder.toStdString() + '/' + odd.name + ".onnx", std::ios::binary);
        if (!odd.make().SerializeToOstream(&file) || !file.flush())
            return false;
    }
    return true;
}

} // namespace fuselage::studio::testing
