// SPDX-License-Identifier: Apache-2.0
// Nodes of every opset arrive in one form.
#include "core/graph/text.h"
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/plan/backend.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

/// The nodes of a model of that opset, as text between the braces, or the error.
std::string nodesOf(int opset, const std::string& graph, const std::string& domain = "") {
    std::string source = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                         ", \"com.microsoft\" : 1]> " + graph;
    auto loaded = model_io::loadText(source);
    (void)domain;
    if (!loaded)
        return loaded.error().code;
    auto sound = verify(*loaded);
    if (!sound)
        return sound.error().text();
    std::string all = text(*loaded);
    size_t begin = all.find("\n{\n");
    std::string out;
    for (char c : all.substr(begin + 3, all.size() - begin - 5))
        if (c != '\n')
            out += c;
    return out.substr(3);
}

/// The constants of the same, "<...>" without the brackets.
std::string constantsOf(int opset, const std::string& graph) {
    auto loaded = model_io::loadText(
        "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> " + graph);
    if (!loaded)
        return loaded.error().code;
    std::string all = text(*loaded);
    size_t begin = all.find("\n<");
    return begin == std::string::npos ? "" : all.substr(begin + 2, all.find(">\n{") - begin - 2);
}

} // namespace

TEST(OnnxNormalise, OldBroadcastAlignsTheSecondOperand) {
    const char* graph = "g (float[2,3,4,5] a, float[3,4] b) => (y) "
                        "{ y = Add <broadcast = 1, axis = 1> (a, b) }";
    EXPECT_EQ(nodesOf(6, graph), "y_aligned = Unsqueeze(b, y_axes)   y = Add(a, y_aligned)");
    EXPECT_EQ(constantsOf(6, graph), "int64[1] y_axes = {2}");
}

TEST(OnnxNormalise, OldBroadcastAtTheEndNeedsNothing) {
    EXPECT_EQ(nodesOf(6, "g (float[2,3] a, float[3] b) => (y) "
                         "{ y = Mul <broadcast = 1, axis = 1> (a, b) }"),
              "y = Mul(a, b)");
}

TEST(OnnxNormalise, OldBroadcastOfUnknownRankIsRefused) {
    EXPECT_EQ(nodesOf(6, "g (float[] a, float[3] b) => (y) "
                         "{ y = Mul <broadcast = 1, axis = 1> (a, b) }"),
              "load.rank");
}

TEST(OnnxNormalise, OldSlopesBelongToChannels) {
    EXPECT_EQ(nodesOf(6, "g (float[2,3,4,5] x, float[3] s) => (y) { y = PRelu(x, s) }"),
              "y_aligned = Unsqueeze(s, y_axes)   y = PRelu(x, y_aligned)");
    EXPECT_EQ(nodesOf(9, "g (float[2,3,4,5] x, float[5] s) => (y) { y = PRelu(x, s) }"),
              "y = PRelu(x, s)");
}

TEST(OnnxNormalise, ClipBoundsBecomeInputsOfTheRightType) {
    const char* graph = "g (double[2] x) => (y) { y = Clip <min = 0.0, max = 6.0> (x) }";
    EXPECT_EQ(nodesOf(6, graph), "y = Clip(x, y_min, y_max)");
    EXPECT_EQ(constantsOf(6, graph), "double y_min = {0},\n double y_max = {6}");
    EXPECT_EQ(nodesOf(10, "g (float[2] x) => (y) { y = Clip <max = 6.0> (x) }"),
              "y = Clip(x, ``, y_max)");
    EXPECT_EQ(nodesOf(10, "g (float[2] x) => (y) { y = Clip(x) }"), "y = Clip(x)");
}

TEST(OnnxNormalise, CastNamesBecomeNumbers) {
    EXPECT_EQ(nodesOf(5, "g (float[2] x) => (y) { y = Cast <to = \"INT64\"> (x) }"),
              "y = Cast <to = 7> (x)");
}

