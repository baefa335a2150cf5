// SPDX-License-Identifier: Apache-2.0
// What the files of the server share: its state, reading JSON that may be anything, and writing
// places of texts. JSON stays in this room's sources.
#pragma once

#include "app/lsp/match_counter.h"
#include "app/lsp/rule_checker.h"
#include "app/lsp/server.h"
#include "app/lsp/text_position.h"
#include "app/lsp/workspace.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <initializer_list>
#include <span>

namespace fuselage::lsp {

using Json = nlohmann::json;

/// An answer, or the code and words of a refusal.
struct Answer {
    Json result = {};
    int errorCode = 0;
    std::string error = {};
};

constexpr int invalidParams = -32602;
constexpr int requestFailed = -32803;

/// A message that was received and not handled.
struct Waiting {
    Json message = {};
    bool isCancelled = false;
};

struct Server::State {
    ServerOptions options;
    std::deque<Waiting> waiting;
    std::string root, projectModel; ///< of `initialize`
    std::function<void(std::string)> send;
    Workspace workspace{{}, {}};
    std::unique_ptr<MatchCounter> counter; ///< null without a model
    std::string model;                     ///< that it counts on
    std::string countedFolder;             ///< the group whose rules it counts
    uint64_t countedRevision = 0;
    std::unique_ptr<RuleChecker> checker; ///< null where nobody wants it
    std::map<std::string, std::shared_ptr<const CheckedRules>> checked; ///< by text, of the newest
    bool canWatch = false; ///< the client can tell of files that other programs write
    bool initialized = false, shutDown = false;
    std::optional<int> exitCode;

    void notify(const char* method, Json params) const;
    /// `wanted`: by the client; empty: by the command line or the project.
    void setModel(std::string wanted);
    void publish(Group& group);
    void publish(Group& group, const std::string& name);
    void check(const Group& group);
    void takeChecked();
    /// Has the group counted as it stands, unless it is or was.
    void count(const Group& group);
};

/// The member at the end of a path; null when there is none.
const Json* member(const Json& value, std::initializer_list<const char*> path);
std::string stringAt(const Json& value, std::initializer_list<const char*> path);
uint32_t numberAt(const Json& value, std::initializer_list<const char*> path);

/// The open document of a request and the place it asks about.
struct Cursor {
    Group* group = nullptr;
    Document* document = nullptr;
    uint32_t offset = 0;

    dsl::LanguageService& service() const { return *group->service; }
};

/// Nothing when the document is not open.
std::optional<Cursor> cursorOf(Server::State& state, const Json& params);

Json positionJson(Position position);
Position positionFrom(const Json& value);
Json rangeJson(const PositionMap& map, uint32_t begin, uint32_t end);

/// {uri, range} of a place of the group; null when no file holds it.
Json locationJson(const Workspace& workspace, Group& group, const dsl::Place& place);

/// {changes: {uri: [edits]}}.
Json workspaceEditJson(Group& group, const std::vector<dsl::TextEdit>& edits);

Json diagnosticJson(Group& group, const SourceSet& sources, const Diagnostic& diagnostic,
                    const Document& document);

struct RequestRow {
    const char* method;
    Answer (*answer)(Server::State& state, const Json& params);
};

/// Requests about texts; those of the session itself are in server.cpp.
std::span<const RequestRow> requestRows();

/// What the server says it can do.
Json capabilities();

Answer semanticTokens(Server::State& state, const Json& params);
Json semanticLegend();

} // namespace fuselage::lsp
