// SPDX-License-Identifier: Apache-2.0
#include "app/report/explain_text.h"

#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/pairs_text.h"
#include "app/report/trace_text.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr size_t inFull = 3;        ///< findings with all that is known
constexpr size_t sitesNamed = 2;    ///< places by name
constexpr size_t rulesInTable = 12; ///< rules that fire
constexpr size_t longestLine = 92;  ///< of a rule's text

std::string counted(size_t count, const std::string& what) {
    const char* ending = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
    return fmt::format("{} {}{}", count, what, ending);
}

std::string fact(const Reason& reason, const char* name) {
    for (const ReasonFact& each : reason.facts)
        if (each.name == name)
            return each.value;
    return {};
}

/// A rule without a gate has none that could refuse.
std::string refusalText(const Reason& reason) {
    const std::string by = fact(reason, "by"), lower = fact(reason, "lower");
    if (by.empty())
        return "complete, refused by its gate";
    if (!lower.empty() && lower != "cost")
        return "complete, but no single kernel computes it";
    return by == "measurement" ? "complete, measured to save no time"
                               : "complete, predicted to save no time";
}

/// "2 of 3 steps", "complete, but it may not be fused".
std::string distance(const Finding& finding) {
    switch (finding.stage) {
    case Finding::Stage::Start:
        return "not searched for";
    case Finding::Stage::Match:
        return fmt::format("{} of {} steps fit", finding.step, finding.steps);
    case Finding::Stage::Legal:
        return "complete, not legal";
    case Finding::Stage::Gate:
        return refusalText(finding.reason);
    case Finding::Stage::Rewrite:
        return "complete, the rewrite does not fit";
    case Finding::Stage::Lower:
        return "fused, but one kernel cannot compute it";
    case Finding::Stage::Select:
        return "complete, another match has its nodes";
    }
    return {};
}

std::string places(const Finding& finding) {
    if (finding.sites.empty())
        return "";
    std::string out = ", " + counted(finding.sites.size(), "place");
    size_t taken = finding.sites.size() - finding.openSites();
    if (taken > 0 && finding.stage != Finding::Stage::Select)
        out += taken == finding.sites.size() ? " (in other fusions)"
                                             : fmt::format(" ({} in other fusions)", taken);
    return out;
}

/// The line of the rule and a mark below what the finding is about. Patterns and forms that a rule
/// uses may stand in another file, which is named then.
std::string excerpt(const Finding& finding) {
    const TextPlace& place = *finding.place;
    std::string line = place.text;
    size_t column = place.column - 1;
    if (line.size() > longestLine && column > longestLine / 2) {
        size_t from = column - longestLine / 2;
        line = "..." + line.substr(from);
        column = column - from + 3;
    }
    line = line.substr(0, longestLine);
    if (column >= line.size())
        return {};
    size_t length = std::clamp<size_t>(place.length, 1, line.size() - column);
    const std::string file = place.file == finding.file ? "" : place.file + ":";
    std::string head = fmt::format("   {}{} | ", file, place.line);
    return head + line + "\n" + std::string(head.size() + column, ' ') + std::string(length, '^') +
           "\n";
}

std::string siteText(const FindingSite& site, bool whole) {
    const std::string origin = site.origin.empty() ? "" : " (" + site.origin + ")";
    return visible((whole && !site.nodes.empty() ? joined(site.nodes) : site.node) + origin);
}

/// Those that no other match has stand first.
std::string sitesText(const Finding& finding) {
    std::vector<const FindingSite*> sorted;
    for (const FindingSite& site : finding.sites)
        if (!site.node.empty()) // of a list of operands, of which the first failed
            sorted.push_back(&site);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->taken < b->taken; });
    bool whole = finding.stage != Finding::Stage::Match && finding.sites.size() == 1;
    std::string out;
    for (size_t i = 0; i < sorted.size() && i < sitesNamed; ++i)
        out += (i > 0 ? ", " : "") + siteText(*sorted[i], whole);
    if (sorted.size() > sitesNamed)
        out += fmt::format(" and {} more", sorted.size() - sitesNamed);
    return out;
}

