// SPDX-License-Identifier: Apache-2.0
// Small model files with attributes, shapes and declarations that make no sense, through the whole
// pipeline: load, prepare, fuse, plan, run, save. Every phase answers with a result or a coded
// error. Seeded by operator, so that a failure can be repeated; strongest under sanitizers.
#include "app/pipeline/fuse.h"
#include "core/ops/op_table.h"
#include "core/passes/passes.h"
#include "tests/support/through_pipeline.h"
#include "tests/unit/onnx_builder.h"

#include <fmt/format.h>

#include <limits>
#include <random>

using namespace fuselage;
using onnx_test::addAttribute;
using onnx_test::ModelBuilder;
using Attribute = ::onnx::AttributeProto;

namespace {

constexpr int trials = 24;

/// Makes one model: a node of the tested operator among a few ordinary ones.
class Mutator {
public:
    explicit Mutator(uint32_t seed) : m_engine(seed) {}

    ModelBuilder model(const OpRow& row);

private:
    int64_t below(int64_t bound) {
        return static_cast<int64_t>(m_engine() % static_cast<uint64_t>(bound));
    }

    bool oneIn(int64_t n) { return below(n) == 0; }

    template <typename T> const T& pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
    }

    /// Mostly small, sometimes what breaks index arithmetic. Sizes that fit but hurt are left out.
    int64_t integer() {
        static const std::vector<int64_t> extremes{INT64_MIN,        INT64_MIN + 1,
                                                   INT64_MAX,        INT64_MAX - 1,
                                                   int64_t(1) << 44, -(int64_t(1) << 44)};
        return oneIn(16) ? pick(extremes) : oneIn(3) ? below(8) - 3 : 1 + below(3);
    }

    float number() {
        static const std::vector<float> extremes{1e30F, -1e30F,
                                                 std::numeric_limits<float>::infinity(),
                                                 std::numeric_limits<float>::quiet_NaN()};
        return oneIn(12) ? pick(extremes) : static_cast<float>(below(17) - 8) / 4;
    }

    std::string word() {
        static const std::vector<std::string> words{
            "",           "linear", "cubic",         "reflect",    "edge",     "add",
            "none",       "max",    "NOTSET",        "SAME_UPPER", "bilinear", "align_corners",
            "SAME_LOWER", "VALID",  "bidirectional", "../a\nb/c",  "i,j->ij",  "bij,bjk->bik"};
        return pick(words);
    }

    int32_t type() {
        static const std::vector<int32_t> types{1, 1, 1, 1, 1, 7, 7, 9, 2, 10, 11, 6, 3, 8};
        return pick(types);
    }

    std::vector<int64_t> dims() {
        if (oneIn(3))
            return m_common;
        std::vector<int64_t> out(static_cast<size_t>(below(5)));
        for (int64_t& dim : out)
            dim = oneIn(8) ? 0 : oneIn(40) ? int64_t(1) << 44 : 1 + below(4);
        return out;
    }

    void addInitializer(ModelBuilder& model, const std::string& name);
    void addValue(ModelBuilder& model);
    void addAttributes(::onnx::NodeProto& node, const OpRow& row);
    void addNode(ModelBuilder& model, const OpRow& row);
    static ::onnx::GraphProto identityBody(int64_t inputs);

    std::mt19937 m_engine;
    std::vector<int64_t> m_common;
    std::vector<std::string> m_values;
    int m_named = 0;
};

void Mutator::addInitializer(ModelBuilder& model, const std::string& name) {
    if (oneIn(2)) { // parameters are mostly short lists
        const int64_t count = below(5);
        auto& tensor = oneIn(4) && count == 1 ? model.initializer(name, {}, 7)
                                              : model.initializer(name, {count}, 7);
        for (int64_t i = 0; i < count; ++i)
            tensor.add_int64_data(integer());
        return;
    }
    std::vector<int64_t> shape = dims();
    int64_t count = 1;
    for (int64_t& dim : shape)
        count *= dim = std::min<int64_t>(dim, 4);
    auto& tensor = model.initializer(name, shape, 1);
    for (int64_t i = 0; i < count; ++i)
        tensor.add_float_data(number());
}

void Mutator::addValue(ModelBuilder& model) {
    std::string name = fmt::format("v{}", m_named++);
    if (oneIn(2)) {
        addInitializer(model, name);
    } else {
        model.input(name, dims(), oneIn(3) ? type() : 1);
        if (oneIn(10)) {
            auto* shape = model.graph()
                              .mutable_input(model.graph().input_size() - 1)
                              ->mutable_type()
                              ->mutable_tensor_type()
                              ->mutable_shape();
            if (shape->dim_size() > 0)
                shape->mutable_dim(0)->set_dim_param("N");
        }
    }
    m_values.push_back(name);
}

::onnx::GraphProto Mutator::identityBody(int64_t inputs) {
    ModelBuilder body;
    for (int64_t i = 0; i < inputs; ++i)
        ModelBuilder::setType(*body.graph().add_input(), fmt::format("b{}", i), {});
    body.node("Relu", {inputs > 0 ? "b0" : "v0"}, {"b_out"});
    body.output("b_out");
    return body.graph();
}

