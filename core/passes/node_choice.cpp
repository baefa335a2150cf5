// SPDX-License-Identifier: Apache-2.0
#include "core/passes/node_choice.h"

#include "core/graph/text.h"
#include "core/support/wildcard.h"

#include <algorithm>
#include <charconv>

namespace fuselage {

namespace {

constexpr std::string_view byName = "node:", byOperator = "op:", comparing = "=!<>";

Failure notUnderstood(const std::string& text) {
    return failure("usage.nodes", "`" + text + "` names no nodes", "",
                   "write a node's name, node:NAME, op:OPERATOR or 'op:Conv group>1'");
}

} // namespace

NodeChoice NodeChoice::ofNames(std::string text, std::set<std::string> nodes) {
    NodeChoice out;
    out.m_text = std::move(text);
    out.m_names = std::move(nodes);
    return out;
}

Result<NodeChoice> NodeChoice::parse(const std::string& text) {
    NodeChoice out;
    out.m_text = text;
    out.m_byOperator = text.starts_with(byOperator);
    const size_t begin = out.m_byOperator           ? byOperator.size()
                         : text.starts_with(byName) ? byName.size()
                                                    : 0;
    out.m_pattern = text.substr(begin);
    const size_t space = out.m_byOperator ? out.m_pattern.find(' ') : std::string::npos;
    if (space != std::string::npos) {
        std::string words = out.m_pattern.substr(space);
        std::erase(words, ' ');
        out.m_pattern.resize(space);
        auto check = parseCheck(words, text);
        if (!check)
            return failure(check.error());
        out.m_check = std::move(*check);
    }
    if (out.m_pattern.empty())
        return notUnderstood(text);
    return out;
}

Result<NodeChoice::AttributeCheck> NodeChoice::parseCheck(std::string_view words,
                                                          const std::string& text) {
    const size_t begin = words.find_first_of(comparing);
    if (begin == std::string_view::npos || begin == 0)
        return notUnderstood(text);
    const size_t end = std::min(words.find_first_not_of(comparing, begin), words.size());
    AttributeCheck out{std::string(words.substr(0, begin)),
                       std::string(words.substr(begin, end - begin)), 0};
    const std::string_view number = words.substr(end);
    const char* last = number.data() + number.size();
    auto [rest, error] = std::from_chars(number.data(), last, out.value);
    constexpr std::string_view known[] = {"==", "!=", "<", "<=", ">", ">="};
    if (error != std::errc() || rest != last ||
        std::find(std::begin(known), std::end(known), out.comparison) == std::end(known))
        return notUnderstood(text);
    return out;
}

bool NodeChoice::holds(const AttributeCheck& check, const Node& node) {
    const AttributeValue* value = node.attributes.find(check.name);
    const auto* number = value ? std::get_if<int64_t>(value) : nullptr;
    if (!number)
        return false;
    const int64_t found = *number;
    const std::string& by = check.comparison;
    return by == "=="   ? found == check.value
           : by == "!=" ? found != check.value
           : by == "<"  ? found < check.value
           : by == "<=" ? found <= check.value
           : by == ">"  ? found > check.value
                        : found >= check.value;
}

bool NodeChoice::names(const Node& node) const {
    if (m_names)
        return m_names->contains(node.name);
    if (!m_byOperator)
        return fitsWildcard(m_pattern, node.name);
    return fitsWildcard(m_pattern, opText(node)) && (!m_check || holds(*m_check, node));
}

} // namespace fuselage
