// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/plan_line.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace fuselage::app {

std::string quotedName(const std::string& name) {
    std::string out = "\"";
    for (char c : name) {
        auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += std::string{'\\', c};
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    return out + "\"";
}

std::string quotedNames(const std::vector<std::string>& names) {
    return joined(names, quotedName);
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        out.push_back(line);
    }
    return out;
}

bool PlanLine::atEnd() {
    skipSpaces();
    return m_rest.empty();
}

bool PlanLine::take(std::string_view text) {
    skipSpaces();
    if (!m_rest.starts_with(text))
        return false;
    m_rest.remove_prefix(text.size());
    return true;
}

std::string PlanLine::word() {
    skipSpaces();
    size_t length = 0;
    while (length < m_rest.size() &&
           (std::isalnum(static_cast<unsigned char>(m_rest[length])) || m_rest[length] == '_'))
        ++length;
    std::string out(m_rest.substr(0, length));
    m_rest.remove_prefix(length);
    return out;
}

std::optional<std::string> PlanLine::name() {
    if (!take("\""))
        return std::nullopt;
    std::string out;
    while (!m_rest.empty()) {
        char c = m_rest.front();
        m_rest.remove_prefix(1);
        if (c == '"')
            return out;
        if (c != '\\') {
            out += c;
            continue;
        }
        auto escaped = escape();
        if (!escaped)
            return std::nullopt;
        out += *escaped;
    }
    return std::nullopt;
}

std::optional<std::vector<std::string>> PlanLine::names() {
    std::vector<std::string> out;
    do {
        auto next = name();
        if (!next)
            return std::nullopt;
        out.push_back(std::move(*next));
    } while (take(","));
    return out;
}

std::optional<int64_t> PlanLine::integer() {
    skipSpaces();
    int64_t value = 0;
    auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
    if (error != std::errc())
        return std::nullopt;
    m_rest.remove_prefix(static_cast<size_t>(end - m_rest.data()));
    return value;
}

std::optional<double> PlanLine::number() {
    skipSpaces();
    double value = 0;
    auto [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
    if (error != std::errc() || !std::isfinite(value))
        return std::nullopt;
    m_rest.remove_prefix(static_cast<size_t>(end - m_rest.data()));
    return value;
}

void PlanLine::skipSpaces() {
    while (!m_rest.empty() && (m_rest.front() == ' ' || m_rest.front() == '\t'))
        m_rest.remove_prefix(1);
}

std::optional<char> PlanLine::escape() {
    auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    if (m_rest.starts_with('"') || m_rest.starts_with('\\')) {
        char c = m_rest.front();
        m_rest.remove_prefix(1);
        return c;
    }
    if (m_rest.size() < 3 || m_rest[0] != 'x' || digit(m_rest[1]) < 0 || digit(m_rest[2]) < 0)
        return std::nullopt;
    char c = static_cast<char>(digit(m_rest[1]) * 16 + digit(m_rest[2]));
    m_rest.remove_prefix(3);
    return c;
}

} // namespace fuselage::app
