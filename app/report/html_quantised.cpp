// SPDX-License-Identifier: Apache-2.0
// The part of the report page about values that are stored in few bits and what that costs.
#include "app/report/escape.h"
#include "app/report/html_internal.h"
#include "app/report/quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage::app {

namespace {

constexpr size_t valuesShown = 200;

std::string rangeText(const StoredForm& form) {
    return form.scale ? fmt::format("{:.4g} … {:.4g}", form.low, form.high)
                      : form.scales + " scales";
}

/// "2.1e-03 (53.4 dB)"
std::string errorText(const NodeErrorReport& error) {
    return error.relative > 0 ? fmt::format("{:.1e} ({:.1f} dB)", error.relative, error.decibels())
                              : "0";
}

std::string figureCell(double value, const std::string& text) {
    return fmt::format("<td class=\"n\" data-v=\"{:.9g}\">{}</td>", value, escaped(text));
}

std::string headed(const char* id, std::initializer_list<const char*> heads,
                   const std::string& rows, size_t left) {
    std::string out =
        fmt::format("<div class=\"scroll\"><table class=\"sorts\" id=\"{}\"><thead><tr>", id);
    for (std::string head : heads)
        out += head[0] == '#' ? "<th scope=\"col\" class=\"n\">" + head.substr(1) + "</th>"
                              : "<th scope=\"col\">" + head + "</th>";
    out += "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
    return left == 0 ? out
                     : out + fmt::format("<p class=\"dim\">and {} more rows, which the JSON report "
                                         "holds</p>\n",
                                         left);
}

std::string pairRows(const std::vector<QuantisedValue>& values, const Report& report) {
    std::map<std::string_view, const NodeErrorReport*> byValue;
    for (const NodeErrorReport& error : report.nodeErrors)
        byValue[error.value] = &error;
    std::string rows;
    for (size_t i = 0; i < values.size() && i < valuesShown; ++i) {
        const QuantisedValue& each = values[i];
        const auto error = byValue.find(each.value);
        std::string readers;
        for (const std::string& reader : each.readers)
            readers += (readers.empty() ? "" : ", ") + reader;
        rows += "<tr><td>" + escaped(each.value) + "</td><td>" +
                (each.constant ? "weight" : "activation") + "</td><td>" + escaped(each.form.dtype) +
                "</td>" + figureCell(each.form.high, rangeText(each.form)) +
                figureCell(each.form.scale.value_or(0),
                           each.form.scale ? fmt::format("{:.4g}", *each.form.scale) : "") +
                figureCell(each.form.zeroPoint, fmt::format("{:.0f}", each.form.zeroPoint)) +
                figureCell(error == byValue.end() ? -1 : error->second->relative,
                           error == byValue.end() ? "" : errorText(*error->second)) +
                "<td>" + escaped(readers) + "</td></tr>\n";
    }
    return rows;
}

std::string errorRows(std::vector<NodeErrorReport> errors) {
    std::stable_sort(errors.begin(), errors.end(),
                     [](const auto& a, const auto& b) { return a.relative > b.relative; });
    std::string rows;
    for (size_t i = 0; i < errors.size() && i < valuesShown; ++i)
        rows += "<tr><td>" + escaped(errors[i].node) + "</td>" +
                figureCell(errors[i].relative, errorText(errors[i])) +
                figureCell(errors[i].maxAbsolute, fmt::format("{:.2e}", errors[i].maxAbsolute)) +
                "</tr>\n";
    return rows;
}

} // namespace

std::string quantisedSection(const Report& report) {
    const std::vector<QuantisedValue> values = quantisedValues(report.before.graph);
    if (values.empty() && report.nodeErrors.empty() && report.precision.name == "fp32")
        return {};
    std::string out = "<section id=\"quantised\"><h2>Quantisation and precision</h2>\n";
    if (report.precision.name != "fp32") {
        out += fmt::format("<p>{}: {} nodes compute on 16-bit values, {} Casts, {} stay in "
                           "float32</p>\n",
                           escaped(report.precision.name), report.precision.narrowed,
                           report.precision.casts, report.precision.kept.size());
        std::string rows;
        for (size_t i = 0; i < report.precision.kept.size() && i < valuesShown; ++i)
            rows += "<tr><td>" + escaped(report.precision.kept[i].node) + "</td><td>" +
                    escaped(report.precision.kept[i].reason.message) + "</td></tr>\n";
        if (!rows.empty())
            out += headed("kept", {"stays in float32", "why"}, rows,
                          report.precision.kept.size() -
                              std::min(report.precision.kept.size(), valuesShown));
    }
    if (!values.empty())
        out += headed(
            "pairs",
            {"value", "what", "stored as", "#range", "#scale", "#zero point", "#error", "read by"},
            pairRows(values, report), values.size() - std::min(values.size(), valuesShown));
    if (!report.nodeErrors.empty())
        out += "<h3>Error by node, against float, with what the nodes before lost</h3>\n" +
               headed("node-errors", {"node", "#relative error", "#largest difference"},
                      errorRows(report.nodeErrors),
                      report.nodeErrors.size() - std::min(report.nodeErrors.size(), valuesShown));
    return out + "</section>\n";
}

} // namespace fuselage::app
