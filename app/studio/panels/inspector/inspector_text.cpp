// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/inspector/inspector_text.h"

#include "app/report/counted.h"
#include "app/report/format.h"
#include "app/report/pairs_text.h"
#include "app/report/quantised.h"
#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/item_models/words.h"
#include "core/ops/op_table.h"
#include "dsl/resolve.h"

#include <QSet>
#include <algorithm>
#include <optional>

namespace fuselage::studio {

namespace {

using app::GraphNodeReport;
using app::GraphReport;
using app::KernelReport;
using app::MatchReport;

constexpr int manyNodes = 12; ///< named one by one up to here
constexpr int manyMisses = 5;

QString escaped(const std::string& text) {
    return words(text).toHtmlEscaped();
}

QString link(const QString& target, const QString& text) {
    return QStringLiteral("<a href=\"%1\">%2</a>").arg(target.toHtmlEscaped(), text);
}

QString nodeLink(const std::string& name) {
    return link("node:" + words(name), escaped(name));
}

QString lines(const std::vector<std::string>& texts) {
    QStringList out;
    for (const std::string& text : texts)
        out << escaped(text);
    return out.join(QStringLiteral("<br>"));
}

/// Rows of names and values.
class Table {
public:
    void row(const QString& name, const QString& value) {
        if (!value.isEmpty())
            m_rows += QStringLiteral("<tr><td><i>%1</i>&nbsp;&nbsp;</td><td>%2</td></tr>")
                          .arg(name, value);
    }

