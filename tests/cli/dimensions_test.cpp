// SPDX-License-Identifier: Apache-2.0
// Sizes that a file leaves open: placeholders, given inputs, sizes that are found, what is declared
// wrongly; through inspect, run, bench, fuse and the report.
#include "core/graph/tensor.h"
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"
#include "tests/unit/onnx_builder.h"

#include <filesystem>

using namespace fuselage::cli_test;
using fuselage::DType;
using fuselage::Tensor;
using fuselage::onnx_test::addAttribute;
using fuselage::onnx_test::ModelBuilder;
namespace fs = std::filesystem;

namespace {

/// Dimensions as exporters write them: a number, a name, or "" for neither.
void addInput(ModelBuilder& model, const std::string& name, const std::vector<std::string>& dims,
              int32_t type = 1) {
    model.input(name, {}, type);
    auto* shape = model.graph()
                      .mutable_input(model.graph().input_size() - 1)
                      ->mutable_type()
                      ->mutable_tensor_type()
                      ->mutable_shape();
    for (const std::string& dim : dims) {
        auto* out = shape->add_dim();
        if (dim.find_first_not_of("-0123456789") == std::string::npos && !dim.empty())
            out->set_dim_value(std::stoll(dim));
        else if (!dim.empty())
            out->set_dim_param(dim);
    }
}

/// Two pools of 2x2: sides of 1 to 3 are too small.
ModelBuilder image(const std::vector<std::string>& dims) {
    ModelBuilder model;
    addInput(model, "x", dims);
    model.output("y", {});
    model.graph().mutable_output(0)->clear_type();
    for (const auto& [from, to] : {std::pair("x", "a"), {"a", "y"}}) {
        auto& pool = model.node("MaxPool", {from}, {to});
        for (const char* name : {"kernel_shape", "strides"}) {
            auto& two = addAttribute(pool, name, ::onnx::AttributeProto::INTS);
            two.add_ints(2);
            two.add_ints(2);
        }
    }
    return model;
}

/// A key cache and what one step adds to it, with scores over all keys.
ModelBuilder decoderStep() {
    ModelBuilder model;
    addInput(model, "past", {"batch", "past_length", "4"});
    addInput(model, "step", {"batch", "step_length", "4"});
    model.output("present", {}).output("scores", {}).output("values", {});
    for (auto& output : *model.graph().mutable_output())
        output.clear_type();
    auto& join = model.node("Concat", {"past", "step"}, {"present"});
    addAttribute(join, "axis", ::onnx::AttributeProto::INT).set_i(1);
    auto& turned = model.node("Transpose", {"past"}, {"turned"});
    auto& order = addAttribute(turned, "perm", ::onnx::AttributeProto::INTS);
    for (int64_t axis : {0, 2, 1})
        order.add_ints(axis);
    model.node("MatMul", {"step", "turned"}, {"products"});
    model.node("Relu", {"products"}, {"scores"});
    model.node("MatMul", {"scores", "past"}, {"sums"});
    model.node("Add", {"sums", "step"}, {"values"});
    return model;
}

class CliDimensions : public Command {
protected:
    void write(const ModelBuilder& model) const { folder.write("m.onnx", model.bytes()); }

    /// data/input_0.pb ...: each element is its position.
    void give(const std::vector<fuselage::Extents>& inputs) const {
        fs::create_directories(folder.file("data"));
        for (size_t i = 0; i < inputs.size(); ++i) {
            Tensor tensor(DType::Float32, inputs[i]);
            for (int64_t at = 0; at < tensor.elementCount(); ++at)
                tensor.set(at, static_cast<double>(at));
            ASSERT_TRUE(fuselage::model_io::saveTensor(
                tensor, folder.file("data/input_" + std::to_string(i) + ".pb")));
        }
    }
};

} // namespace

TEST_F(CliDimensions, ImagesGetASizeThatFits) {
    write(image({"?", "3", "?", "?"}));
    EXPECT_NE(outputOf({"inspect", "m.onnx"}).find("x: float[x.0,3,x.2,x.3]"), std::string::npos);
    for (const char* backend : {"cpu", "reference"})
        EXPECT_EQ(outputOf({"run", "m.onnx", "--backend", backend, "--fuse"}),
                  "y: float[1,3,56,56]\n");
    EXPECT_NE(outputOf({"fuse", "m.onnx"}).find("nodes 2 -> "), std::string::npos);
    outputOf({"bench", "m.onnx", "--seconds", "0", "--backend", "cpu", "--report", "r.json"});
    const std::string report = readAll(folder.file("r.json"));
    EXPECT_NE(report.find("taken are x.0=1, x.2=224, x.3=224"), std::string::npos);
    EXPECT_NE(report.find("\"x.2\": 224"), std::string::npos);
}

TEST_F(CliDimensions, ExplainTakesSizesThatFitAsFuseDoes) {
    write(image({"?", "3", "?", "?"}));
    folder.write("r.fuse", "fuse 1;\nrule R { match { y = MaxPool(x) -> Relu; } }\n");
    const std::string out = outputOf({"explain", "m.onnx", "--no-builtin", "-p", "r.fuse", "-q"});
    EXPECT_NE(out.find("R (r.fuse:2) fires 0 times"), std::string::npos) << out;
    EXPECT_EQ(out.find("does not fit"), std::string::npos) << out;
}

