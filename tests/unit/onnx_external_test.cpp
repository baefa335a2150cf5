// SPDX-License-Identifier: Apache-2.0
// External data: only regular files inside the model's folder, only bytes that are there.
#include "onnx_builder.h"

#include <map>
#include <sys/stat.h>

using namespace fuselage;
using namespace fuselage::onnx_test;

namespace {

ModelBuilder withExternal(const std::string& location, const std::string& offset = "4",
                          const std::string& length = "8") {
    ModelBuilder model;
    model.input("x", {2}).output("y", {2});
    model.node("Add", {"x", "w"}, {"y"});
    auto& w = model.initializer("w", {2});
    w.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto entry = [&](const char* key, const std::string& value) {
        auto* added = w.add_external_data();
        added->set_key(key);
        added->set_value(value);
    };
    entry("location", location);
    if (!offset.empty())
        entry("offset", offset);
    if (!length.empty())
        entry("length", length);
    return model;
}

struct DataFolder : TemporaryFolder {
    DataFolder() {
        float values[] = {9, 1, 2};
        write("w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
    }

    std::string codeOf(const ModelBuilder& model) const {
        write("m.onnx", model.bytes());
        Progress progress;
        auto graph = model_io::load(file("m.onnx"), {}, progress);
        return graph ? "" : graph.error().code;
    }
};

} // namespace

TEST(OnnxExternal, DataBesideTheModelIsRead) {
    DataFolder folder;
    folder.write("m.onnx", withExternal("w.bin").bytes());
    Progress progress;
    auto graph = model_io::load(folder.file("m.onnx"), {}, progress);
    ASSERT_TRUE(graph) << graph.error().text();
    const Tensor& w = *graph->value(graph->findValue("w")).constant;
    EXPECT_EQ(w.at(0), 1);
    EXPECT_EQ(w.at(1), 2);
}

TEST(OnnxExternal, PathsThatLeaveTheFolderAreRefused) {
    DataFolder folder;
    TemporaryFolder elsewhere;
    elsewhere.write("secret.bin", std::string(64, 'x'));
    std::filesystem::create_symlink(elsewhere.file("secret.bin"), folder.file("link.bin"));
    std::filesystem::create_directory_symlink(elsewhere.path(), folder.file("sub"));
    EXPECT_EQ(folder.codeOf(withExternal("../w.bin")), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal("a/../../w.bin")), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal(elsewhere.file("secret.bin"))), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal("link.bin")), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal("sub/secret.bin")), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal("")), "load.external_path");
}

TEST(OnnxExternal, RangesOutsideTheFileAreRefused) {
    DataFolder folder;
    EXPECT_EQ(folder.codeOf(withExternal("w.bin", "8")), "load.external_range");
    EXPECT_EQ(folder.codeOf(withExternal("w.bin", "18446744073709551615")), "load.external_range");
    EXPECT_EQ(folder.codeOf(withExternal("w.bin", "-4")), "load.external_range");
    EXPECT_EQ(folder.codeOf(withExternal("w.bin", "4", "4")), "load.tensor_size");
    EXPECT_EQ(folder.codeOf(withExternal("none.bin")), "load.external_missing");
}

TEST(OnnxExternal, AbsentDataLeavesTheInitializerAsItWas) {
    model_io::LoadOptions options;
    options.absentData = true;
    const ModelBuilder model = withExternal("none.bin", "8", "8");
    auto graph = model.load(options);
    ASSERT_TRUE(graph) << graph.error().text();
    const ValueId w = graph->findValue("w");
    ASSERT_TRUE(graph->value(w).producer.valid());
    const Node& node = graph->node(graph->value(w).producer);
    EXPECT_EQ(node.op, Op::Unknown);
    EXPECT_EQ(node.customOp, "AbsentData");
    EXPECT_EQ(node.notComputed, "external data file `none.bin` does not exist");
    EXPECT_EQ(graph->value(w).type.text(), "float[2]");
    const auto bytes = model_io::toBytes(*graph);
    ASSERT_TRUE(bytes);
    ::onnx::ModelProto again;
    ASSERT_TRUE(again.ParseFromString(*bytes));
    ASSERT_EQ(again.graph().initializer_size(), 1);
    ::onnx::TensorProto before = model.proto.graph().initializer(0);
    ::onnx::TensorProto after = again.graph().initializer(0);
    EXPECT_EQ(after.external_data_size(), 3);
    std::map<std::string, std::string> entries;
    for (const auto& entry : after.external_data())
        entries[entry.key()] = entry.value();
    EXPECT_EQ(entries, (std::map<std::string, std::string>{
                           {"location", "none.bin"}, {"offset", "8"}, {"length", "8"}}));
    before.clear_external_data();
    after.clear_external_data();
    EXPECT_EQ(after.SerializeAsString(), before.SerializeAsString());
    EXPECT_EQ(withExternal("../none.bin").loadCode(options), "load.external_path");
}

/// Some writers make no file for what has no elements.
TEST(OnnxExternal, NothingIsReadForNoElements) {
    ModelBuilder model;
    model.input("x", {0}).output("y", {0});
    model.node("Add", {"x", "w"}, {"y"});
    auto& w = model.initializer("w", {0});
    w.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto* location = w.add_external_data();
    location->set_key("location");
    location->set_value("none.bin");
    EXPECT_EQ(model.loadCode({}), "");
}

TEST(OnnxExternal, DirectoriesAreNoData) {
    DataFolder folder;
    std::filesystem::create_directory(folder.file("dir"));
    EXPECT_EQ(folder.codeOf(withExternal("dir")), "load.external_read");
}

TEST(OnnxExternal, PipesAreNoDataAndDoNotHoldTheLoaderBack) {
    DataFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_EQ(folder.codeOf(withExternal("pipe")), "load.external_read");
}

TEST(OnnxExternal, NamesThatNoFileHasAreRefused) {
    DataFolder folder;
    EXPECT_EQ(folder.codeOf(withExternal(std::string("w.bin\0x", 7))), "load.external_path");
    EXPECT_EQ(folder.codeOf(withExternal(std::string(5000, 'w'))), "load.external_missing");
}

TEST(OnnxExternal, UnalignedDataIsCopied) {
    DataFolder folder;
    folder.write("odd.bin", "x" + std::string(8, '\0'));
    EXPECT_EQ(folder.codeOf(withExternal("odd.bin", "1")), "");
}
