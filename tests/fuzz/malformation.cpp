// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/malformation.h"

#include <cstring>
#include <limits>

namespace fuselage::fuzz {

namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

/// Sizes between a few elements and what no machine holds are left out: they only cost memory.
constexpr int64_t huge = int64_t(1) << 44;

void collect(GraphProto& graph, std::vector<NodeProto*>& out) {
    for (NodeProto& node : *graph.mutable_node()) {
        out.push_back(&node);
        for (AttributeProto& attribute : *node.mutable_attribute())
            if (attribute.has_g())
                collect(*attribute.mutable_g(), out);
    }
}

/// All nodes in a fixed order, so that a position names the same node in every copy.
std::vector<NodeProto*> nodesOf(ModelProto& model) {
    std::vector<NodeProto*> out;
    collect(*model.mutable_graph(), out);
    for (auto& function : *model.mutable_functions())
        for (NodeProto& node : *function.mutable_node())
            out.push_back(&node);
    return out;
}

class Collector {
public:
    explicit Collector(const ModelProto& model) : m_model(model) {}

    std::vector<Malformation> run() {
        const std::vector<NodeProto*> nodes = nodesOf(m_model);
        for (size_t i = 0; i < nodes.size(); ++i) {
            addOperands(i, *nodes[i]);
            for (int k = 0; k < nodes[i]->attribute_size(); ++k)
                addAttribute(i, k, *nodes[i]);
        }
        for (int i = 0; i < m_model.graph().input_size(); ++i)
            addDeclared("input", i, true);
        for (int i = 0; i < m_model.graph().output_size(); ++i)
            addDeclared("output", i, false);
        for (int i = 0; i < m_model.graph().initializer_size(); ++i)
            addInitializer(i);
        for (int64_t version : {1, 6, 7, 9, 11, 13, 18, 22, 99})
            add("opset " + std::to_string(version), [version](ModelProto& model) {
                model.mutable_opset_import(0)->set_version(version);
            });
        return std::move(m_out);
    }

private:
    void add(std::string label, std::function<void(ModelProto&)> apply) {
        m_out.push_back({std::move(label), std::move(apply)});
    }

    void addNode(size_t at, const std::string& what, std::function<void(NodeProto&)> change) {
        add(nodesOf(m_model)[at]->op_type() + " " + what,
            [at, change = std::move(change)](ModelProto& model) { change(*nodesOf(model)[at]); });
    }

    void addOperands(size_t at, const NodeProto& node);
    void addAttribute(size_t at, int index, const NodeProto& node);
    void addKinds(size_t at, int index, const std::string& where);
    void addDeclared(const char* which, int index, bool isInput);
    void addInitializer(int index);

