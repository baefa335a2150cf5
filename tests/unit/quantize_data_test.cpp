// SPDX-License-Identifier: Apache-2.0
// What data says: ranges, sizes of open dimensions, which nodes stay in float, and bad data.
#include "core/onnx/model_file.h"
#include "core/onnx/npy_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/quantize_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace fuselage;
using namespace fuselage::quantize;
using namespace fuselage::testing_quantize;

TEST(QuantizeData, DataThatDoesNotFitIsAnErrorThatNamesTheFile) {
    const app::LoadedModel model = modelOf(residual);
    Progress quiet;
    const testing_support::TemporaryFolder folder;
    namespace fs = std::filesystem;
    EXPECT_EQ(InputSets::open(folder.path()).error().code, "quantize.data");
    EXPECT_EQ(InputSets::open(folder.path() + "/absent").error().code, "quantize.data");
    auto outcomeOf = [&](const Tensor& tensor) {
        fs::create_directories(folder.path() + "/set_0");
        EXPECT_TRUE(model_io::saveTensor(tensor, folder.path() + "/set_0/input_0.pb"));
        auto sets = InputSets::open(folder.path());
        EXPECT_TRUE(sets);
        return quantizeModel(model, standardLibrary(), *sets, optionsOf(), quiet);
    };
    Tensor right(DType::Float32, {1, 2, 4, 4});
    for (int64_t i = 0; i < right.elementCount(); ++i)
        right.set(i, static_cast<double>(i) - 11);
    EXPECT_TRUE(outcomeOf(right));
    Tensor nan = right.clone();
    nan.set(3, NAN);
    for (const Tensor& wrong : {Tensor(DType::Float32, {1, 2, 4, 5}), Tensor(DType::Float32, {32}),
                                Tensor(DType::Int32, {1, 2, 4, 4}), nan}) {
        auto done = outcomeOf(wrong);
        ASSERT_FALSE(done) << wrong.type().text();
        EXPECT_EQ(done.error().code, "quantize.data") << done.error().text();
        EXPECT_NE(done.error().where.find("set_0/input_0.pb"), std::string::npos);
    }
    std::ofstream(folder.path() + "/set_0/input_0.pb") << "a text\n";
    auto text = quantizeModel(model, standardLibrary(), *InputSets::open(folder.path()),
                              optionsOf(), quiet);
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().text().find("not a tensor in ONNX's format"), std::string::npos)
        << text.error().text();
    EXPECT_TRUE(model_io::saveTensor(right, folder.path() + "/set_0/input_1.pb"));
    auto more = outcomeOf(right);
    ASSERT_FALSE(more) << "a tensor that no input takes";
    EXPECT_EQ(more.error().message, "the model has 1 input");
    EXPECT_TRUE(more.error().where.ends_with("set_0/input_1.pb")) << more.error().where;
    fs::remove(folder.path() + "/set_0/input_1.pb");
    auto zeros = outcomeOf(Tensor(DType::Float32, {1, 2, 4, 4}));
    ASSERT_FALSE(zeros);
    EXPECT_EQ(zeros.error().code, "quantize.range") << zeros.error().text();
}

TEST(QuantizeData, ArraysOfNumPyAreSets) {
    namespace fs = std::filesystem;
    const app::LoadedModel model = modelOf(residual);
    const std::string name = model.graph.value(model.graph.inputs()[0]).name;
    Tensor tensor(DType::Float32, {1, 2, 4, 4});
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        tensor.set(i, static_cast<double>(i) - 11);
    for (const std::string& file : {std::string("input_0"), name}) {
        const testing_support::TemporaryFolder folder;
        for (const char* set : {"a", "b"}) {
            fs::create_directories(folder.path() + "/" + set);
            folder.write(std::string(set) + "/" + file + ".npy", *model_io::npyOf(tensor));
        }
        auto sets = InputSets::open(folder.path());
        ASSERT_TRUE(sets) << sets.error().text();
        EXPECT_EQ(sets->size(), 2U);
        auto read = sets->read(model.graph, {}, 1);
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ((*read)[0].at(5), tensor.at(5));
        folder.write("b/" + file + ".npy", *model_io::npyOf(Tensor(DType::Float64, {1, 2, 4, 4})));
        auto wrong = sets->read(model.graph, {}, 1);
        ASSERT_FALSE(wrong);
        EXPECT_TRUE(wrong.error().where.ends_with("b/" + file + ".npy")) << wrong.error().where;
        folder.write("b/input_1.npy", "x");
        folder.write("b/" + file + ".npy", *model_io::npyOf(tensor));
        EXPECT_FALSE(sets->read(model.graph, {}, 1)) << "the model has one input";
    }
}

