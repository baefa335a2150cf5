// SPDX-License-Identifier: Apache-2.0
// One function a request about texts: the place comes in, the language service answers, JSON goes
// out. Semantic tokens are in semantic_tokens.cpp.
#include "app/lsp/server_internal.h"

#include <algorithm>
#include <cctype>

namespace fuselage::lsp {

namespace {

using State = Server::State;

/// Kinds of the protocol by the service's words.
struct KindRow {
    const char* kind;
    int completion;
    int symbol;
};

constexpr KindRow kindRows[] = {
    {"operator", 3, 12}, {"attribute", 5, 8}, {"value", 6, 13},    {"keyword", 14, 14},
    {"pattern", 7, 5},   {"class", 13, 10},   {"function", 3, 12}, {"member", 10, 7},
    {"type", 25, 26},    {"trait", 8, 11},    {"phase", 20, 22},   {"rule", 7, 6},
    {"pipeline", 9, 2},  {"import", 17, 1},   {"form", 7, 5},
};

const KindRow& kindRow(const std::string& kind) {
    constexpr static KindRow plain{"", 1, 13};
    for (const KindRow& row : kindRows)
        if (kind == row.kind)
            return row;
    return plain;
}

Answer completion(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {};
    // The word at the cursor is replaced: clients differ in what they take for a word.
    const std::string& text = cursor->document->text;
    uint32_t begin = cursor->offset;
    auto isWord = [](char c) {
        return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
    };
    auto items = cursor->service().complete(cursor->document->name, cursor->offset);
    const bool isPath = !items.empty() && items[0].label.find('/') != std::string::npos;
    while (begin > 0 && (isWord(text[begin - 1]) || (isPath && text[begin - 1] == '/')))
        --begin;
    const Json range = rangeJson(PositionMap(text), begin, cursor->offset);
    Json list = Json::array();
    for (const dsl::Completion& item : items) {
        Json entry = {{"label", item.label},
                      {"kind", kindRow(item.kind).completion},
                      {"textEdit", {{"range", range}, {"newText", item.insert}}}};
        if (!item.detail.empty())
            entry["detail"] = item.detail;
        if (!item.documentation.empty())
            entry["documentation"] = {{"kind", "markdown"}, {"value", item.documentation}};
        list.push_back(std::move(entry));
    }
    return {{{"isIncomplete", false}, {"items", std::move(list)}}};
}

/// What the proof says of the rule whose name is at the cursor, and how often it matches the model;
/// empty for anything else.
std::string standingAt(State& state, const Cursor& cursor) {
    std::string out;
    for (const dsl::Symbol& symbol : cursor.service().symbols(cursor.document->name)) {
        const bool here = symbol.nameBegin <= cursor.offset && cursor.offset <= symbol.nameEnd;
        if (symbol.kind != "rule" || !here)
            continue;
        if (auto known = state.checked.find(cursor.document->name); known != state.checked.end())
            if (auto found = known->second->verdicts.find(symbol.name);
                found != known->second->verdicts.end())
                out += "\n\n" + found->second;
        if (state.counter) {
            state.count(*cursor.group);
            out += "\n\n" + state.counter->describe(symbol.name);
        }
    }
    return out;
}

Answer hover(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {};
    auto found = cursor->service().hover(cursor->document->name, cursor->offset);
    if (!found)
        return {};
    const PositionMap map(cursor->document->text);
    return {{{"contents",
              {{"kind", "markdown"}, {"value", found->markdown + standingAt(state, *cursor)}}},
             {"range", rangeJson(map, found->begin, found->end)}}};
}

Answer signatureHelp(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    auto found =
        cursor ? cursor->service().signature(cursor->document->name, cursor->offset) : std::nullopt;
    if (!found)
        return {};
    Json parameters = Json::array();
    for (const auto& [begin, end] : found->parameters)
        parameters.push_back({{"label", found->label.substr(begin, end - begin)}});
    return {{{"signatures",
              {{{"label", found->label},
                {"documentation", {{"kind", "markdown"}, {"value", found->documentation}}},
                {"parameters", std::move(parameters)}}}},
             {"activeSignature", 0},
             {"activeParameter", found->active}}};
}

Answer definition(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {};
    auto place = cursor->service().definition(cursor->document->name, cursor->offset);
    return {place ? locationJson(state.workspace, *cursor->group, *place) : Json()};
}

Answer references(State& state, const Json& params) {
    state.workspace.readAgain(Workspace::Reread::Written);
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    if (cursor)
        for (const dsl::Place& place :
             cursor->service().references(cursor->document->name, cursor->offset))
            if (Json at = locationJson(state.workspace, *cursor->group, place); !at.is_null())
                list.push_back(std::move(at));
    return {std::move(list)};
}

/// The same name in this text alone.
Answer documentHighlight(State& state, const Json& params) {
    constexpr int text = 1; // neither read nor written
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    if (!cursor)
        return {std::move(list)};
    const PositionMap map(cursor->document->text);
    for (const dsl::Place& place :
         cursor->service().references(cursor->document->name, cursor->offset))
        if (place.name == cursor->document->name)
            list.push_back({{"range", rangeJson(map, place.begin, place.end)}, {"kind", text}});
    return {std::move(list)};
}

Answer prepareRename(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {};
    const auto place = cursor->service().renamable(cursor->document->name, cursor->offset);
    if (!place)
        return {{}, requestFailed, place.error().text()};
    return {rangeJson(PositionMap(cursor->document->text), place->begin, place->end)};
}

Answer rename(State& state, const Json& params) {
    state.workspace.readAgain(Workspace::Reread::All);
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {{}, invalidParams, "the file is not open"};
    auto edits = cursor->service().rename(cursor->document->name, cursor->offset,
                                          stringAt(params, {"newName"}));
    if (!edits)
        return {{}, requestFailed, edits.error().text()};
    return {workspaceEditJson(*cursor->group, *edits)};
}

Answer formatting(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    if (!cursor)
        return {};
    const std::string& text = cursor->document->text;
    std::string formatted = cursor->service().format(cursor->document->name);
    if (formatted == text)
        return {Json::array()};
    const auto end = static_cast<uint32_t>(text.size());
    return {Json::array(
        {{{"range", rangeJson(PositionMap(text), 0, end)}, {"newText", std::move(formatted)}}})};
}

Answer rangeFormatting(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    const Json* start = member(params, {"range", "start"});
    const Json* end = member(params, {"range", "end"});
    if (!cursor || !start || !end)
        return {std::move(list)};
    const PositionMap map(cursor->document->text);
    for (const dsl::TextEdit& edit :
         cursor->service().formatRange(cursor->document->name, map.offset(positionFrom(*start)),
                                       map.offset(positionFrom(*end))))
        list.push_back(
            {{"range", rangeJson(map, edit.place.begin, edit.place.end)}, {"newText", edit.text}});
    return {std::move(list)};
}

Answer foldingRange(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    if (!cursor)
        return {std::move(list)};
    const PositionMap map(cursor->document->text);
    for (const dsl::Fold& fold : cursor->service().folds(cursor->document->name)) {
        // The line of the closing brace stays visible.
        const uint32_t first = map.position(fold.begin).line, last = map.position(fold.end).line;
        if (last > first + 1)
            list.push_back({{"startLine", first}, {"endLine", last - 1}});
    }
    return {std::move(list)};
}

Answer documentSymbol(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    if (!cursor)
        return {std::move(list)};
    const PositionMap map(cursor->document->text);
    for (const dsl::Symbol& symbol : cursor->service().symbols(cursor->document->name))
        list.push_back({{"name", symbol.name},
                        {"kind", kindRow(symbol.kind).symbol},
                        {"detail", symbol.detail},
                        {"range", rangeJson(map, symbol.begin, symbol.end)},
                        {"selectionRange", rangeJson(map, symbol.nameBegin, symbol.nameEnd)}});
    return {std::move(list)};
}

bool holdsLetters(const std::string& name, const std::string& query) {
    size_t at = 0;
    for (const char c : name)
        if (at < query.size() && std::tolower(static_cast<unsigned char>(c)) ==
                                     std::tolower(static_cast<unsigned char>(query[at])))
            ++at;
    return at == query.size();
}

/// Rules, patterns and the like of all texts whose names hold the letters asked for, in that order.
Answer workspaceSymbol(State& state, const Json& params) {
    constexpr size_t most = 1000;
    const std::string query = stringAt(params, {"query"});
    Json list = Json::array();
    for (auto& [folder, group] : state.workspace.groups())
        for (const auto& [name, document] : group.documents) {
            const PositionMap map(document.text);
            for (const dsl::Symbol& symbol : group.service->symbols(name))
                if (list.size() < most && holdsLetters(symbol.name, query))
                    list.push_back(
                        {{"name", symbol.name},
                         {"kind", kindRow(symbol.kind).symbol},
                         {"containerName", document.name},
                         {"location",
                          {{"uri", document.uri},
                           {"range", rangeJson(map, symbol.nameBegin, symbol.nameEnd)}}}});
        }
    return {std::move(list)};
}

/// The text with the edits made, which stand apart from each other.
std::string edited(std::string text, std::vector<dsl::TextEdit> edits) {
    std::sort(edits.begin(), edits.end(), [](const dsl::TextEdit& a, const dsl::TextEdit& b) {
        return a.place.begin > b.place.begin;
    });
    for (const dsl::TextEdit& edit : edits)
        text.replace(edit.place.begin, edit.place.end - edit.place.begin, edit.text);
    return text;
}

/// The guards that the proof suggests for rules in the range, where the rules load with them.
void addGuards(State& state, const Cursor& cursor, uint32_t begin, uint32_t end, Json& list) {
    const std::string& name = cursor.document->name;
    const auto known = state.checked.find(name);
    if (known == state.checked.end())
        return;
    for (const Diagnostic& each : known->second->diagnostics.all()) {
        const Source& source = (*known->second->sources)[each.span.source];
        const bool isHere = source.name() == name && source.text() == cursor.document->text &&
                            each.span.begin <= end && each.span.end >= begin;
        if (!isHere || each.code != "E0501" || each.fix.empty())
            continue;
        auto edits = cursor.service().guarded(name, each.span.begin, each.fix);
        if (edits.empty())
            continue;
        std::vector<dsl::RuleInput> inputs = state.workspace.inputs(*cursor.group);
        std::erase_if(inputs, [&](const dsl::RuleInput& input) {
            return input.name != name && !cursor.group->ofProject;
        });
        for (dsl::RuleInput& input : inputs)
            if (input.name == name)
                input.text = edited(source.text(), edits);
        SourceSet sources;
        if (dsl::loadRules(sources, inputs, state.workspace.resolver(*cursor.group))
                .diagnostics.hasErrors())
            continue;
        list.push_back({{"title", "demand what the proof suggests"},
                        {"kind", "quickfix"},
                        {"edit", workspaceEditJson(*cursor.group, edits)}});
    }
}

/// Whether the client takes quick fixes: it may say which kinds it wants.
bool wantsFixes(const Json& params) {
    const Json* only = member(params, {"context", "only"});
    return !only || !only->is_array() ||
           std::any_of(only->begin(), only->end(),
                       [](const Json& kind) { return kind == "" || kind == "quickfix"; });
}

Answer codeAction(State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    Json list = Json::array();
    if (!wantsFixes(params))
        return {std::move(list)};
    const Json* start = member(params, {"range", "start"});
    const Json* end = member(params, {"range", "end"});
    if (!cursor || !start || !end)
        return {std::move(list)};
    const PositionMap map(cursor->document->text);
    for (const dsl::CodeAction& action :
         cursor->service().actions(cursor->document->name, map.offset(positionFrom(*start)),
                                   map.offset(positionFrom(*end))))
        list.push_back({{"title", action.title},
                        {"kind", "quickfix"},
                        {"edit", workspaceEditJson(*cursor->group, action.edits)}});
    addGuards(state, *cursor, map.offset(positionFrom(*start)), map.offset(positionFrom(*end)),
              list);
    return {std::move(list)};
}

constexpr RequestRow rows[] = {
    {"textDocument/completion", completion},
    {"textDocument/hover", hover},
    {"textDocument/signatureHelp", signatureHelp},
    {"textDocument/definition", definition},
    {"textDocument/references", references},
    {"textDocument/documentHighlight", documentHighlight},
    {"textDocument/prepareRename", prepareRename},
    {"textDocument/rename", rename},
    {"textDocument/formatting", formatting},
    {"textDocument/rangeFormatting", rangeFormatting},
    {"textDocument/foldingRange", foldingRange},
    {"textDocument/documentSymbol", documentSymbol},
    {"textDocument/semanticTokens/full", semanticTokens},
    {"textDocument/codeAction", codeAction},
    {"workspace/symbol", workspaceSymbol},
};

} // namespace

std::span<const RequestRow> requestRows() {
    return rows;
}

Json capabilities() {
    return {{"positionEncoding", "utf-16"},
            {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
            {"completionProvider", {{"triggerCharacters", {".", "[", "@", "\"", "/"}}}},
            {"hoverProvider", true},
            {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
            {"definitionProvider", true},
            {"referencesProvider", true},
            {"documentHighlightProvider", true},
            {"renameProvider", {{"prepareProvider", true}}},
            {"documentFormattingProvider", true},
            {"documentRangeFormattingProvider", true},
            {"workspaceSymbolProvider", true},
            {"foldingRangeProvider", true},
            {"documentSymbolProvider", true},
            {"semanticTokensProvider", {{"legend", semanticLegend()}, {"full", true}}},
            {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}};
}

} // namespace fuselage::lsp
