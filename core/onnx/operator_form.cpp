// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/operator_form.h"

#include "core/onnx/model_file.h"
#include "core/onnx/operator_body_internal.h"
#include "core/onnx/parse_text_internal.h"
#include "core/ops/op_schema.h"
#include "core/support/number_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace fuselage::model_io {

namespace {

constexpr const char* domainOfForms = "fuselage.form";

using Given = std::map<std::string, AttributeValue>;

std::optional<CallAttribute> callAttribute(const AttributeValue& value) {
    if (const auto* whole = std::get_if<int64_t>(&value))
        return *whole;
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    if (const auto* word = std::get_if<std::string>(&value))
        return *word;
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value))
        return *numbers;
    return std::nullopt;
}

/// The same as a file has it.
void write(const std::string& name, const CallAttribute& value, ::onnx::NodeProto& call) {
    ::onnx::AttributeProto& proto = *call.add_attribute();
    proto.set_name(name);
    if (const auto* whole = std::get_if<int64_t>(&value)) {
        proto.set_type(::onnx::AttributeProto::INT);
        proto.set_i(*whole);
    } else if (const auto* real = std::get_if<double>(&value)) {
        proto.set_type(::onnx::AttributeProto::FLOAT);
        proto.set_f(static_cast<float>(*real));
    } else if (const auto* word = std::get_if<std::string>(&value)) {
        proto.set_type(::onnx::AttributeProto::STRING);
        proto.set_s(*word);
    } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
        proto.set_type(::onnx::AttributeProto::INTS);
        for (int64_t number : *numbers)
            proto.add_ints(number);
    }
}

Call callWith(size_t operands) {
    Call out;
    out.inputs.assign(operands, true);
    out.outputs = {true};
    out.extents = [](size_t) { return std::nullopt; };
    out.type = [](size_t) { return std::string(); };
    return out;
}

/// A model of one call; nothing where the text is no function that can be read.
std::optional<Graph> graphOf(const std::string& text, const Call& described) {
    const size_t operands = described.inputs.size();
    ::onnx::ModelProto model;
    ::onnx::FunctionProto& function = *model.add_functions();
    if (!parseProblem(function, text).empty())
        return std::nullopt;
    function.set_domain(domainOfForms);
    model.set_ir_version(10);
    for (const auto& [domain, version] :
         {std::pair("", 24), {"com.microsoft", 1}, {domainOfForms, 1}}) {
        auto* import = model.add_opset_import();
        import->set_domain(domain);
        import->set_version(version);
    }
    ::onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_name("form");
    ::onnx::NodeProto& call = *graph.add_node();
    call.set_domain(domainOfForms);
    call.set_op_type(function.name());
    for (size_t i = 0; i < operands; ++i) {
        const std::string name = fmt::format("operand_{}", i);
        auto* input = graph.add_input();
        input->set_name(name);
        input->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
        call.add_input(name);
    }
    for (const auto& [name, value] : described.attributes)
        write(name, value, call);
    call.add_output("result");
    auto* output = graph.add_output();
    output->set_name("result");
    output->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
    auto read = loadBytes(model.SerializeAsString(), {}, {});
    return read ? std::optional<Graph>(std::move(*read)) : std::nullopt;
}

/// What the writer takes where a call says nothing; none for attributes that are handed on.
std::map<std::string, AttributeValue> decisions(const OperatorBody& body) {
    std::map<std::string, AttributeValue> out;
    for (const auto& [name, text] : body.attributes) {
        if (text.empty())
            continue;
        if (text.starts_with('"'))
            out.emplace(name, text.substr(1, text.size() - 2));
        else if (text.find_first_of(".e") != std::string::npos)
            out.emplace(name, numberIn(text));
        else
            out.emplace(name, static_cast<int64_t>(std::stoll(text)));
    }
    return out;
}

} // namespace

bool hasOperatorBody(std::string_view domain, std::string_view name) {
    return operatorBody(domain, name, INT64_MAX) != nullptr;
}

std::optional<OperatorForm> operatorForm(std::string_view domain, std::string_view name,
                                         size_t operands, const Given& attributes) {
    const OperatorBody* body = operatorBody(domain, name, INT64_MAX);
    const OpSchema* published = body ? publishedSchema(domain, name, INT64_MAX) : nullptr;
    if (!published || operands > body->inputs.size())
        return std::nullopt;
    Call call = callWith(operands);
    std::map<std::string, AttributeValue> decided = decisions(*body);
    for (const auto& [attribute, value] : attributes) {
        const auto given = callAttribute(value);
        if (!given)
            return std::nullopt;
        call.attributes[attribute] = *given;
        decided[attribute] = value;
    }
    const WrittenBody written = writeBody(*body, call);
    if (!written.refused.empty())
        return std::nullopt;
    auto graph = graphOf(written.text, call);
    return graph ? std::optional(OperatorForm{std::move(decided), std::move(*graph)})
                 : std::nullopt;
}

} // namespace fuselage::model_io