TEST(OnnxNormalise, DropoutRatioBecomesAnInput) {
    const char* graph = "g (float[2] x) => (y) { y = Dropout <ratio = 0.25> (x) }";
    EXPECT_EQ(nodesOf(10, graph), "y = Dropout(x, y_ratio)");
    EXPECT_EQ(constantsOf(10, graph), "float y_ratio = {0.25}");
}

TEST(OnnxNormalise, ConstantsBecomeTensors) {
    EXPECT_EQ(nodesOf(13, "g () => (y) { y = Constant <value_float = 1.5> () }"),
              "y = Constant <value = float {1.5}> ()");
    EXPECT_EQ(nodesOf(13, "g () => (y) { y = Constant <value_ints = [3, 4]> () }"),
              "y = Constant <value = int64[2] {3, 4}> ()");
    EXPECT_EQ(nodesOf(13, "g () => (y) { y = Constant <value_strings = [\"a\", \"b\"]> () }"),
              "y = Constant <value = string[2] {\"a\", \"b\"}> ()");
    EXPECT_EQ(nodesOf(13, "g () => (y) { y = Constant() }"), "load.attribute");
}

TEST(OnnxNormalise, ShapeAttributesBecomeInputs) {
    EXPECT_EQ(nodesOf(4, "g (float[6] x) => (y) { y = Reshape <shape = [2, 3]> (x) }"),
              "y = Reshape(x, y_shape)");
    EXPECT_EQ(nodesOf(11, "g (float[1,6] x) => (y) { y = Squeeze <axes = [0]> (x) }"),
              "y = Squeeze(x, y_axes)");
    EXPECT_EQ(nodesOf(11, "g (float[6] x) => (y) { y = Unsqueeze <axes = [0]> (x) }"),
              "y = Unsqueeze(x, y_axes)");
    EXPECT_EQ(nodesOf(11, "g (float[2,3] x) => (y) { y = ReduceSum <axes = [1]> (x) }"),
              "y = ReduceSum(x, y_axes)");
    EXPECT_EQ(nodesOf(11, "g (float[6] x) => (y, z) { y, z = Split <split = [2, 4]> (x) }"),
              "y, z = Split(x, y_split)");
}

TEST(OnnxNormalise, SliceAndPadAndTopKTakeInputs) {
    EXPECT_EQ(nodesOf(9, "g (float[6] x) => (y) "
                         "{ y = Slice <starts = [1], ends = [3], axes = [0]> (x) }"),
              "y = Slice(x, y_starts, y_ends, y_axes)");
    EXPECT_EQ(nodesOf(9, "g (float[6] x) => (y) { y = Pad <pads = [1, 1], value = 2.0> (x) }"),
              "y = Pad(x, y_pads, y_value)");
    EXPECT_EQ(nodesOf(9, "g (float[6] x) => (y, z) { y, z = TopK <k = 2> (x) }"),
              "y, z = TopK(x, y_k)");
}

TEST(OnnxNormalise, PadsOfSomeAxesCoverAllDimensions) {
    const char* graph = "g (float[2,3] x) => (y) <int64[2] p = {1, 2}, int64[1] a = {-1}> "
                        "{ y = Pad(x, p, ``, a) }";
    EXPECT_EQ(nodesOf(18, graph), "y = Pad(x, y_pads)");
    EXPECT_EQ(constantsOf(18, graph), "int64[4] y_pads = {0, 1, 0, 2}");
}

TEST(OnnxNormalise, NewReductionsKeepTheirAxesAsAttribute) {
    const char* graph =
        "g (float[2,3] x) => (y) <int64[1] a = {1}> { y = ReduceMax <keepdims = 0> (x, a) }";
    EXPECT_EQ(nodesOf(18, graph), "y = ReduceMax <axes = [1], keepdims = 0> (x)");
    EXPECT_EQ(nodesOf(18, "g (float[2] x) => (y) { y = ReduceMax <noop_with_empty_axes = 1> (x) }"),
              "y = Identity(x)");
}

