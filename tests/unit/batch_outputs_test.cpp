// SPDX-License-Identifier: Apache-2.0
// Which files of a folder are a model's: what a run moves, copies and clears.
#include "app/batch/outputs.h"
#include "app/batch/run.h"
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
        for (const char* name : {"net.onnx", "net.onnx.0123456789abcdef.data", "net.html",
                                 "net2.onnx", "net2.onnx.0123456789abcdef.data", "net3.onnx.data",
                                 "notes.data", "net.onnx.mine.data"})
            write(std::string("models/") + name, "x");
    }
};

/// "ID=FILE" of each.
std::set<std::string> idsOf(const std::vector<std::string>& files) {
    std::set<std::string> out;
    const auto found = batch::findModels(files);
    for (const batch::ModelFile& model : *found)
        out.insert(model.id + "=" + model.path);
    return out;
}

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

/// In a monorepo most files are called model.onnx; which one is meant must not hang on the others.
TEST(BatchModels, FilesOfOneNameAreToldApartByTheirFolders) {
    EXPECT_EQ(idsOf({"a/speech/enc/model.onnx", "./a/text/enc/model.onnx", "b/net.onnx"}),
              (std::set<std::string>{"net=b/net.onnx", "speech-enc-model=a/speech/enc/model.onnx",
                                     "text-enc-model=./a/text/enc/model.onnx"}));
    // One that comes before them takes no id away.
    EXPECT_TRUE(
        idsOf({"a/audio/enc/model.onnx", "a/speech/enc/model.onnx", "./a/text/enc/model.onnx"})
            .contains("speech-enc-model=a/speech/enc/model.onnx"));
    EXPECT_EQ(idsOf({"x/model.onnx", "y/model.onnx"}),
              (std::set<std::string>{"x-model=x/model.onnx", "y-model=y/model.onnx"}));
    // Nothing tells them apart but their number.
    EXPECT_EQ(idsOf({"m/a b.onnx", "m/a_b.onnx"}),
              (std::set<std::string>{"a_b=m/a b.onnx", "a_b-2=m/a_b.onnx"}));
}

TEST(BatchModels, AFileOfANameOfItsOwnKeepsIt) {
    const std::string whole = "top/x-model.onnx";
    EXPECT_EQ(idsOf({whole, "top/x/model.onnx"}),
              (std::set<std::string>{"x-model=" + whole, "model=top/x/model.onnx"}));
    // A third one makes two of a name, and x-model is another model's.
    EXPECT_EQ(idsOf({whole, "top/x/model.onnx", "top/y/model.onnx"}),
              (std::set<std::string>{"x-model=" + whole, "top-x-model=top/x/model.onnx",
                                     "top-y-model=top/y/model.onnx"}));
}

/// Where the checkout lies says nothing of a model, nor how its path is written.
TEST(BatchModels, FoldersThatTellNothingApartAreInNoId) {
    for (const std::string base : {"m/", "/checkout/here/m/"})
        EXPECT_EQ(
            idsOf({base + "a b.onnx", base + "a_b.onnx"}),
            (std::set<std::string>{"a_b=" + base + "a b.onnx", "a_b-2=" + base + "a_b.onnx"}));
    EXPECT_EQ(idsOf({"models/net.onnx", "./models/net.onnx", "models//net.onnx"}).size(), 1U);
    const std::string longName(150, 'f'); // an id that long is no name of a file
    EXPECT_EQ(
        idsOf({longName + "1/" + longName + "/m.onnx", longName + "2/" + longName + "/m.onnx"}),
        (std::set<std::string>{"m=" + longName + "1/" + longName + "/m.onnx",
                               "m-2=" + longName + "2/" + longName + "/m.onnx"}));
}