void Mutator::addAttributes(::onnx::NodeProto& node, const OpRow& row) {
    for (const AttributeSchema& schema : attributesOf(row.op)) {
        if (!schema.required && oneIn(2))
            continue;
        const std::string& kind = schema.type;
        const int64_t many = below(5);
        if (kind == "int") {
            addAttribute(node, schema.name, Attribute::INT).set_i(integer());
        } else if (kind == "float") {
            addAttribute(node, schema.name, Attribute::FLOAT).set_f(number());
        } else if (kind == "string") {
            addAttribute(node, schema.name, Attribute::STRING).set_s(word());
        } else if (kind == "ints") {
            auto& attribute = addAttribute(node, schema.name, Attribute::INTS);
            for (int64_t i = 0; i < many; ++i)
                attribute.add_ints(integer());
        } else if (kind == "floats") {
            auto& attribute = addAttribute(node, schema.name, Attribute::FLOATS);
            for (int64_t i = 0; i < many; ++i)
                attribute.add_floats(number());
        } else if (kind == "strings") {
            auto& attribute = addAttribute(node, schema.name, Attribute::STRINGS);
            for (int64_t i = 0; i < many; ++i)
                attribute.add_strings(word());
        } else if (kind == "tensor") {
            auto* tensor = addAttribute(node, schema.name, Attribute::TENSOR).mutable_t();
            tensor->set_data_type(1);
            tensor->add_dims(many);
            for (int64_t i = 0; i < many; ++i)
                tensor->add_float_data(number());
        } else if (kind == "graph") {
            *addAttribute(node, schema.name, Attribute::GRAPH).mutable_g() = identityBody(below(4));
        }
    }
}

void Mutator::addNode(ModelBuilder& model, const OpRow& row) {
    const int64_t most = std::min(row.maxInputs, 6) - row.minInputs + 1;
    int64_t inputs = row.minInputs + (most > 0 ? below(most) : 0);
    if (oneIn(30))
        inputs = below(4);
    std::vector<std::string> read, made;
    for (int64_t i = 0; i < inputs; ++i)
        read.push_back(oneIn(25) ? "" : oneIn(2) ? m_values.back() : pick(m_values));
    const int64_t outputs =
        std::max<int64_t>(1, row.minOutputs) + (row.maxOutputs > 1 && oneIn(2) ? 1 : 0);
    for (int64_t i = 0; i < outputs; ++i)
        made.push_back(oneIn(25) ? "" : fmt::format("v{}", m_named++));
    auto& node = model.node(row.name, read, made);
    node.set_domain(row.domain);
    addAttributes(node, row);
    for (const std::string& name : made) {
        if (name.empty())
            continue;
        m_values.push_back(name);
        if (oneIn(8)) // a declaration that may lie
            ModelBuilder::setType(*model.graph().add_value_info(), name, dims(), type());
        if (oneIn(2))
            ModelBuilder::setType(*model.graph().add_output(), name, dims(), oneIn(4) ? type() : 1);
    }
}

ModelBuilder Mutator::model(const OpRow& row) {
    ModelBuilder out(22, 10);
    auto* contrib = out.proto.add_opset_import();
    contrib->set_domain("com.microsoft");
    contrib->set_version(1);
    m_common = {1 + below(3), 1 + below(3), 1 + below(4)};
    if (oneIn(2))
        m_common.push_back(1 + below(4));
    for (int64_t i = 3 + below(4); i-- > 0;)
        addValue(out);
    static const std::vector<Op> company{Op::Relu,      Op::Add,     Op::Reshape, Op::Transpose,
                                         Op::Slice,     Op::MatMul,  Op::Concat,  Op::Softmax,
                                         Op::Unsqueeze, Op::Squeeze, Op::Split,   Op::Identity};
    if (oneIn(2))
        addNode(out, rowOf(pick(company)));
    addNode(out, row);
    for (int64_t i = below(3); i-- > 0;)
        addNode(out, rowOf(pick(company)));
    out.output(m_values.back());
    return out;
}

const app::RuleLibrary& library() {
    static const app::RuleLibrary loaded = *app::loadRuleLibrary({});
    return loaded;
}

/// All phases; returns true when the model could be loaded and prepared.
bool throughPipeline(const std::string& bytes) {
    const auto passage = testing_support::throughPipeline(bytes);
    EXPECT_EQ(testing_support::uncodedError(passage), "");
    return passage.prepared;
}

std::vector<Op> testedOps() {
    std::vector<Op> out;
    for (const OpRow& row : allRows())
        if (row.infer || row.reference || row.tape)
            out.push_back(row.op);
    return out;
}

class HostileModels : public ::testing::TestWithParam<Op> {};

} // namespace

