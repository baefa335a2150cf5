// SPDX-License-Identifier: Apache-2.0
// Tables of the report page. Every text goes through escaped(); cells hold their number for
// sorting.
#include "app/report/counted.h"
#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/html_internal.h"
#include "app/report/measured.h"
#include "app/report/pairs_text.h"
#include "app/report/rule_totals.h"
#include "app/report/trace_text.h"
#include "app/report/verdict.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace fuselage::app {

namespace {

constexpr size_t rowsShown = 200;
constexpr size_t sourcesShown = 8;

std::string cell(const std::string& text) {
    return "<td>" + escaped(text) + "</td>";
}

std::string numberCell(double value, const std::string& text) {
    return fmt::format("<td class=\"n\" data-v=\"{:.9g}\">{}</td>", value, escaped(text));
}

std::string count(int64_t value) {
    return numberCell(static_cast<double>(value), countText(value));
}

std::string bytes(int64_t value) {
    return numberCell(static_cast<double>(value), bytesText(value));
}

/// `heads`: "name" or "#name" for a column of numbers.
std::string table(const char* id, const std::vector<std::string>& heads, const std::string& rows,
                  size_t left) {
    std::string out =
        fmt::format("<div class=\"scroll\"><table class=\"sorts\" id=\"{}\"><thead><tr>", id);
    for (const std::string& head : heads)
        out += head[0] == '#' ? "<th scope=\"col\" class=\"n\">" + escaped(head.substr(1)) + "</th>"
                              : "<th scope=\"col\">" + escaped(head) + "</th>";
    out += "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
    if (left > 0)
        out += fmt::format("<p class=\"dim\">and {} more rows, which the JSON report holds</p>\n",
                           left);
    return out;
}

std::string chip(const std::string& text, const std::string& token) {
    return fmt::format("<span class=\"chip\" style=\"background:var(--{0});border-color:"
                       "var(--{0}-line)\">{1}</span>",
                       token, escaped(text));
}

std::string sourcesText(const std::vector<std::string>& sources) {
    std::string out;
    for (size_t i = 0; i < sources.size() && i < sourcesShown; ++i)
        out += (i ? ", " : "") + sources[i];
    if (sources.size() > sourcesShown)
        out += fmt::format(" and {} more", sources.size() - sourcesShown);
    return out;
}

} // namespace

std::string rulesTable(const Report& report, const scene::Scene& scene) {
    std::string rows;
    for (const RuleReport& rule : report.rules) {
        std::string badge;
        for (const scene::LegendRow& row : scene.legend)
            if (row.rule == rule.rule)
                badge = chip(row.letter, row.token);
        std::string hints;
        for (const std::string& hint : rule.hints)
            hints += "<br><span class=\"dim\">" + escaped(hint) + "</span>";
        rows += "<tr><td>" + badge + "</td><td>" + escaped(rule.rule) + hints + "</td>" +
                cell(fmt::format("{}:{}", rule.file, rule.line)) +
                count(static_cast<int64_t>(rule.fused)) + count(rule.launchesSaved) +
                bytes(rule.bytesSaved) + count(static_cast<int64_t>(rule.nearMisses)) + "</tr>\n";
    }
    if (const Saved beside = savedBesideRules(report); beside.launches != 0 || beside.bytes != 0)
        rows += "<tr><td></td><td>" + escaped(besideRules) + "</td><td></td><td></td>" +
                count(beside.launches) + bytes(beside.bytes) + "<td></td></tr>\n";
    return table(
        "rules",
        {"", "rule", "where", "#applied", "#launches saved", "#bytes saved", "#near misses"}, rows,
        0);
}