    QString html() const {
        return m_rows.isEmpty() ? QString()
                                : QStringLiteral("<table cellpadding=\"1\">%1</table>").arg(m_rows);
    }

private:
    QString m_rows;
};

QString heading(const QString& text) {
    return QStringLiteral("<h4>%1</h4>").arg(text);
}

const GraphNodeReport* nodeNamed(const GraphReport& graph, const QString& name) {
    std::string wanted = name.toStdString();
    for (const GraphNodeReport& node : graph.nodes)
        if (node.name == wanted)
            return &node;
    return nullptr;
}

/// What the standard knows of the node's operator; none of fused and unknown ones.
std::optional<Op> standardOp(const GraphNodeReport& node) {
    const auto [domain, name] = dsl::splitOperator(node.op);
    return opFromName(domain, name);
}

/// `places`: what the operator calls them, for as many as it does.
QString valuesHtml(const GraphReport& graph, const std::vector<uint32_t>& values,
                   const std::vector<std::string>& places = {}) {
    QStringList out;
    for (size_t slot = 0; slot < values.size(); ++slot) {
        const QString place =
            slot < places.size() ? QStringLiteral("<i>%1</i> ").arg(escaped(places[slot])) : "";
        if (values[slot] == GraphNodeReport::omitted) {
            out << place + QObject::tr("<i>omitted</i>");
            continue;
        }
        const app::GraphValueReport& it = graph.values[values[slot]];
        QString type = escaped(it.type);
        if (it.constant)
            type += QObject::tr(" constant %1").arg(escaped(it.literal));
        out << place + QStringLiteral("%1: %2").arg(escaped(it.name), type);
    }
    return out.join("<br>");
}

/// What attributes that the node does not write mean.
QString defaultsHtml(Op op, const GraphNodeReport& node) {
    QStringList out;
    for (const AttributeSchema& each : attributesOf(op))
        if (each.fallback && std::none_of(node.attributes.begin(), node.attributes.end(),
                                          [&](const auto& own) { return own.first == each.name; }))
            out << QStringLiteral("%1 = %2").arg(escaped(each.name), escaped(text(*each.fallback)));
    return out.join("<br>");
}

/// How the operands of the node are quantised, one line each.
QString storedHtml(const GraphReport& graph, const GraphNodeReport& reader) {
    QStringList out;
    for (const GraphNodeReport& node : graph.nodes)
        for (uint32_t value : node.outputs)
            if (value != GraphNodeReport::omitted &&
                std::count(reader.inputs.begin(), reader.inputs.end(), value) > 0)
                if (const auto form = app::storedFormOf(graph, node))
                    out << escaped(graph.values[node.inputs[0]].name + ": " +
                                   app::storedText(*form));
    return out.join("<br>");
}

QString errorHtml(const app::Report& report, const GraphNodeReport& node) {
    for (const app::NodeErrorReport& error : report.nodeErrors)
        if (error.node == node.name)
            return error.relative > 0 ? QObject::tr("%1 (%2 dB), at most %3")
                                            .arg(error.relative, 0, 'g', 2)
                                            .arg(error.decibels(), 0, 'f', 1)
                                            .arg(error.maxAbsolute, 0, 'g', 2)
                                      : QStringLiteral("0");
    return {};
}

QString nodeHtml(const app::Report& report, const GraphReport& graph, const GraphNodeReport& node) {
    Table table;
    table.row(QObject::tr("operator"), escaped(node.op));
    QStringList attributes;
    for (const auto& [name, value] : node.attributes)
        attributes << QStringLiteral("%1 = %2").arg(escaped(name), escaped(value));
    table.row(QObject::tr("attributes"), attributes.join("<br>"));
    const std::optional<Op> op = standardOp(node);
    if (op)
        table.row(QObject::tr("by default"), defaultsHtml(*op, node));
    table.row(QObject::tr("comes from"), lines(node.origins));
    table.row(QObject::tr("not computed"), escaped(node.notComputed));
    table.row(QObject::tr("error against float"), errorHtml(report, node));
    table.row(QObject::tr("stored as"), storedHtml(graph, node));
    table.row(QObject::tr("inputs"),
              valuesHtml(graph, node.inputs, op ? inputNamesOf(*op) : std::vector<std::string>()));
    table.row(QObject::tr("outputs"), valuesHtml(graph, node.outputs));
    return QStringLiteral("<h3>%1</h3>").arg(escaped(node.name)) + table.html();
}

QString change(const QString& before, const QString& after) {
    return QStringLiteral("%1 → %2").arg(before, after);
}

/// An input or output of the graph: who makes it and who reads it.
QString valueHtml(const GraphReport& graph, const QString& name) {
    const auto found =
        std::find_if(graph.values.begin(), graph.values.end(),
                     [&](const app::GraphValueReport& value) { return words(value.name) == name; });
    if (found == graph.values.end())
        return {};
    const auto at = static_cast<uint32_t>(found - graph.values.begin());
    const auto holds = [at](const std::vector<uint32_t>& values) {
        return std::find(values.begin(), values.end(), at) != values.end();
    };
    QStringList makers, readers;
    for (const GraphNodeReport& node : graph.nodes) {
        if (holds(node.outputs))
            makers << nodeLink(node.name);
        if (holds(node.inputs))
            readers << nodeLink(node.name);
    }
    QStringList is;
    if (holds(graph.inputs))
        is << QObject::tr("input of the model");
    if (holds(graph.outputs))
        is << QObject::tr("output of the model");
    Table table;
    table.row(QObject::tr("is"), is.join(", "));
    table.row(QObject::tr("type"), escaped(found->type));
    if (found->bytes >= 0)
        table.row(QObject::tr("bytes"), words(app::bytesText(found->bytes)));
    table.row(QObject::tr("made by"), makers.join("<br>"));
    table.row(QObject::tr("read by"), readers.join("<br>"));
    return QStringLiteral("<h3>%1</h3>").arg(name.toHtmlEscaped()) + table.html();
}

QString ruleLink(const MatchReport& match) {
    QString place = QStringLiteral("place:%1:%2").arg(words(match.file)).arg(match.line);
    return link("rule:" + words(match.rule), escaped(match.rule)) + " &nbsp;" +
           link(place, QStringLiteral("%1:%2").arg(escaped(match.file)).arg(match.line));
}

QString matchHtml(const MatchReport& match) {
    Table table;
    table.row(QObject::tr("rule"), ruleLink(match));
    table.row(QObject::tr("fused node"), escaped(match.fusedNode));
    QStringList nodes;
    for (const std::string& node : match.nodes)
        nodes << nodeLink(node);
    table.row(QObject::tr("nodes"), nodes.join("<br>"));
    table.row(QObject::tr("come from"), lines(match.origins));
    table.row(QObject::tr("alternatives"), wordList(match.labels).join(", ").toHtmlEscaped());
    QStringList bindings;
    for (const app::BindingReport& binding : match.bindings)
        bindings << QStringLiteral("%1 = %2").arg(
            escaped(binding.name), wordList(binding.values).join(", ").toHtmlEscaped());
    table.row(QObject::tr("bindings"), bindings.join("<br>"));
    table.row(QObject::tr("launches"),
              change(QString::number(match.launchesBefore), QString::number(match.launchesAfter)));
    table.row(QObject::tr("logical traffic"), change(words(app::bytesText(match.bytesBefore)),
                                                     words(app::bytesText(match.bytesAfter))));
    table.row(QObject::tr("time, predicted"), change(words(app::secondsText(match.secondsBefore)),
                                                     words(app::secondsText(match.secondsAfter))));
    if (match.measuredBefore && match.measuredAfter)
        table.row(QObject::tr("time, measured"),
                  change(words(app::secondsText(*match.measuredBefore)),
                         words(app::secondsText(*match.measuredAfter))));
    if (match.error)
        table.row(
            QObject::tr("numeric error"),
            QObject::tr("%1 of the largest value").arg(QString::number(*match.error, 'g', 2)));
    return heading(QObject::tr("Match")) + table.html();
}

/// The text behind its link; long ones end early.
QString kernelTextHtml(const std::string& text, size_t kernel) {
    constexpr int mostLines = 160;
    QStringList lines = words(text).split('\n');
    if (lines.size() > mostLines) {
        qsizetype more = lines.size() - mostLines;
        lines = lines.mid(0, mostLines);
        lines << QObject::tr("... %1 lines more").arg(more);
    }
    return link("text:off", QObject::tr("hide the text")) + " &nbsp; " +
           link(QStringLiteral("text:window:%1").arg(kernel), QObject::tr("in a window")) +
           QStringLiteral("<pre>%1</pre>").arg(lines.join('\n').toHtmlEscaped());
}

QString kernelHtml(const KernelReport& kernel) {
    Table table;
    table.row(QObject::tr("program"), escaped(kernel.kind));
    table.row(QObject::tr("tactic"), escaped(kernel.tactic));
    table.row(QObject::tr("traffic"), QObject::tr("%1 logical, %2 L2, %3 DRAM")
                                          .arg(words(app::bytesText(kernel.traffic.logical())),
                                               words(app::bytesText(kernel.traffic.l2)),
                                               words(app::bytesText(kernel.traffic.dram))));
    if (kernel.measuredTraffic)
        table.row(QObject::tr("traffic, measured"),
                  QObject::tr("%1 L2, %2 DRAM")
                      .arg(words(app::countedText(kernel.measuredTraffic->l2)),
                           words(app::countedText(kernel.measuredTraffic->dram()))));
    table.row(QObject::tr("work"), words(app::flopsText(kernel.flops)));
    table.row(QObject::tr("time, predicted"),
              QObject::tr("%1, limited by %2")
                  .arg(words(app::secondsText(kernel.predictedSeconds)), escaped(kernel.limiter)));
    if (kernel.measuredSeconds)
        table.row(QObject::tr("time, measured"), words(app::secondsText(*kernel.measuredSeconds)));
    table.row(QObject::tr("numerics"), escaped(kernel.numeric));
    for (const Reason& reason : kernel.fallbacks)
        table.row(QObject::tr("why no better tactic"), escaped(reason.text()));
    return heading(QObject::tr("Kernel %1").arg(escaped(kernel.name))) + table.html();
}

QString missHtml(const app::NearMissReport& miss) {
    const QString rule = link("rule:" + words(miss.rule), escaped(miss.rule)),
                  code = escaped(miss.reason.code), message = escaped(miss.reason.message);
    QString out =
        nearness(miss) == 1
            ? QObject::tr("<p>%1: complete, not applied:<br>%2 %3").arg(rule, code, message)
            : QObject::tr("<p>%1: %2 of %3 nodes match, then at %4:<br>%5 %6")
                  .arg(rule)
                  .arg(miss.step)
                  .arg(miss.steps)
                  .arg(nodeLink(miss.node), code, message);
    if (!miss.reason.flip.empty())
        out += QObject::tr("<br>it might match, not tried: %1").arg(escaped(miss.reason.flip));
    return out + "</p>";
}

/// Complete matches of one of the nodes that were not applied, and near misses that began or ended
/// there, nearest first.
QString missesHtml(const app::Report& report, const QStringList& nodes) {
    std::vector<const app::NearMissReport*> found;
    const std::vector<app::NearMissReport> refused = refusedMatches(report);
    for (const app::NearMissReport& match : refused)
        if (std::any_of(match.bound.begin(), match.bound.end(),
                        [&](const std::string& node) { return nodes.contains(words(node)); }))
            found.push_back(&match);
    for (const app::NearMissReport& miss : report.nearMisses)
        if (nodes.contains(words(miss.anchor)) || nodes.contains(words(miss.node)))
            found.push_back(&miss);
    std::stable_sort(found.begin(), found.end(),
                     [](auto* a, auto* b) { return nearness(*a) > nearness(*b); });
    if (found.empty())
        return {};
    QString out = heading(QObject::tr("Why not another rule"));
    for (size_t i = 0; i < found.size() && i < manyMisses; ++i)
        out += missHtml(*found[i]);
    if (found.size() > manyMisses)
        out += QObject::tr("<p>%1 more in the Why not panel</p>").arg(found.size() - manyMisses);
    return out;
}

/// The first that concern the nodes.
std::vector<const MatchReport*> shownMatches(const app::Report& report, const QStringList& nodes) {
    constexpr size_t most = 3;
    std::vector<const MatchReport*> out;
    for (const MatchReport& match : report.matches)
        if (out.size() < most &&
            std::any_of(match.nodes.begin(), match.nodes.end(),
                        [&](const std::string& name) { return nodes.contains(words(name)); }))
            out.push_back(&match);
    return out;
}

/// Nodes whose match is shown, with all of its nodes: they need not be listed once more.
QSet<QString> namedByMatches(const app::Report& report, const Selection& selection) {
    QSet<QString> out;
    if (selection.rule.isEmpty())
        for (const MatchReport* match : shownMatches(report, selection.before))
            for (const std::string& name : match->nodes)
                out.insert(words(name));
    return out;
}

QString matchesAndKernelsHtml(const app::Report& report, const QStringList& nodes,
                              const KernelTextOf& textOf) {
    QString out;
    auto concerns = [&](const std::vector<std::string>& sources) {
        return std::any_of(sources.begin(), sources.end(),
                           [&](const std::string& name) { return nodes.contains(words(name)); });
    };
    for (const MatchReport* match : shownMatches(report, nodes))
        out += matchHtml(*match);
    int shown = 0;
    for (size_t i = 0; i < report.after.kernels.size(); ++i)
        if (concerns(report.after.kernels[i].sources) && ++shown <= 3)
            out +=
                kernelHtml(report.after.kernels[i]) +
                (textOf ? kernelTextHtml(textOf(i), i)
                        : link("text:on", QObject::tr("show the text of the kernel")) + " &nbsp; " +
                              link(QStringLiteral("text:window:%1").arg(i),
                                   QObject::tr("in a window")));
    return out;
}

/// What the pair opens, converts and blocks.
QString pairHtml(const app::PairReport& pair) {
    Table table;
    table.row(QObject::tr("value"), escaped(pair.value));
    table.row(QObject::tr("stored as"),
              QObject::tr("%1, scale %2").arg(escaped(pair.type), escaped(pair.scale)));
    table.row(QObject::tr("holds"), escaped(pair.range));
    QStringList nodes;
    for (const std::string* node : {&pair.store, &pair.load})
        if (!node->empty())
            nodes << nodeLink(*node);
    table.row(QObject::tr("pair"), nodes.join(" → "));
    table.row(QObject::tr("opens"), escaped(app::opensText(pair)));
    if (pair.reformatBytes > 0)
        table.row(
            QObject::tr("converts"),
            QObject::tr("%1 in kernels of its own").arg(words(app::bytesText(pair.reformatBytes))));
    table.row(QObject::tr("blocks"), escaped(app::blocksText(pair)));
    return heading(QObject::tr("Quantised pair")) + table.html();
}

QString pairsHtml(const std::vector<app::PairReport>& pairs, const QStringList& nodes) {
    constexpr int most = 6;
    QString out;
    int shown = 0, left = 0;
    for (const app::PairReport& pair : pairs) {
        const bool concerns = nodes.contains(words(pair.store)) ||
                              nodes.contains(words(pair.load)) ||
                              std::any_of(pair.readers.begin(), pair.readers.end(),
                                          [&](const app::PairReader& reader) {
                                              return nodes.contains(words(reader.node));
                                          });
        if (!concerns)
            continue;
        if (shown < most)
            out += pairHtml(pair);
        ++(shown < most ? shown : left);
    }
    return left > 0 ? out + QObject::tr("<p>and %1 pairs more</p>").arg(left) : out;
}

QString ruleHtml(const app::Report& report, const QString& rule) {
    QString out = QStringLiteral("<h3>%1</h3>").arg(rule.toHtmlEscaped());
    Table table;
    for (const app::RuleReport& each : report.rules)
        if (words(each.rule) == rule) {
            table.row(QObject::tr("place"),
                      link(QStringLiteral("place:%1:%2").arg(words(each.file)).arg(each.line),
                           QStringLiteral("%1:%2").arg(escaped(each.file)).arg(each.line)));
            table.row(QObject::tr("fused nodes"), QString::number(each.fused));
            table.row(QObject::tr("launches saved"), QString::number(each.launchesSaved));
            table.row(QObject::tr("bytes saved"), words(app::bytesText(each.bytesSaved)));
            table.row(QObject::tr("near misses"), QString::number(each.nearMisses));
            for (const std::string& hint : each.hints)
                table.row(QObject::tr("hint"), escaped(hint));
        }
    return out + table.html();
}

QString modelHtml(const app::Report& report) {
    Table table;
    table.row(QObject::tr("model"), escaped(report.model.path));
    table.row(QObject::tr("inputs"), lines(report.model.inputs));
    table.row(QObject::tr("outputs"), lines(report.model.outputs));
    const QString nodes = QString::number(report.before.nodes);
    const QString title = heading(QObject::tr("Nothing selected"));
    if (report.after.graph.values.empty()) { // a sketch: nothing is known of what runs
        table.row(QObject::tr("nodes"), nodes);
        return title + table.html();
    }
    table.row(QObject::tr("nodes"), change(nodes, QString::number(report.after.nodes)));
    table.row(QObject::tr("launches"), change(QString::number(report.before.launches),
                                              QString::number(report.after.launches)));
    table.row(QObject::tr("logical traffic"),
              change(words(app::bytesText(report.before.traffic.logical())),
                     words(app::bytesText(report.after.traffic.logical()))));
    table.row(QObject::tr("peak memory"), change(words(app::bytesText(report.before.peakBytes)),
                                                 words(app::bytesText(report.after.peakBytes))));
    return title + table.html();
}

} // namespace

bool touchesPairs(const GraphReport& graph, const QStringList& nodes) {
    std::vector<bool> loaded(graph.values.size());
    auto isPair = [](const GraphNodeReport& node) {
        return node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
    };
    for (const GraphNodeReport& node : graph.nodes)
        if (isPair(node))
            for (uint32_t value : node.outputs)
                if (value != GraphNodeReport::omitted)
                    loaded[value] = true;
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNodeReport& node) {
        return nodes.contains(words(node.name)) &&
               (isPair(node) ||
                std::any_of(node.inputs.begin(), node.inputs.end(), [&](uint32_t value) {
                    return value != GraphNodeReport::omitted && loaded[value];
                }));
    });
}

