// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/operator_models.h"

#include "core/ops/op_schema.h"

#include <algorithm>
#include <limits>
#include <map>

namespace fuselage::fuzz {

namespace {

using ::onnx::AttributeProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using Dims = std::vector<int64_t>;

/// Of what shapes and type the operands are that no name tells more of.
struct Choice {
    int type;
    Dims first, second, further;
    bool optional; ///< also the operands that may be left out
};

const std::vector<Choice>& choices() {
    static const std::vector<Choice> out{
        {TensorProto::FLOAT, {2, 3, 4, 4}, {2, 3, 4, 4}, {2, 3, 4, 4}, false},
        {TensorProto::FLOAT, {2, 3, 4, 4}, {3, 3, 2, 2}, {3}, true}, // image, filter, bias
        {TensorProto::FLOAT, {3, 3}, {3, 3}, {3, 3}, true},
        {TensorProto::FLOAT, {2, 3, 4}, {4}, {4}, true}, // statistics of the last dimension
        {TensorProto::UINT8, {2, 3, 4, 4}, {}, {}, true},
        {TensorProto::INT64, {2, 3}, {2, 3}, {2, 3}, false},
        {TensorProto::BOOL, {2, 3}, {2, 3}, {2, 3}, false},
        {TensorProto::STRING, {2, 3}, {2, 3}, {2, 3}, false},
    };
    return out;
}

/// Operands that say shapes and positions, which files mostly store: their element, and how many
/// there are for each dimension of the first operand (0: one).
struct Parameter {
    int64_t element;
    int64_t each;
};

const std::map<std::string, Parameter>& parameters() {
    static const std::map<std::string, Parameter> out{
        {"shape", {-1, 0}},  {"axes", {0, 0}},  {"axis", {0, 0}},    {"indices", {0, 0}},
        {"starts", {0, 0}},  {"ends", {1, 0}},  {"steps", {1, 0}},   {"k", {1, 0}},
        {"K", {1, 0}},       {"split", {1, 0}}, {"repeats", {1, 1}}, {"pads", {1, 2}},
        {"sizes", {3, 1}},   {"size", {2, 0}},  {"depth", {3, 0}},   {"output_shape", {8, 1}},
        {"position", {0, 0}}};
    return out;
}

/// A filled attribute of a schema's type.
AttributeProto attributeOf(const AttributeSchema& schema, const std::string& type) {
    AttributeProto out;
    out.set_name(schema.name);
    if (type == "int") {
        out.set_type(AttributeProto::INT);
        out.set_i(1);
    } else if (type == "float") {
        out.set_type(AttributeProto::FLOAT);
        out.set_f(0.5F);
    } else if (type == "string") {
        out.set_type(AttributeProto::STRING);
        out.set_s(schema.name == "equation" ? "ij,jk->ik" : "linear");
    } else if (type == "ints") {
        out.set_type(AttributeProto::INTS);
        for (int i = 0; i < 2; ++i)
            out.add_ints(1);
    } else if (type == "floats") {
        out.set_type(AttributeProto::FLOATS);
        out.add_floats(1);
    } else if (type == "strings") {
        out.set_type(AttributeProto::STRINGS);
        out.add_strings("text");
    } else if (type == "tensor") {
        out.set_type(AttributeProto::TENSOR);
        out.mutable_t()->set_data_type(TensorProto::FLOAT);
        out.mutable_t()->add_float_data(1);
    } else {
        out.set_type(AttributeProto::GRAPH);
        auto* node = out.mutable_g()->add_node();
        node->set_op_type("Constant");
        node->add_output("constant");
        auto* value = node->add_attribute();
        value->set_name("value_float");
        value->set_type(AttributeProto::FLOAT);
        out.mutable_g()->add_output()->set_name("constant");
    }
    return out;
}

const char* otherKind(const std::string& type) {
    return type == "int" ? "string" : type == "float" ? "ints" : "int";
}

void addInput(ModelProto& model, const std::string& name, int type, const Dims& dims) {
    auto* input = model.mutable_graph()->add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (int64_t dim : dims)
        tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

void addParameter(ModelProto& model, const std::string& name, const Parameter& parameter,
                  size_t rank) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(TensorProto::INT64);
    const int64_t count =
        parameter.each == 0 ? 1 : parameter.each * static_cast<int64_t>(std::max<size_t>(rank, 1));
    tensor->add_dims(count);
    for (int64_t i = 0; i < count; ++i)
        tensor->add_int64_data(parameter.element);
}

/// Quantized operands come with float scales and zero points of their own type.
int typeOf(const std::string& name, const Choice& choice) {
    if (choice.type == TensorProto::UINT8 && name.find("scale") != std::string::npos)
        return TensorProto::FLOAT;
    return name == "cond" || name == "condition" ? int(TensorProto::BOOL) : choice.type;
}

void addOperand(ModelProto& model, const OpRow& row, size_t at, const Choice& choice) {
    const auto& names = inputNamesOf(row.op);
    const std::string schema = names.empty() ? "" : names[std::min(at, names.size() - 1)];
    const std::string name = "x" + std::to_string(at);
    model.mutable_graph()->mutable_node(0)->add_input(name);
    const auto parameter = parameters().find(schema);
    if (at > 0 && parameter != parameters().end())
        addParameter(model, name, parameter->second, choice.first.size());
    else
        addInput(model, name, typeOf(schema, choice),
                 at == 0   ? choice.first
                 : at == 1 ? choice.second
                           : choice.further);
}

class RowCollector {
public:
    RowCollector(const OpRow& row, const ModelProto& model) : m_row(row), m_model(model) {}

