// SPDX-License-Identifier: Apache-2.0
// Requests about names and ranges, requests that are cancelled, settings that change, and the
// guard that a proof suggests as a change of the text.
#include "core/onnx/model_file.h"
#include "tests/lsp/client.h"
#include "tests/lsp/edits.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace fuselage::lsp_test {
namespace {

const std::string rules = "file:///rules/a.fuse";

/// Hovers until the answer no longer says that something is being done.
std::string settledHover(Client& client) {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    do {
        std::this_thread::yield();
        const Json hover = client.at("textDocument/hover");
        text = hover.is_object() ? hover["contents"]["value"].get<std::string>() : "no hover";
    } while (text.find("being ") != std::string::npos && std::chrono::steady_clock::now() < end);
    return text;
}

void saveModel(const std::string& path, const char* text) {
    auto graph = model_io::loadText(text);
    ASSERT_TRUE(graph);
    ASSERT_TRUE(model_io::save(*graph, path));
}

TEST(LspRequests, highlightsTheNameOfThisTextAlone) {
    Client client;
    client.initialize();
    client.open("file:///rules/b.fuse", "fuse 1;\nrule S { match { y = Exp(x) -> Neg; } }\n");
    client.open(rules, "fuse 1;\nrule R { match { a‸ = Exp(x); y = Add(a, x) -> Mul(_, a); } }\n");
    const Json found = client.at("textDocument/documentHighlight");
    ASSERT_EQ(found.size(), 3U) << found.dump(2);
    EXPECT_EQ(found[0]["range"]["start"]["character"], 17);
    client.line = 0;
    client.character = 6;
    EXPECT_EQ(client.at("textDocument/documentHighlight"), Json::array());
}

TEST(LspRequests, symbolsOfAllTextsAreFoundByTheirLetters) {
    Client client;
    client.initialize();
    client.open("file:///rules/b.fuse", "fuse 1;\npattern Activation(x) -> y { y = Relu(x); }\n");
    client.open(rules, "fuse 1;\nrule ConvAct { match { y = Conv(x, w) -> Relu; } }\n");
    const Json both = client.request("workspace/symbol", {{"query", "act"}});
    ASSERT_EQ(both.size(), 2U) << both.dump(2);
    const Json one = client.request("workspace/symbol", {{"query", "cvact"}});
    ASSERT_EQ(one.size(), 1U) << one.dump(2);
    EXPECT_EQ(one[0]["name"], "ConvAct");
    EXPECT_EQ(one[0]["location"]["uri"], rules);
    EXPECT_EQ(one[0]["location"]["range"]["start"], (Json{{"line", 1}, {"character", 5}}));
    EXPECT_EQ(client.request("workspace/symbol", {{"query", ""}}).size(), 2U);
}

TEST(LspRequests, aRangeIsFormattedAndTheRestStays) {
    Client client;
    client.initialize();
    const std::string text = "fuse 1;\n"
                             "rule   A { match { y=Exp(x); } }\n"
                             "rule   B { match { y=Neg( x ); } } // kept\n"
                             "rule   C { match { y=Abs(x); } }\n";
    client.open(rules, text);
    const Json edits = client.at(
        "textDocument/rangeFormatting",
        {{"range",
          {{"start", {{"line", 2}, {"character", 0}}}, {"end", {{"line", 2}, {"character", 99}}}}},
         {"options", Json::object()}});
    const std::string formatted = withEdits(text, edits);
    EXPECT_EQ(formatted.find("rule   A { match { y=Exp(x); } }"), 8U) << formatted;
    EXPECT_NE(formatted.find("rule B { match { y = Neg(x); } }  // kept\n"), std::string::npos)
        << formatted;
    EXPECT_NE(formatted.find("rule   C { match { y=Abs(x); } }"), std::string::npos) << formatted;
    const Json all = client.at(
        "textDocument/rangeFormatting",
        {{"range",
          {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 9}, {"character", 0}}}}}});
    const Json whole = client.at("textDocument/formatting");
    EXPECT_EQ(withEdits(text, all), whole[0]["newText"].get<std::string>());
}

TEST(LspRequests, aRequestThatIsCancelledInTimeIsNotBegun) {
    std::vector<Json> sent;
    lsp::Server server({}, [&](const std::string& body) { sent.push_back(Json::parse(body)); });
    auto message = [](const char* method, const Json& params, const Json& id) {
        Json out = {{"jsonrpc", "2.0"}, {"method", method}, {"params", params}};
        if (!id.is_null())
            out["id"] = id;
        return out.dump();
    };
    server.handle(message("initialize", Json::object(), 1));
    sent.clear();
    const Json query = {{"query", ""}};
    server.receive(message("workspace/symbol", query, 2));
    server.receive(message("workspace/symbol", query, "three"));
    server.receive(message("$/cancelRequest", {{"id", 2}}, nullptr));
    server.receive(message("$/cancelRequest", {{"id", 77}}, nullptr));
    server.receive(message("workspace/symbol", query, 4));
    while (server.hasWaiting())
        server.handleNext();
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(sent[0]["id"], 2);
    EXPECT_EQ(sent[0]["error"]["code"], -32800);
    EXPECT_EQ(sent[1]["id"], "three");
    EXPECT_TRUE(sent[1].contains("result"));
    EXPECT_TRUE(sent[2].contains("result"));
    // Too late: the same number may come again.
    sent.clear();
    server.handle(message("$/cancelRequest", {{"id", 4}}, nullptr));
    server.handle(message("workspace/symbol", query, 4));
    EXPECT_TRUE(sent.at(0).contains("result"));
}

