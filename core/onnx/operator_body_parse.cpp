// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/operator_body_internal.h"
#include "core/ops/embedded_operators.h"
#include "core/support/number_text.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <deque>

namespace fuselage::model_io {

namespace {

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view takeUntil(std::string_view& text, std::string_view mark) {
    const size_t end = text.find(mark);
    assert(end != std::string_view::npos && "a header of bodies.txt lacks a part");
    const std::string_view out = trimmed(text.substr(0, end));
    text.remove_prefix(end + mark.size());
    return out;
}

std::vector<std::string> names(std::string_view list) {
    std::vector<std::string> out;
    while (!list.empty()) {
        const std::string_view word = list.substr(0, list.find(','));
        list.remove_prefix(std::min(word.size() + 1, list.size()));
        if (!trimmed(word).empty())
            out.emplace_back(trimmed(word));
    }
    return out;
}

/// "com.microsoft.GroupNorm 1 (X, gamma, beta) -> (Y) | groups epsilon=1e-5"
OperatorBody header(std::string_view line) {
    OperatorBody out;
    std::string_view full = takeUntil(line, " ");
    const size_t dot = full.rfind('.');
    out.name = dot == std::string_view::npos ? full : full.substr(dot + 1);
    out.domain = dot == std::string_view::npos ? "" : full.substr(0, dot);
    const std::string_view since = takeUntil(line, "(");
    std::from_chars(since.data(), since.data() + since.size(), out.since);
    out.inputs = names(takeUntil(line, ")"));
    takeUntil(line, "(");
    out.outputs = names(takeUntil(line, ")"));
    if (const size_t bar = line.find('|'); bar != std::string_view::npos)
        line.remove_prefix(bar + 1);
    for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(word.size());
        const size_t equals = word.find('=');
        out.attributes.emplace(word.substr(0, equals),
                               equals == std::string_view::npos ? "" : word.substr(equals + 1));
    }
    return out;
}

/// Brackets that a text leaves open.
int depthOf(std::string_view text) {
    int depth = 0;
    for (char c : text)
        depth += c == '(' || c == '{' || c == '[' ? 1 : c == ')' || c == '}' || c == ']' ? -1 : 0;
    return depth;
}

std::deque<OperatorBody>& allBodies() {
    static std::deque<OperatorBody> all = [] {
        std::deque<OperatorBody> out;
        for (std::string_view text : embeddedBodies())
            for (OperatorBody& body : parseBodies(text))
                out.push_back(std::move(body));
        return out;
    }();
    return all;
}

} // namespace

std::vector<OperatorBody> parseBodies(std::string_view text) {
    std::vector<OperatorBody> out;
    int open = 0;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::string_view words = trimmed(line.substr(0, line.find('#')));
        if (words.empty())
            continue;
        const size_t indent = line.find_first_not_of(' ');
        if (indent == 0) {
            out.push_back(header(words));
            continue;
        }
        assert(!out.empty() && "bodies.txt begins with a header");
        std::vector<BodyLine>& lines = out.back().lines;
        if (open > 0)
            lines.back().text += " " + std::string(words);
        else
            lines.push_back({indent, std::string(words)});
        open = depthOf(lines.back().text);
    }
    return out;
}

const std::deque<OperatorBody>& operatorBodies() {
    return allBodies();
}

void publishBodies(std::string_view text) {
    for (OperatorBody& body : parseBodies(text))
        allBodies().push_back(std::move(body));
}

const OperatorBody* operatorBody(std::string_view domain, std::string_view name, int64_t version) {
    const OperatorBody* newest = nullptr;
    for (const OperatorBody& body : operatorBodies())
        if (body.name == name && body.domain == domain && body.since <= version &&
            (!newest || body.since > newest->since))
            newest = &body;
    return newest;
}

bool isNameCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

size_t operandsOf(const std::string& text, size_t equals) {
    size_t at = text.find_first_of("(<", equals);
    if (at == std::string::npos || text[at] == '(')
        return at;
    int depth = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '>' && text[at - 1] == '=')
            continue;
        depth += text[at] == '<' ? 1 : text[at] == '>' ? -1 : 0;
        if (depth == 0)
            break;
    }
    return text.find('(', at);
}

std::vector<std::string> identifiers(const std::string& text) {
    std::vector<std::string> out;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && isNameCharacter(text[end]))
            ++end;
        if (end > i)
            out.push_back(text.substr(i, end - i));
        i = end + 1;
    }
    return out;
}

CallAttribute fromText(const std::string& text) {
    if (text.empty())
        return {};
    if (text.starts_with('"'))
        return text.substr(1, text.size() - 2);
    if (text.find_first_of(".e") != std::string::npos)
        return numberIn(text);
    int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

} // namespace fuselage::model_io