/// The fused nodes that have the nodes of the places.
std::string holdersText(const Finding& finding) {
    std::vector<std::string> names;
    for (const FindingSite& site : finding.sites)
        if (!site.holder.empty() &&
            std::find(names.begin(), names.end(), site.holder) == names.end())
            names.push_back(site.holder);
    const size_t more = names.size() > sitesNamed ? names.size() - sitesNamed : 0;
    names.resize(names.size() - more);
    return joined(names) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

/// The change that the reason suggests, with what it did when it was tried.
std::string adviceText(const Finding& finding) {
    if (finding.outcome && finding.outcome->isUnsound)
        return "   = no advice: what would let it match makes the rewrite unsound, says the "
               "proof\n";
    if (finding.reason.flip.empty())
        return {};
    if (!finding.outcome)
        return "   = change, not tried: " + visible(finding.reason.flip) + "\n";
    const std::string change = "   = change: " + visible(finding.reason.flip) + "\n";
    const ChangeOutcome& outcome = *finding.outcome;
    const std::string moved = outcome.bytes == 0
                                  ? ""
                                  : fmt::format(", {} {} moved", bytesText(std::abs(outcome.bytes)),
                                                outcome.bytes < 0 ? "less" : "more");
    const std::string gain = "predicted gain " + secondsText(outcome.us * 1e-6) + moved + "\n";
    if (outcome.fires > outcome.before)
        return change + fmt::format("   = tried: it fires {} instead of {}, {}",
                                    counted(outcome.fires, "time"), outcome.before, gain);
    return change +
           fmt::format("   = tried: it fires {} as now and takes more, {} fewer are left, {}",
                       counted(outcome.fires, "time"),
                       counted(static_cast<size_t>(-outcome.nodes), "node"), gain);
}

std::string full(const Finding& finding) {
    std::string out = fmt::format("[{}]\n", finding.reason.code);
    if (finding.place)
        out += excerpt(finding);
    if (const std::string sites = sitesText(finding); !sites.empty())
        out += "   = at " + sites + "\n";
    out += "   = " + visible(finding.reason.message) + "\n";
    if (const std::string holders = holdersText(finding); !holders.empty())
        out += "   = the nodes are in " + visible(holders) + "\n";
    if (finding.parts.size() > 1)
        out += fmt::format(
            "   = it runs as {} kernels: {}; one kernel saves {} and {}\n", finding.parts.size(),
            joined(finding.parts, [](const auto& part) { return visible("[" + part + "]"); }),
            counted(static_cast<size_t>(finding.launches), "launch"), bytesText(finding.bytes));
    return out + adviceText(finding);
}

/// One line: both sides where there are two.
std::string brief(const Finding& finding) {
    std::string found = fact(finding.reason, "found"), wanted = fact(finding.reason, "expected");
    std::string what =
        found.empty() ? finding.reason.message : "found " + found + ", the rule wants " + wanted;
    if (what.size() > longestLine)
        what = what.substr(0, longestLine - 3) + "...";
    return fmt::format("[{}]\n   = {}\n", finding.reason.code, visible(what));
}

/// What is amiss with pairs, at most so many.
std::string remarksText(const std::vector<PairRemark>& remarks, size_t most) {
    std::string out;
    for (size_t i = 0; i < remarks.size() && i < most; ++i)
        out += visible(fmt::format("  {}: {} [{}]", remarks[i].node, remarks[i].message,
                                   remarks[i].code)) +
               (remarks[i].isAdvice ? "\n    advice: " : "\n    fix: ") + visible(remarks[i].fix) +
               "\n";
    if (remarks.size() > most)
        out += fmt::format("  and {} more; `fuselage quantize --lint` has all\n",
                           remarks.size() - most);
    return out;
}

/// Nodes that stay in float32, at most so many.
std::string keptText(const std::vector<PrecisionReport::Kept>& kept, size_t most) {
    if (kept.empty())
        return {};
    std::string out = fmt::format("{} {} in float32\n", counted(kept.size(), "node"),
                                  kept.size() == 1 ? "stays" : "stay");
    for (size_t i = 0; i < kept.size() && i < most; ++i)
        out += visible(fmt::format("  {}: {}", kept[i].node, kept[i].reason.message)) + "\n";
    if (kept.size() > most)
        out += fmt::format("  and {} more\n", kept.size() - most);
    return out;
}

std::string rulesText(const Explanation& e) {
    using Align = TextTable::Align;
    std::string out =
        fmt::format("{}: {} -> {} nodes", visible(e.model), e.nodesBefore, e.nodesAfter);
    if (e.rules.size() == 1) {
        const RuleStanding& rule = e.rules.front();
        size_t places = 0;
        for (const Finding& finding : e.findings)
            places += finding.stage == Finding::Stage::Lower ? 0 : finding.sites.size();
        out += fmt::format("\n{} ({}:{}) fires {}", rule.rule, rule.file, rule.line,
                           counted(rule.applied, "time"));
        out += (places == 0 ? "" : fmt::format("; {} came near", counted(places, "place"))) + "\n";
        for (const std::string& hint : rule.hints)
            out += fmt::format("  {}\n", hint);
        return out;
    }
    size_t firing = static_cast<size_t>(std::count_if(
        e.rules.begin(), e.rules.end(), [](const RuleStanding& rule) { return rule.applied > 0; }));
    out += fmt::format("; {} of {} rules fire\n", firing, e.rules.size());
    TextTable table({Align::Left, Align::Right, Align::Left});
    size_t shown = 0;
    for (const RuleStanding& rule : e.rules)
        if (rule.applied > 0 && shown++ < rulesInTable) {
            table.row({rule.rule, std::to_string(rule.applied),
                       fmt::format("{}:{}", rule.file, rule.line)});
            for (const std::string& hint : rule.hints)
                table.row({"", "", hint});
        }
    out += shown > 0 ? table.text() : "";
    if (shown > rulesInTable)
        out += fmt::format("  and {} more\n", shown - rulesInTable);
    return out;
}

} // namespace

