// SPDX-License-Identifier: Apache-2.0
// `--redact`: a model with one word and one number in every place that holds any, and every file
// that is written of it.
#include "app/report/render.h"
#include "tests/cli/cli.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace app = fuselage::app;
using namespace fuselage::cli_test;

namespace {

namespace fs = std::filesystem;

constexpr const char* word = "canary";
constexpr float number = 7531.25F;

/// The number as it is printed anywhere.
const std::vector<std::string> numbers{"7531", "7.531", "7.53e", "7 531", "7,531"};

class CliRedact : public Command {
protected:
    void SetUp() override {
        fs::create_directory(folder.file("canary_folder"));
        write(model(), "canary_folder/plain.onnx");
    }

    void write(const onnx::ModelProto& model, const std::string& name) const {
        std::ofstream out(folder.file(name), std::ios::binary);
        ASSERT_TRUE(model.SerializeToOstream(&out));
    }

    static void addFloat(onnx::GraphProto& graph, const std::string& name,
                         const std::vector<float>& values) {
        onnx::TensorProto& tensor = *graph.add_initializer();
        tensor.set_name(name);
        tensor.set_doc_string("canary of a weight");
        tensor.set_data_type(onnx::TensorProto::FLOAT);
        if (values.size() > 1)
            tensor.add_dims(static_cast<int64_t>(values.size()));
        for (float value : values)
            tensor.add_float_data(value);
    }

    static onnx::NodeProto& addNode(onnx::GraphProto& graph, const std::string& op,
                                    const std::vector<std::string>& inputs,
                                    const std::string& output) {
        onnx::NodeProto& node = *graph.add_node();
        node.set_op_type(op);
        node.set_name("/canary.block/canary_" + output);
        node.set_doc_string("canary of a node");
        for (const std::string& input : inputs)
            node.add_input(input == "x" ? "canary_x" : "/canary.block/canary_value_" + input);
        node.add_output(output == "y" ? "canary_y" : "/canary.block/canary_value_" + output);
        return node;
    }

    static void addValue(onnx::ValueInfoProto& value, const std::string& name) {
        value.set_name(name);
        value.set_doc_string("canary of a value");
        auto& type = *value.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnx::TensorProto::FLOAT);
        type.mutable_shape()->add_dim()->set_dim_value(4);
        type.mutable_shape()->add_dim()->set_dim_value(8);
    }

    /// A Gelu whose factors are the number: rules nearly match and say what they found.
    static onnx::ModelProto model() {
        onnx::ModelProto out;
        out.set_ir_version(8);
        out.set_producer_name("canary_producer");
        out.set_producer_version("canary");
        out.set_domain("canary.domain");
        out.set_doc_string("canary of the model");
        auto& entry = *out.add_metadata_props();
        entry.set_key("canary_key");
        entry.set_value("canary_value");
        for (auto [domain, version] : {std::pair("", 17), {"canary.functions", 1}}) {
            auto& opset = *out.add_opset_import();
            opset.set_domain(domain);
            opset.set_version(version);
        }
        onnx::FunctionProto& function = *out.add_functions();
        function.set_name("CanaryFunction");
        function.set_domain("canary.functions");
        function.set_doc_string("canary of a function");
        function.add_input("canary_in");
        function.add_output("canary_out");
        auto& opset = *function.add_opset_import();
        opset.set_version(17);
        onnx::NodeProto& inner = *function.add_node();
        inner.set_op_type("Softplus");
        inner.set_name("canary_inner");
        inner.add_input("canary_in");
        inner.add_output("canary_out");

        onnx::GraphProto& graph = *out.mutable_graph();
        graph.set_name("canary_graph");
        graph.set_doc_string("canary of the graph");
        addValue(*graph.add_input(), "canary_x");
        addValue(*graph.add_output(), "canary_y");
        addFloat(graph, "/canary.block/canary_value_root", {number});
        addFloat(graph, "/canary.block/canary_value_one", {number});
        addFloat(graph, "/canary.block/canary_value_half", {number});
        addFloat(graph, "/canary.block/canary_value_row", std::vector<float>(8, number));
        addNode(graph, "Div", {"x", "root"}, "a");
        addNode(graph, "Erf", {"a"}, "b");
        addNode(graph, "Add", {"b", "one"}, "c");
        addNode(graph, "Mul", {"x", "c"}, "d");
        addNode(graph, "Mul", {"d", "half"}, "e");
        onnx::NodeProto& leaky = addNode(graph, "LeakyRelu", {"e"}, "f");
        onnx::AttributeProto& alpha = *leaky.add_attribute();
        alpha.set_name("alpha");
        alpha.set_type(onnx::AttributeProto::FLOAT);
        alpha.set_f(number);
        alpha.set_doc_string("canary of an attribute");
        addNode(graph, "CanaryFunction", {"f"}, "g").set_domain("canary.functions");
        addNode(graph, "Identity", {"g"}, "i");
        addNode(graph, "Softmax", {"i"}, "h");
        addNode(graph, "Clip", {"h", "one", "half"}, "k");
        addNode(graph, "Add", {"k", "row"}, "y");
        return out;
    }

    /// Where the word or the number is in the files whose names begin so; names of files too.
    std::vector<std::string> found(const std::string& prefix) const {
        std::vector<std::string> out;
        for (const std::string& file : files()) {
            if (!file.starts_with(prefix) || !fs::is_regular_file(folder.file(file)))
                continue;
            look(file, readAll(folder.file(file)), out);
        }
        return out;
    }

