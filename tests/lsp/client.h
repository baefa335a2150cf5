// SPDX-License-Identifier: Apache-2.0
// An editor's side of the protocol for tests: sends requests to a server in this process, keeps
// what comes back. `‸` in a text stands for the cursor and is not sent.
#pragma once

#include "app/lsp/server.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace fuselage::lsp_test {

using Json = nlohmann::json;

class Client {
public:
    explicit Client(lsp::ServerOptions options = {});

    /// The answer: its result, or {"error": ...}.
    Json request(const std::string& method, const Json& params);
    void notify(const std::string& method, const Json& params);

    /// Sends `initialize` with the folder as root and `initialized`.
    Json initialize(const std::string& folder = {}, const Json& options = Json::object(),
                    const Json& capabilities = Json::object());

    /// Opens a text and puts the cursor where `‸` is.
    void open(const std::string& uri, std::string text);
    /// Replaces the `length` units at the cursor by `text`; the cursor goes behind it.
    void type(const std::string& text, uint32_t length = 0);

    /// A request about the cursor's place.
    Json at(const std::string& method, Json params = Json::object());

    lsp::Server& server() { return m_server; }

    std::map<std::string, Json> diagnostics; ///< newest, by URI
    std::vector<Json> asked;                 ///< requests of the server
    std::string uri;
    uint32_t line = 0, character = 0; ///< the cursor

private:
    void take(const std::string& body);

    lsp::Server m_server;
    int64_t m_next = 1;
    Json m_answer;
};

} // namespace fuselage::lsp_test
