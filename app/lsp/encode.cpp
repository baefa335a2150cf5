// SPDX-License-Identifier: Apache-2.0
// JSON that may be anything, read; places, edits and diagnostics, written.
#include "app/lsp/server_internal.h"
#include "core/support/file.h"

#include <algorithm>
#include <limits>

namespace fuselage::lsp {

const Json* member(const Json& value, std::initializer_list<const char*> path) {
    const Json* at = &value;
    for (const char* name : path) {
        if (!at->is_object())
            return nullptr;
        auto found = at->find(name);
        if (found == at->end())
            return nullptr;
        at = &*found;
    }
    return at;
}

std::string stringAt(const Json& value, std::initializer_list<const char*> path) {
    const Json* found = member(value, path);
    return found && found->is_string() ? found->get<std::string>() : std::string();
}

uint32_t numberAt(const Json& value, std::initializer_list<const char*> path) {
    const Json* found = member(value, path);
    if (!found || !found->is_number_integer())
        return 0;
    if (found->is_number_unsigned())
        return static_cast<uint32_t>(
            std::min<uint64_t>(found->get<uint64_t>(), std::numeric_limits<uint32_t>::max()));
    return 0; // below zero
}

Position positionFrom(const Json& value) {
    return {numberAt(value, {"line"}), numberAt(value, {"character"})};
}

std::optional<Cursor> cursorOf(Server::State& state, const Json& params) {
    const std::string uri = stringAt(params, {"textDocument", "uri"});
    Group* group = state.workspace.find(uri);
    if (!group)
        return std::nullopt;
    Cursor out{group, state.workspace.document(uri), 0};
    if (const Json* position = member(params, {"position"}))
        out.offset = PositionMap(out.document->text).offset(positionFrom(*position));
    return out;
}

Json positionJson(Position position) {
    return {{"line", position.line}, {"character", position.character}};
}

Json rangeJson(const PositionMap& map, uint32_t begin, uint32_t end) {
    return {{"start", positionJson(map.position(begin))}, {"end", positionJson(map.position(end))}};
}

Json locationJson(const Workspace& workspace, Group& group, const dsl::Place& place) {
    const std::string uri = workspace.uriOf(group, place.name);
    if (uri.empty())
        return nullptr;
    std::string text;
    if (auto known = group.documents.find(place.name); known != group.documents.end())
        text = known->second.text;
    else if (auto read = readFile(pathOfUri(uri)))
        text = std::move(*read);
    return {{"uri", uri}, {"range", rangeJson(PositionMap(text), place.begin, place.end)}};
}

Json workspaceEditJson(Group& group, const std::vector<dsl::TextEdit>& edits) {
    Json changes = Json::object();
    std::map<std::string, PositionMap> maps;
    for (const dsl::TextEdit& edit : edits) {
        auto document = group.documents.find(edit.place.name);
        if (document == group.documents.end())
            continue;
        const PositionMap& map =
            maps.try_emplace(edit.place.name, document->second.text).first->second;
        changes[document->second.uri].push_back(
            {{"range", rangeJson(map, edit.place.begin, edit.place.end)}, {"newText", edit.text}});
    }
    return {{"changes", std::move(changes)}};
}

namespace {

/// The words below the header on a terminal, as lines.
std::string messageOf(const Diagnostic& diagnostic) {
    std::string out = diagnostic.message;
    if (!diagnostic.expected.empty())
        out += "\nexpected: " + diagnostic.expected;
    if (!diagnostic.found.empty())
        out += "\nfound: " + diagnostic.found;
    for (const std::string& note : diagnostic.notes)
        out += "\n" + note;
    if (!diagnostic.fix.empty())
        out += "\nfix: " + diagnostic.fix;
    return out;
}

int severityOf(Severity severity) {
    return severity == Severity::Error ? 1 : severity == Severity::Warning ? 2 : 3;
}

} // namespace

Json diagnosticJson(Group& group, const SourceSet& sources, const Diagnostic& diagnostic,
                    const Document& document) {
    const PositionMap map(document.text);
    // An empty range is drawn nowhere.
    const uint32_t end = std::max(diagnostic.span.end, diagnostic.span.begin + 1);
    Json out = {{"range", rangeJson(map, diagnostic.span.begin, end)},
                {"severity", severityOf(diagnostic.severity)},
                {"code", diagnostic.code},
                {"source", "fuselage"},
                {"message", messageOf(diagnostic)}};
    for (const Label& label : diagnostic.labels) {
        const std::string& name = sources[label.span.source].name();
        auto where = group.documents.find(name);
        if (where != group.documents.end())
            out["relatedInformation"].push_back(
                {{"location",
                  {{"uri", where->second.uri},
                   {"range",
                    rangeJson(PositionMap(where->second.text), label.span.begin, label.span.end)}}},
                 {"message", label.text}});
    }
    return out;
}

} // namespace fuselage::lsp
