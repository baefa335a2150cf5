// SPDX-License-Identifier: Apache-2.0
#include "tests/lsp/client.h"

#include <algorithm>

namespace fuselage::lsp_test {

Client::Client(lsp::ServerOptions options)
    : m_server(std::move(options), [this](const std::string& body) { take(body); }) {}

void Client::take(const std::string& body) {
    const Json message = Json::parse(body);
    if (message.value("method", "") == "textDocument/publishDiagnostics")
        diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"];
    else if (message.contains("id") && message.contains("method"))
        asked.push_back(message);
    else if (message.contains("id"))
        m_answer = message;
}

Json Client::request(const std::string& method, const Json& params) {
    m_answer = nullptr;
    m_server.handle(
        Json{{"jsonrpc", "2.0"}, {"id", m_next}, {"method", method}, {"params", params}}.dump());
    if (!m_answer.is_object() || m_answer["id"] != m_next++)
        return {{"error", "no answer"}};
    return m_answer.contains("error") ? Json{{"error", m_answer["error"]}} : m_answer["result"];
}

void Client::notify(const std::string& method, const Json& params) {
    m_server.handle(Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}.dump());
}

Json Client::initialize(const std::string& folder, const Json& options, const Json& capabilities) {
    Json params = {{"processId", nullptr},
                   {"capabilities", capabilities},
                   {"rootUri", nullptr},
                   {"initializationOptions", options}};
    if (!folder.empty())
        params["rootUri"] = "file://" + folder;
    Json answer = request("initialize", params);
    notify("initialized", Json::object());
    return answer;
}

void Client::open(const std::string& name, std::string text) {
    uri = name;
    const std::string mark = "‸";
    if (const size_t found = text.find(mark); found != std::string::npos) {
        text.erase(found, mark.size());
        const size_t begin = text.rfind('\n', found) + 1; // of none: 0
        line = static_cast<uint32_t>(std::count(text.begin(), text.begin() + found, '\n'));
        character = static_cast<uint32_t>(found - begin); // tests with wide text set it themselves
    }
    notify(
        "textDocument/didOpen",
        {{"textDocument", {{"uri", uri}, {"languageId", "fuse"}, {"version", 1}, {"text", text}}}});
}

void Client::type(const std::string& text, uint32_t length) {
    const Json start = {{"line", line}, {"character", character}};
    const Json end = {{"line", line}, {"character", character + length}};
    notify("textDocument/didChange",
           {{"textDocument", {{"uri", uri}, {"version", 2}}},
            {"contentChanges",
             Json::array({{{"range", {{"start", start}, {"end", end}}}, {"text", text}}})}});
    character += static_cast<uint32_t>(text.size());
}

Json Client::at(const std::string& method, Json params) {
    params["textDocument"] = {{"uri", uri}};
    params["position"] = {{"line", line}, {"character", character}};
    return request(method, params);
}

} // namespace fuselage::lsp_test
