// SPDX-License-Identifier: Apache-2.0
// Quick fixes: what the advice of a message says, as a change of the text.
#include "dsl/service/texts_internal.h"

#include <algorithm>
#include <optional>

namespace fuselage::dsl {

namespace {

/// The first word in backticks, where the advice begins so.
std::optional<std::string> wordBehind(const std::string& advice, const std::string& begin) {
    const std::string start = begin + " `";
    const size_t end = advice.find('`', start.size());
    if (!advice.starts_with(start) || end == std::string::npos)
        return std::nullopt;
    return advice.substr(start.size(), end - start.size());
}

/// "did you mean `x`?" and "write `x`": the last words in backticks replace the place.
std::optional<std::string> replacementIn(const Diagnostic& diagnostic) {
    if (diagnostic.fix.find("did you mean") == std::string::npos)
        return std::nullopt;
    size_t begin = diagnostic.fix.find('`');
    size_t end = begin == std::string::npos ? begin : diagnostic.fix.find('`', begin + 1);
    if (end == std::string::npos)
        return std::nullopt;
    return diagnostic.fix.substr(begin + 1, end - begin - 1);
}

/// Where the word stands that the mistake is about: its place, or in that item behind it (a rule
/// that never runs, and its phase). Nothing: the word was left out, so no other takes its place.
std::optional<Span> placeOfWord(const ParsedText& text, const Diagnostic& diagnostic) {
    const Span& span = diagnostic.span;
    const std::string_view here =
        std::string_view(text.text()).substr(span.begin, span.end - span.begin);
    if (here == diagnostic.found || !isName(diagnostic.found))
        return span;
    const Occurrence* thing = occurrenceAt(text.occurrences, span.begin);
    for (const Occurrence& other : text.occurrences)
        if (thing && other.item == thing->item && other.span.begin >= span.begin &&
            other.text == diagnostic.found)
            return other.span;
    return std::nullopt;
}

size_t mistakesOf(const std::string& text) {
    SourceSet sources;
    return parse(sources, sources.add("", text)).diagnostics.all().size();
}

/// The change of an advice about syntax, if the text has fewer mistakes with it: the advice says
/// what is to stand there, but is no edit.
std::optional<CodeAction> syntaxAction(const std::string& name, const ParsedText& text,
                                       const Diagnostic& diagnostic) {
    const std::string& whole = text.text();
    const Span& span = diagnostic.span;
    const auto added = wordBehind(diagnostic.fix, "add");
    const auto written = added ? std::nullopt : wordBehind(diagnostic.fix, "write");
    if (!added && !written)
        return std::nullopt;
    std::vector<CodeAction> tries;
    const auto propose = [&](const std::string& title, uint32_t begin, uint32_t end,
                             const std::string& words) {
        tries.push_back({title, {{{name, begin, end}, words}}});
    };
    if (added) {
        // Behind the word before, or, where that one is the place itself, behind the place.
        const std::vector<Token>& tokens = text.parsed.tokens;
        size_t at = tokenAt(tokens, span.begin);
        while (at > 0 && (tokens[at - 1].kind == Token::Kind::Comment ||
                          tokens[at - 1].kind == Token::Kind::DocComment))
            --at;
        const uint32_t behind = at > 0 ? tokens[at - 1].end : 0;
        for (const uint32_t place : {behind, span.end})
            propose("add `" + *added + "`", place, place, *added);
    } else if (diagnostic.code == "E0104") {
        const auto first = static_cast<uint32_t>(markLength(whole));
        propose("write `" + *written + "`", first, first, *written + "\n");
    } else {
        propose("write `" + *written + "`", span.begin, span.end, *written);
    }
    const size_t before = mistakesOf(whole);
    for (CodeAction& each : tries) {
        const TextEdit& edit = each.edits[0];
        std::string after = whole;
        after.replace(edit.place.begin, edit.place.end - edit.place.begin, edit.text);
        if (mistakesOf(after) < before)
            return std::move(each);
    }
    return std::nullopt;
}

} // namespace

std::optional<CodeAction> fixOf(const std::string& name, const ParsedText& text,
                                const Diagnostic& diagnostic) {
    const auto words = replacementIn(diagnostic);
    if (!words)
        return diagnostic.code.starts_with("E01") ? syntaxAction(name, text, diagnostic)
                                                  : std::nullopt;
    const std::optional<Span> place = placeOfWord(text, diagnostic);
    if (!place)
        return std::nullopt;
    return CodeAction{"replace by `" + *words + "`", {{{name, place->begin, place->end}, *words}}};
}

} // namespace fuselage::dsl
