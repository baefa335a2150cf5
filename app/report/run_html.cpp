// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_html.h"

#include "app/report/escape.h"
#include "app/report/format.h"

#include <fmt/format.h>

namespace fuselage::app {

namespace {

constexpr const char* head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Fuselage batch</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; margin: 0 0 2rem }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid #8885 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
</style></head><body>
)";

std::string tableCell(const std::string& text, bool number = false) {
    return fmt::format("<td{}>{}</td>", number ? " class=\"n\"" : "", escaped(text));
}

std::string pair(int64_t before, int64_t after, std::string (*print)(int64_t)) {
    return tableCell(print(before) + " → " + print(after), true);
}

std::string modelLine(const ModelRun& model) {
    std::string out = "<tr>";
    if (!model.report)
        return out + tableCell(model.id) + tableCell(nameOf(model.state)) +
               fmt::format("<td colspan=\"5\">{} {}</td></tr>\n", escaped(model.message),
                           escaped(model.code));
    const Report& r = *model.report;
    // An id has no character that a link would have to escape.
    out += fmt::format("<td><a href=\"models/{0}.html\">{0}</a></td>", escaped(model.id));
    out += tableCell(nameOf(model.state));
    out += pair(static_cast<int64_t>(r.before.launches), static_cast<int64_t>(r.after.launches),
                countText);
    out += pair(r.before.traffic.logical(), r.after.traffic.logical(), bytesText);
    out += pair(r.before.peakBytes, r.after.peakBytes, bytesText);
    out += tableCell(verificationText(r));
    return out +
           tableCell(r.after.measured ? secondsText(r.after.measured->median) : "not measured",
                     true) +
           "</tr>\n";
}

std::string notesTable(const RunReport& run) {
    std::string rows;
    for (const ModelRun& model : run.models)
        if (model.report)
            for (const std::string& note : model.report->model.notes)
                rows += "<tr>" + tableCell(model.id) + tableCell(note) + "</tr>\n";
    return rows.empty() ? rows
                        : "<h2>Notes</h2><table><tr><th>model<th>note</tr>\n" + rows + "</table>\n";
}

std::string gateTable(const RunReport& run) {
    if (run.gates.empty())
        return {};
    std::string out = "<h2>Gates</h2><table><tr><th>model<th>gate<th class=\"n\">baseline"
                      "<th class=\"n\">now<th class=\"n\">limit<th>verdict<th>why</tr>\n";
    for (const GateRow& gate : run.gates)
        out += "<tr>" + tableCell(gate.model) + tableCell(gate.id) + tableCell(gate.base, true) +
               tableCell(gate.now, true) + tableCell(gate.limit, true) +
               tableCell(nameOf(gate.verdict)) + tableCell(gate.note) + "</tr>\n";
    return out + "</table>\n";
}

} // namespace

std::string renderRunHtml(const RunReport& run) {
    std::string out = head;
    out += "<h1>" + escaped(verdictLine(run)) + "</h1>\n";
    if (!run.reasons.empty()) {
        out += "<p>";
        for (size_t i = 0; i < run.reasons.size(); ++i)
            out += (i ? ", " : "") + escaped(run.reasons[i]);
        out += "</p>\n";
    }
    out += gateTable(run);
    out += "<h2>Models</h2><table><tr><th>model<th>state<th class=\"n\">launches"
           "<th class=\"n\">logical traffic<th class=\"n\">peak memory<th>numeric check"
           "<th class=\"n\">time, fused</tr>\n";
    for (const ModelRun& model : run.models)
        out += modelLine(model);
    return out + "</table>\n" + notesTable(run) + "</body></html>\n";
}

} // namespace fuselage::app