std::string sidesTable(const Report& r) {
    const SideReport &b = r.before, &a = r.after;
    std::string rows;
    auto row = [&](const std::string& name, double before, double after, const std::string& left,
                   const std::string& right) {
        std::string change = before > 0 ? percentText(after / before - 1) : "";
        rows += "<tr><th scope=\"row\">" + escaped(name) + "</th>" + numberCell(before, left) +
                numberCell(after, right) + numberCell(before > 0 ? after / before - 1 : 0, change) +
                "</tr>\n";
    };
    auto counts = [&](const std::string& name, auto before, auto after) {
        row(name, static_cast<double>(before), static_cast<double>(after),
            countText(static_cast<int64_t>(before)), countText(static_cast<int64_t>(after)));
    };
    auto sizes = [&](const std::string& name, int64_t before, int64_t after) {
        row(name, static_cast<double>(before), static_cast<double>(after), bytesText(before),
            bytesText(after));
    };
    counts("nodes", b.nodes, a.nodes);
    const RunFigures ranBefore = r.before.asRun(), ranAfter = r.after.asRun();
    counts("launches", ranBefore.launches, ranAfter.launches);
    sizes("logical traffic", ranBefore.logicalBytes, ranAfter.logicalBytes);
    sizes("L2 traffic, predicted", b.traffic.l2, a.traffic.l2);
    sizes("DRAM traffic, predicted", b.traffic.dram, a.traffic.dram);
    for (const MeasuredRow& traffic : measuredTraffic(b, a))
        if (traffic.before && traffic.after)
            sizes(traffic.name, *traffic.before, *traffic.after);
        else
            row(traffic.name, 0, 0, countedText(traffic.before), countedText(traffic.after));
    sizes("peak memory", ranBefore.peakBytes, ranAfter.peakBytes);
    counts("intermediate buffers", ranBefore.intermediateBuffers, ranAfter.intermediateBuffers);
    row("arithmetic intensity", ranBefore.intensity(), ranAfter.intensity(),
        fmt::format("{:.1f} FLOP/B", ranBefore.intensity()),
        fmt::format("{:.1f} FLOP/B", ranAfter.intensity()));
    row("time, predicted", b.predictedSeconds, a.predictedSeconds, secondsText(b.predictedSeconds),
        secondsText(a.predictedSeconds));
    row("time, measured (p10 .. p90)", b.measured ? b.measured->median : 0,
        a.measured ? a.measured->median : 0, measuredText(b.measured), measuredText(a.measured));
    std::string out =
        "<table id=\"sides\"><thead><tr><th></th><th class=\"n\">before</th>"
        "<th class=\"n\">after</th><th class=\"n\">change</th></tr></thead><tbody>\n" +
        rows + "</tbody></table>\n";
    std::string agreement;
    for (const OutputAgreement& o : r.agreement)
        agreement +=
            "<tr>" + cell(o.side) + cell(o.output) +
            numberCell(o.maxAbsolute, fmt::format("{:.2e}", o.maxAbsolute)) +
            numberCell(o.maxRelative, fmt::format("{:.2e}", o.maxRelative)) +
            numberCell(o.tolerance, limitText(o)) +
            fmt::format("<td class=\"{}\">{}</td></tr>\n", o.ok ? "good" : "bad",
                        escaped(agreementVerdict(o) + (o.note.empty() ? "" : ": " + o.note)));
    out += "<h3>Numeric agreement with the double-precision reference</h3>\n";
    return out + (agreement.empty()
                      ? "<p class=\"dim\">not checked</p>\n"
                      : table("agreement",
                              {"side", "output", "#max absolute", "#relative", "#limit", "verdict"},
                              agreement, 0));
}

std::string bodiesTable(const Report& report) {
    if (report.after.bodies.empty())
        return {};
    std::string rows;
    const auto add = [&](const BodyReport& body, const std::string& side) {
        rows += "<tr>" + cell(body.path) + cell(side) + count(static_cast<int64_t>(body.nodes));
        if (body.planned)
            rows += count(body.launches) + bytes(body.traffic.logical()) +
                    cell(secondsText(body.predictedSeconds)) +
                    cell(fmt::format("{:g} x", body.times));
        else
            rows += cell("") + cell("") + cell("") + cell(body.whyNot);
        rows += "</tr>\n";
    };
    for (const BodyReport& after : report.after.bodies) {
        for (const BodyReport& before : report.before.bodies)
            if (before.path == after.path)
                add(before, "before");
        add(after, "after");
    }
    return "<h3>Bodies of If, Loop and Scan, one run of each</h3>\n" +
           table("bodies",
                 {"body", "side", "#nodes", "#launches", "#logical traffic", "time, predicted",
                  "counted above"},
                 rows, 0);
}

