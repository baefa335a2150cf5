// SPDX-License-Identifier: Apache-2.0
// The session: initialize, texts that come, change and go, diagnostics, shutdown; everything else
// is a row of requests.cpp.
#include "app/lsp/server.h"

#include "app/lsp/server_internal.h"

#include <algorithm>

namespace fuselage::lsp {

namespace {

using State = Server::State;

constexpr int parseError = -32700, invalidRequest = -32600, methodNotFound = -32601,
              notInitialized = -32002, requestCancelled = -32800;

std::string textOf(const Json& message) {
    return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string rootOf(const Json& params) {
    const Json* folders = member(params, {"workspaceFolders"});
    if (folders && folders->is_array() && !folders->empty())
        return pathOfUri(stringAt(folders->front(), {"uri"}));
    return pathOfUri(stringAt(params, {"rootUri"}));
}

Answer initialize(State& state, const Json& params) {
    const std::string root = rootOf(params);
    auto project = readProject(root);
    if (!project)
        state.notify("window/showMessage", {{"type", 2}, {"message", project.error().text()}});
    Project known = project ? std::move(*project) : Project{};
    state.root = root;
    state.projectModel = known.model;
    state.setModel(stringAt(params, {"initializationOptions", "model"}));
    if (state.options.checks)
        state.checker = std::make_unique<RuleChecker>();
    state.workspace = Workspace(std::move(known), state.options.words);
    const Json* watches = member(
        params, {"capabilities", "workspace", "didChangeWatchedFiles", "dynamicRegistration"});
    state.canWatch = watches && watches->is_boolean() && watches->get<bool>();
    state.initialized = true;
    return {{{"capabilities", capabilities()}, {"serverInfo", {{"name", "fuselage"}}}}};
}

/// Asks a client that can to tell of rule files that other programs write.
void initialized(State& state, const Json&) {
    if (!state.canWatch)
        return;
    const Json watchers = Json::array({{{"globPattern", "**/*.fuse"}}});
    const Json registration = {{"id", "rule-files"},
                               {"method", "workspace/didChangeWatchedFiles"},
                               {"registerOptions", {{"watchers", watchers}}}};
    state.send(textOf({{"jsonrpc", "2.0"},
                       {"id", "watch-rule-files"},
                       {"method", "client/registerCapability"},
                       {"params", {{"registrations", Json::array({registration})}}}}));
}

/// Which files changed is not read: all that can have changed are asked.
void filesChanged(State& state, const Json&) {
    state.workspace.readAgain(Workspace::Reread::Written);
}

void didOpen(State& state, const Json& params) {
    const std::string uri = stringAt(params, {"textDocument", "uri"});
    if (!uri.empty())
        state.workspace.set(uri, stringAt(params, {"textDocument", "text"}));
}

void didChange(State& state, const Json& params) {
    const std::string uri = stringAt(params, {"textDocument", "uri"});
    const Json* changes = member(params, {"contentChanges"});
    Document* document = state.workspace.document(uri);
    if (!document || !changes || !changes->is_array())
        return;
    std::string text = document->text;
    for (const Json& change : *changes) {
        const std::string words = stringAt(change, {"text"});
        const Json* range = member(change, {"range"});
        if (!range) {
            text = words;
            continue;
        }
        const PositionMap map(text);
        const Json* start = member(*range, {"start"});
        const Json* end = member(*range, {"end"});
        const uint32_t begin = start ? map.offset(positionFrom(*start)) : 0;
        const uint32_t stop = end ? std::max(begin, map.offset(positionFrom(*end))) : begin;
        text.replace(begin, stop - begin, words);
    }
    state.workspace.set(uri, std::move(text));
}

void didClose(State& state, const Json& params) {
    const std::string uri = stringAt(params, {"textDocument", "uri"});
    state.workspace.close(uri);
    state.notify("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
}

/// Settings of the section `fuselage`, or of all sections.
void didChangeConfiguration(State& state, const Json& params) {
    if (member(params, {"settings", "fuselage", "model"}))
        state.setModel(stringAt(params, {"settings", "fuselage", "model"}));
    else if (member(params, {"settings", "model"}))
        state.setModel(stringAt(params, {"settings", "model"}));
}

struct NotificationRow {
    const char* method;
    void (*take)(State& state, const Json& params);
};

constexpr NotificationRow notificationRows[] = {
    {"initialized", initialized},
    {"workspace/didChangeWatchedFiles", filesChanged},
    {"textDocument/didSave", filesChanged},
    {"textDocument/didOpen", didOpen},
    {"textDocument/didChange", didChange},
    {"textDocument/didClose", didClose},
    {"workspace/didChangeConfiguration", didChangeConfiguration},
};

Answer answerTo(State& state, const std::string& method, const Json& params) {
    if (state.shutDown)
        return {{}, invalidRequest, "the server is shut down"};
    if (method == "initialize")
        return state.initialized ? Answer{{}, invalidRequest, "initialized already"}
                                 : initialize(state, params);
    if (!state.initialized)
        return {{}, notInitialized, "`initialize` comes first"};
    if (method == "shutdown") {
        state.shutDown = true;
        state.counter.reset();
        state.checker.reset();
        return {};
    }
    for (const RequestRow& row : requestRows())
        if (method == row.method)
            return row.answer(state, params);
    return {{}, methodNotFound, "no method `" + method + "`"};
}

void reply(const State& state, const Json& id, const Answer& answer) {
    Json out = {{"jsonrpc", "2.0"}, {"id", id}};
    if (answer.errorCode != 0)
        out["error"] = {{"code", answer.errorCode}, {"message", answer.error}};
    else
        out["result"] = answer.result;
    state.send(textOf(out));
}

} // namespace

void Server::State::notify(const char* method, Json params) const {
    send(textOf({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}));
}

void Server::State::setModel(std::string wanted) {
    if (!wanted.empty() && wanted.front() != '/' && !root.empty())
        wanted = root + "/" + wanted;
    for (const std::string& other : {options.model, projectModel})
        if (wanted.empty())
            wanted = other;
    if (wanted == model)
        return;
    model = std::move(wanted);
    counter = model.empty() ? nullptr : std::make_unique<MatchCounter>(model);
    countedFolder.clear();
    countedRevision = 0;
}

void Server::State::publish(Group& group) {
    group.changed = false;
    for (const auto& [name, document] : group.documents) {
        checked.erase(name);
        if (document.open)
            publish(group, name);
    }
    count(group);
    check(group);
}

void Server::State::publish(Group& group, const std::string& name) {
    const Document& document = group.documents.at(name);
    const std::vector<Diagnostic> quick = group.service->diagnose(name);
    Json list = Json::array();
    for (const Diagnostic& each : quick)
        list.push_back(diagnosticJson(group, group.service->sources(name), each, document));
    const auto found = checked.find(name);
    for (const Diagnostic& each :
         found == checked.end() ? std::vector<Diagnostic>() : found->second->diagnostics.all()) {
        const bool isKnown = std::any_of(quick.begin(), quick.end(), [&](const Diagnostic& other) {
            return other.code == each.code && other.span.begin == each.span.begin;
        });
        const SourceSet& sources = *found->second->sources;
        if (!isKnown && sources[each.span.source].name() == name)
            list.push_back(diagnosticJson(group, sources, each, document));
    }
    notify("textDocument/publishDiagnostics",
           {{"uri", document.uri}, {"diagnostics", std::move(list)}});
}

/// The texts of a rule folder together, others each by itself.
void Server::State::check(const Group& group) {
    if (!checker)
        return;
    const std::vector<dsl::RuleInput> inputs = workspace.inputs(group);
    if (group.ofProject)
        return checker->update(group.folder, inputs, workspace.resolver(group));
    for (const dsl::RuleInput& input : inputs)
        checker->update(input.name, {input}, workspace.resolver(group));
}

void Server::State::takeChecked() {
    while (auto found = checker ? checker->take() : std::nullopt)
        for (auto& [folder, group] : workspace.groups()) {
            const bool isAll = group.ofProject && folder == found->first;
            for (const auto& [name, document] : group.documents)
                if (isAll || (!group.ofProject && name == found->first)) {
                    checked[name] = found->second;
                    if (document.open)
                        publish(group, name);
                }
        }
}

void Server::State::count(const Group& group) {
    if (!counter || (countedFolder == group.folder && countedRevision == group.revision))
        return;
    counter->update(workspace.inputs(group), workspace.resolver(group));
    countedFolder = group.folder;
    countedRevision = group.revision;
}

Server::Server(ServerOptions options, std::function<void(std::string)> send)
    : m_state(std::make_unique<State>()) {
    m_state->options = std::move(options);
    m_state->send = std::move(send);
}

Server::~Server() = default;

void Server::handle(std::string_view body) {
    receive(body);
    while (hasWaiting())
        handleNext();
}

void Server::receive(std::string_view body) {
    Json& message = m_state->waiting.emplace_back().message;
    message = Json::parse(body, nullptr, false);
    const Json* id = member(message, {"params", "id"});
    if (stringAt(message, {"method"}) != "$/cancelRequest" || !id)
        return;
    for (Waiting& earlier : m_state->waiting)
        if (const Json* its = member(earlier.message, {"id"}))
            earlier.isCancelled |= *its == *id && member(earlier.message, {"method"});
}

bool Server::hasWaiting() const {
    return !m_state->waiting.empty();
}

void Server::handleNext() {
    const Waiting next = std::move(m_state->waiting.front());
    m_state->waiting.pop_front();
    const Json& message = next.message;
    if (message.is_discarded())
        return reply(*m_state, nullptr, {{}, parseError, "this is no JSON"});
    const std::string method = stringAt(message, {"method"});
    const Json* id = member(message, {"id"});
    if (method.empty()) {
        // An answer to a request of ours asks for nothing.
        if (!id || !(message.contains("result") || message.contains("error")))
            reply(*m_state, nullptr, {{}, invalidRequest, "a message without method"});
        return;
    }
    static const Json none = Json::object();
    const Json* params = member(message, {"params"});
    if (id && next.isCancelled)
        return reply(*m_state, *id, {{}, requestCancelled, "cancelled"});
    if (id)
        return reply(*m_state, *id, answerTo(*m_state, method, params ? *params : none));
    if (method == "exit")
        m_state->exitCode = m_state->shutDown ? 0 : 1;
    if (m_state->initialized && !m_state->shutDown)
        for (const NotificationRow& row : notificationRows)
            if (method == row.method)
                row.take(*m_state, params ? *params : none);
}

bool Server::hasIdleWork() const {
    if (m_state->checker && m_state->checker->isBusy())
        return true;
    return std::any_of(m_state->workspace.groups().begin(), m_state->workspace.groups().end(),
                       [](const auto& entry) { return entry.second.changed; });
}

void Server::idle() {
    for (auto& [folder, group] : m_state->workspace.groups())
        if (group.changed)
            m_state->publish(group);
    m_state->takeChecked();
}

std::optional<int> Server::exitCode() const {
    return m_state->exitCode;
}

} // namespace fuselage::lsp
