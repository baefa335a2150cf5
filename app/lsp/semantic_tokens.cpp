// SPDX-License-Identifier: Apache-2.0
// Colours of a text in the protocol's form: five numbers a token, each place relative to the token
// before it. Tokens end with their line.
#include "app/lsp/server_internal.h"

namespace fuselage::lsp {

namespace {

/// Names of the protocol in the order of dsl::Colour; an empty one is left to the editor.
constexpr const char* colours[] = {
    "keyword",       // Keyword
    "function",      // Operator
    "class",         // Pattern
    "struct",        // Rule
    "method",        // Function
    "variable",      // Value
    "parameter",     // Definition
    "typeParameter", // Dimension
    "property",      // Attribute
    "modifier",      // Word
    "number",        // Number
    "string",        // String
    "comment",       // Comment
    "comment",       // Documentation
    "operator",      // Mark
    "",              // Wrong
};

} // namespace

Json semanticLegend() {
    Json types = Json::array();
    for (const char* colour : colours)
        types.push_back(*colour ? colour : "operator");
    return {{"tokenTypes", std::move(types)}, {"tokenModifiers", Json::array()}};
}

Answer semanticTokens(Server::State& state, const Json& params) {
    auto cursor = cursorOf(state, params);
    Json::array_t data;
    if (!cursor)
        return {{{"data", std::move(data)}}};
    const std::string& text = cursor->document->text;
    const PositionMap map(text);
    Position before;
    auto add = [&](uint32_t begin, uint32_t end, dsl::Colour colour) {
        const Position at = map.position(begin), behind = map.position(end);
        if (at.line != behind.line || behind.character <= at.character)
            return;
        data.emplace_back(at.line - before.line);
        data.emplace_back(at.line == before.line ? at.character - before.character : at.character);
        data.emplace_back(behind.character - at.character);
        data.emplace_back(static_cast<int>(colour));
        data.emplace_back(0);
        before = at;
    };
    const std::vector<dsl::Highlight> pieces = cursor->service().highlight(cursor->document->name);
    data.reserve(pieces.size() * 5);
    for (const dsl::Highlight& piece : pieces) {
        if (*colours[static_cast<size_t>(piece.colour)] == 0)
            continue;
        uint32_t begin = piece.begin;
        for (uint32_t i = piece.begin; i < piece.end; ++i)
            if (text[i] == '\n') {
                add(begin, i, piece.colour);
                begin = i + 1;
            }
        add(begin, piece.end, piece.colour);
    }
    return {{{"data", std::move(data)}}};
}

} // namespace fuselage::lsp
