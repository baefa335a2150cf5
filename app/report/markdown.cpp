// SPDX-License-Identifier: Apache-2.0
#include "app/report/markdown.h"

#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/markdown_internal.h"
#include "app/report/rule_totals.h"
#include "app/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

std::string markdownCell(std::string_view text) {
    constexpr std::string_view special = "\\`*_{}[]()#+!|~@$:\r\n";
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of(special, at), text.size());
        out += escaped(text.substr(at, end - at));
        if (end < text.size())
            out += text[end] < ' ' ? std::string(" ") : fmt::format("&#{};", int{text[end]});
        at = end + 1;
    }
    return out;
}

std::string markdownRow(const std::vector<std::string>& cells) {
    std::string out = "|";
    for (const std::string& text : cells)
        out += " " + text + " |";
    return out + "\n";
}

namespace {

std::string changeText(int64_t before, int64_t after) {
    return before > 0 ? percentText(static_cast<double>(after) / static_cast<double>(before) - 1)
                      : "";
}

std::string speedUp(const Report& report) {
    if (!report.ratio || report.ratio->ratio <= 0)
        return "not measured";
    if (!speedUpRefusal(report).empty())
        return markdownCell(speedUpRefusal(report));
    return fmt::format("{:.2f}x", 1 / report.ratio->ratio);
}

/// How many fused nodes lost, and how much; "-" when steps were not timed.
std::string slowerCell(const Report& report) {
    const std::string text = slowerText(report);
    return text.empty() ? "-" : markdownCell(text);
}

std::string slowerDetails(const ModelRun& model) {
    std::string rows;
    for (const MatchReport* match : slowerMatches(*model.report))
        rows += markdownRow({markdownCell(match->fusedNode), markdownCell(match->rule),
                             secondsText(*match->measuredBefore),
                             secondsText(*match->measuredAfter), markdownCell(ratioText(*match))});
    if (rows.empty())
        return {};
    return fmt::format("<details><summary>{}: fused nodes that lost</summary>\n\n"
                       "| fused node | rule | its nodes | fused | fused / its nodes |\n"
                       "|---|---|--:|--:|--:|\n",
                       markdownCell(model.id)) +
           rows + "\n</details>\n\n";
}

std::string gateRows(const RunReport& run) {
    std::string rows;
    for (const GateRow& gate : run.gates)
        if (gate.verdict != GateRow::Verdict::Pass)
            rows += markdownRow({markdownCell(gate.model), markdownCell(gate.id),
                                 markdownCell(gate.base), markdownCell(gate.now),
                                 markdownCell(gate.limit), nameOf(gate.verdict),
                                 markdownCell(gate.note)});
    if (rows.empty())
        return {};
    return "### Gates\n\n| model | gate | baseline | now | limit | verdict | why |\n"
           "|---|---|--:|--:|--:|---|---|\n" +
           rows + "\n";
}

std::string brokenRows(const RunReport& run) {
    std::string rows;
    for (const ModelRun& model : run.models)
        if (model.state != ModelRun::State::Done)
            rows += markdownRow({markdownCell(model.id), nameOf(model.state),
                                 markdownCell(model.code), markdownCell(model.message)});
    if (rows.empty())
        return {};
    return "### Models that did not run\n\n| model | state | code | message "
           "|\n|---|---|---|---|\n" +
           rows + "\n";
}

std::string modelRow(const ModelRun& model) {
    const RunFigures b = model.report->before.asRun(), a = model.report->after.asRun();
    return markdownRow(
        {markdownCell(model.id),
         fmt::format("{} → {}", countText(b.launches), countText(a.launches)),
         fmt::format("{} → {} ({})", bytesText(b.logicalBytes), bytesText(a.logicalBytes),
                     changeText(b.logicalBytes, a.logicalBytes)),
         fmt::format("{} → {}", bytesText(b.peakBytes), bytesText(a.peakBytes)),
         verificationText(*model.report), speedUp(*model.report), slowerCell(*model.report)});
}

/// Predicted times where they are for another device than the one at hand.
std::string predictionRows(const RunReport& run) {
    std::string rows, device;
    for (const ModelRun& model : run.models) {
        if (!model.report || model.report->machine.profile == "cpu")
            continue;
        const SideReport &before = model.report->before, &after = model.report->after;
        device = predictionText(*model.report);
        rows += markdownRow({markdownCell(model.id), secondsText(before.predictedSeconds),
                             secondsText(after.predictedSeconds),
                             markdownCell(model.report->precision.name)});
    }
    if (rows.empty())
        return rows;
    return "### Predicted\n\n" + markdownCell(device) +
           "\n\n| model | before | after | precision |\n|---|--:|--:|---|\n" + rows + "\n";
}

/// What the loader noted, and where fused nodes come from where the exporter says it.
std::string noteRows(const RunReport& run) {
    std::string rows;
    for (const ModelRun& model : run.models)
        if (model.report)
            for (const std::string& note : model.report->model.notes)
                rows += markdownRow({markdownCell(model.id), markdownCell(note)});
    return rows.empty() ? rows : "### Notes\n\n| model | note |\n|---|---|\n" + rows + "\n";
}

std::string originDetails(const ModelRun& model) {
    std::string rows;
    for (const MatchReport& match : model.report->matches)
        for (const std::string& origin : match.origins)
            rows += markdownRow(
                {markdownCell(match.rule), markdownCell(match.fusedNode), markdownCell(origin)});
    if (rows.empty())
        return {};
    return fmt::format("<details><summary>{}: where fused nodes come from</summary>\n\n"
                       "| rule | fused node | module and line |\n|---|---|---|\n",
                       markdownCell(model.id)) +
           rows + "\n</details>\n\n";
}

std::string ruleDetails(const ModelRun& model) {
    std::string out =
        fmt::format("<details><summary>{}: rules</summary>\n\n"
                    "| rule | fused nodes | launches saved | bytes saved | near misses |\n"
                    "|---|--:|--:|--:|--:|\n",
                    markdownCell(model.id));
    for (const RuleReport& rule : model.report->rules) {
        std::string name = markdownCell(rule.rule);
        for (const std::string& hint : rule.hints)
            name += "<br>" + markdownCell(hint);
        out += markdownRow({name, std::to_string(rule.fused), std::to_string(rule.launchesSaved),
                            bytesText(rule.bytesSaved), std::to_string(rule.nearMisses)});
    }
    if (const Saved beside = savedBesideRules(*model.report);
        beside.launches != 0 || beside.bytes != 0)
        out += markdownRow(
            {besideRules, "", std::to_string(beside.launches), bytesText(beside.bytes), ""});
    return out + "\n</details>\n\n";
}

/// Whole blocks up to the limit.
class Page {
public:
    explicit Page(size_t limit) : m_limit(limit > reserve ? limit - reserve : 0) {}

