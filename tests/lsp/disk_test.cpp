// SPDX-License-Identifier: Apache-2.0
// Files that other programs write, make and remove while the server knows them: nothing may be
// changed at a place of a text that is no longer there, and who imports them hears of it.
#include "dsl/service/service.h"
#include "tests/lsp/client.h"
#include "tests/lsp/edits.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fuselage::lsp_test {
namespace {

namespace fs = std::filesystem;

const std::string user = "fuse 1;\nimport \"a\";\nrule Use { match { y = Conv(x, w) -> P; } }\n";

/// A project with a pattern, and a rule that imports it.
class LspDisk : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directory(folder.file("rules"));
        folder.write("fuselage.toml", "patterns = [\"rules/\"]\n");
        folder.write("rules/a.fuse", pattern("P"));
        folder.write("rules/u.fuse", user);
        client.initialize(folder.path());
    }

    static std::string pattern(const std::string& name) {
        return "fuse 1;\npattern " + name + "(x) -> y { y = Relu(x) | Tanh(x); }\n";
    }

    std::string uriOf(const std::string& name) const {
        return "file://" + folder.file("rules/" + name);
    }

    /// Codes of what is said about a file once all was taken.
    std::vector<std::string> codes(const std::string& name) {
        client.server().idle();
        std::vector<std::string> out;
        for (const Json& each : client.diagnostics[uriOf(name)])
            out.push_back(each["code"]);
        return out;
    }

    void watched() {
        client.notify("workspace/didChangeWatchedFiles",
                      {{"changes", Json::array({{{"uri", uriOf("a.fuse")}, {"type", 2}}})}});
    }

    testing_support::TemporaryFolder folder;
    Client client;
};

TEST_F(LspDisk, renameChangesFilesAsTheyStandNow) {
    client.open(uriOf("a.fuse"), "fuse 1;\npattern P‸(x) -> y { y = Relu(x) | Tanh(x); }\n");
    const std::string now = "// a line from elsewhere\n// another\n" + user;
    folder.write("rules/u.fuse", now);
    folder.write("rules/v.fuse", user);
    const Json renamed = client.at("textDocument/rename", {{"newName", "Renamed"}});
    const Json& changes = renamed["changes"];
    ASSERT_EQ(changes.size(), 3U) << renamed.dump(2);
    EXPECT_EQ(withEdits(now, changes[uriOf("u.fuse")]),
              "// a line from elsewhere\n// another\nfuse 1;\nimport \"a\";\n"
              "rule Use { match { y = Conv(x, w) -> Renamed; } }\n");
    fs::remove(folder.file("rules/v.fuse"));
    EXPECT_EQ(client.at("textDocument/references").size(), 2U);
}

TEST_F(LspDisk, aFileOfTheSameSizeAndTimeIsReadBeforeItIsChanged) {
    client.open(uriOf("a.fuse"), "fuse 1;\npattern P‸(x) -> y { y = Relu(x) | Tanh(x); }\n");
    const fs::path path = folder.file("rules/u.fuse");
    const auto time = fs::last_write_time(path);
    std::string now = user;
    now.replace(now.find("{ match { y"), 11, "{match  { y");
    now.replace(now.find(" Use"), 4, "\nUse");
    folder.write("rules/u.fuse", now);
    fs::last_write_time(path, time);
    const Json renamed = client.at("textDocument/rename", {{"newName", "Q"}});
    EXPECT_NE(withEdits(now, renamed["changes"][uriOf("u.fuse")]).find("-> Q;"), std::string::npos)
        << renamed.dump(2);
}

TEST_F(LspDisk, importersHearOfChangesInWatchedFiles) {
    client.open(uriOf("u.fuse"), user);
    EXPECT_TRUE(codes("u.fuse").empty());
    folder.write("rules/a.fuse", pattern("Other"));
    watched();
    EXPECT_EQ(codes("u.fuse").size(), 1U);
    folder.write("rules/a.fuse", pattern("P"));
    watched();
    EXPECT_TRUE(codes("u.fuse").empty());
    fs::remove(folder.file("rules/a.fuse"));
    watched();
    EXPECT_FALSE(codes("u.fuse").empty());
    folder.write("rules/a.fuse", pattern("P"));
    client.notify("textDocument/didSave", {{"textDocument", {{"uri", uriOf("u.fuse")}}}});
    EXPECT_TRUE(codes("u.fuse").empty());
}

TEST_F(LspDisk, importsOfAFileOutsideOfTheProjectToo) {
    folder.write("b.fuse", pattern("P"));
    const std::string uri = "file://" + folder.file("c.fuse");
    client.open(uri, "fuse 1;\nimport \"b\";\nrule R { match { y = Exp(x) -> P‸; } }\n");
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[uri].empty()) << client.diagnostics[uri].dump(2);
    EXPECT_EQ(client.at("textDocument/definition")["range"]["start"]["line"], 1);
    folder.write("b.fuse", "\n" + pattern("P"));
    watched();
    EXPECT_EQ(client.at("textDocument/definition")["range"]["start"]["line"], 2);
    folder.write("b.fuse", pattern("Other"));
    watched();
    client.server().idle();
    EXPECT_EQ(client.diagnostics[uri].size(), 1U) << client.diagnostics[uri].dump(2);
}

TEST_F(LspDisk, aClientThatCanIsAskedToTellOfRuleFiles) {
    EXPECT_TRUE(client.asked.empty());
    Client able;
    able.initialize(folder.path(), Json::object(),
                    {{"workspace", {{"didChangeWatchedFiles", {{"dynamicRegistration", true}}}}}});
    ASSERT_EQ(able.asked.size(), 1U);
    EXPECT_EQ(able.asked[0]["method"], "client/registerCapability");
    const Json& wanted = able.asked[0]["params"]["registrations"][0];
    EXPECT_EQ(wanted["method"], "workspace/didChangeWatchedFiles");
    EXPECT_EQ(wanted["registerOptions"]["watchers"][0]["globPattern"], "**/*.fuse");
    // That it refuses is no message to answer.
    std::vector<std::string> sent;
    lsp::Server server({}, [&](const std::string& body) { sent.push_back(body); });
    server.handle(Json{{"jsonrpc", "2.0"},
                       {"id", able.asked[0]["id"]},
                       {"error", {{"code", -32601}, {"message", "no"}}}}
                      .dump());
    EXPECT_TRUE(sent.empty());
}

/// Studio tells a service of changed texts alone: what they import is read with them.
TEST(LanguageServiceImports, areReadAgainWithATextThatChanged) {
    std::string imported = "fuse 1;\npattern P(x) -> y { y = Relu(x); }\n";
    dsl::LanguageService service([&](const std::string&) { return Result<std::string>(imported); },
                                 {});
    service.set("u.fuse", user);
    EXPECT_TRUE(service.diagnose("u.fuse").empty());
    imported.replace(imported.find("P("), 2, "Q(");
    service.set("u.fuse", user + "\n");
    EXPECT_EQ(service.diagnose("u.fuse").size(), 1U);
}

} // namespace
} // namespace fuselage::lsp_test