TEST(OnnxNormalise, ReductionsOfNothingStillTakeTheirNormsAndLogarithms) {
    const auto without = [](const char* op) {
        return nodesOf(18, std::string("g (float[2] x) => (y) { y = ") + op +
                               " <noop_with_empty_axes = 1> (x) }");
    };
    EXPECT_EQ(without("ReduceL1"), "y = Abs(x)");
    EXPECT_EQ(without("ReduceL2"), "y = Abs(x)");
    EXPECT_EQ(without("ReduceLogSum"), "y = Log(x)");
    EXPECT_EQ(without("ReduceSumSquare"), "y = Mul(x, x)");
    EXPECT_EQ(without("ReduceMean"), "y = Identity(x)");
    EXPECT_EQ(nodesOf(18, "g (float[2] x) => (y) <int64[0] a = {}> "
                          "{ y = ReduceL1 <noop_with_empty_axes = 1> (x, a) }"),
              "y = Abs(x)");
}

TEST(OnnxNormalise, AxesComputedAtRunTimeStayAnInput) {
    EXPECT_EQ(nodesOf(18, "g (float[2,3] x, int64[1] a) => (y) { y = ReduceMax(x, a) }"),
              "y = ReduceMax(x, a)");
}

TEST(OnnxNormalise, OtherOperatorsUnderAnOldNameAreKeptUnknown) {
    auto graph = model_io::loadText(
        "<ir_version: 3, opset_import: [\"\" : 1]> g (float[2,3] x, float[1] t, float[1] a) => (y) "
        "{ y = Tile(x, t, a) }");
    ASSERT_TRUE(graph);
    const Node& node = graph->node(graph->nodes()[0]);
    EXPECT_EQ(node.op, Op::Unknown);
    EXPECT_EQ(node.customOp, "Tile");
}

TEST(OnnxNormalise, SoftmaxOverTheLastAxisStaysPlain) {
    EXPECT_EQ(nodesOf(11, "g (float[2,3,4] x) => (y) { y = Softmax <axis = 2> (x) }"),
              "y = Softmax(x)");
    EXPECT_EQ(nodesOf(11, "g (float[2,3,1,1] x) => (y) { y = Softmax(x) }"),
              "y = Softmax <axis = 1> (x)");
}

TEST(OnnxNormalise, SoftmaxFindsTheRankThroughOperators) {
    EXPECT_EQ(nodesOf(11, "g (float[2,3,4] x, float[] m, float s) => (y) "
                          "{ t = Transpose <perm = [0, 2, 1]> (x) u = Div(t, s) "
                          "y = Softmax <axis = 2> (u) }"),
              "t = Transpose <perm = [0, 2, 1]> (x)   u = Div(t, s)   y = Softmax(u)");
}

TEST(OnnxNormalise, SoftmaxFindsTheRankThroughConstantNodes) {
    EXPECT_EQ(nodesOf(11, "g (float[2,3,4] x) => (y) { s = Constant <value = float {2}> () "
                          "u = Div(x, s) y = Softmax <axis = 2> (u) }"),
              "s = Constant <value = float {2}> ()   u = Div(x, s)   y = Softmax(u)");
}

TEST(OnnxNormalise, FlatSoftmaxIsFlattenedAroundItsAxis) {
    EXPECT_EQ(nodesOf(11, "g (float[2,3,4] x) => (y) { y = LogSoftmax(x) }"),
              "y_flat = Flatten(x)   y_rows = LogSoftmax(y_flat)   y_shape = Shape(x)   "
              "y = Reshape <allowzero = 1> (y_rows, y_shape)");
}

TEST(OnnxNormalise, BatchNormalizationSaysTrainingByAttribute) {
    const char* inference = "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) "
                            "=> (y) { y = BatchNormalization <spatial = 1> (x, s, b, m, v) }";
    EXPECT_EQ(nodesOf(7, inference), "y = BatchNormalization(x, s, b, m, v)");
    const char* training = "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) "
                           "=> (y) { y, n, w, p, q = BatchNormalization(x, s, b, m, v) }";
    EXPECT_EQ(nodesOf(9, training),
              "y, n, w = BatchNormalization <training_mode = 1> (x, s, b, m, v)");
}

