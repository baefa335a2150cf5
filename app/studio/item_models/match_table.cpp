// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/match_table.h"

#include "app/report/format.h"
#include "app/report/verdict.h"
#include "app/studio/item_models/words.h"

namespace fuselage::studio {

namespace {

using app::MatchReport;

bool isMeasured(const MatchReport& match) {
    return match.measuredBefore && match.measuredAfter;
}

double savedBy(const MatchReport& match) {
    return isMeasured(match) ? *match.measuredBefore - *match.measuredAfter
                             : match.secondsBefore - match.secondsAfter;
}

bool isFaster(const MatchReport& match) {
    return match.measuredRatio && match.measuredRatio->high < 1;
}

} // namespace

QString judgedText(const MatchReport& match) {
    if (!match.measuredRatio)
        return match.unjudged.empty() ? QString() : QObject::tr("not judged");
    const QString word = match.slower()    ? QObject::tr("slower")
                         : isFaster(match) ? QObject::tr("faster")
                                           : QObject::tr("same");
    return QStringLiteral("%1 %2x").arg(word).arg(match.measuredRatio->ratio, 0, 'f', 2);
}

const char* judgedToken(const MatchReport& match) {
    return match.slower() ? "loss" : isFaster(match) ? "gain" : "";
}

MatchTable* makeMatchTable(QObject* parent) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    using Row = const app::MatchReport&;
    auto nodesOf = [](Row row) { return wordList(row.nodes); };
    std::vector<Column<app::MatchReport>> columns = {
        {"rule", "that made the fused node", Qt::AlignLeft,
         [](Row row) { return words(row.rule); }},
        {"fused node", "its name in the fused model", Qt::AlignLeft,
         [](Row row) { return words(row.fusedNode); }},
        {"launches saved", "kernel launches before minus after", right,
         [](Row row) { return QString::number(row.launchesSaved()); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.launchesSaved()); }},
        {"bytes saved", "logical traffic before minus after", right,
         [](Row row) { return words(app::bytesText(row.bytesSaved())); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.bytesSaved()); }},
        {"time saved", "measured where it was, else predicted", right,
         [](Row row) {
             const QString text = words(app::secondsText(savedBy(row)));
             return isMeasured(row) ? text : text + QObject::tr(" predicted");
         },
         [](Row row) { return QVariant(savedBy(row)); }},
        {"predicted", "time that the prediction said it would save", right,
         [](Row row) { return words(app::secondsText(row.secondsBefore - row.secondsAfter)); },
         [](Row row) { return QVariant(row.secondsBefore - row.secondsAfter); }},
        {"verdict", "measured, fused against its nodes unfused, with the 95 % interval",
         Qt::AlignLeft, judgedText, [](Row row) { return QVariant(judgedText(row)); },
         [](Row row) { return words(app::ratioText(row)); },
         [](Row row) { return judgedToken(row); }},
        {"alternatives", "labels of the alternatives that were taken", Qt::AlignLeft,
         [](Row row) { return wordList(row.labels).join(' '); }},
        {"nodes",
         "of the model, in order",
         Qt::AlignLeft,
         [nodesOf](Row row) { return nodesOf(row).join(' '); },
         {},
         [nodesOf](Row row) { return nodesOf(row).join('\n'); }},
    };
    return new MatchTable(std::move(columns), nodesOf, parent);
}

} // namespace fuselage::studio
