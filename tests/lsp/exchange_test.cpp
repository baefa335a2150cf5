// SPDX-License-Identifier: Apache-2.0
// What an editor and the server say to each other: a whole session, each request by itself, and
// messages that no editor sends.
#include "app/lsp/frame.h"
#include "app/lsp/stdio.h"
#include "app/lsp/text_position.h"
#include "tests/lsp/client.h"
#include "tests/lsp/edits.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace fuselage::lsp_test {
namespace {

const std::string file = "file:///rules/a.fuse";

std::vector<std::string> labels(const Json& completion) {
    std::vector<std::string> out;
    for (const Json& item : completion["items"])
        out.push_back(item["label"]);
    return out;
}

TEST(Lsp, aWholeSession) {
    Client client;
    const Json can = client.initialize()["capabilities"];
    EXPECT_EQ(can["positionEncoding"], "utf-16");
    EXPECT_EQ(can["textDocumentSync"]["change"], 2);

    client.open(file, "fuse 1;\nrule R { match { y = Conv(x, w)[kernel_size‸ == [3, 3]]; } }\n");
    client.server().idle();
    ASSERT_EQ(client.diagnostics[file].size(), 1U);
    const Json wrong = client.diagnostics[file][0];
    EXPECT_EQ(wrong["code"], "E0214");
    EXPECT_EQ(wrong["range"]["start"]["line"], 1);

    const Json actions =
        client.request("textDocument/codeAction", {{"textDocument", {{"uri", file}}},
                                                   {"range", wrong["range"]},
                                                   {"context", Json::object()}});
    ASSERT_EQ(actions.size(), 1U);
    EXPECT_EQ(actions[0]["edit"]["changes"][file][0]["newText"], "kernel_shape");

    client.character -= 11; // the edit of that action
    client.type("kernel_shape", 11);
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[file].empty());

    EXPECT_NE(client.at("textDocument/hover")["contents"]["value"].get<std::string>().find(
                  "attribute of Conv"),
              std::string::npos);
    client.character -= 6;
    EXPECT_EQ(labels(client.at("textDocument/completion")),
              std::vector<std::string>{"kernel_shape"});

    client.character = 5; // the rule's name
    const Json renamed = client.at("textDocument/rename", {{"newName", "ConvOnly"}});
    EXPECT_EQ(renamed["changes"][file][0]["newText"], "ConvOnly");
    EXPECT_TRUE(client.at("textDocument/rename", {{"newName", "lower"}}).contains("error"));

    EXPECT_TRUE(client.request("shutdown", nullptr).is_null());
    client.notify("exit", nullptr);
    EXPECT_EQ(client.server().exitCode(), 0);
}

TEST(Lsp, placesCountUtf16Units) {
    const std::string text = "a😀é\r\nb";
    const lsp::PositionMap map(text);
    EXPECT_EQ(map.position(5), (lsp::Position{0, 3})); // behind the face, which takes two units
    EXPECT_EQ(map.position(7), (lsp::Position{0, 4}));
    EXPECT_EQ(map.offset({0, 3}), 5U);
    EXPECT_EQ(map.offset({0, 2}), 1U); // inside of the face
    EXPECT_EQ(map.offset({0, 99}), 7U);
    EXPECT_EQ(map.offset({9, 0}), text.size());
    EXPECT_EQ(map.position(9), (lsp::Position{1, 0}));
}

TEST(Lsp, anEditBehindWideCharactersLandsWhereItShould) {
    Client client;
    client.initialize();
    client.open(file, "fuse 1;\nrule R { hint \"😀\"; match { y = Rely(x); } }\n");
    client.line = 1;
    client.character = 32; // `Rely` counted in UTF-16 units
    client.type("Relu", 4);
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[file].empty()) << client.diagnostics[file].dump(2);
}

TEST(Lsp, definitionAndReferencesReachOtherOpenFiles) {
    Client client;
    client.initialize();
    client.open("file:///rules/acts.fuse", "fuse 1;\npattern Mine(x) -> y { y = Relu(x); }\n");
    client.open(file, "fuse 1;\nimport \"acts\";\nrule R { match { y = Conv(x, w) -> M‸ine; } }\n");
    EXPECT_EQ(client.at("textDocument/definition")["uri"], "file:///rules/acts.fuse");
    EXPECT_EQ(client.at("textDocument/references").size(), 2U);
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[file].empty()) << client.diagnostics[file].dump(2);
}