TEST_P(HostileModels, EveryPhaseAnswers) {
    for (int trial = 0; trial < trials; ++trial) {
        SCOPED_TRACE("trial " + std::to_string(trial));
        Mutator mutator(static_cast<uint32_t>(GetParam()) * 7919U + static_cast<uint32_t>(trial));
        const ModelBuilder model = mutator.model(rowOf(GetParam()));
        throughPipeline(model.bytes());
        if (HasFailure()) {
            ADD_FAILURE() << model.proto.DebugString();
            break;
        }
    }
}

TEST(HostileFiles, AFileWithWrongBytesIsAnswered) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 400; ++trial) {
        const auto op = static_cast<Op>(2 + random() % (static_cast<uint32_t>(Op::Count_) - 2));
        std::string bytes = Mutator(static_cast<uint32_t>(trial)).model(rowOf(op)).bytes();
        for (uint32_t change = 1 + random() % 4; change-- > 0;)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        if (random() % 4 == 0)
            bytes.resize(random() % bytes.size());
        SCOPED_TRACE("trial " + std::to_string(trial));
        throughPipeline(bytes);
    }
}

namespace {

/// Conv, bias, Relu and a Softmax with a tail, fused and saved: a file with fused functions.
::onnx::ModelProto fusedModel() {
    auto graph = model_io::loadText(
        "g (float[1,4,6,6] x, float[4,4,3,3] w, float[4] b, float[6,6] m) => (float[1,4,6,6] y) {"
        " c = Conv<pads=[1,1,1,1]>(x, w, b)  r = Relu(c)  t = MatMul(r, m)  s = Softmax(t)"
        " a = Add(s, r)  y = Sigmoid(a) }");
    Progress progress;
    EXPECT_TRUE(graph && prepareGraph(*graph, progress));
    auto fused = app::fuseGraph(*graph, library(), {}, progress);
    auto bytes = model_io::toBytes(fused->graph);
    ::onnx::ModelProto out;
    EXPECT_TRUE(bytes && out.ParseFromString(*bytes));
    EXPECT_GT(out.functions_size(), 0);
    return out;
}

template <typename List> void disturb(List& list, std::mt19937& random) {
    if (list.empty())
        return;
    const int at = static_cast<int>(random() % static_cast<uint32_t>(list.size()));
    switch (random() % 4) {
    case 0:
        list.DeleteSubrange(at, 1);
        break;
    case 1:
        list.Add()->assign(list.Get(at));
        break;
    case 2:
        list.Mutable(at)->clear();
        break;
    default:
        list.Mutable(at)->assign(list.Get(0));
        break;
    }
}

} // namespace

TEST(HostileFiles, FusedFunctionsWithOtherSignaturesAreAnswered) {
    const ::onnx::ModelProto saved = fusedModel();
    std::mt19937 random(11);
    int ran = 0;
    for (int trial = 0; trial < 300; ++trial) {
        ::onnx::ModelProto model = saved;
        const auto which = random() % static_cast<uint32_t>(model.functions_size());
        auto& function = *model.mutable_functions(static_cast<int>(which));
        for (uint32_t change = 1 + random() % 3; change-- > 0;) {
            auto& nodes =
                random() % 2 ? *model.mutable_graph()->mutable_node() : *function.mutable_node();
            auto& node =
                *nodes.Mutable(static_cast<int>(random() % static_cast<uint32_t>(nodes.size())));
            switch (random() % 8) {
            case 0:
                disturb(*function.mutable_input(), random);
                break;
            case 1:
                disturb(*function.mutable_output(), random);
                break;
            case 2: // a call in a function, perhaps of itself
                *function.add_node() = node;
                break;
            case 3: // names of the body come from a comment
                node.mutable_doc_string()->append("\nvalues: x, x, x\nnodes: a, a");
                break;
            case 4:
                node.mutable_doc_string()->resize(node.doc_string().size() / 2);
                break;
            case 5:
                disturb(*node.mutable_output(), random);
                break;
            default:
                disturb(*node.mutable_input(), random);
                break;
            }
        }
        SCOPED_TRACE("trial " + std::to_string(trial));
        ran += throughPipeline(model.SerializeAsString()) ? 1 : 0;
    }
    EXPECT_GT(ran, 20);
}

TEST(HostileFiles, AnOperatorWithManyOperandsIsAnswered) {
    ModelBuilder model;
    model.input("x", {2, 3}).output("y", {2, 3});
    model.node("Sum", std::vector<std::string>(70000, "x"), {"y"});
    throughPipeline(model.bytes());
}

TEST(HostileFiles, AnIndexThatIsTextIsAnswered) {
    ModelBuilder model;
    model.input("x", {4, 3}).output("y", {2, 3});
    model.initializer("text", {1}, 8).add_string_data("0");
    model.node("Slice", {"x", "text", "text"}, {"y"});
    EXPECT_TRUE(throughPipeline(model.bytes()));
}

INSTANTIATE_TEST_SUITE_P(Operators, HostileModels, ::testing::ValuesIn(testedOps()),
                         [](const auto& info) {
                             return std::string(nameOf(info.param)) +
                                    (rowOf(info.param).domain[0] ? "_contrib" : "");
                         });
