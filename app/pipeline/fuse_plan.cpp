// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/fuse_plan.h"

#include "core/support/file.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace fuselage::app {

namespace {

constexpr std::string_view firstLine = "fuseplan 1";

/// Names come from models and may hold anything.
std::string quoted(const std::string& name) {
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

std::string quotedList(const std::vector<std::string>& names) {
    return joined(names, quoted);
}

/// Reads one line from left to right.
class LineReader {
public:
    explicit LineReader(std::string_view line) : m_rest(line) {}

    bool atEnd() {
        skipSpaces();
        return m_rest.empty();
    }

    bool take(std::string_view text) {
        skipSpaces();
        if (!m_rest.starts_with(text))
            return false;
        m_rest.remove_prefix(text.size());
        return true;
    }

    /// A run of letters, digits and underscores; empty when there is none.
    std::string word() {
        skipSpaces();
        size_t length = 0;
        while (length < m_rest.size() &&
               (std::isalnum(static_cast<unsigned char>(m_rest[length])) || m_rest[length] == '_'))
            ++length;
        std::string out(m_rest.substr(0, length));
        m_rest.remove_prefix(length);
        return out;
    }

    std::optional<std::string> name() {
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

    /// One name or more, with commas.
    std::optional<std::vector<std::string>> names() {
        std::vector<std::string> out;
        do {
            auto next = name();
            if (!next)
                return std::nullopt;
            out.push_back(std::move(*next));
        } while (take(","));
        return out;
    }

private:
    void skipSpaces() {
        while (!m_rest.empty() && (m_rest.front() == ' ' || m_rest.front() == '\t'))
            m_rest.remove_prefix(1);
    }

    std::optional<char> escape() {
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

    std::string_view m_rest;
};

Failure wrong(size_t line, const std::string& expected) {
    return failure("plan.syntax", fmt::format("line {}: expected {}", line, expected), "",
                   "write the plan with `fuselage fuse --plan-out`");
}

Result<void> readLine(std::string_view text, size_t number, FusePlan& plan, std::string& phase) {
    LineReader line(text);
    if (line.atEnd() || line.take("#"))
        return {};
    std::string word = line.word();
    if (word == "model" || word == "precision" || word == "phase") {
        auto value = line.name();
        if (!value || !line.atEnd())
            return wrong(number, "a name in quotes after `" + word + "`");
        (word == "model" ? plan.model : word == "precision" ? plan.precision : phase) = *value;
        return {};
    }
    if (word.empty() || !line.take(":"))
        return wrong(number, "`model`, `precision`, `phase` or a match: RULE: \"node\", ...");
    if (phase.empty())
        return wrong(number, "a `phase` before the first match");
    PlannedMatch match{phase, word, {}, {}};
    auto nodes = line.names();
    if (!nodes)
        return wrong(number, "names of nodes in quotes, with commas");
    match.nodes = std::move(*nodes);
    if (line.take("=>")) {
        auto made = line.names();
        if (!made)
            return wrong(number, "names of the new nodes in quotes behind `=>`");
        match.made = std::move(*made);
    }
    if (!line.atEnd())
        return wrong(number, "the end of the line");
    plan.matches.push_back(std::move(match));
    return {};
}

} // namespace

FusePlan planOf(const Graph& graph, const Trace& trace, Precision precision) {
    return {graph.name(), nameOf(precision), plannedMatches(trace)};
}

std::string matchText(const PlannedMatch& match) {
    return match.rule + ": " + quotedList(match.nodes);
}

std::string planText(const FusePlan& plan) {
    std::string out = std::string(firstLine) + "\nmodel " + quoted(plan.model) + "\nprecision " +
                      quoted(plan.precision) + "\n";
    std::string phase;
    for (const PlannedMatch& match : plan.matches) {
        if (match.phase != phase)
            out += "\nphase " + quoted(match.phase) + "\n";
        phase = match.phase;
        out += matchText(match);
        out += match.made.empty() ? "\n" : " => " + quotedList(match.made) + "\n";
    }
    return out;
}

Result<FusePlan> parsePlan(std::string_view text) {
    FusePlan plan;
    std::string phase;
    for (size_t number = 1; !text.empty(); ++number) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (number == 1) {
            if (line != firstLine)
                return wrong(1, "`" + std::string(firstLine) + "`");
            continue;
        }
        if (auto read = readLine(line, number, plan, phase); !read)
            return failure(read.error());
        if (text.empty())
            return plan;
    }
    return wrong(1, "`" + std::string(firstLine) + "`");
}

Result<FusePlan> readPlan(const std::string& path) {
    auto text = readFile(path);
    if (!text)
        return failure("plan.read", "cannot read the plan", path, "give a .fuseplan file");
    auto plan = parsePlan(*text);
    if (plan)
        return plan;
    Error error = plan.error();
    error.where = path;
    return failure(std::move(error));
}

PlanDifference comparePlans(const FusePlan& before, const FusePlan& after) {
    using Key = std::pair<std::string, std::vector<std::string>>;
    auto keyOf = [](const PlannedMatch& match) {
        std::vector<std::string> nodes = match.nodes;
        std::sort(nodes.begin(), nodes.end());
        return Key(match.rule, std::move(nodes));
    };
    std::multiset<Key> old, now;
    for (const PlannedMatch& match : before.matches)
        old.insert(keyOf(match));
    for (const PlannedMatch& match : after.matches)
        now.insert(keyOf(match));
    PlanDifference out;
    auto missing = [&](const PlannedMatch& match, std::multiset<Key>& in) {
        auto found = in.find(keyOf(match));
        if (found == in.end())
            return true;
        in.erase(found);
        return false;
    };
    for (const PlannedMatch& match : before.matches)
        if (missing(match, now))
            out.lost.push_back(match);
        else
            ++out.same;
    for (const PlannedMatch& match : after.matches)
        if (missing(match, old))
            out.gained.push_back(match);
    return out;
}

} // namespace fuselage::app