TEST_F(CliDimensions, AnAxisIsGivenByItsName) {
    write(image({"0", "3", "-1", ""}));
    EXPECT_EQ(outputOf({"run", "m.onnx", "--dim", "x.2=8", "--dim", "x.3=16"}),
              "y: float[1,3,2,4]\n");
    expectRefused({"run", "m.onnx", "--dim", "x.1=4"}, ExitInput,
                  {"`x.1` is 3 in the file, not 4", "fix:"});
    expectRefused({"run", "m.onnx", "--dim", "H=4"}, ExitUsage,
                  {"no input has a dimension `H`", "x.0, x.2, x.3"});
}

TEST_F(CliDimensions, OneNameMayStandForTwoSizes) {
    write(image({"N", "3", "N", "N"}));
    EXPECT_EQ(outputOf({"run", "m.onnx", "--dim", "N=1", "--dim", "x.2=8", "--dim", "x.3=4"}),
              "y: float[1,3,2,1]\n");
    give({{2, 3, 8, 12}});
    EXPECT_EQ(outputOf({"run", "m.onnx", "--inputs", "data"}), "y: float[2,3,2,3]\n");
}

TEST_F(CliDimensions, ADimensionThatGivenInputsContradictIsNamedFirst) {
    write(decoderStep());
    give({{1, 2, 4}, {2, 1, 4}});
    expectRefused(
        {"run", "m.onnx", "--inputs", "data"}, ExitInput,
        {"dimension `batch` has two sizes, past.0 = 1 and step.0 = 2, which does not fit: ",
         "give inputs that have one size for each dimension"});
}

TEST_F(CliDimensions, TwoSizesForOneNameAreRefused) {
    writeText("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }");
    expectRefused({"run", "m.onnx", "--dim", "N=4", "--dim", "N=5"}, ExitUsage,
                  {"`N` is given two sizes, 4 and 5"});
    EXPECT_EQ(run({"run", "m.onnx", "--dim", "N=4", "--dim", "N=4"}).exitCode, ExitOk);
}

TEST_F(CliDimensions, WhatIsTooLargeIsAskedToBeSmallerWhereItIsOpen) {
    writeText("g (float[N,16] x, float[4] b) => (float[N,16] y) { y = Relu(x) }");
    for (const char* command : {"run", "explain"}) {
        const auto tooLarge = run({command, "m.onnx", "--dim", "N=1099511627776"});
        EXPECT_EQ(tooLarge.exitCode, ExitResource) << command;
        EXPECT_EQ(tooLarge.errors.find("`b`"), std::string::npos) << "what is large is blamed";
        EXPECT_EQ(tooLarge.errors.find("leaves no size open"), std::string::npos)
            << tooLarge.errors;
    }
    expectHas(run({"run", "m.onnx", "--dim", "N=1099511627776"}).errors,
              "give smaller sizes than now for N");
}

TEST_F(CliDimensions, TheSizeThatANodeDoesNotTakeIsNamed) {
    writeText("g (float[N] x, int64[S] ids, float[5,2] table) => (float[K] y, float[S,2] z) "
              "<int64[1] k = {5}> { y, i = TopK(x, k) z = Gather(table, ids) }");
    expectRefused({"run", "m.onnx", "-q", "--dim", "N=3"}, ExitInput,
                  {"cannot take 5 of [3]", "give dimensions of other sizes, e.g. N=5, S=1"});
    expectHas(outputOf({"run", "m.onnx", "-q"}), "y: float[5]");
    expectRefused({"run", "m.onnx", "-q", "--set", "ids=7"}, ExitInput,
                  {"what the node reads follows from the elements of `ids`: say what the model "
                   "expects with --set ids=NUMBER"});
    writeText("g (float[A] x) => (float[L,2] y) <float[3,2] table = {1, 2, 3, 4, 5, 6}, "
              "int64 o = {0}, int64 d = {1}> { s = Size(x) r = Range(o, s, d) "
              "y = Gather(table, r) }");
    const auto beyond = run({"run", "m.onnx", "-q", "--dim", "A=4"});
    EXPECT_EQ(beyond.exitCode, ExitInput);
    expectHas(beyond.errors, "what the node reads follows from A: ");
    writeText("g (float[N] x) => (float[A,B] y) <int64[2] huge = {4000000000, 4000000000}> "
              "{ c = ConstantOfShape(huge) y = Add(c, x) }");
    expectHas(run({"run", "m.onnx", "-q"}).errors, "constants of the model decide");
}

