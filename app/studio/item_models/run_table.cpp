// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/run_table.h"

#include "app/report/format.h"
#include "app/studio/item_models/words.h"

#include <QFileInfo>

namespace fuselage::studio {

namespace {

using Row = const RunRow&;

/// "17.4 ms (17.3 ms-17.5 ms)"
QString timeText(const TimingSummary& timing) {
    return QStringLiteral("%1 (%2–%3)")
        .arg(words(app::secondsText(timing.median)), words(app::secondsText(timing.low)),
             words(app::secondsText(timing.high)));
}

QString ratioText(Row row) {
    if (!row.run.report->ratio)
        return {};
    const RatioSummary& ratio = *row.run.report->ratio;
    return QStringLiteral("%1 (%2–%3)")
        .arg(ratio.ratio, 0, 'f', 3)
        .arg(ratio.low, 0, 'f', 3)
        .arg(ratio.high, 0, 'f', 3);
}

QString verdictWords(Row row) {
    if (row.baseline)
        return QObject::tr("baseline");
    if (!row.verdict)
        return {};
    QString text = verdictText(*row.verdict);
    return row.change ? text + ' ' + words(app::percentText(*row.change)) : text;
}

size_t fusedNodes(Row row) {
    return row.run.report->matches.size();
}

} // namespace

RunTable* makeRunTable(QObject* parent) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    std::vector<Column<RunRow>> columns = {
        {"run", "number of the run", right, [](Row row) { return QString::number(row.run.number); },
         [](Row row) { return QVariant(row.run.number); }},
        {"when", "when it began", Qt::AlignLeft,
         [](Row row) { return row.run.when.time().toString("HH:mm:ss"); },
         [](Row row) { return QVariant(row.run.when.toString(Qt::ISODate)); }},
        {"model",
         "file that was measured",
         Qt::AlignLeft,
         [](Row row) { return QFileInfo(row.run.model).fileName(); },
         {},
         [](Row row) { return row.run.model; }},
        {"verdict", "fused time against the baseline's, by interval", Qt::AlignLeft, verdictWords},
        {"fused", "median and its 95 % interval", right,
         [](Row row) { return timeText(*row.run.report->after.measured); },
         [](Row row) { return QVariant(row.run.report->after.measured->median); }},
        {"unfused", "median and its 95 % interval", right,
         [](Row row) { return timeText(*row.run.report->before.measured); },
         [](Row row) { return QVariant(row.run.report->before.measured->median); }},
        {"fused/unfused", "of rounds that took turns, with its 95 % interval", right, ratioText,
         [](Row row) {
             return QVariant(row.run.report->ratio ? row.run.report->ratio->ratio : 0);
         }},
        {"launches", "of the fused plan", right,
         [](Row row) { return QString::number(row.run.report->after.launches); },
         [](Row row) { return QVariant::fromValue<qulonglong>(row.run.report->after.launches); }},
        {"fused nodes", "that the rules made", right,
         [](Row row) { return QString::number(fusedNodes(row)); },
         [](Row row) { return QVariant::fromValue<qulonglong>(fusedNodes(row)); }},
        {"numerics", "outputs against the reference", Qt::AlignLeft,
         [](Row row) {
             return row.run.report->agreement.empty() ? QObject::tr("not checked")
                    : row.run.report->verified()      ? QObject::tr("agree")
                                                      : QObject::tr("DISAGREE");
         }},
        {"machine", "load when it began", Qt::AlignLeft, [](Row row) { return row.run.load; }},
        {"command", "that does it again", Qt::AlignLeft, [](Row row) { return row.run.command; }},
    };
    return new RunTable(std::move(columns), {}, parent);
}

std::vector<RunRow> runRows(const Measurements& measurements) {
    const Run* baseline = measurements.baseline();
    std::vector<RunRow> out;
    for (const Run& run : measurements.runs()) {
        RunRow row{run, baseline && baseline->number == run.number, measurements.verdict(run), {}};
        if (row.verdict)
            row.change =
                run.report->after.measured->median / baseline->report->after.measured->median - 1;
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace fuselage::studio
