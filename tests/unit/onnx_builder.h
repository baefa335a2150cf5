// SPDX-License-Identifier: Apache-2.0
// Small ONNX messages for the tests of core/onnx, good and bad ones. Only tests see protobuf
// outside core/onnx.
#pragma once

#include "core/onnx/model_file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fuselage::onnx_test {

struct ModelBuilder {
    ::onnx::ModelProto proto;

    explicit ModelBuilder(int64_t opset = 17, int64_t ir = 8) {
        proto.set_ir_version(ir);
        auto* import = proto.add_opset_import();
        import->set_domain("");
        import->set_version(opset);
        graph().set_name("g");
    }

    ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }

    static void setType(::onnx::ValueInfoProto& info, const std::string& name,
                        const std::vector<int64_t>& dims, int32_t type = 1) {
        info.set_name(name);
        auto* tensor = info.mutable_type()->mutable_tensor_type();
        tensor->set_elem_type(type);
        tensor->mutable_shape();
        for (int64_t dim : dims)
            tensor->mutable_shape()->add_dim()->set_dim_value(dim);
    }

    ModelBuilder& input(const std::string& name, const std::vector<int64_t>& dims,
                        int32_t type = 1) {
        setType(*graph().add_input(), name, dims, type);
        return *this;
    }

    ModelBuilder& output(const std::string& name, const std::vector<int64_t>& dims = {1}) {
        setType(*graph().add_output(), name, dims);
        return *this;
    }

    ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs) {
        return addNode(*graph().mutable_node(), op, inputs, outputs);
    }

    static ::onnx::NodeProto& addNode(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                                      const std::string& op, const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs) {
        auto* node = nodes.Add();
        node->set_op_type(op);
        node->set_name(op + "_" + (outputs.empty() ? "" : outputs[0]));
        for (const std::string& name : inputs)
            node->add_input(name);
        for (const std::string& name : outputs)
            node->add_output(name);
        return *node;
    }

    ::onnx::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& dims,
                                     int32_t type = 1) {
        auto* tensor = graph().add_initializer();
        tensor->set_name(name);
        tensor->set_data_type(type);
        for (int64_t dim : dims)
            tensor->add_dims(dim);
        return *tensor;
    }

    std::string bytes() const { return proto.SerializeAsString(); }

    Result<Graph> load(const model_io::LoadOptions& options = {},
                       const std::string& folder = ".") const {
        return model_io::loadBytes(bytes(), folder, options);
    }

    /// The code of the error that loading gives, "" when it loads.
    std::string loadCode(const model_io::LoadOptions& options = {}) const {
        auto graph = load(options);
        return graph ? "" : graph.error().code;
    }
};

inline ::onnx::AttributeProto& addAttribute(::onnx::NodeProto& node, const std::string& name,
                                            ::onnx::AttributeProto::AttributeType type) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return *attribute;
}

using testing_support::TemporaryFolder;

} // namespace fuselage::onnx_test