    bool add(const std::string& block) {
        m_full = m_full || m_text.size() + block.size() > m_limit;
        if (m_full)
            ++m_leftOut;
        else
            m_text += block;
        return !m_full;
    }

    std::string text() const {
        return m_leftOut == 0
                   ? m_text
                   : m_text + fmt::format("\n_{} more entries are in results.json_\n", m_leftOut);
    }

private:
    static constexpr size_t reserve = 64; // for the last line
    size_t m_limit, m_leftOut = 0;
    bool m_full = false;
    std::string m_text;
};

/// A table goes in line by line, so that a long one fills the page.
void addLines(Page& page, const std::string& block) {
    for (size_t at = 0; at < block.size();) {
        size_t end = block.find('\n', at);
        end = end == std::string::npos ? block.size() : end + 1;
        page.add(block.substr(at, end - at));
        at = end;
    }
}

} // namespace

std::string renderMarkdown(const RunReport& run, size_t limit) {
    Page page(limit);
    page.add("**" + verdictLine(run) + "**\n\n");
    addLines(page, brokenRows(run));
    addLines(page, gateRows(run));
    addLines(page, noteRows(run));
    std::string models;
    for (const ModelRun& model : run.models)
        if (model.report)
            models += modelRow(model);
    if (!models.empty())
        addLines(page, "### Before → after\n\n"
                       "| model | launches | logical traffic | peak memory | numeric check | "
                       "speed-up | fused nodes that lost |\n|---|--:|--:|--:|---|--:|---|\n" +
                           models + "\n");
    addLines(page, predictionRows(run));
    for (const ModelRun& model : run.models)
        if (model.report)
            if (const std::string lost = slowerDetails(model); !lost.empty())
                page.add(lost);
    for (const ModelRun& model : run.models)
        if (model.report && !model.report->rules.empty())
            page.add(ruleDetails(model) + originDetails(model));
    return page.text();
}

} // namespace fuselage::app