QString inspectorHtml(const app::Report& report, const Selection& selection,
                      const KernelTextOf& textOf, const std::vector<app::PairReport>& pairs) {
    if (selection.empty())
        return modelHtml(report);
    if (!selection.value.isEmpty())
        return valueHtml(report.before.graph, selection.value);
    QString out;
    if (!selection.rule.isEmpty())
        out += ruleHtml(report, selection.rule);
    if (selection.before.size() == 1) {
        if (auto* node = nodeNamed(report.before.graph, selection.before.first()))
            out += nodeHtml(report, report.before.graph, *node);
    } else if (!selection.before.isEmpty()) {
        out += heading(QObject::tr("%1 nodes").arg(selection.before.size()));
        const QSet<QString> named = namedByMatches(report, selection);
        QStringList names;
        for (const QString& name : selection.before)
            if (!named.contains(name) && names.size() <= manyNodes)
                names << (names.size() < manyNodes ? nodeLink(name.toStdString()) : "...");
        out += names.join("<br>");
    }
    if (selection.rule.isEmpty())
        out += matchesAndKernelsHtml(report, selection.before, textOf);
    if (selection.before.size() <= manyNodes)
        out += pairsHtml(pairs, selection.before) + missesHtml(report, selection.before);
    return out;
}

} // namespace fuselage::studio
