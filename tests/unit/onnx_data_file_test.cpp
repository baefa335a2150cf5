// SPDX-License-Identifier: Apache-2.0
// Saving beside files that are there already: nobody's data are lost, whoever reads them.
#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "onnx_builder.h"

#include <cstring>

using namespace fuselage;
using namespace fuselage::onnx_test;

namespace {

/// y = x + w, all of w the same number, in a data file.
Graph adding(float number) {
    auto graph = model_io::loadText("g (float[1000] x) => (float[1000] y) { y = Abs(x) }");
    Tensor w(DType::Float32, {1000});
    for (int64_t i = 0; i < 1000; ++i)
        w.set(i, number);
    graph->addOutput(graph->addConstant("w", std::make_shared<const Tensor>(std::move(w))));
    return std::move(*graph);
}

model_io::SavedFiles savedAt(const Graph& graph, const std::string& path) {
    auto saved = model_io::save(graph, path, {.externalAbove = 100});
    EXPECT_TRUE(saved) << saved.error().text();
    return saved ? *saved : model_io::SavedFiles();
}

double firstOf(const std::string& path) {
    Progress progress;
    auto graph = model_io::load(path, {}, progress);
    EXPECT_TRUE(graph) << graph.error().text();
    return graph ? graph->value(graph->findValue("w")).constant->at(0) : 0;
}

size_t filesIn(const TemporaryFolder& folder) {
    using std::filesystem::directory_iterator;
    return static_cast<size_t>(
        std::distance(directory_iterator(folder.path()), directory_iterator()));
}

} // namespace

TEST(OnnxDataFile, LargeModelsKeepTheirDataBesideThem) {
    TemporaryFolder folder;
    auto parsed = model_io::loadText(
        "g (float[2] x) => (float[2] y) <float[2] b = {1, 2}> { y = Add(x, b) }");
    ASSERT_TRUE(parsed) << parsed.error().text();
    Graph graph = std::move(*parsed);
    Tensor large(DType::Float32, {1000});
    for (int i = 0; i < 1000; ++i)
        large.set(i, i);
    ValueId w = graph.addConstant("w", std::make_shared<const Tensor>(large.clone()));
    graph.addOutput(w);
    ValueId v = graph.addConstant("v", std::make_shared<const Tensor>(large.clone()));
    graph.addOutput(v);
    model_io::SaveOptions options;
    options.externalAbove = 4000;
    const auto files = model_io::save(graph, folder.file("m.onnx"), options);
    ASSERT_TRUE(files) << files.error().text();
    EXPECT_LT(std::filesystem::file_size(folder.file("m.onnx")), 1000U);
    EXPECT_GE(std::filesystem::file_size(files->data), 8000U);
    EXPECT_EQ(std::filesystem::file_size(files->data), files->dataBytes);
    Progress progress;
    auto again = model_io::load(folder.file("m.onnx"), {}, progress);
    ASSERT_TRUE(again) << again.error().text();
    for (const char* name : {"w", "v"})
        EXPECT_TRUE(identical(*again->value(again->findValue(name)).constant, large)) << name;
    EXPECT_EQ(filesIn(folder), 2U);
}

TEST(OnnxDataFile, AnotherModelThatReadsTheFileStaysAsItIs) {
    TemporaryFolder folder;
    const model_io::SavedFiles first = savedAt(adding(1), folder.file("m.onnx"));
    std::filesystem::copy_file(folder.file("m.onnx"), folder.file("other.onnx"));
    // A file of the name that data files had elsewhere.
    folder.write("m.onnx.data", "somebody's");
    const model_io::SavedFiles second = savedAt(adding(2), folder.file("m.onnx"));
    EXPECT_NE(first.data, second.data);
    EXPECT_EQ(second.dataBefore, first.data);
    EXPECT_EQ(firstOf(folder.file("m.onnx")), 2);
    EXPECT_EQ(firstOf(folder.file("other.onnx")), 1);
    EXPECT_EQ(*readFile(folder.file("m.onnx.data")), "somebody's");
}

/// The model is what the link stands for: whoever opens it there needs its data there.
TEST(OnnxDataFile, WhereALinkIsWrittenTheDataAreBesideTheModel) {
    TemporaryFolder links, models;
    std::filesystem::create_symlink(models.file("m.onnx"), links.file("link.onnx"));
    for (float number : {1.0F, 2.0F}) { // where nothing is yet, then over what is there
        const model_io::SavedFiles files = savedAt(adding(number), links.file("link.onnx"));
        EXPECT_EQ(std::filesystem::path(files.data).parent_path(), models.path());
        EXPECT_EQ(firstOf(models.file("m.onnx")), number);
        EXPECT_EQ(firstOf(links.file("link.onnx")), number);
        EXPECT_EQ(filesIn(links), 1U);
    }
}

/// As after a crash between the two files.
TEST(OnnxDataFile, TheModelBeforeIsWholeUntilTheNewOneStands) {
    TemporaryFolder folder;
    savedAt(adding(1), folder.file("m.onnx"));
    const std::string before = *readFile(folder.file("m.onnx"));
    savedAt(adding(2), folder.file("m.onnx"));
    folder.write("m.onnx", before);
    EXPECT_EQ(firstOf(folder.file("m.onnx")), 1);
}