TEST(Lsp, definitionsInTheLibraryOpenACopyOfIt) {
    testing_support::TemporaryFolder cache;
    const char* before = std::getenv("XDG_CACHE_HOME");
    const std::string kept = before ? before : "";
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    Client client;
    client.initialize();
    client.open(file, "fuse 1;\nimport \"std/activation\";\n"
                      "rule R { match { y = Conv(x, w) -> A‸ct; } }\n");
    const Json found = client.at("textDocument/definition");
    const std::string path = cache.file("fuselage/std/activation.fuse");
    EXPECT_EQ(found["uri"], "file://" + path);
    std::ifstream copy(path);
    std::string line;
    for (int i = 0; i <= found["range"]["start"]["line"].get<int>(); ++i)
        std::getline(copy, line);
    EXPECT_EQ(line.substr(found["range"]["start"]["character"], 3), "Act");

    client.open("file://" + path, "fuse 1;\npattern Own(x) -> y { y = Relu(x); }\n");
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[file].empty()) << client.diagnostics[file].dump(2);
    before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

TEST(Lsp, filesOfAFolderThatIsNoProjectDoNotClash) {
    Client client;
    client.initialize();
    client.open("file:///rules/one.fuse", "fuse 1;\nrule R { match { y = Relu(x); } }\n");
    client.open("file:///rules/two.fuse", "fuse 1;\nrule R { match { y = Abs(x); } }\n");
    client.server().idle();
    EXPECT_TRUE(client.diagnostics["file:///rules/one.fuse"].empty());
    EXPECT_TRUE(client.diagnostics["file:///rules/two.fuse"].empty());
}

/// Lints and proofs come when they are done; the next edit takes them back.
TEST(Lsp, proofsAndLintsComeLater) {
    lsp::ServerOptions options;
    options.checks = true;
    Client client(options);
    client.initialize();
    const std::string text =
        "fuse 1;\n"
        "rule W‸rong { match { y = Sub(a, b); } rewrite { y = Sub(b, a); } }\n"
        "rule Right { match { y = Neg(Neg(x)); } rewrite { y = x; } numeric exact; }\n"
        "rule Never { match { y = Exp(x) -> (Neg | Abs | Abs); } }\n";
    client.open(file, text);
    client.server().idle();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (client.diagnostics[file].empty() && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
        client.server().idle();
    }
    std::map<std::string, int> lines;
    for (const Json& each : client.diagnostics[file])
        lines[each["code"]] = each["range"]["start"]["line"];
    EXPECT_EQ(lines, (std::map<std::string, int>{{"E0501", 1}, {"E0309", 3}}))
        << client.diagnostics[file].dump(2);
    auto hover = [&] { return client.at("textDocument/hover").dump(); };
    EXPECT_NE(hover().find("unsound"), std::string::npos) << hover();
    client.line = 2;
    EXPECT_NE(hover().find("proved"), std::string::npos) << hover();
    client.line = 1;
    client.character = 5;
    client.type("X");
    client.server().idle();
    EXPECT_TRUE(client.server().hasIdleWork());
}

TEST(Lsp, signatureHelpNamesTheOperandAtTheCursor) {
    Client client;
    client.initialize();
    client.open(file, "fuse 1;\nrule R { match { y = Conv(x, ‸");
    const Json found = client.at("textDocument/signatureHelp");
    EXPECT_EQ(found["signatures"][0]["label"], "Conv(X, W, B?)");
    EXPECT_EQ(found["activeParameter"], 1);
}

TEST(Lsp, importsAreFoundBesideTheFileAndOnTheProjectsPath) {
    testing_support::TemporaryFolder folder;
    for (const char* name : {"rules", "shared"})
        std::filesystem::create_directory(folder.file(name));
    folder.write("fuselage.toml", "patterns = [\"rules/\"]\nimport-path = [\"shared/\"]\n");
    folder.write("rules/acts.fuse", "fuse 1;\npattern Mine(x) -> y { y = Relu(x); }\n");
    folder.write("shared/pools.fuse", "fuse 1;\npattern Pool(x) -> y { y = MaxPool(x); }\n");
    Client client;
    client.initialize(folder.path());
    const std::string uri = "file://" + folder.file("rules/a.fuse");
    client.open(uri, "fuse 1;\nimport \"acts\";\nimport \"pools\";\n"
                     "rule R { match { y = Mine(x) -> P‸ool; } }\n");
    EXPECT_EQ(client.at("textDocument/definition")["uri"],
              "file://" + folder.file("shared/pools.fuse"));
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[uri].empty()) << client.diagnostics[uri].dump(2);
}

