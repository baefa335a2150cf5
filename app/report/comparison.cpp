// SPDX-License-Identifier: Apache-2.0
#include "app/report/comparison.h"

#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/markdown.h"
#include "app/report/markdown_internal.h"
#include "app/report/run_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr size_t namesShown = 4;

std::string titleOf(const ModelComparison& model) {
    if (model.id.empty())
        return model.other;
    return model.other.empty() || model.other == model.id
               ? model.id
               : model.id + " (B) against " + model.other + " (A)";
}

/// Where there is nothing else to say.
std::string aloneText(const ModelComparison& model) {
    return model.id.empty()      ? "only in A"
           : model.other.empty() ? "only in B"
           : !model.ran          ? model.notRun
                                 : "";
}

std::string partText(const ComparedPart& part) {
    if (part.base.empty() || part.now.empty())
        return part.base.empty() ? fmt::format("{}: not in A, {} in B", part.what, part.now)
                                 : fmt::format("{}: {} in A, not in B", part.what, part.base);
    return fmt::format("{}: {} in A, {} in B", part.what, part.base, part.now);
}

std::string nodesText(const ComparedNodes& nodes) {
    std::string out = fmt::format("{}: {} node{},", nodes.what, nodes.names.size(),
                                  nodes.names.size() == 1 ? "" : "s");
    for (size_t i = 0; i < nodes.names.size() && i < namesShown; ++i)
        out += " " + nodes.names[i];
    return nodes.names.size() > namesShown
               ? out + fmt::format(" and {} more", nodes.names.size() - namesShown)
               : out;
}

/// What is behind the numbers, a line each.
std::vector<std::string> linesOf(const ModelComparison& model) {
    std::vector<std::string> out;
    if (!model.kinds.empty())
        out.push_back(model.kinds + ": no gate compares them");
    for (const ComparedPart& part : model.parts)
        out.push_back(partText(part));
    for (const ComparedPart& rule : model.rules) {
        const std::string& count = rule.now.empty() ? rule.base : rule.now;
        out.push_back(fmt::format("rule {}: {}, {} fused node{}",
                                  rule.now.empty() ? "lost" : "gained", rule.what, count,
                                  count == "1" ? "" : "s"));
    }
    for (const ComparedNodes& nodes : model.nodes)
        out.push_back(nodesText(nodes));
    if (!model.timesApart.empty())
        out.push_back("times are not compared: " + model.timesApart);
    return out;
}

std::string changeOf(const ComparedMetric& metric) {
    return metric.change ? percentText(*metric.change) : "";
}

} // namespace

std::string renderComparison(const Comparison& comparison) {
    using Align = TextTable::Align;
    std::string out;
    for (const ModelComparison& model : comparison) {
        out += visible(titleOf(model)) + "\n";
        if (const std::string alone = aloneText(model); !alone.empty()) {
            out += "  " + alone + "\n";
            continue;
        }
        const std::vector<std::string> lines = linesOf(model);
        for (const std::string& line : lines) // names in it are no lines of their own
            out += "  " + visible(line) + "\n";
        TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Left});
        for (const ComparedMetric& metric : model.metrics)
            table.row({metric.name, metric.base, metric.now, changeOf(metric), metric.verdict});
        out += model.metrics.empty() && lines.empty() ? "  no difference\n" : table.text();
    }
    return out;
}

std::string renderComparisonText(const Comparison& comparison, const RunReport& b) {
    return renderComparison(comparison) + "\n" + renderVerdict(b);
}

std::string renderComparisonMarkdown(const Comparison& comparison, const RunReport& b) {
    std::string out = "### From A to B\n\n";
    for (const ModelComparison& model : comparison) {
        out += "**" + markdownCell(titleOf(model)) + "**\n\n";
        const std::string alone = aloneText(model);
        std::vector<std::string> lines = alone.empty() ? linesOf(model) : std::vector{alone};
        if (model.metrics.empty() && lines.empty())
            lines.emplace_back("no difference");
        for (const std::string& line : lines)
            out += "- " + markdownCell(line) + "\n";
        if (!model.metrics.empty())
            out += "\n| metric | A | B | change | |\n|---|--:|--:|--:|---|\n";
        for (const ComparedMetric& metric : model.metrics)
            out += markdownRow({markdownCell(metric.name), metric.base, metric.now,
                                changeOf(metric), metric.verdict});
        out += "\n";
    }
    // What changed is what the page is for; the run's own tables take the room that is left.
    constexpr size_t least = 4'000;
    const size_t room = markdownLimit - std::min(markdownLimit - least, out.size());
    if (out.size() > markdownLimit - least) {
        out.resize(out.rfind('\n', markdownLimit - least) + 1);
        out += "\n_the rest is left out; `--report x.json` has all of it_\n\n";
    }
    std::string page = renderMarkdown(b, room); // the verdict is its first paragraph
    return page.insert(std::min(page.find("\n\n"), page.size() - 2) + 2, out);
}

} // namespace fuselage::app
