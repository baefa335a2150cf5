// SPDX-License-Identifier: Apache-2.0
// Which files of a folder are a model's: what a run moves, copies and clears.
#include "app/batch/outputs.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

using namespace fuselage;

namespace {

/// A model with its weights beside it, others of like names, and what no run wrote.
struct ModelsFolder : testing_support::TemporaryFolder {
    ModelsFolder() {
        std::filesystem::create_directory(file("models"));
        for (const char* name :
             {"net.onnx", "net.onnx.0123456789abcdef.data", "net.html", "net2.onnx",
              "net2.onnx.0123456789abcdef.data", "notes.data", "net.onnx.mine.data"})
            write(std::string("models/") + name, "x");
    }
};

} // namespace

TEST(BatchOutputs, AModelsFilesAreItsOwnDataFirst) {
    const ModelsFolder folder;
    EXPECT_EQ(batch::modelFilesOf("net", folder.file("models")),
              (std::vector<std::string>{"net.onnx.0123456789abcdef.data", "net.onnx", "net.html"}));
    EXPECT_EQ(batch::modelFilesOf("other", folder.file("models")), std::vector<std::string>());
}

TEST(BatchOutputs, ClearingLeavesWhatNoRunWrote) {
    const ModelsFolder folder;
    batch::clearOutputs(folder.path());
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder.file("models")))
        left.insert(entry.path().filename().string());
    EXPECT_EQ(left, (std::set<std::string>{"notes.data", "net.onnx.mine.data"}));
}