TEST(Lsp, foldsSymbolsColoursAndFormat) {
    Client client;
    client.initialize();
    const std::string text = "fuse 1;\nrule R {\n  match {\n   y=Relu(x);\n  }\n}\n";
    client.open(file, text);
    EXPECT_EQ(client.at("textDocument/foldingRange").size(), 2U);
    EXPECT_EQ(client.at("textDocument/documentSymbol")[0]["name"], "R");
    const Json data = client.at("textDocument/semanticTokens/full")["data"];
    ASSERT_GE(data.size(), 5U);
    EXPECT_EQ(data.size() % 5, 0U);
    EXPECT_EQ((std::vector<int>{data[0], data[1], data[2]}), (std::vector<int>{0, 0, 4})); // fuse
    const Json edits = client.at("textDocument/formatting");
    EXPECT_NE(withEdits(text, edits).find("    y = Relu(x);"), std::string::npos);
}

TEST(Lsp, onlyTheNewestTextIsDiagnosed) {
    Client client;
    client.initialize();
    client.open(file, "fuse 1;\nrule R { match { y = Re‸(x); } }\n");
    client.type("l");
    client.type("u");
    EXPECT_TRUE(client.diagnostics.empty());
    client.server().idle();
    EXPECT_TRUE(client.diagnostics[file].empty());
    EXPECT_FALSE(client.server().hasIdleWork());
    client.notify("textDocument/didClose", {{"textDocument", {{"uri", file}}}});
    EXPECT_TRUE(client.at("textDocument/hover").is_null());
}

TEST(Lsp, messagesThatNoEditorSendsAreRefused) {
    Client client;
    EXPECT_EQ(client.request("textDocument/hover", Json::object())["error"]["code"], -32002);
    client.initialize();
    EXPECT_EQ(client.request("no/such", Json::object())["error"]["code"], -32601);
    const std::string hostile[] = {
        "", "{", "[]", "7", "{\"id\":{}}", "{\"method\":3}", std::string(100000, '['), "\xff\xfe"};
    for (const std::string& body : hostile)
        client.server().handle(body);
    for (const char* method :
         {"textDocument/hover", "textDocument/rename", "textDocument/codeAction",
          "textDocument/completion", "textDocument/semanticTokens/full"})
        for (const Json& params : {Json(), Json(3), Json::array(), Json{{"textDocument", 1}},
                                   Json{{"textDocument", {{"uri", 4}}}, {"position", "x"}}})
            client.request(method, params);
    client.open(file, "fuse 1;\n");
    for (const Json& changes :
         {Json(1), Json::array({1}), Json::array({{{"range", 1}}}),
          Json::array({{{"range", {{"start", {{"line", -5}}}, {"end", {{"line", 1e30}}}}},
                        {"text", "x"}}})})
        client.notify("textDocument/didChange",
                      {{"textDocument", {{"uri", file}}}, {"contentChanges", changes}});
    EXPECT_TRUE(client.at("textDocument/foldingRange").is_array());
}

TEST(Lsp, framesAreCutOutOfAnyStream) {
    lsp::FrameReader reader;
    const std::string stream = lsp::framed("{}") + "content-length:  3\r\nX: y\r\n\r\nabc";
    std::vector<std::string> bodies;
    for (const char c : stream) {
        reader.feed({&c, 1});
        auto next = reader.next();
        ASSERT_TRUE(next);
        if (*next)
            bodies.push_back(**next);
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"{}", "abc"}));
    const std::string bad[] = {"Content-Length: 99999999999\r\n\r\n", "Content-Length: -1\r\n\r\n",
                               "Content-Length:\r\n\r\n", "X: 1\r\n\r\n", std::string(9000, 'x')};
    for (const std::string& bytes : bad) {
        lsp::FrameReader other;
        other.feed(bytes);
        EXPECT_FALSE(other.next()) << bytes.substr(0, 40);
    }
}

TEST(Lsp, servesDescriptorsUntilExit) {
    const testing_support::TemporaryFolder folder;
    const std::string path = folder.path() + "/out";
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::string script;
    for (const char* body : {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})",
                             R"({"jsonrpc":"2.0","id":2,"method":"shutdown"})",
                             R"({"jsonrpc":"2.0","method":"exit"})"})
        script += lsp::framed(body);
    ASSERT_EQ(write(ends[1], script.data(), script.size()), static_cast<ssize_t>(script.size()));
    FILE* out = fopen(path.c_str(), "w");
    ASSERT_NE(out, nullptr);
    auto served = lsp::serve({}, ends[0], fileno(out));
    fclose(out);
    ASSERT_TRUE(served);
    EXPECT_EQ(*served, 0);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    lsp::FrameReader reader;
    reader.feed(text.str());
    EXPECT_EQ(Json::parse(**reader.next())["result"]["serverInfo"]["name"], "fuselage");
    EXPECT_EQ(Json::parse(**reader.next())["id"], 2);

    close(ends[1]); // a client that went away
    EXPECT_FALSE(lsp::serve({}, ends[0], STDERR_FILENO));
    close(ends[0]);
}

} // namespace
} // namespace fuselage::lsp_test