/// ONNX's own test of opset 10: of 1, 2, 3, 4 at a scale of 0.6 the first and the third.
TEST(OnnxNormalise, NearestOfOpset10LooksBehindWhereItShrinks) {
    const auto nodesAt = [](const char* scales) {
        return nodesOf(10, std::string("g (float[1,1,4,4] x) => (y) <float[4] s = {") + scales +
                               "}> { y = Resize <mode = \"nearest\"> (x, s) }");
    };
    const auto countOf = [](const std::string& text, const std::string& word) {
        size_t count = 0;
        for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
            ++count;
        return count;
    };
    const std::string shrunk = nodesAt("1,1,0.6,0.6"), both = nodesAt("1,1,0.6,2");
    EXPECT_EQ(countOf(shrunk, "\"ceil\""), 1U) << shrunk;
    EXPECT_EQ(countOf(shrunk, "Resize"), 1U) << shrunk;
    EXPECT_EQ(countOf(both, "Resize"), 2U) << both;
    EXPECT_LT(both.find("\"ceil\""), both.find("\"floor\"")) << both;
    EXPECT_LT(both.find("Min"), both.find("Max")) << both;
    EXPECT_EQ(countOf(nodesAt("1,1,2,2"), "ceil"), 0U) << "an axis that grows";
    const std::string computed = nodesOf(
        10, "g (float[1,1,4,4] x, float[4] s) => (y) { y = Resize <mode = \"nearest\"> (x, s) }");
    EXPECT_EQ(countOf(computed, "Resize"), 2U) << computed;
}

TEST(OnnxNormalise, UpsampleAndResize10BecomeResize) {
    const char* resize = "y = Resize <coordinate_transformation_mode = \"asymmetric\", mode = "
                         "\"nearest\", nearest_mode = \"floor\"> (x, ``, ";
    std::string upsample =
        nodesOf(7, "g (float[1,1,2,2] x) => (y) { y = Upsample <mode = \"nearest\", scales = "
                   "[1.0, 1.0, 2.0, 2.0]> (x) }");
    std::string older = nodesOf(10, "g (float[1,1,2,2] x) => (y) <float[4] s = {1,1,2,2}> "
                                    "{ y = Resize <mode = \"nearest\"> (x, s) }");
    for (std::string* found : {&upsample, &older})
        if (size_t mode = found->find("mode = \"nearest\", "); mode == std::string::npos)
            found->replace(found->find("nearest_mode"), 0, "mode = \"nearest\", ");
    EXPECT_EQ(upsample, std::string(resize) + "y_scales)");
    EXPECT_EQ(older, std::string(resize) + "s)");
}

TEST(OnnxNormalise, EmptyInputsOfResizeAreOmitted) {
    EXPECT_EQ(nodesOf(13, "g (float[1,1,2,2] x, float[4] s) => (y) <float[0] e = {}> "
                          "{ y = Resize(x, e, s) }"),
              "y = Resize(x, ``, s)");
}

TEST(OnnxNormalise, ScatterIsScatterElements) {
    EXPECT_EQ(nodesOf(9, "g (float[3] x, int64[1] i, float[1] u) => (y) { y = Scatter(x, i, u) }"),
              "y = ScatterElements(x, i, u)");
}

TEST(OnnxNormalise, FloatsAreSinglePrecisionAlsoInDefaults) {
    auto graph = model_io::loadText(
        "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (y, z) "
        "{ y = BatchNormalization(x, s, b, m, v) "
        "z = BatchNormalization <epsilon = 1e-5> (x, s, b, m, v) }");
    ASSERT_TRUE(graph);
    std::vector<NodeId> nodes = graph->nodes();
    EXPECT_TRUE(equal(*graph->node(nodes[0]).attributes.find("epsilon"),
                      *graph->node(nodes[1]).attributes.find("epsilon")));
}