std::string matchesTable(const Report& report, const scene::Scene& scene) {
    std::unordered_map<std::string, size_t> groupOf;
    for (size_t g = 0; g < scene.groups.size(); ++g)
        for (const std::string& made : scene.groups[g].made)
            groupOf[made] = g;
    std::string rows;
    size_t shown = 0;
    const bool placed =
        std::any_of(report.matches.begin(), report.matches.end(),
                    [](const MatchReport& match) { return !match.origins.empty(); });
    const bool measured =
        std::any_of(report.matches.begin(), report.matches.end(),
                    [](const MatchReport& match) { return match.measuredAfter.has_value(); });
    const auto timeCell = [&](const std::optional<double>& found, double predicted) {
        const double seconds = found.value_or(predicted);
        return numberCell(seconds, secondsText(seconds) + (measured && !found ? " predicted" : ""));
    };
    for (const MatchReport& match : report.matches) {
        if (++shown > rowsShown)
            break;
        auto group = groupOf.find(match.fusedNode);
        bool known = group != groupOf.end();
        rows += known ? fmt::format("<tr data-group=\"{}\"><td>", group->second) : "<tr><td>";
        if (known)
            rows += chip(scene.groups[group->second].badge, scene.groups[group->second].token);
        rows +=
            "</td>" + cell(match.rule) + cell(match.fusedNode) + bytes(match.bytesSaved()) +
            count(match.launchesSaved()) + timeCell(match.measuredBefore, match.secondsBefore) +
            timeCell(match.measuredAfter, match.secondsAfter) +
            fmt::format("<td class=\"n {}\" data-v=\"{:.9g}\">{}</td>", match.slower() ? "bad" : "",
                        match.measuredRatio ? match.measuredRatio->ratio : 0,
                        escaped(ratioText(match))) +
            cell(sourcesText(match.nodes)) + (placed ? cell(sourcesText(match.origins)) : "") +
            "</tr>\n";
    }
    std::vector<std::string> heads{"",
                                   "rule",
                                   "fused node",
                                   "#bytes saved",
                                   "#launches saved",
                                   measured ? "#time before" : "#predicted before",
                                   measured ? "#time after" : "#predicted after",
                                   "#after / before",
                                   "nodes before"};
    if (placed)
        heads.emplace_back("comes from");
    return table("matches", heads, rows,
                 report.matches.size() - std::min(report.matches.size(), rowsShown));
}

namespace {

/// Of a library's kernel nothing is known.
std::string factCells(const KernelFacts& facts) {
    if (facts.registers == 0)
        return numberCell(-1, "-") + numberCell(-1, "-") + numberCell(-1, "-");
    return count(facts.registers) + bytes(facts.spilledBytes) +
           numberCell(facts.occupancy, facts.residentBlocks > 0
                                           ? fmt::format("{:.0f} %", facts.occupancy * 100)
                                           : "-");
}

} // namespace

std::string kernelsTable(const Report& report) {
    std::string rows;
    size_t shown = 0;
    const bool counted = anyCounted(report.after.kernels);
    const KernelFacts* known = nullptr;
    for (const KernelReport& k : report.after.kernels)
        if (known == nullptr && k.facts && k.facts->registers > 0)
            known = &*k.facts;
    for (const KernelReport& k : report.after.kernels) {
        if (++shown > rowsShown)
            break;
        double seconds = k.measuredSeconds.value_or(k.predictedSeconds);
        rows += "<tr>" + cell(k.node) + cell(k.rule.empty() ? "-" : k.rule) + cell(k.kind) +
                cell(k.tactic) + numberCell(k.share, fmt::format("{:.1f} %", k.share * 100)) +
                numberCell(seconds, secondsText(seconds)) + bytes(k.traffic.logical()) +
                bytes(k.traffic.dram);
        if (counted) {
            const auto dram = dramCounted(k);
            const auto l2 = k.measuredTraffic ? k.measuredTraffic->l2 : std::nullopt;
            rows += numberCell(static_cast<double>(dram.value_or(-1)), countedText(dram)) +
                    numberCell(static_cast<double>(l2.value_or(-1)), countedText(l2));
        }
        if (known)
            rows += factCells(k.facts.value_or(KernelFacts()));
        rows += numberCell(static_cast<double>(k.flops), flopsText(k.flops)) + cell(k.limiter) +
                "</tr>\n";
    }
    bool measured =
        !report.after.kernels.empty() && report.after.kernels[0].measuredSeconds.has_value();
    std::vector<std::string> heads{"node",     "rule",
                                   "program",  "tactic",
                                   "#share",   measured ? "#time, measured" : "#time, predicted",
                                   "#logical", "#DRAM, predicted"};
    if (counted)
        heads.insert(heads.end(), {"#DRAM, measured", "#L2, measured"});
    if (known)
        heads.insert(heads.end(),
                     {known->choice == "compiled" ? "#registers, compiled" : "#registers",
                      "#spilled", "#occupancy"});
    heads.insert(heads.end(), {"#work", "limited by"});
    return table("kernels", heads, rows,
                 report.after.kernels.size() - std::min(report.after.kernels.size(), rowsShown));
}