TEST(QuantizeData, AFolderWithoutSetsSaysWhatIsThereInstead) {
    namespace fs = std::filesystem;
    const auto errorOf = [](const char* file) {
        const testing_support::TemporaryFolder folder;
        if (*file != 0) {
            fs::create_directories(fs::path(folder.path() + "/" + file).parent_path());
            std::ofstream(folder.path() + "/" + file) << "x";
        }
        auto sets = InputSets::open(folder.path());
        EXPECT_FALSE(sets) << file;
        return sets ? std::string() : sets.error().text();
    };
    EXPECT_EQ(errorOf("").find(", but"), std::string::npos);
    EXPECT_NE(errorOf("a/all.npz").find(", but `all.npz`"), std::string::npos);
    EXPECT_NE(errorOf("a/all.npz").find("numpy.save each array"), std::string::npos);
    EXPECT_NE(errorOf("picture.pb").find("are called input_0.pb"), std::string::npos);
    const testing_support::TemporaryFolder folder;
    std::ofstream(folder.path() + "/one.pb") << "x";
    EXPECT_EQ(InputSets::open(folder.path() + "/one.pb").error().message, "this is a file");
}

TEST(QuantizeData, ValuesThatDoNotFitTogetherAreSeenInRunsOfTheirOwn) {
    const app::LoadedModel model = modelOf(residual);
    std::vector<ValueId> values;
    for (const char* name : {"x", "a", "c", "d", "y"})
        values.push_back(model.graph.findValue(name));
    const InputSets sets = InputSets::generated(1, 2);
    Progress quiet;
    ObserveRequest request{&sets, {}, {}};
    auto together = observe(model.graph, values, request, quiet);
    ASSERT_TRUE(together) << together.error().text();
    for (int64_t bytes : {0, 128, 300}) { // each value has 128
        request.mostBytes = bytes;
        auto apart = observe(model.graph, values, request, quiet);
        ASSERT_TRUE(apart) << apart.error().text();
        ASSERT_EQ(apart->size(), 5u);
        for (ValueId value : values) {
            EXPECT_EQ(apart->at(value).seen(), together->at(value).seen()) << bytes;
            EXPECT_EQ(apart->at(value).count(), 64u) << bytes;
        }
    }
}

TEST(QuantizeData, AnOverflowOnTheWayIsAnError) {
    auto done = quantised(modelOf("g (float[1,2] x) => (y) <float[2,2] w = {1, 2, 3, 4}, float big "
                                  "= {1e38}> { a = Mul(x, big) b = Mul(a, big) y = MatMul(b, w) }"),
                          optionsOf());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "quantize.number");
}

TEST(QuantizeData, OpenDimensionsStayOpenAndSetsMayDifferInShape) {
    const app::LoadedModel model =
        modelOf("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                "{ y = MatMul(x, w) }");
    const testing_support::TemporaryFolder folder;
    Progress quiet;
    for (int64_t set = 0; set < 2; ++set) {
        const std::string path = folder.path() + "/" + std::to_string(set);
        std::filesystem::create_directories(path);
        Tensor input(DType::Float32, {set + 1, 2});
        for (int64_t i = 0; i < input.elementCount(); ++i)
            input.set(i, set == 0 ? 1 : -3);
        EXPECT_TRUE(model_io::saveTensor(input, path + "/input_0.pb"));
    }
    auto sets = InputSets::open(folder.path());
    ASSERT_TRUE(sets) << sets.error().text();
    EXPECT_EQ(sets->size(), 2u);
    QuantizeOptions options = optionsOf();
    options.type = StoredType::UInt8;
    auto done = quantizeModel(model, standardLibrary(), *sets, options, quiet);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs[0].range, (Range{-3, 1}));
    EXPECT_EQ(done->graph.value(done->graph.inputs()[0]).type.text(), "float[N,2]");
}