TEST_F(CliDimensions, GivenInputsBindAll) {
    write(image({"", "3", "H", "?"}));
    give({{2, 3, 9, 17}});
    for (const char* backend : {"cpu", "reference"})
        EXPECT_EQ(outputOf({"run", "m.onnx", "--inputs", "data", "--backend", backend}),
                  "y: float[2,3,2,4]\n");
    outputOf({"bench", "m.onnx", "--inputs", "data", "--seconds", "0", "--backend", "cpu"});
    expectRefused({"run", "m.onnx", "--inputs", "data", "--dim", "H=8"}, ExitInput,
                  {"`H` is given as 8, but axis 2 of the given input `x` is 9", "fix:"});
    EXPECT_EQ(outputOf({"run", "m.onnx", "--inputs", "data", "--dim", "H=9"}),
              "y: float[2,3,2,4]\n");
}

TEST_F(CliDimensions, LengthsOfZeroAreValues) {
    write(decoderStep());
    const std::string expected = "present: float[1,1,4]\nscores: float[1,1,0]\n"
                                 "values: float[1,1,4]\n";
    give({{1, 0, 4}, {1, 1, 4}});
    for (const char* backend : {"cpu", "reference"})
        for (const char* form : {"--fuse", "--quiet"}) {
            EXPECT_EQ(outputOf({"run", "m.onnx", "--inputs", "data", "--backend", backend, form,
                                "-o", "out"}),
                      expected);
            auto values = fuselage::model_io::loadTensor(folder.file("out/output_2.pb"));
            ASSERT_TRUE(values);
            for (int64_t i = 0; i < 4; ++i)
                EXPECT_EQ(values->at(i), static_cast<double>(i)) << "a sum of nothing is 0";
            EXPECT_EQ(
                outputOf({"run", "m.onnx", "--dim", "past_length=0", "--backend", backend, form}),
                expected);
        }
    auto measured =
        run({"bench", "m.onnx", "--inputs", "data", "--seconds", "0", "--backend", "cpu"});
    EXPECT_EQ(measured.exitCode, ExitOk) << measured.output << measured.errors;
}

TEST_F(CliDimensions, WhereNothingFitsOneSentenceSaysWhatToGive) {
    ModelBuilder model; // K must be 5 and 7
    addInput(model, "x", {"N", "K"});
    model.input("v", {5, 2}).input("w", {7, 2}).output("y", {}).output("z", {});
    for (auto& output : *model.graph().mutable_output())
        output.clear_type();
    model.node("MatMul", {"x", "v"}, {"y"});
    model.node("MatMul", {"x", "w"}, {"z"});
    write(model);
    for (const char* command : {"run", "bench"})
        expectRefused({command, "m.onnx"}, ExitInput,
                      {"no sizes were found that fit for K, N", "[dim.open]", "--dim K=SIZE"});
    auto inspected = run({"inspect", "m.onnx"});
    EXPECT_EQ(inspected.exitCode, ExitOk);
    EXPECT_NE(inspected.output.find("x: float[N,K]"), std::string::npos);
    EXPECT_NE((inspected.output + inspected.errors).find("--dim K=SIZE"), std::string::npos);
    EXPECT_EQ(run({"fuse", "m.onnx"}).exitCode, ExitOk);
}

TEST_F(CliDimensions, WrongDeclarationsAreNotes) {
    ModelBuilder model;
    model.input("x", {2, 3}).output("y", {7, 3});
    model.node("Relu", {"x"}, {"a"});
    model.node("Exp", {"a"}, {"y"});
    ModelBuilder::setType(*model.graph().add_value_info(), "a", {5, 3});
    write(model);
    for (const char* command : {"inspect", "run", "fuse"})
        EXPECT_EQ(run({command, "m.onnx"}).exitCode, ExitOk);
    EXPECT_EQ(outputOf({"run", "m.onnx", "--backend", "cpu"}), "y: float[2,3]\n");
    outputOf({"bench", "m.onnx", "--seconds", "0", "--backend", "cpu", "--report", "r.json"});
    const std::string report = readAll(folder.file("r.json"));
    EXPECT_NE(report.find("`a` is declared as float[5,3], but is float[2,3]"), std::string::npos);
    EXPECT_NE(report.find("output `y` is declared as float[7,3]"), std::string::npos);
}

TEST_F(CliDimensions, ADeclarationThatTheDataContradictIsANote) {
    ModelBuilder model;
    model.input("x", {4}).output("y", {1, 4});
    model.node("NonZero", {"x"}, {"where"});
    auto& cast = model.node("Cast", {"where"}, {"z"});
    addAttribute(cast, "to", ::onnx::AttributeProto::INT).set_i(1);
    model.node("Exp", {"z"}, {"y"});
    ModelBuilder::setType(*model.graph().add_value_info(), "where", {1, 4}, 7);
    write(model);
    give({{4}}); // 0 1 2 3: three of them are not 0
    for (const char* backend : {"cpu", "reference"})
        EXPECT_EQ(outputOf({"run", "m.onnx", "--inputs", "data", "--backend", backend}),
                  "y: float[1,3]\n");
    outputOf({"bench", "m.onnx", "--inputs", "data", "--seconds", "0", "--backend", "cpu",
              "--report", "r.json"});
    EXPECT_NE(readAll(folder.file("r.json")).find("the declaration is ignored"), std::string::npos);
}