/// Fused nodes in parts, and those in one kernel with the best cut that was not taken.
std::string splitsTable(const Report& report) {
    std::string rows;
    for (size_t i = 0; i < std::min(report.splits.size(), rowsShown); ++i) {
        const SplitReport& split = report.splits[i];
        const double kernels = split.isCut ? static_cast<double>(split.parts) : 1;
        rows += "<tr>" + cell(split.node) + cell(split.rule) +
                numberCell(kernels, fmt::format("{:.0f}", kernels)) +
                numberCell(split.secondsInOne.value_or(-1),
                           split.secondsInOne ? secondsText(*split.secondsInOne) : "-") +
                numberCell(split.secondsInParts, secondsText(split.secondsInParts)) +
                cell(joined(split.cut,
                            [](const auto& part) { return "[" + sourcesText(part) + "]"; })) +
                cell(split.reason.text()) + "</tr>\n";
    }
    if (rows.empty())
        return {};
    return "<h3>In how many kernels, and why</h3>\n" +
           table("splits",
                 {"fused node", "rule", "#kernels", "#in one, predicted", "#in parts, predicted",
                  "parts of the best cut", "reason"},
                 rows, report.splits.size() - std::min(report.splits.size(), rowsShown));
}

/// Stretches that run for some images of the batch at a time, or might have.
std::string sweepsTable(const Report& report) {
    std::string rows;
    for (const SweepReport& sweep : report.sweeps)
        rows += "<tr>" + cell(sweep.taken ? "passes" : "whole batch") + cell(sweep.first) +
                cell(sweep.last) +
                numberCell(static_cast<double>(sweep.images), std::to_string(sweep.images)) +
                numberCell(static_cast<double>(sweep.passes), std::to_string(sweep.passes)) +
                cell(sweep.reason.text()) + "</tr>\n";
    if (rows.empty())
        return {};
    return "<h3>Kernels for a part of the batch at a time</h3>\n" +
           table("sweeps", {"what", "from", "to", "#of the batch", "#passes", "reason"}, rows, 0);
}

std::string missesTable(const Report& report) {
    std::string rows;
    size_t shown = 0, all = report.nearMisses.size();
    auto add = [&](const std::string& kind, const std::string& rule, const std::string& node,
                   double share, const std::string& matched, const Reason& reason) {
        if (++shown > rowsShown)
            return;
        rows += "<tr>" + cell(kind) + cell(rule) + cell(node) + numberCell(share, matched) +
                cell(reason.text()) + cell(reason.flip) + "</tr>\n";
    };
    for (const StepReport& step : report.steps)
        if (step.kind == StepReport::Kind::Refused || step.kind == StepReport::Kind::Stopped) {
            ++all;
            add(step.kind == StepReport::Kind::Refused ? "refused" : "stopped", step.rule,
                sourcesText(step.nodes), 1, "complete", step.reason);
        }
    for (const NearMissReport& miss : report.nearMisses)
        add("near miss", miss.rule, miss.node,
            miss.steps ? static_cast<double>(miss.step) / miss.steps : 0,
            fmt::format("{} of {}", miss.step, miss.steps), miss.reason);
    if (rows.empty())
        return "<p class=\"dim\">none</p>\n";
    return table("misses",
                 {"what", "rule", "at", "#matched", "reason", "what might change it, not tried"},
                 rows, all - std::min(all, rowsShown));
}

std::string verdictLine(const Report& r) {
    const RunFigures ranBefore = r.before.asRun(), ranAfter = r.after.asRun();
    const auto before = static_cast<double>(ranBefore.logicalBytes);
    std::string out = fmt::format("{} launches became {}", ranBefore.launches, ranAfter.launches);
    if (before > 0)
        out += fmt::format(", logical traffic {}",
                           percentText(static_cast<double>(ranAfter.logicalBytes) / before - 1));
    if (r.hasSpeedUp())
        out += fmt::format(", measured <b class=\"{}\">{:.2f}× as fast</b> ({})",
                           r.ratio->high < 1 ? "good" : "", 1 / r.ratio->ratio, speedUpInterval(r));
    else if (!r.ratio)
        out += ", not measured";
    if (const std::string busy = busyText(r.machine); !busy.empty())
        out += "; " + busy;
    if (r.agreement.empty())
        out += "; numeric agreement not checked";
    else
        out += r.verified() ? "; <span class=\"good\">results agree</span>"
                            : "; <span class=\"bad\">RESULTS DIFFER</span>";
    std::string refusal = speedUpRefusal(r);
    if (!r.ratio)
        refusal = fallbackText(r);
    if (!refusal.empty())
        out += "; <span class=\"bad\">" + escaped(refusal) + "</span>";
    if (const std::string slower = slowerText(r); !slower.empty())
        out += fmt::format("; <span class=\"{}\">{}</span>", slowerMatches(r).empty() ? "" : "bad",
                           escaped(slower));
    for (const std::string& note : r.timingNotes)
        out += "; " + escaped(note);
    return out;
}

} // namespace fuselage::app