    std::vector<Malformation> run() {
        addArity();
        for (const AttributeSchema& schema : attributesOf(m_row.op))
            addAttribute(schema);
        addShapes();
        return std::move(m_out);
    }

private:
    void addNode(std::string label, bool refused, std::function<void(NodeProto&)> change) {
        m_out.push_back({std::move(label),
                         [change = std::move(change)](ModelProto& model) {
                             change(*model.mutable_graph()->mutable_node(0));
                         },
                         refused});
    }

    void addArity();
    void addAttribute(const AttributeSchema& schema);
    void addShapes();
    void addShape(const std::string& label, std::function<void(::onnx::TensorShapeProto&)> change);

    const OpRow& m_row;
    const ModelProto& m_model;
    std::vector<Malformation> m_out;
};

void RowCollector::addArity() {
    // The last input may be one that ONNX lets a file leave out.
    const OpSchema* published = publishedSchema(m_row.op);
    const auto last = static_cast<size_t>(std::max(m_row.minInputs, 1) - 1);
    if (m_row.minInputs > 0 && !(published && published->isOptionalInput(last)))
        addNode("too few inputs", true, [least = m_row.minInputs](NodeProto& node) {
            while (node.input_size() >= least)
                node.mutable_input()->RemoveLast();
        });
    if (m_row.maxInputs < variadic)
        addNode("too many inputs", true, [most = m_row.maxInputs](NodeProto& node) {
            while (node.input_size() <= most)
                node.add_input("x0");
        });
    if (m_row.maxOutputs < variadic)
        addNode("too many outputs", true, [most = m_row.maxOutputs](NodeProto& node) {
            while (node.output_size() <= most)
                node.add_output("more" + std::to_string(node.output_size()));
        });
}

void RowCollector::addAttribute(const AttributeSchema& schema) {
    const auto set = [&](const std::string& what, bool refused, const AttributeProto& attribute) {
        addNode("attribute " + schema.name + " " + what, refused, [attribute](NodeProto& node) {
            for (AttributeProto& each : *node.mutable_attribute())
                if (each.name() == attribute.name()) {
                    each = attribute;
                    return;
                }
            *node.add_attribute() = attribute;
        });
    };
    const std::string other = otherKind(schema.type);
    set("as " + other, true, attributeOf(schema, other));
    for (int64_t value : {int64_t(9), int64_t(-9), std::numeric_limits<int64_t>::min()}) {
        AttributeProto attribute = attributeOf(schema, schema.type);
        if (schema.type == "int")
            attribute.set_i(value);
        else if (schema.type == "ints")
            attribute.set_ints(0, value);
        else
            return;
        set("= " + std::to_string(value), false, attribute);
    }
}

void RowCollector::addShape(const std::string& label,
                            std::function<void(::onnx::TensorShapeProto&)> change) {
    m_out.push_back({label, [change = std::move(change)](ModelProto& model) {
                         for (auto& input : *model.mutable_graph()->mutable_input())
                             change(*input.mutable_type()->mutable_tensor_type()->mutable_shape());
                     }});
}

void RowCollector::addShapes() {
    addShape("no elements", [](auto& shape) {
        if (shape.dim_size() > 0)
            shape.mutable_dim(0)->set_dim_value(0);
    });
    addShape("no elements in a row", [](auto& shape) {
        if (shape.dim_size() > 0)
            shape.mutable_dim(shape.dim_size() - 1)->set_dim_value(0);
    });
    addShape("no dimensions", [](auto& shape) { shape.clear_dim(); });
    addShape("one dimension", [](auto& shape) {
        while (shape.dim_size() > 1)
            shape.mutable_dim()->RemoveLast();
    });
    for (int i = 0; i < std::min(m_model.graph().input_size(), 3); ++i)
        for (bool last : {false, true})
            m_out.push_back(
                {"operand " + std::to_string(i) + (last ? " with a longer row" : " with more rows"),
                 [i, last](ModelProto& model) {
                     auto& shape = *model.mutable_graph()
                                        ->mutable_input(i)
                                        ->mutable_type()
                                        ->mutable_tensor_type()
                                        ->mutable_shape();
                     if (shape.dim_size() > 0)
                         shape.mutable_dim(last ? shape.dim_size() - 1 : 0)->set_dim_value(5);
                 }});
}

} // namespace

size_t operandChoices() {
    return choices().size();
}

std::vector<Op> modelledOperators() {
    std::vector<Op> out;
    for (const OpRow& row : allRows())
        if (row.infer || row.reference || row.tape)
            out.push_back(row.op);
    return out;
}

ModelProto operatorModel(Op op, size_t choice) {
    const OpRow& row = rowOf(op);
    const Choice& operands = choices()[choice];
    ModelProto model;
    model.set_ir_version(10);
    for (auto [domain, version] : {std::pair{"", 22}, std::pair{"com.microsoft", 1}}) {
        auto* import = model.add_opset_import();
        import->set_domain(domain);
        import->set_version(version);
    }
    model.mutable_graph()->set_name("g");
    NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type(row.name);
    node.set_domain(row.domain);
    node.set_name(operatorNode);
    const int named = static_cast<int>(inputNamesOf(op).size());
    const int inputs =
        operands.optional ? std::clamp(named, row.minInputs, row.maxInputs) : row.minInputs;
    for (int i = 0; i < std::max(inputs, row.maxInputs == variadic ? 2 : 0); ++i)
        addOperand(model, row, static_cast<size_t>(i), operands);
    for (const AttributeSchema& schema : attributesOf(op))
        if (schema.required)
            *node.add_attribute() = attributeOf(schema, schema.type);
    for (int i = 0; i < std::max(row.minOutputs, 1); ++i) {
        node.add_output("y" + std::to_string(i));
        model.mutable_graph()->add_output()->set_name("y" + std::to_string(i));
    }
    return model;
}

std::vector<Malformation> rowMalformations(Op op, const ModelProto& model) {
    return RowCollector(rowOf(op), model).run();
}

} // namespace fuselage::fuzz
