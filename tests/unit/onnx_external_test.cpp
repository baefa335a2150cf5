// SPDX-License-Identifier: Apache-2.0
// External data: only regular files inside the model's folder, only bytes that are there.
#include "onnx_builder.h"

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