TEST(QuantizeData, SizesToDecideByAreThoseOfTheFirstSet) {
    const testing_support::TemporaryFolder folder;
    const app::LoadedModel model =
        modelOf("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                "{ y = MatMul(x, w) }");
    const std::string file = folder.path() + "/m.onnx";
    ASSERT_TRUE(model_io::save(model.graph, file));
    ASSERT_TRUE(
        model_io::saveTensor(Tensor(DType::Float32, {7, 2}), folder.path() + "/input_0.pb"));
    Progress quiet;
    app::ModelRequest request{file, {}, folder.path(), true};
    auto loaded = app::loadModel(request, quiet);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(loaded->dims, (DimensionValues{{"N", 7}}));
    EXPECT_TRUE(loaded->notes.empty()) << loaded->notes.front();
    EXPECT_EQ(loaded->graph.value(loaded->graph.inputs()[0]).type.text(), "float[N,2]");
    request.dims = {{"N", 3}};
    EXPECT_EQ(app::loadModel(request, quiet).error().code, "dim.contradiction");
}

TEST(QuantizeData, MixedLeavesWhatCostsMostInFloatUntilTheLimitHolds) {
    // Numbers of 1e4 beside numbers of 1: eight bits for both lose the small ones.
    const app::LoadedModel model = modelOf(
        "g (float[4,8] x) => (float[4,2] y)"
        "<float[8,8] v = {1,0,0,0,0,0,0,0, 0,1,0,0,0,0,0,0, 0,0,1,0,0,0,0,0, 0,0,0,1,0,0,0,0,"
        "                 0,0,0,0,1,0,0,0, 0,0,0,0,0,1,0,0, 0,0,0,0,0,0,1,0, 0,0,0,0,0,0,0,1},"
        " float[8] spread = {10000, 1, 1, 1, 1, 1, 1, 1},"
        " float[8,2] w = {0, 0, 1, 2, 3, -1, 1, 1, 2, 1, -1, 1, 1, 3, 2, 2}>"
        "{ a = MatMul(x, v) b = Mul(a, spread) y = MatMul(b, w) }");
    QuantizeOptions options = optionsOf();
    auto whole = quantised(model, options);
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_GT(worst(whole->errors), 0.5);
    options.maxError = 0.05;
    auto mixed = quantised(model, options);
    ASSERT_TRUE(mixed) << mixed.error().text();
    ASSERT_EQ(mixed->mixed.units.size(), 2u);
    EXPECT_EQ(mixed->mixed.units[0].node, "MatMul_1") << "the first to stay in float";
    EXPECT_FALSE(mixed->mixed.units[0].quantised);
    EXPECT_TRUE(mixed->mixed.units[1].quantised);
    EXPECT_LT(worst(mixed->errors), 0.05);
    EXPECT_EQ(mixed->plan.pairs.size(), 2u);
    ASSERT_EQ(mixed->mixed.rows.size(), 3u);
    EXPECT_TRUE(mixed->mixed.rows[1].chosen);
    EXPECT_GT(mixed->mixed.rows[0].error, mixed->mixed.rows[1].error);
    EXPECT_GT(mixed->mixed.rows[2].bytes, mixed->mixed.rows[0].bytes);
    for (const MixedRow& row : mixed->mixed.rows) {
        EXPECT_GT(row.predictedSeconds, 0);
        EXPECT_GT(row.measuredSeconds, 0);
    }
    // What is written replays: the plan holds what was chosen.
    QuantizeOptions replay = optionsOf();
    replay.plan = mixed->plan;
    auto again = quantised(model, replay);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(text(again->graph), text(mixed->graph));
    replay.maxError = 0.05;
    EXPECT_EQ(quantised(model, replay).error().code, "usage.mixed");
}

TEST(QuantizeData, MixedByPointLeavesThePointsThatCostMost) {
    // Only what the product reads has numbers of 1e4 beside numbers of 1; its weights are even.
    const app::LoadedModel model =
        modelOf("g (float[4,4] x) => (float[4,2] y)"
                "<float[4] spread = {10000, 1, 1, 1}, float[4,2] w = {0, 0, 1, 2, 3, -1, 1, 1}>"
                "{ b = Mul(x, spread) y = MatMul(b, w) }");
    QuantizeOptions options = optionsOf();
    options.maxError = 0.05;
    options.mixedPoints = true;
    auto mixed = quantised(model, options);
    ASSERT_TRUE(mixed) << mixed.error().text();
    ASSERT_EQ(mixed->mixed.units.size(), 2u);
    EXPECT_EQ(mixed->mixed.units[0].node, "\"MatMul\"[0] INPUT");
    EXPECT_FALSE(mixed->mixed.units[0].quantised);
    EXPECT_TRUE(mixed->mixed.units[1].quantised) << "the weights cost little";
    ASSERT_EQ(mixed->plan.pairs.size(), 1u);
    EXPECT_EQ(mixed->plan.pairs[0].operand, 1u);
    EXPECT_EQ(operatorsOf(mixed->graph)["QuantizeLinear"], 0);
}

TEST(QuantizeData, AValueThatIsAlways0LeavesItsReaderInFloat) {
    // Nothing comes through the first Relu.
    const app::LoadedModel model = modelOf(
        "g (float[4,2] x) => (float[4,2] y)"
        "<float[2,2] v = {1, 2, 3, 4}, float[2,2] w = {0.5, 2, -1, 3}, float[2] low = {-99, -99}> {"
        " a = MatMul(x, v) b = Add(a, low) r = Relu(b) y = MatMul(r, w) }");
    auto done = quantised(model, optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->plan.pairs.size(), 2U);
    for (const Pair& pair : done->plan.pairs)
        EXPECT_EQ(pair.node, "MatMul");
    ASSERT_FALSE(done->leftOut.empty());
    EXPECT_EQ(done->leftOut.back().why, "`r` is 0 in all data: no scale fits");
}

TEST(QuantizeData, WhatIsLeftInFloatIsNamed) {
    const app::LoadedModel model =
        modelOf("g (float[4,2] x, int64[3] i) => (float[4,2] y, float[3,2] e)"
                "<float[2,2] v = {1, 2, 3, 4}, float[5,2] t = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}>"
                "{ y = MatMul(x, v) e = Gather(t, i) }");
    auto done = quantised(model, optionsOf());
    ASSERT_TRUE(done) << done.error().text();
    const auto& notes = done->notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note == "no rule asks for pairs at Gather `Gather`, which stay in float";
    }));
    const app::LoadedModel half =
        modelOf("g (float16[4,2] x) => (float16[4,2] y) <float[2,2] w = {1, 2, 3, 4}>"
                "{ v = Cast <to = 10> (w) y = MatMul(x, v) }");
    auto refused = quantised(half, optionsOf());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("quantise the float32 model"), std::string::npos)
        << refused.error().text();
}