    static void look(const std::string& file, std::string text, std::vector<std::string>& out) {
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        auto excerpt = [&](size_t at) {
            return file + ": ..." + text.substr(at > 60 ? at - 60 : 0, 140);
        };
        if (const size_t at = text.find(word); at != std::string::npos)
            out.push_back(excerpt(at));
        for (const std::string& digits : numbers)
            for (size_t at = text.find(digits); at != std::string::npos;
                 at = text.find(digits, at + 1))
                // Hashes and times hold any digits.
                if (at == 0 || (!std::isalnum(static_cast<unsigned char>(text[at - 1])) &&
                                text[at - 1] != '.' && digits != "7.531" && digits != "7.53e"))
                    out.push_back(excerpt(at));
    }
};

const std::vector<std::string> quiet{"--no-measure", "--no-verify", "--device", "h200", "-q"};

} // namespace

TEST_F(CliRedact, NoReportOfOneModelHoldsItsWordsOrNumbers) {
    for (const char* prefix : {"open", "hidden"}) {
        std::vector<std::string> words{"bench", "canary_folder/plain.onnx", "--explain"};
        words.insert(words.end(), quiet.begin(), quiet.end());
        for (const app::ReportFormat& format : app::reportFormats())
            words.insert(words.end(), {"--report", std::string(prefix) + format.ending});
        if (std::string(prefix) == "hidden")
            words.emplace_back("--redact");
        ProcessResult ran = run(words);
        ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
        folder.write(std::string(prefix) + ".terminal", ran.output + ran.errors);
    }
    EXPECT_GT(found("open").size(), 8U) << "the words are there without the option";
    const std::string open = readAll(folder.file("open.json"));
    const size_t misses = open.find("\"near_misses\": [");
    ASSERT_NE(misses, std::string::npos);
    EXPECT_NE(open.find("7531.25", misses), std::string::npos) << "a near miss names the number";
    EXPECT_NE(open.find("\"literal\": \"7531.25\""), std::string::npos);
    for (const std::string& place : found("hidden"))
        ADD_FAILURE() << place;
    const std::string hidden = readAll(folder.file("hidden.json"));
    EXPECT_NE(hidden.find("plain.onnx"), std::string::npos) << "the file's name stays";
    EXPECT_NE(hidden.find("LeakyRelu"), std::string::npos) << "operators stay";
    EXPECT_NE(hidden.find("\"near_misses\""), std::string::npos);
}

TEST_F(CliRedact, NoFileOfABatchHoldsThemNorDoesItsLog) {
    onnx::ModelProto broken = model();
    broken.mutable_graph()->mutable_node(2)->set_op_type("CanaryOperator");
    write(broken, "canary_folder/unknown.onnx");
    broken = model();
    broken.mutable_graph()->mutable_node(2)->set_input(0, "canary_missing");
    write(broken, "canary_folder/broken.onnx");
    folder.write("gates.toml", "[gate]\ntext = { metric = \"kernel_text\" }\n"
                               "less = { metric = \"launches\", max = 1 }\n");
    std::vector<std::string> words{"batch",       "canary_folder", "-o",      "hidden",
                                   "--no-verify", "--device",      "h200",    "--redact",
                                   "--gate",      "gates.toml",    "--github"};
    ProcessResult ran = run(words);
    EXPECT_EQ(ran.exitCode, ExitInput) << ran.output << ran.errors;
    folder.write("hidden.log", ran.output + ran.errors);
    for (const std::string& place : found("hidden"))
        ADD_FAILURE() << place;
    EXPECT_NE(ran.output.find("failed broken"), std::string::npos) << ran.output;
}

TEST_F(CliRedact, NorDoesAReportOfBodiesAndOfSizesThatDependOnData) {
    fs::create_directory(folder.file("branches"));
    writeText(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] canary_x, bool q) => (float[2,3] canary_y, int64[2,canary_places_dim1] z) {
            canary_y = If (q) <
                then_branch = canary_one () => (float[2,3] canary_t) {
                    canary_e = Exp(canary_x)
                    canary_t = Cos(canary_e)
                },
                else_branch = canary_two () => (float[2,3] canary_u) {
                    canary_n = Neg(canary_x)
                    canary_u = Sigmoid(canary_n)
                }>
            canary_places = NonZero(canary_x)
            z = Neg(canary_places)
        })");
    fs::rename(folder.file("m.onnx"), folder.file("branches/m.onnx"));
    const ProcessResult ran = run({"batch", "branches", "-o", "hidden", "--redact"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    folder.write("hidden.log", ran.output + ran.errors);
    for (const std::string& place : found("hidden"))
        ADD_FAILURE() << place;
    const std::string junit = readAll(folder.file("hidden/report.junit.xml"));
    EXPECT_NE(junit.find("against unfused, with "), std::string::npos) << "the other branch ran";
    EXPECT_EQ(junit.find("with q = "), std::string::npos) << junit;
}

TEST_F(CliRedact, FilesThatHoldTheModelAreRefused) {
    for (const char* option : {"--save-fused", "--dump-kernels"})
        expectRefused({"bench", "canary_folder/plain.onnx", "--redact", option, "x"}, ExitUsage,
                      {option, "fix: leave it out, or --redact"});
}
