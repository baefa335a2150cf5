// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/fuse_plan.h"

#include "app/pipeline/plan_line.h"
#include "core/support/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fuselage::app {

namespace {

constexpr std::string_view firstLine = "fuseplan 1";

Failure wrong(size_t line, const std::string& expected) {
    return failure("plan.syntax", fmt::format("line {}: expected {}", line, expected), "",
                   "write the plan with `fuselage fuse --plan-out`");
}

Result<void> readLine(std::string_view text, size_t number, FusePlan& plan, std::string& phase) {
    PlanLine line(text);
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
    return match.rule + ": " + quotedNames(match.nodes);
}

std::string planText(const FusePlan& plan) {
    std::string out = std::string(firstLine) + "\nmodel " + quotedName(plan.model) +
                      "\nprecision " + quotedName(plan.precision) + "\n";
    std::string phase;
    for (const PlannedMatch& match : plan.matches) {
        if (match.phase != phase)
            out += "\nphase " + quotedName(match.phase) + "\n";
        phase = match.phase;
        out += matchText(match);
        out += match.made.empty() ? "\n" : " => " + quotedNames(match.made) + "\n";
    }
    return out;
}

Result<FusePlan> parsePlan(std::string_view text) {
    const std::vector<std::string_view> lines = linesOf(text);
    if (lines.empty() || lines[0] != firstLine)
        return wrong(1, "`" + std::string(firstLine) + "`");
    FusePlan plan;
    std::string phase;
    for (size_t i = 1; i < lines.size(); ++i)
        if (auto read = readLine(lines[i], i + 1, plan, phase); !read)
            return failure(read.error());
    return plan;
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
