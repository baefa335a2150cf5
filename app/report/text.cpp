// SPDX-License-Identifier: Apache-2.0
#include "app/report/text.h"

#include "app/report/counted.h"
#include "app/report/device_text.h"
#include "app/report/escape.h"
#include "app/report/format.h"
#include "app/report/measured.h"
#include "app/report/pairs_text.h"
#include "app/report/rule_totals.h"
#include "app/report/verdict.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t kernelsShown = 10;
constexpr size_t lossesShown = 10;
constexpr size_t keptShown = 8;
using Align = TextTable::Align;

std::string machineText(const Report& r) {
    const MachineReport& m = r.machine;
    std::string out = "machine\n";
    out += fmt::format("  {}, {} core{}; {} thread{} used\n", m.cpu, m.cores,
                       m.cores == 1 ? "" : "s", m.threadsUsed, m.threadsUsed == 1 ? "" : "s");
    out += fmt::format("  backend {}: {}\n", m.backend, m.backendText);
    for (const std::string& note : m.notes)
        out += "  " + note + "\n";
    if (!m.counters.empty())
        out += "  " + m.counters + "\n";
    out += "  " + predictionText(r) + "\n";
    return out;
}

std::string modelText(const Report& r) {
    std::string out = fmt::format("model {}\n", visible(r.model.path));
    for (const std::string& input : r.model.inputs)
        out += "  in   " + visible(input) + "\n";
    for (const std::string& output : r.model.outputs)
        out += "  out  " + visible(output) + "\n";
    for (const auto& [name, value] : r.model.dims)
        out += fmt::format("  {} = {}\n", visible(name), value);
    for (const std::string& note : r.model.notes)
        out += "  note: " + visible(note) + "\n";
    return out;
}

std::string precisionText(const Report& r) {
    const PrecisionReport& p = r.precision;
    if (p.name == "fp32")
        return {};
    std::string out = "precision " + p.name + "\n";
    if (p.name == "tf32")
        return out + "  contractions may round float32 operands to 10 bits\n\n";
    out +=
        fmt::format("  {} nodes on 16-bit values, {} Casts added, weights {} -> {}\n", p.narrowed,
                    p.casts, bytesText(p.weightBytesBefore), bytesText(p.weightBytesAfter));
    for (size_t i = 0; i < p.kept.size() && i < keptShown; ++i)
        out +=
            fmt::format("  {}: {}\n", visible(p.kept[i].node), visible(p.kept[i].reason.message));
    if (p.kept.size() > keptShown)
        out += fmt::format("  and {} more that stay in float32\n", p.kept.size() - keptShown);
    return out + "\n";
}

std::string change(double before, double after) {
    return before > 0 ? percentText(after / before - 1) : "";
}

std::string sidesText(const Report& r) {
    TextTable table({Align::Left, Align::Right, Align::Right, Align::Right});
    const SideReport &b = r.before, &a = r.after;
    auto count = [&](const std::string& name, int64_t before, int64_t after) {
        table.row({name, countText(before), countText(after),
                   change(static_cast<double>(before), static_cast<double>(after))});
    };
    auto bytes = [&](const std::string& name, int64_t before, int64_t after) {
        table.row({name, bytesText(before), bytesText(after),
                   change(static_cast<double>(before), static_cast<double>(after))});
    };
    table.row({"", "before", "after", ""});
    count("nodes", static_cast<int64_t>(b.nodes), static_cast<int64_t>(a.nodes));
    const RunFigures ranBefore = r.before.asRun(), ranAfter = r.after.asRun();
    count("launches", ranBefore.launches, ranAfter.launches);
    bytes("logical traffic", ranBefore.logicalBytes, ranAfter.logicalBytes);
    bytes("L2 traffic, predicted", b.traffic.l2, a.traffic.l2);
    bytes("DRAM traffic, predicted", b.traffic.dram, a.traffic.dram);
    for (const MeasuredRow& row : measuredTraffic(b, a))
        if (row.before && row.after)
            bytes(row.name, *row.before, *row.after);
        else
            table.row({row.name, countedText(row.before), countedText(row.after), ""});
    bytes("peak memory", ranBefore.peakBytes, ranAfter.peakBytes);
    count("intermediate buffers", ranBefore.intermediateBuffers, ranAfter.intermediateBuffers);
    table.row({"arithmetic intensity", fmt::format("{:.1f} FLOP/B", ranBefore.intensity()),
               fmt::format("{:.1f} FLOP/B", ranAfter.intensity()),
               change(ranBefore.intensity(), ranAfter.intensity())});
    table.row({"time, predicted", secondsText(b.predictedSeconds), secondsText(a.predictedSeconds),
               change(b.predictedSeconds, a.predictedSeconds)});
    table.row({"time, measured (p10 .. p90)", measuredText(b.measured), measuredText(a.measured),
               b.measured && a.measured ? change(b.measured->median, a.measured->median) : ""});
    std::string out = "before -> after\n" + table.text();
    if (r.hasSpeedUp())
        out += fmt::format("  speed-up {:.2f}x ({})\n", 1 / r.ratio->ratio, speedUpInterval(r));
    std::vector<std::string> lines{speedUpRefusal(r), slowerText(r)};
    if (!r.ratio)
        lines.push_back(fallbackText(r));
    lines.push_back(busyText(r.machine));
    lines.insert(lines.end(), r.timingNotes.begin(), r.timingNotes.end());
    for (const std::string& line : lines)
        out += line.empty() ? "" : "  " + line + "\n";
    return out;
}