// Of four branches' products one alone fits, and it is not the last of the order.
TEST(QuantizeData, MixedKeepsWhatTheLimitHasRoomForAndJudgesByAllSets) {
    const app::LoadedModel model =
        modelOf("g (float[4,4] x) => (float[4,2] y)"
                "<float[4] spread = {10000, 1, 1, 1}, float[4,2] w = {0, 0, 1, 2, 3, -1, 1, 1},"
                " float[4,2] v = {1, 0, 1, 2, 3, -1, 1, 1}>"
                "{ b = Mul(x, spread) c = MatMul(b, w) d = MatMul(x, v) y = Add(c, d) }");
    QuantizeOptions options = optionsOf();
    options.maxError = 1e-9;
    auto none = quantised(model, options);
    ASSERT_TRUE(none) << none.error().text();
    EXPECT_TRUE(none->plan.pairs.empty());
    EXPECT_TRUE(std::any_of(none->notes.begin(), none->notes.end(), [](const std::string& note) {
        return note.starts_with("no node can be quantised within --max-error");
    }));
    for (const MixedUnit& unit : none->mixed.units) {
        QuantizeOptions alone = optionsOf();
        for (const MixedUnit& other : none->mixed.units)
            if (&other != &unit)
                alone.keepFloat.push_back(other.node);
        auto done = quantised(model, alone);
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_NEAR(worst(done->errors), unit.errorAlone, 1e-9) << unit.node;
    }
}