    ModelProto m_model;
    std::vector<Malformation> m_out;
};

void Collector::addOperands(size_t at, const NodeProto& node) {
    for (int i = 0; i < node.input_size(); ++i) {
        const std::string where = "input " + std::to_string(i) + ": ";
        addNode(at, where + "left out", [i](NodeProto& node) { node.mutable_input(i)->clear(); });
        addNode(at, where + "another operand", [i](NodeProto& node) {
            node.set_input(i, node.input(i == 0 ? node.input_size() - 1 : 0));
        });
        addNode(at, where + "its own result", [i](NodeProto& node) {
            node.set_input(i, node.output_size() > 0 ? node.output(0) : "nobody");
        });
    }
    addNode(at, "without its last input", [](NodeProto& node) {
        if (node.input_size() > 0)
            node.mutable_input()->RemoveLast();
    });
    addNode(at, "without inputs", [](NodeProto& node) { node.clear_input(); });
    addNode(at, "an input too many", [](NodeProto& node) {
        node.add_input(node.input_size() > 0 ? node.input(0) : "nobody");
    });
    addNode(at, "without its last output", [](NodeProto& node) {
        if (node.output_size() > 0)
            node.mutable_output()->RemoveLast();
    });
    addNode(at, "an output too many", [](NodeProto& node) { node.add_output("one_more"); });
    addNode(at, "one name twice", [](NodeProto& node) {
        if (node.output_size() > 0)
            node.add_output(node.output(0));
    });
}

void Collector::addKinds(size_t at, int index, const std::string& where) {
    const auto set = [&](const char* kind, std::function<void(AttributeProto&)> fill) {
        addNode(at, where + kind, [index, fill = std::move(fill)](NodeProto& node) {
            const std::string name = node.attribute(index).name();
            node.mutable_attribute(index)->Clear();
            node.mutable_attribute(index)->set_name(name);
            fill(*node.mutable_attribute(index));
        });
    };
    set("as int", [](AttributeProto& a) {
        a.set_type(AttributeProto::INT);
        a.set_i(1);
    });
    set("as float", [](AttributeProto& a) {
        a.set_type(AttributeProto::FLOAT);
        a.set_f(1.5F);
    });
    set("as string", [](AttributeProto& a) {
        a.set_type(AttributeProto::STRING);
        a.set_s("text");
    });
    set("as ints", [](AttributeProto& a) {
        a.set_type(AttributeProto::INTS);
        a.add_ints(1);
    });
    set("as floats", [](AttributeProto& a) {
        a.set_type(AttributeProto::FLOATS);
        a.add_floats(1);
    });
    set("as strings", [](AttributeProto& a) {
        a.set_type(AttributeProto::STRINGS);
        a.add_strings("text");
    });
    set("as tensor", [](AttributeProto& a) {
        a.set_type(AttributeProto::TENSOR);
        a.mutable_t()->set_data_type(TensorProto::FLOAT);
        a.mutable_t()->add_float_data(1);
    });
    set("as tensor of text", [](AttributeProto& a) {
        a.set_type(AttributeProto::TENSOR);
        a.mutable_t()->set_data_type(TensorProto::STRING);
        a.mutable_t()->add_dims(1);
        a.mutable_t()->add_string_data("text");
    });
    set("as empty tensor", [](AttributeProto& a) {
        a.set_type(AttributeProto::TENSOR);
        a.mutable_t()->set_data_type(TensorProto::INT64);
        a.mutable_t()->add_dims(0);
    });
    set("as graph", [](AttributeProto& a) {
        a.set_type(AttributeProto::GRAPH);
        a.mutable_g();
    });
    set("as nothing", [](AttributeProto&) {});
    set("as a kind that is not",
        [](AttributeProto& a) { a.set_type(AttributeProto::SPARSE_TENSORS); });
}

void Collector::addAttribute(size_t at, int index, const NodeProto& node) {
    const AttributeProto& attribute = node.attribute(index);
    const std::string where = "attribute " + attribute.name() + " ";
    addNode(at, where + "left out",
            [index](NodeProto& node) { node.mutable_attribute()->DeleteSubrange(index, 1); });
    addKinds(at, index, where);
    const auto set = [&](const std::string& what, std::function<void(AttributeProto&)> change) {
        addNode(at, where + what, [index, change = std::move(change)](NodeProto& node) {
            change(*node.mutable_attribute(index));
        });
    };
    if (attribute.has_i())
        for (int64_t value : hostileIntegers())
            set("= " + std::to_string(value), [value](AttributeProto& a) { a.set_i(value); });
    for (int i = 0; i < attribute.ints_size(); ++i)
        for (int64_t value : hostileIntegers())
            set("[" + std::to_string(i) + "] = " + std::to_string(value),
                [i, value](AttributeProto& a) { a.set_ints(i, value); });
    if (attribute.ints_size() > 0) {
        set("one more", [](AttributeProto& a) { a.add_ints(a.ints(0)); });
        set("one less", [](AttributeProto& a) { a.mutable_ints()->RemoveLast(); });
    }
    if (attribute.has_f())
        for (float value : {0.0F, -1.0F, 1e30F, std::numeric_limits<float>::quiet_NaN()})
            set("= " + std::to_string(value), [value](AttributeProto& a) { a.set_f(value); });
    if (attribute.has_s())
        for (const char* value : {"", "nonsense", "->", "SAME_UPPER"})
            set(std::string("= \"") + value + "\"", [value](AttributeProto& a) { a.set_s(value); });
    if (attribute.has_g()) {
        set("body without outputs", [](AttributeProto& a) { a.mutable_g()->clear_output(); });
        set("body without inputs", [](AttributeProto& a) { a.mutable_g()->clear_input(); });
        set("body with an input more",
            [](AttributeProto& a) { a.mutable_g()->add_input()->set_name("one_more"); });
        set("body with an output less", [](AttributeProto& a) {
            if (a.g().output_size() > 0)
                a.mutable_g()->mutable_output()->RemoveLast();
        });
        set("body of itself", [](AttributeProto& a) {
            for (int depth = 0; depth < 70; ++depth) {
                const GraphProto inner = a.g();
                auto* node = a.mutable_g()->add_node();
                node->set_op_type("If");
                auto* body = node->add_attribute();
                body->set_name("then_branch");
                body->set_type(AttributeProto::GRAPH);
                GraphProto shell;
                *shell.add_node() = a.g().node(a.g().node_size() - 1);
                *body->mutable_g() = shell;
                a.mutable_g()->mutable_node()->DeleteSubrange(0, a.g().node_size() - 1);
            }
        });
    }
}

void Collector::addDeclared(const char* which, int index, bool isInput) {
    const auto set = [&](const std::string& what, std::function<void(ValueInfoProto&)> change) {
        add(std::string(which) + " " + std::to_string(index) + ": " + what,
            [isInput, index, change = std::move(change)](ModelProto& model) {
                GraphProto& graph = *model.mutable_graph();
                change(isInput ? *graph.mutable_input(index) : *graph.mutable_output(index));
            });
    };
    set("no type", [](ValueInfoProto& v) { v.clear_type(); });
    set("a sequence", [](ValueInfoProto& v) {
        const auto element = v.type();
        v.mutable_type()->mutable_sequence_type()->mutable_elem_type()->CopyFrom(element);
    });
    const ValueInfoProto& declared =
        isInput ? m_model.graph().input(index) : m_model.graph().output(index);
    if (!declared.type().has_tensor_type())
        return;
    for (int type : {0, 1, 2, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 99})
        set("type " + std::to_string(type), [type](ValueInfoProto& v) {
            v.mutable_type()->mutable_tensor_type()->set_elem_type(type);
        });
    const auto shape = [](ValueInfoProto& v) {
        return v.mutable_type()->mutable_tensor_type()->mutable_shape();
    };
    set("no shape",
        [](ValueInfoProto& v) { v.mutable_type()->mutable_tensor_type()->clear_shape(); });
    set("a scalar", [shape](ValueInfoProto& v) { shape(v)->clear_dim(); });
    set("one dimension more",
        [shape](ValueInfoProto& v) { shape(v)->add_dim()->set_dim_value(2); });
    set("forty dimensions", [shape](ValueInfoProto& v) {
        while (shape(v)->dim_size() < 40)
            shape(v)->add_dim()->set_dim_value(1);
    });
    for (int i = 0; i < declared.type().tensor_type().shape().dim_size(); ++i) {
        const std::string where = "dimension " + std::to_string(i) + " ";
        for (int64_t value : {int64_t(-1), int64_t(0), int64_t(1), int64_t(3), huge, INT64_MAX})
            set(where + "= " + std::to_string(value), [shape, i, value](ValueInfoProto& v) {
                shape(v)->mutable_dim(i)->set_dim_value(value);
            });
        set(where + "= N",
            [shape, i](ValueInfoProto& v) { shape(v)->mutable_dim(i)->set_dim_param("N"); });
        set(where + "gone",
            [shape, i](ValueInfoProto& v) { shape(v)->mutable_dim()->DeleteSubrange(i, 1); });
    }
}

/// The first elements of an integer tensor, in whichever field they are.
void setIntegers(TensorProto& tensor, int64_t value) {
    if (tensor.data_type() != TensorProto::INT64)
        return;
    if (tensor.has_raw_data()) {
        std::string& raw = *tensor.mutable_raw_data();
        for (size_t at = 0; at + sizeof value <= raw.size(); at += sizeof value)
            std::memcpy(raw.data() + at, &value, sizeof value);
    }
    for (int64_t& element : *tensor.mutable_int64_data())
        element = value;
}

void Collector::addInitializer(int index) {
    const auto set = [&](const std::string& what, std::function<void(TensorProto&)> change) {
        add("initializer " + std::to_string(index) + ": " + what,
            [index, change = std::move(change)](ModelProto& model) {
                change(*model.mutable_graph()->mutable_initializer(index));
            });
    };
    if (m_model.graph().initializer(index).data_type() == TensorProto::INT64)
        for (int64_t value : hostileIntegers())
            set("all " + std::to_string(value),
                [value](TensorProto& tensor) { setIntegers(tensor, value); });
    set("empty", [](TensorProto& tensor) {
        const std::string name = tensor.name();
        const int type = tensor.data_type();
        tensor.Clear();
        tensor.set_name(name);
        tensor.set_data_type(type);
        tensor.add_dims(0);
    });
    set("of text", [](TensorProto& tensor) {
        const std::string name = tensor.name();
        tensor.Clear();
        tensor.set_name(name);
        tensor.set_data_type(TensorProto::STRING);
        tensor.add_dims(1);
        tensor.add_string_data("text");
    });
    set("another rank", [](TensorProto& tensor) { tensor.add_dims(1); });
    set("no rank", [](TensorProto& tensor) { tensor.clear_dims(); });
    set("more than there is", [](TensorProto& tensor) { tensor.add_dims(huge); });
    set("a negative extent", [](TensorProto& tensor) { tensor.add_dims(-1); });
    set("as float", [](TensorProto& tensor) { tensor.set_data_type(TensorProto::FLOAT); });
    set("as int64", [](TensorProto& tensor) { tensor.set_data_type(TensorProto::INT64); });
}

} // namespace

std::vector<Malformation> malformationsOf(const ModelProto& model) {
    return Collector(model).run();
}

const std::vector<int64_t>& hostileIntegers() {
    static const std::vector<int64_t> out{INT64_MIN, -huge, -3, -1, 0, 1, 2, 5, huge, INT64_MAX};
    return out;
}

} // namespace fuselage::fuzz