/// What rows of the agreement are besides the two sides, for those that are there.
std::string sidesText(const std::set<std::string>& sides) {
    constexpr std::pair<const char*, const char*> words[] = {
        {"exact", "fused against unfused, bit for bit"},
        {"weights", "the reference with 16-bit weights and Casts: what storage alone costs"},
        {"inputs", "the reference against itself, its inputs moved by a rounding"},
        {"rounding", "the reference against itself, its float32 results moved by roundings"},
        {"unfused parts", "the part of the graph that is worst by itself"},
        {"fused parts", "the same of the fused graph"}};
    std::string out;
    for (const auto& [side, what] : words)
        if (sides.contains(side))
            out += fmt::format("  {}: {}\n", side, what);
    return out;
}

std::string agreementText(const Report& r) {
    if (r.agreement.empty())
        return "numeric agreement\n  not checked\n";
    TextTable table({Align::Left, Align::Left, Align::Right, Align::Right, Align::Left});
    std::set<std::string> sides;
    for (const AgreementLine& line : agreementLines(r.agreement)) {
        const OutputAgreement& o = line.worst;
        sides.insert(o.side);
        const bool figures = !o.empty || !o.ok;
        table.row({o.side, line.outputs(),
                   figures ? fmt::format("max abs {:.2e}", o.maxAbsolute) : "",
                   figures ? fmt::format("relative {:.2e}", o.maxRelative) : "", line.verdict()});
    }
    return "numeric agreement with the double-precision reference\n" + table.text() +
           sidesText(sides);
}

std::string sourcesText(const std::vector<std::string>& sources) {
    constexpr size_t shown = 4;
    std::string out;
    for (size_t i = 0; i < sources.size() && i < shown; ++i)
        out += (i ? " " : "") + sources[i];
    if (sources.size() > shown)
        out += fmt::format(" and {} more", sources.size() - shown);
    return out;
}

/// By node of the fused graph: where the exporter says that it comes from first.
std::map<std::string, std::string> originsByNode(const GraphReport& graph) {
    std::map<std::string, std::string> out;
    for (const GraphNodeReport& node : graph.nodes)
        if (!node.origins.empty())
            out.emplace(node.name, " (" + node.origins.front() + ")");
    return out;
}

std::string kernelsText(const Report& r) {
    const auto origins = originsByNode(r.after.graph);
    const auto originOf = [&](const KernelReport& kernel) {
        const auto found = origins.find(kernel.node);
        return found == origins.end() ? std::string() : found->second;
    };
    std::vector<const KernelReport*> order;
    for (const KernelReport& kernel : r.after.kernels)
        order.push_back(&kernel);
    std::stable_sort(order.begin(), order.end(), [](const KernelReport* a, const KernelReport* b) {
        return a->share > b->share;
    });
    size_t shown = std::min(order.size(), kernelsShown);
    bool measured = shown > 0 && order[0]->measuredSeconds.has_value();
    TextTable table({Align::Right, Align::Right, Align::Left, Align::Left, Align::Right,
                     Align::Left, Align::Left, Align::Left});
    table.row({"share", "time", "rule", "kernel", "bytes", "numeric", "tactic", "source nodes"});
    for (size_t i = 0; i < shown; ++i) {
        const KernelReport& k = *order[i];
        table.row({fmt::format("{:.1f} %", k.share * 100),
                   secondsText(k.measuredSeconds.value_or(k.predictedSeconds)),
                   k.rule.empty() ? "-" : k.rule, k.kind, bytesText(k.traffic.logical()), k.numeric,
                   k.tactic, sourcesText(k.sources) + originOf(k)});
    }
    return fmt::format("the {} kernels that cost most, {} ({} in all)\n", shown,
                       measured ? "measured" : "predicted", order.size()) +
           table.text() +
           renderDeviceKernels({order.begin(), order.begin() + static_cast<ptrdiff_t>(shown)},
                               r.machine.stepTiming);
}