TEST(OnnxNormalise, AttributesOfAnotherKindAreRefused) {
    const std::pair<int, const char*> wrong[] = {
        {6, "g (float[2,3] a, float[3] b) => (y) { y = Add <broadcast = \"1\"> (a, b) }"},
        {9, "g (float[4,6] x) => (y) { y = Clip <min = \"0\"> (x) }"},
        {9, "g (float[4,6] x) => (y) { y = Slice <starts = [1], ends = 3> (x) }"},
        {9, "g (float[4,6] x) => (y, i) { y, i = TopK <k = \"3\"> (x) }"},
        {9, "g (float[4,6] x) => (y) { y = Pad <pads = 1> (x) }"},
        {11, "g (float[4,1] x) => (y) { y = Squeeze <axes = 1> (x) }"},
        {11, "g (float[4,6] x) => (y, z) { y, z = Split <split = 2> (x) }"},
        {11, "g (float[4,6] x) => (y) { y = Softmax <axis = [0]> (x) }"},
        {18, "g (float[4,6] x) => (y) { y = ReduceMax <noop_with_empty_axes = \"1\"> (x) }"},
        {13, "g () => (y) { y = Constant <value_int = 1.5> () }"},
        {13, "g () => (y) { y = Constant <value_floats = 1> () }"},
    };
    for (const auto& [opset, graph] : wrong)
        EXPECT_EQ(nodesOf(opset, graph), "load.attribute") << graph;
}

TEST(OnnxNormalise, AnInputTooManyIsNotDropped) {
    const std::pair<int, const char*> wrong[] = {
        {18, "g (float[4,6] x) => (y) <int64[1] a = {1}> { y = ReduceMax(x, a, x) }"},
        {9, "g (float[1,1,2,2] x) => (y) <float[4] s = {1,1,2,2}> { y = Upsample(x, s, x) }"},
        {20, "g (float[1,4,1] x) => (y) <int64 n = {4}, int64 a = {1}> { y = DFT(x, n, a, x) }"},
    };
    for (const auto& [opset, graph] : wrong)
        EXPECT_EQ(nodesOf(opset, graph), "load.arity") << graph;
}

TEST(OnnxNormalise, APowerThatIsNoNumberIsRefused) {
    EXPECT_EQ(nodesOf(1, "g (float[1,1,2,2] x) => (y) { y = GlobalLpPool <p = 1e30> (x) }"),
              "load.attribute");
}