TEST(OnnxDataFile, TheSameContentsAreTheSameFiles) {
    TemporaryFolder folder;
    const model_io::SavedFiles first = savedAt(adding(1), folder.file("m.onnx"));
    const std::string model = *readFile(folder.file("m.onnx"));
    const model_io::SavedFiles second = savedAt(adding(1), folder.file("m.onnx"));
    EXPECT_EQ(first.data, second.data);
    EXPECT_EQ(second.dataBefore, "");
    EXPECT_EQ(*readFile(folder.file("m.onnx")), model);
}

TEST(OnnxDataFile, AFileThatIsNoModelIsNotReplaced) {
    TemporaryFolder folder;
    folder.write("weights", std::string(4000, 'w'));
    const Graph graph = adding(1);
    const auto refused = model_io::save(graph, folder.file("weights"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "usage.output");
    EXPECT_EQ(*readFile(folder.file("weights")), std::string(4000, 'w'));
    folder.write("model", *model_io::toBytes(graph));
    EXPECT_TRUE(model_io::save(graph, folder.file("model")));
    folder.write("broken.onnx", "half of a mod");
    EXPECT_TRUE(model_io::save(graph, folder.file("broken.onnx")));
    folder.write("empty", "");
    EXPECT_TRUE(model_io::save(graph, folder.file("empty")));
}

TEST(OnnxDataFile, WhatTensorsShareIsWrittenOnce) {
    TemporaryFolder folder;
    auto graph = model_io::loadText("g (float[1000] x) => (float[1000] y) { y = Abs(x) }");
    const std::shared_ptr<Storage> bytes = Storage::allocate(4000);
    std::memset(bytes->data(), 1, 4000);
    for (const auto& [name, extents] : {std::pair("w", Extents{1000}), {"tied", {10, 100}}})
        graph->addOutput(graph->addConstant(
            name, std::make_shared<const Tensor>(DType::Float32, extents, bytes)));
    const model_io::SavedFiles files = savedAt(*graph, folder.file("m.onnx"));
    EXPECT_EQ(files.dataBytes, 4000U);
    Progress progress;
    auto again = model_io::load(folder.file("m.onnx"), {}, progress);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->value(again->findValue("tied")).constant->at(999),
              firstOf(folder.file("m.onnx")));
}

/// A store of downloads: all files in one folder, those of a model are links to them.
TEST(OnnxDataFile, LinksOfAStoreLeadToTheFilesOfItsModel) {
    TemporaryFolder store, snapshot;
    const model_io::SavedFiles files = savedAt(adding(5), store.file("0a1b"));
    const std::string data = std::filesystem::path(files.data).filename().string();
    std::filesystem::create_symlink(store.file("0a1b"), snapshot.file("model.onnx"));
    EXPECT_EQ(firstOf(snapshot.file("model.onnx")), 5) << "only the real model has its data beside";
    std::filesystem::rename(files.data, store.file("2c3d"));
    std::filesystem::create_symlink(store.file("2c3d"), snapshot.file(data));
    EXPECT_EQ(firstOf(snapshot.file("model.onnx")), 5);
    TemporaryFolder elsewhere;
    elsewhere.write("secret", std::string(4000, 'x'));
    std::filesystem::remove(snapshot.file(data));
    std::filesystem::create_symlink(elsewhere.file("secret"), snapshot.file(data));
    Progress progress;
    auto refused = model_io::load(snapshot.file("model.onnx"), {}, progress);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "load.external_path");
}

/// Gigabytes that nobody reads, under a name that nobody looks for.
TEST(OnnxDataFile, AModelThatCannotBeWrittenLeavesNoDataBehind) {
    TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("m.onnx/in the way"));
    EXPECT_FALSE(model_io::save(adding(1), folder.file("m.onnx"), {.externalAbove = 100}));
    EXPECT_EQ(filesIn(folder), 1U);
    // One that was there already is somebody's.
    const model_io::SavedFiles first = savedAt(adding(1), folder.file("n.onnx"));
    std::filesystem::remove(folder.file("n.onnx"));
    std::filesystem::create_directories(folder.file("n.onnx/in the way"));
    EXPECT_FALSE(model_io::save(adding(1), folder.file("n.onnx"), {.externalAbove = 100}));
    EXPECT_TRUE(std::filesystem::exists(first.data));
}

TEST(OnnxDataFile, SavingIsStoppedAndLeavesNothing) {
    TemporaryFolder folder;
    Progress progress;
    progress.cancel();
    auto saved = model_io::save(adding(1), folder.file("m.onnx"),
                                {.externalAbove = 100, .progress = &progress});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, "cancelled");
    EXPECT_EQ(filesIn(folder), 0U);
}

/// Two processes save one model: what the first one leaves behind is the other's.
TEST(OnnxDataFile, WhatAnotherSaveHasPutThereStays) {
    struct Meanwhile : Progress {
        void report(std::string_view, size_t, size_t) override {
            if (data.empty() || !std::filesystem::exists(data))
                return; // the first one has not written its data
            data.clear();
            other = savedAt(adding(1), path);
            cancel();
        }

        std::string path, data;
        model_io::SavedFiles other;
    };
    TemporaryFolder folder;
    Meanwhile progress;
    progress.path = folder.file("m.onnx");
    progress.data = savedAt(adding(1), progress.path).data;
    std::filesystem::remove(progress.path);
    std::filesystem::remove(progress.data);
    auto saved =
        model_io::save(adding(1), progress.path, {.externalAbove = 100, .progress = &progress});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, "cancelled");
    EXPECT_EQ(firstOf(progress.path), 1);
}