TEST(LspRequests, anotherModelIsTakenWithoutARestart) {
    testing_support::TemporaryFolder folder;
    saveModel(folder.file("one.onnx"), "g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }");
    saveModel(folder.file("two.onnx"),
              "g (float[2] x) => (float[2] y) { a = Exp(x) b = Neg(a) c = Exp(b) y = Neg(c) }");
    Client client;
    client.initialize(folder.path(), {{"model", "one.onnx"}});
    client.open("file://" + folder.file("a.fuse"),
                "fuse 1;\nrule R‸ { match { y = Exp(x) -> Neg; } }\n");
    EXPECT_NE(settledHover(client).find("1 match on `one.onnx`"), std::string::npos);
    client.notify("workspace/didChangeConfiguration",
                  {{"settings", {{"fuselage", {{"model", "two.onnx"}}}}}});
    EXPECT_NE(settledHover(client).find("2 matches on `two.onnx`"), std::string::npos);
    client.notify("workspace/didChangeConfiguration",
                  {{"settings", {{"fuselage", {{"model", ""}}}}}});
    EXPECT_EQ(settledHover(client).find("onnx"), std::string::npos);
}

TEST(LspRequests, hoverOfARuleWithoutMatchesSaysWhatComesNearest) {
    testing_support::TemporaryFolder folder;
    saveModel(folder.file("m.onnx"), "g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }");
    Client client;
    client.initialize(folder.path(), {{"model", "m.onnx"}});
    const std::string uri = "file://" + folder.file("a.fuse");
    client.open(uri, "fuse 1;\nrule R‸ { match { y = Abs(x) -> Neg; } }\n");
    const std::string text = settledHover(client);
    EXPECT_NE(text.find("0 matches on `m.onnx`; nearest at `Neg`, 1 of 2 steps fit"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("found Exp, the rule wants Abs"), std::string::npos) << text;
}

TEST(LspRequests, kindsOfActionsThatAClientDoesNotWantStayAway) {
    Client client;
    client.initialize();
    client.open(rules, "fuse 1;\nrule R { match { y = Relu(x) } }\n");
    const Json range = {{"start", {{"line", 1}, {"character", 0}}},
                        {"end", {{"line", 1}, {"character", 40}}}};
    auto actions = [&](const Json& context) {
        return client.at("textDocument/codeAction", {{"range", range}, {"context", context}})
            .size();
    };
    EXPECT_EQ(actions(Json::object()), 1U);
    EXPECT_EQ(actions({{"only", {"quickfix"}}}), 1U);
    EXPECT_EQ(actions({{"only", {"source.organizeImports", "refactor"}}}), 0U);
}

TEST(LspRequests, theGuardOfAProofIsAQuickFix) {
    lsp::ServerOptions options;
    options.checks = true;
    Client client(options);
    client.initialize();
    const std::string text = "fuse 1;\n"
                             "rule U‸nsoundAxis { match { y = Softmax(x) -> Relu; } rewrite { y = "
                             "Softmax(x)[axis = -1]; } }\n";
    client.open(rules, text);
    client.server().idle();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (client.diagnostics[rules].empty() && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
        client.server().idle();
    }
    ASSERT_EQ(client.diagnostics[rules].size(), 1U);
    EXPECT_EQ(client.diagnostics[rules][0]["code"], "E0501");
    const Json range = client.diagnostics[rules][0]["range"];
    const Json actions = client.at("textDocument/codeAction", {{"range", range}});
    ASSERT_EQ(actions.size(), 1U) << client.diagnostics[rules].dump(2);
    std::string plain = text;
    plain.erase(plain.find("‸"), std::string("‸").size());
    EXPECT_NE(withEdits(plain, actions[0]["edit"]["changes"][rules])
                  .find("y = Softmax(x)[axis == -1] -> Relu;"),
              std::string::npos)
        << actions.dump(2);
    // While the text differs from what was proved, the places may be wrong.
    client.type("X");
    EXPECT_EQ(client.at("textDocument/codeAction", {{"range", range}}), Json::array());
}

} // namespace
} // namespace fuselage::lsp_test