TEST(OnnxNormalise, OperatorsOnStoredValuesAreWrittenOut) {
    const std::string begin = "g (uint8[1,1,2,2] x, uint8[1,2] a) => (y) "
                              "<float s = {0.5}, uint8 z = {2}, float t = {0.5}, uint8 o = {1}, "
                              " int8[2,2] w = {1, 2, 3, 4}, float[2] v = {1, 0.5}, "
                              " int8[2] n = {0, 0}, int32[2] b = {4, 8}, bool[1] yes = {1}> ";
    // x is stored as {2, 4, 6, 8}: 0, 1, 2, 3; a as {2, 4}: 0, 1
    const struct {
        const char* node;
        std::vector<double> wanted;
    } rows[] = {
        {"y = com.microsoft.QLinearAdd(x, s, z, x, s, z, t, o)", {1, 5, 9, 13}},
        {"y = com.microsoft.QLinearMul(x, s, z, x, s, z, t, o)", {1, 3, 9, 19}},
        {"y = com.microsoft.QLinearAdd(x, s, ``, x, s, ``, t, ``)", {4, 8, 12, 16}},
        {"y = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (x, s, z, t, o)", {1, 3, 5, 7}},
        {"y = com.microsoft.QLinearSigmoid(x, s, z, t, o)", {2, 2, 3, 3}},
        {"y = com.microsoft.QLinearSoftmax <axis = -1, opset = 13> (a, s, z, t, o)", {2, 2}},
        {"y = com.microsoft.QLinearGlobalAveragePool(x, s, z, t, o)", {4}},
        {"y = com.microsoft.QLinearAveragePool <kernel_shape = [1, 2]> (x, s, z, t, o)", {2, 6}},
        {"y = com.microsoft.QLinearConcat <axis = 1> (t, o, a, s, z, a, s, o)", {1, 3, 2, 4}},
        {"y = com.microsoft.QLinearWhere(yes, a, s, z, a, s, o, t, o)", {1, 3}},
        {"y = com.microsoft.QGemm(a, s, z, w, v, n)", {3, 2}},
        {"y = com.microsoft.QGemm <alpha = 2.0> (a, s, z, w, v, n)", {6, 4}},
        {"y = com.microsoft.QGemm <transB = 1> (a, s, z, w, v, n, b, t, o)", {9, 9}},
        {"y = com.microsoft.MatMulIntegerToFloat(a, w, s, v, z, n)", {3, 2}},
        {"y = com.microsoft.MatMulIntegerToFloat(a, w, s, v)", {7, 5}},
        {"f = Cast <to = 1> (a) e = com.microsoft.DynamicQuantizeMatMul(f, w, v, n) "
         "y = Round(e)",
         {14, 10}},
        {"f = Cast <to = 1> (a) e = com.microsoft.DynamicQuantizeMatMul(f, w, v, ``, v) "
         "y = Round(e)",
         {15, 10}},
    };
    for (const auto& row : rows) {
        auto graph = model_io::loadText(begin + "{ " + row.node + " }");
        ASSERT_TRUE(graph) << row.node << graph.error().text();
        EXPECT_TRUE(verify(*graph)) << row.node;
        ThreadPool pool(1);
        Progress quiet;
        std::vector<ReferenceValue> inputs{ReferenceValue::tensor(DType::UInt8, {1, 1, 2, 2}),
                                           ReferenceValue::tensor(DType::UInt8, {1, 2})};
        inputs[0].ints = {2, 4, 6, 8};
        inputs[1].ints = {2, 4};
        auto out = interpret(*graph, std::move(inputs), pool, quiet);
        ASSERT_TRUE(out) << row.node << out.error().text();
        std::vector<double> found;
        for (int64_t i = 0; i < out->front().count(); ++i)
            found.push_back(out->front().at(i));
        EXPECT_EQ(found, row.wanted) << row.node;
    }
}

TEST(OnnxNormalise, OperatorsOnStoredValuesThatSayMoreAreKept) {
    for (const char* node :
         {"y = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, s, z)",
          "y = com.microsoft.QLinearAdd(x, s)", "y = com.microsoft.QLinearConcat(s, z, x)"}) {
        const std::string kept =
            nodesOf(17, std::string("g (uint8[2,2] x) => (y) <float s = {0.5}, uint8 z = {2}> { ") +
                            node + " }");
        EXPECT_TRUE(kept.starts_with("y = com.microsoft.Q")) << kept;
    }
}

TEST(OnnxNormalise, AttentionOfStoredValuesIsThatOfTheirFloats) {
    const char* graph =
        "g (uint8[1,2,4] x) => (y) <int8[4,12] w = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
        " 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
        " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, float[12] b = {0, 0, 0, 0, 0, 0, 0, 0,"
        " 0, 0, 0, 0}, float s = {0.5}, float v = {0.25}, uint8 z = {2}, int8 n = {0}>"
        "{ y = com.microsoft.QAttention <num_heads = 2> (x, w, b, s, v, ``, z, n) }";
    const std::string nodes = nodesOf(17, graph);
    EXPECT_NE(nodes.find("DequantizeLinear(x, s, z)"), std::string::npos) << nodes;
    EXPECT_NE(nodes.find("DequantizeLinear(w, v, n)"), std::string::npos) << nodes;
    EXPECT_NE(nodes.find("y = com.microsoft.Attention"), std::string::npos) << nodes;
    const std::string kept = std::string(graph).replace(std::string(graph).find("num_heads = 2"),
                                                        13, "num_heads = 2, do_rotary = 1");
    EXPECT_NE(nodesOf(17, kept).find("com.microsoft.QAttention"), std::string::npos);
}
