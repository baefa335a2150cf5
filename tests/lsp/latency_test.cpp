// SPDX-License-Identifier: Apache-2.0
// The whole library open as a project with a model of 10,000 nodes: match counts that come from
// another thread, and how long answers keep an editor waiting (processor time of the thread that
// answers, since tests share the machine).
#include "app/zoo/builder.h"
#include "core/onnx/model_file.h"
#include "tests/lsp/client.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <time.h>

namespace fuselage::lsp_test {
namespace {

namespace fs = std::filesystem;

constexpr size_t blocks = 2500; // of MatMul, Add, Relu, Add

std::string readAll(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

double processorSeconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A project folder with the standard library and a large model.
class LargeProject : public testing::Test {
protected:
    void SetUp() override {
        zoo::Builder builder("large", 1);
        ValueId x = builder.input("x", DType::Float32, Shape{2, 4});
        for (size_t i = 0; i < blocks; ++i) {
            const zoo::Builder::Scope scope(builder, "block" + std::to_string(i));
            const ValueId y = builder.apply(Op::Relu, {builder.linear("fc", x, 4, 4)});
            x = builder.apply(Op::Add, {x, y});
        }
        builder.output(x, "y");
        ASSERT_TRUE(model_io::save(builder.finish(), folder.file("large.onnx")));
        folder.write("fuselage.toml", "patterns = [\"std/\"]\n[lsp]\nmodel = \"large.onnx\"\n");
        fs::copy(fs::path(FUSELAGE_PATTERNS) / "std", folder.file("std"));
    }

    std::string uriOf(const std::string& name) const {
        return "file://" + folder.file("std/" + name);
    }

    testing_support::TemporaryFolder folder;
};

/// Asks until the background count is there.
std::string counted(Client& client) {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    do {
        std::this_thread::yield();
        const Json hover = client.at("textDocument/hover");
        text = hover.is_object() ? hover["contents"]["value"].get<std::string>() : "no hover";
    } while (text.find("being counted") != std::string::npos &&
             std::chrono::steady_clock::now() < deadline);
    return text;
}

TEST_F(LargeProject, hoverCountsTheMatchesOfTheTextAsItStands) {
    Client client;
    client.initialize(folder.path());
    client.open(uriOf("mine.fuse"), "fuse 1;\nrule Mi‸ne { match { y = MatMul(x, w) -> Add; } }\n");
    EXPECT_NE(counted(client).find("2500 matches on `large.onnx`"), std::string::npos);
    client.type("nor"); // still the rule's name
    client.server().idle();
    EXPECT_NE(counted(client).find("2500 matches"), std::string::npos);
    client.notify("textDocument/didChange",
                  {{"textDocument", {{"uri", client.uri}}},
                   {"contentChanges",
                    Json::array({{{"text", "fuse 1;\nrule Mine { match { y = Erf(x); } }\n"}}})}});
    client.character = 6;
    EXPECT_NE(counted(client).find("0 matches on `large.onnx`"), std::string::npos);
}

TEST_F(LargeProject, answersComeWithin50Milliseconds) {
    Client client;
    client.initialize(folder.path());
    const std::string text = readAll(folder.file("std/convolution.fuse"));
    const size_t rule = text.find("rule ConvBNReLU");
    ASSERT_NE(rule, std::string::npos);
    client.open(uriOf("convolution.fuse"), text.substr(0, rule + 6) + "‸" + text.substr(rule + 6));
    const Json range = {{"start", {{"line", 0}, {"character", 0}}},
                        {"end", {{"line", client.line + 3}, {"character", 0}}}};
    std::vector<double> seconds;
    auto measured = [&](const char* method, Json params) {
        const double begin = processorSeconds();
        const Json answer = client.at(method, std::move(params));
        seconds.push_back(processorSeconds() - begin);
        EXPECT_FALSE(answer.is_object() && answer.contains("error")) << method << answer.dump();
    };
    for (int round = 0; round < 12; ++round) {
        const double begin = processorSeconds();
        client.type("x");
        seconds.push_back(processorSeconds() - begin);
        measured("textDocument/completion", Json::object());
        measured("textDocument/hover", Json::object());
        measured("textDocument/definition", Json::object());
        measured("textDocument/references", Json::object());
        measured("textDocument/rename", {{"newName", "Renamed" + std::to_string(round)}});
        measured("textDocument/semanticTokens/full", Json::object());
        measured("textDocument/codeAction", {{"range", range}});
        client.server().idle();
    }
    std::sort(seconds.begin(), seconds.end());
    const double p95 = seconds[seconds.size() * 95 / 100];
    printf("answers: median %.2f ms, 95th percentile %.2f ms, longest %.2f ms of processor time\n",
           seconds[seconds.size() / 2] * 1e3, p95 * 1e3, seconds.back() * 1e3);
    // The budget is 50 ms, which `./dev bench language` publishes; sanitizers and machines that
    // other work fills take a few times as long.
    EXPECT_LT(p95, 0.250);
}

/// Each name was looked for among all names of the text: two megabytes took half a minute.
TEST(LargeText, itsColoursTakeTimeInProportion) {
    std::string text = "fuse 1;\n";
    for (size_t i = 0; text.size() < (size_t{2} << 20); ++i)
        text += "rule R" + std::to_string(i) +
                " { match { s = Conv(x, w: const)[group == 1]; y = s -> Relu; } }\n";
    Client client;
    client.initialize();
    client.open("file:///large/a.fuse", text);
    const double begin = processorSeconds();
    const Json tokens = client.at("textDocument/semanticTokens/full");
    const double seconds = processorSeconds() - begin;
    printf("colours of 2 MB: %.2f s of processor time\n", seconds);
    EXPECT_GT(tokens["data"].size(), size_t{500'000});
    EXPECT_LT(seconds, 10.0);
}

} // namespace
} // namespace fuselage::lsp_test
