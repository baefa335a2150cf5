// SPDX-License-Identifier: Apache-2.0
// The part of the report page about values that are stored in few bits and what that costs.
#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/html_internal.h"
#include "app/report/pairs_text.h"
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

/// A row: how the value is stored, what it costs where it was measured, and what the pair does to
/// the fused graph where that is known.
std::string pairRow(const QuantisedValue& each, const NodeErrorReport* error,
                    const PairReport* pair) {
    std::string readers;
    for (const std::string& reader : each.readers)
        readers += (readers.empty() ? "" : ", ") + reader;
    std::string out = "<tr><td>" + escaped(each.value) + "</td><td>" +
                      (each.constant ? "weight" : "activation") + "</td><td>" +
                      escaped(each.form.dtype) + "</td>" +
                      figureCell(each.form.high, rangeText(each.form)) +
                      figureCell(each.form.scale.value_or(0),
                                 each.form.scale ? fmt::format("{:.4g}", *each.form.scale) : "") +
                      figureCell(each.form.zeroPoint, fmt::format("{:.0f}", each.form.zeroPoint)) +
                      figureCell(error ? error->relative : -1, error ? nodeErrorText(*error) : "") +
                      "<td>" + escaped(readers) + "</td>";
    if (!pair)
        return out + "<td></td><td></td><td></td></tr>\n";
    return out +
           fmt::format("<td class=\"{}\">{}</td>", pair->opens() ? "good" : "bad",
                       escaped(opensText(*pair))) +
           figureCell(static_cast<double>(pair->reformatBytes),
                      pair->reformatBytes > 0 ? bytesText(pair->reformatBytes) : "") +
           "<td>" + escaped(blocksText(*pair)) + "</td></tr>\n";
}

std::string pairRows(const std::vector<QuantisedValue>& values, const Report& report) {
    std::map<std::string_view, const NodeErrorReport*> errors;
    for (const NodeErrorReport& error : report.nodeErrors)
        errors[error.value] = &error;
    std::map<std::string_view, const PairReport*> pairs;
    for (const PairReport& pair : report.pairs)
        pairs[pair.load] = &pair;
    const auto at = [](const auto& map, const std::string& name) {
        const auto found = map.find(name);
        return found == map.end() ? nullptr : found->second;
    };
    std::string rows;
    for (size_t i = 0; i < values.size() && i < valuesShown; ++i)
        rows += pairRow(values[i], at(errors, values[i].value), at(pairs, values[i].load));
    return rows;
}

std::string errorRows(const std::vector<NodeErrorReport>& nodes) {
    const std::vector<NodeErrorReport> errors = worstFirst(nodes);
    std::string rows;
    for (size_t i = 0; i < errors.size() && i < valuesShown; ++i)
        rows += "<tr><td>" + escaped(errors[i].node) + "</td>" +
                figureCell(errors[i].relative, nodeErrorText(errors[i])) +
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
        out +=
            headed("pairs",
                   {"value", "what", "stored as", "#range", "#scale", "#zero point", "#error",
                    "read by", "opens", "#converts", "blocks"},
                   pairRows(values, report), values.size() - std::min(values.size(), valuesShown));
    if (!report.nodeErrors.empty())
        out += "<h3>Error by node, against float, with what the nodes before lost</h3>\n" +
               headed("node-errors", {"node", "#relative error", "#largest difference"},
                      errorRows(report.nodeErrors),
                      report.nodeErrors.size() - std::min(report.nodeErrors.size(), valuesShown));
    return out + "</section>\n";
}

} // namespace fuselage::app
