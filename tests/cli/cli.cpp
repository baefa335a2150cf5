// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/cli.h"

#include "core/onnx/model_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuselage::cli_test {

namespace fs = std::filesystem;

Process Command::start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), FUSELAGE_PROGRAM);
    ProcessOptions options;
    options.folder = folder.path();
    auto process = Process::start(arguments, options);
    if (!process) {
        ADD_FAILURE() << process.error().text();
        std::abort();
    }
    return std::move(*process);
}

ProcessResult Command::run(std::vector<std::string> arguments) const {
    return start(std::move(arguments)).finish();
}

void Command::expectRefused(const std::vector<std::string>& arguments, int exitCode,
                            const std::vector<std::string>& pieces) const {
    std::string line;
    for (const std::string& word : arguments)
        line += " " + word;
    SCOPED_TRACE("fuselage" + line);
    std::set<std::string> before = files();
    ProcessResult ran = run(arguments);
    EXPECT_EQ(ran.exitCode, exitCode) << ran.errors << ran.output;
    for (const std::string& piece : pieces)
        EXPECT_NE(ran.errors.find(piece), std::string::npos)
            << "`" << piece << "` is missing in: " << ran.errors;
    EXPECT_EQ(files(), before);
}

std::set<std::string> Command::files() const {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
        out.insert(fs::relative(entry.path(), folder.path()).string());
    return out;
}

void Command::zoo(const std::string& name) const {
    ProcessResult ran = run({"zoo", name});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
}

std::string Command::outputOf(const std::vector<std::string>& arguments) const {
    ProcessResult done = run(arguments);
    EXPECT_EQ(done.exitCode, ExitOk) << done.errors;
    return done.output;
}

void Command::writeText(const std::string& text) const {
    auto graph = model_io::loadText(text);
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(model_io::save(*graph, folder.file("m.onnx")));
}

void expectHas(const std::string& text, const std::string& piece) {
    EXPECT_NE(text.find(piece), std::string::npos) << "no `" << piece << "` in:\n" << text;
}

std::string readAll(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

} // namespace fuselage::cli_test
