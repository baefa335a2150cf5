// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/rule_table.h"

#include "app/report/format.h"
#include "app/studio/item_models/words.h"

#include <unordered_map>

namespace fuselage::studio {

namespace {

RuleRow rowOf(const Rule& rule, bool on) {
    RuleRow out;
    out.name = words(rule.name);
    out.phase = words(rule.phase);
    out.file = words(rule.file);
    out.line = static_cast<int>(rule.line);
    out.on = on;
    return out;
}

/// Adds up what the matches of each rule saved.
void addSavings(const app::Report& report, const std::unordered_map<std::string, size_t>& placeOf,
                std::vector<RuleRow>& rows) {
    std::vector<bool> unmeasured(rows.size());
    std::vector<double> predicted(rows.size());
    for (const app::MatchReport& match : report.matches) {
        const auto place = placeOf.find(match.rule);
        if (place == placeOf.end())
            continue;
        RuleRow& row = rows[place->second];
        row.nodes << wordList(match.nodes);
        predicted[place->second] += match.secondsBefore - match.secondsAfter;
        if (match.measuredBefore && match.measuredAfter)
            row.seconds += *match.measuredBefore - *match.measuredAfter;
        else
            unmeasured[place->second] = true;
        row.measured = true;
    }
    for (size_t i = 0; i < rows.size(); ++i)
        if (unmeasured[i]) {
            rows[i].measured = false;
            rows[i].seconds = predicted[i];
        }
}

} // namespace

std::vector<RuleRow> ruleRows(const app::Report& report, const app::RuleLibrary& library) {
    std::vector<RuleRow> out;
    std::unordered_map<std::string, size_t> placeOf;
    for (const Rule& rule : library.loaded.rules.rules) {
        placeOf.emplace(rule.name, out.size());
        out.push_back(rowOf(rule, true));
    }
    for (const app::RuleReport& rule : report.rules)
        if (const auto place = placeOf.find(rule.rule); place != placeOf.end()) {
            RuleRow& row = out[place->second];
            row.matches = rule.fused;
            row.nearMisses = rule.nearMisses;
            row.launches = rule.launchesSaved;
            row.bytes = rule.bytesSaved;
        }
    addSavings(report, placeOf, out);
    for (const Rule& rule : library.leftOut)
        out.push_back(rowOf(rule, false));
    return out;
}

RuleTable* makeRuleTable(QObject* parent, std::function<void(const RuleRow&, bool on)> change) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    using Row = const RuleRow&;
    std::vector<Column<RuleRow>> columns = {
        {"rule",
         "its name; without a check it is left out until the window closes",
         Qt::AlignLeft,
         [](Row row) { return row.name; },
         {},
         {},
         [](Row row) { return row.on ? "" : "text.dim"; },
         [](Row row) { return row.on; },
         std::move(change)},
        {"state", "whether it is asked", Qt::AlignLeft,
         [](Row row) { return row.on ? QObject::tr("on") : QObject::tr("off"); }},
        {"matches", "times that it was applied", right,
         [](Row row) { return QString::number(row.matches); },
         [](Row row) { return QVariant::fromValue<qulonglong>(row.matches); }},
        {"near misses", "searches that came near and ended", right,
         [](Row row) { return QString::number(row.nearMisses); },
         [](Row row) { return QVariant::fromValue<qulonglong>(row.nearMisses); }},
        {"launches saved", "kernel launches before minus after", right,
         [](Row row) { return QString::number(row.launches); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.launches); }},
        {"bytes saved", "logical traffic before minus after", right,
         [](Row row) { return words(app::bytesText(row.bytes)); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.bytes); }},
        {"time saved", "measured where it was, else predicted", right,
         [](Row row) {
             const QString text = words(app::secondsText(row.seconds));
             return row.measured || row.nodes.isEmpty() ? text : text + QObject::tr(" predicted");
         },
         [](Row row) { return QVariant(row.seconds); }},
        {"phase", "of the pipeline that it belongs to", Qt::AlignLeft,
         [](Row row) { return row.phase; }},
        {"place", "file and line", Qt::AlignLeft,
         [](Row row) { return QStringLiteral("%1:%2").arg(row.file).arg(row.line); }},
    };
    return new RuleTable(
        std::move(columns), [](Row row) { return row.nodes; }, parent);
}

} // namespace fuselage::studio