std::string renderExplanation(const Explanation& e, size_t limit) {
    std::string out = e.node.empty() ? rulesText(e) : "";
    for (const std::string& origin : e.origins)
        out += visible(fmt::format("{} comes from {}", e.node, origin)) + "\n";
    out += notesText(e.notes);
    for (const TraceEvent& event : e.happened)
        out += text(event);
    for (const std::string& planned : e.planned)
        out += visible(planned) + "\n";
    bool oneRule = e.rules.size() == 1 && e.node.empty();
    if (!oneRule && e.node.empty() && !e.findings.empty() &&
        std::ranges::all_of(e.findings, [](const Finding& finding) {
            return finding.openSites() == 0 && !finding.sites.empty();
        }))
        out += "every place that came near is in a fusion already\n";
    for (size_t i = 0; i < e.findings.size() && i < limit; ++i) {
        const Finding& finding = e.findings[i];
        out += fmt::format(
            "{}. {}{}{} ", i + 1,
            oneRule ? "" : fmt::format("{} ({}:{}): ", finding.rule, finding.file, finding.line),
            distance(finding), places(finding));
        out += i < inFull ? full(finding) : brief(finding);
    }
    if (e.findings.size() > limit)
        out += fmt::format("{} more {}; --limit shows them\n", e.findings.size() - limit,
                           e.findings.size() - limit == 1 ? "reason" : "reasons");
    if (e.takenMatches > 0)
        out +=
            fmt::format("{} of {} lost their nodes, or leave them, to other fusions; --rule NAME "
                        "tells more\n",
                        counted(e.takenMatches, "match"), counted(e.takenRules.size(), "rule"));
    if (e.absentRules > 0)
        out += fmt::format("{} of the library want operators that the model does not have\n",
                           counted(e.absentRules, "rule"));
    if (e.heldRules > 0)
        out += fmt::format("{} of the library would start at nodes that other fusions have; --rule "
                           "NAME says what it wants of them\n",
                           counted(e.heldRules, "rule"));
    if (e.tidyRules > 0)
        out +=
            fmt::format("near misses of {} of the library that only tidy the graph are not shown; "
                        "--rule NAME does\n",
                        counted(e.tidyRules, "rule"));
    out += renderPairs(e.pairs, std::max(limit, inFull), !e.node.empty());
    out += remarksText(e.remarks, std::max(limit, inFull));
    out += keptText(e.kept, std::max(limit, inFull));
    if (e.findings.empty() && e.happened.empty())
        out += e.takenMatches + e.tidyRules > 0 ? ""
               : e.with.empty()                 ? "no rule came near\n"
                                : fmt::format("no rule came near to holding both `{}` and `{}`\n",
                                              visible(e.node), visible(e.with));
    return out;
}

} // namespace fuselage::app