std::string lossesText(const Report& r) {
    const auto slower = slowerMatches(r);
    if (slower.empty())
        return {};
    TextTable table(
        {Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Left});
    table.row({"fused node", "rule", "its nodes", "fused", "fused / its nodes", "source nodes"});
    for (size_t i = 0; i < slower.size() && i < lossesShown; ++i) {
        const MatchReport& m = *slower[i];
        table.row({m.fusedNode, m.rule, secondsText(*m.measuredBefore),
                   secondsText(*m.measuredAfter), ratioText(m), sourcesText(m.nodes)});
    }
    std::string out = "fused nodes that are slower than their nodes one by one\n" + table.text();
    if (slower.size() > lossesShown)
        out += fmt::format("  and {} more, which the JSON report holds\n",
                           slower.size() - lossesShown);
    return out;
}

std::string costlyText(const Report& r) {
    const auto costly = costlyMatches(r);
    if (costly.empty())
        return {};
    TextTable table({Align::Left, Align::Left, Align::Right, Align::Left});
    table.row({"fused node", "rule", "costs", "source nodes"});
    for (size_t i = 0; i < costly.size() && i < lossesShown; ++i)
        table.row({costly[i]->fusedNode, costly[i]->rule, secondsText(-*costly[i]->gain),
                   sourcesText(costly[i]->nodes)});
    std::string out = "fused nodes that are predicted to cost time; --decide cost leaves out those "
                      "whose rule has no gate\n" +
                      table.text();
    if (costly.size() > lossesShown)
        out += fmt::format("  and {} more, which the JSON report holds\n",
                           costly.size() - lossesShown);
    return out;
}

/// Each body by itself, one run of it.
std::string bodiesText(const Report& r) {
    if (r.after.bodies.empty())
        return {};
    TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right,
                     Align::Right, Align::Left});
    table.row({"body", "nodes", "launches", "logical traffic", "time, predicted", "counted", ""});
    const auto arrow = [](const std::string& before, const std::string& after) {
        return before.empty() ? after : before + " -> " + after;
    };
    bool isLeftOut = false;
    for (const BodyReport& after : r.after.bodies) {
        const BodyReport* before = nullptr;
        for (const BodyReport& one : r.before.bodies)
            before = one.path == after.path ? &one : before;
        const std::string nodes = before ? std::to_string(before->nodes) : "";
        if (!after.planned || !before || !before->planned) {
            table.row({after.path, arrow(nodes, std::to_string(after.nodes)), "", "", "", "",
                       after.planned ? "" : after.whyNot});
            isLeftOut = isLeftOut || !after.planned;
            continue;
        }
        table.row(
            {after.path, arrow(nodes, std::to_string(after.nodes)),
             arrow(countText(before->launches), countText(after.launches)),
             arrow(bytesText(before->traffic.logical()), bytesText(after.traffic.logical())),
             arrow(secondsText(before->predictedSeconds), secondsText(after.predictedSeconds)),
             fmt::format("{:g} x", after.times), ""});
    }
    return "bodies of If, Loop and Scan, one run of each; the figures above count the branch of an "
           "If that is\npredicted to take longer, and iterations as often as is known" +
           std::string(isLeftOut ? ";\npredicted times leave out what bodies without a plan compute"
                                 : "") +
           "\n" + table.text();
}

/// A list of decisions, which blocks of a model repeat: those with the same words and figures are
/// one line. The JSON report has all of them.
class Decisions {
public:
    void add(const std::string& decided, const std::string& of, const std::string& why) {
        auto [known, isNew] = m_lineOf.try_emplace(decided + "\n" + why, m_lines.size());
        if (isNew)
            m_lines.push_back({decided, of, why, 0});
        else
            ++m_lines[known->second].more;
    }

    /// Empty without lines.
    std::string text(const std::string& title) const {
        constexpr size_t shown = 20;
        std::string out;
        for (size_t i = 0; i < std::min(m_lines.size(), shown); ++i) {
            const Line& line = m_lines[i];
            const std::string more =
                line.more > 0 ? fmt::format(" (and {} more like it)", line.more) : "";
            out += fmt::format("  {}: {}{}; {}\n", line.decided, line.of, more, line.why);
        }
        if (m_lines.size() > shown)
            out += fmt::format("  and {} more, in --report NAME.json\n", m_lines.size() - shown);
        return out.empty() ? out : title + "\n" + out;
    }

private:
    struct Line {
        std::string decided, of, why;
        size_t more = 0;
    };

    std::vector<Line> m_lines;
    std::map<std::string, size_t> m_lineOf;
};

/// Where the best cut lies; of one that was taken the kernels show it.
std::string cutText(const SplitReport& split) {
    if (split.isCut || split.cut.empty())
        return {};
    return ", best cut " +
           joined(split.cut, [](const auto& part) { return "[" + sourcesText(part) + "]"; });
}

std::string splitsText(const Report& r) {
    Decisions list;
    for (const SplitReport& split : r.splits)
        list.add(split.isCut ? fmt::format("{} kernels", split.parts) : "1 kernel",
                 fmt::format("{} ({}){}", split.node, split.rule, cutText(split)),
                 split.reason.text());
    return list.text("fused nodes, in how many kernels and why");
}

std::string recomputesText(const Report& r) {
    Decisions list;
    for (const RecomputeReport& each : r.recomputes)
        list.add(each.taken ? "again" : "once",
                 fmt::format("{} for {}", sourcesText(each.nodes), sourcesText(each.readers)),
                 fmt::format("{} {}; {}", bytesText(each.bytesSaved),
                             each.taken ? "saved" : "would be saved", each.reason.text()));
    return list.text("cheap work that several kernels read, and whether each does it itself");
}

std::string groupsText(const Report& r) {
    Decisions list;
    for (const GroupReport& group : r.groups)
        list.add(group.taken ? "shared" : "apart", sourcesText(group.members), group.reason.text());
    return list.text(
        "kernels side by side or one after the other, and whether they share a launch");
}

std::string sweepsText(const Report& r) {
    Decisions list;
    for (const SweepReport& sweep : r.sweeps)
        list.add(sweep.taken ? fmt::format("{} passes", sweep.passes) : "whole batch",
                 fmt::format("{} to {}", sweep.first, sweep.last), sweep.reason.text());
    return list.text("kernels that run for a part of the batch (the first dimension) at a time");
}

std::string layoutsText(const Report& r) {
    Decisions list;
    for (const LayoutReport& layout : r.layouts) {
        // Where both take the same to the digits that are shown, nothing was decided.
        const std::vector<ReasonFact>& facts = layout.reason.facts;
        if (facts.size() != 2 || facts[0].value != facts[1].value)
            list.add(layout.order, sourcesText(layout.values), layout.reason.text());
    }
    return list.text("orders of memory and what the best other one would take");
}

} // namespace

std::string renderCounts(const Report& r) {
    TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right});
    table.row({"rule", "fused nodes", "launches saved", "bytes saved", "near misses"});
    size_t total = 0;
    for (const RuleReport& rule : r.rules) {
        total += rule.fused;
        table.row({rule.rule, std::to_string(rule.fused), std::to_string(rule.launchesSaved),
                   bytesText(rule.bytesSaved), std::to_string(rule.nearMisses)});
    }
    if (const Saved beside = savedBesideRules(r); beside.launches != 0 || beside.bytes != 0)
        table.row({besideRules, "", std::to_string(beside.launches), bytesText(beside.bytes), ""});
    const Saved all = savedInAll(r);
    table.row(
        {"total", std::to_string(total), std::to_string(all.launches), bytesText(all.bytes), ""});
    std::string hints;
    for (const RuleReport& rule : r.rules)
        for (const std::string& hint : rule.hints)
            hints += fmt::format("  {}: {}\n", rule.rule, hint);
    return "fused nodes by rule\n" + table.text() + hints;
}

std::string renderText(const Report& r) {
    constexpr size_t pairsShown = 10, errorsShown = 10;
    std::string out =
        machineText(r) + "\n" + modelText(r) + "\n" + precisionText(r) + renderCounts(r) + "\n";
    out += sidesText(r) + "\n" + agreementText(r) + "\n" + kernelsText(r);
    for (const std::string& part :
         {bodiesText(r), lossesText(r), costlyText(r), renderCondemned(r), splitsText(r),
          recomputesText(r), groupsText(r), layoutsText(r), sweepsText(r),
          renderPairs(r.pairs, pairsShown), renderNodeErrors(r.nodeErrors, errorsShown)})
        out += part.empty() ? "" : "\n" + part;
    return out;
}

} // namespace fuselage::app
