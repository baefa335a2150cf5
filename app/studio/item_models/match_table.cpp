// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/match_table.h"

#include "app/report/format.h"
#include "app/report/verdict.h"
#include "app/studio/item_models/words.h"

#include <cmath>
#include <optional>

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

double predictedSaving(const MatchReport& match) {
    return match.secondsBefore - match.secondsAfter;
}

/// What the prediction promised beyond what was saved.
std::optional<double> savingError(const MatchReport& match) {
    return isMeasured(match) ? std::optional(predictedSaving(match) - savedBy(match))
                             : std::nullopt;
}

QString signedSeconds(double seconds) {
    const QString text = words(app::secondsText(std::abs(seconds)));
    return (seconds < 0 ? QStringLiteral("-") : QStringLiteral("+")) + text;
}

bool isFaster(const MatchReport& match) {
    return match.measuredRatio && match.measuredRatio->high < 1;
}

} // namespace

QString judgedText(const MatchReport& match) {
    if (!match.measuredRatio)
        return match.unjudged.empty() ? QString() : QObject::tr("not judged");
    const double ratio = match.measuredRatio->ratio;
    if (match.slower())
        return QObject::tr("slower %1x").arg(ratio, 0, 'f', 2);
    return isFaster(match) ? QObject::tr("faster %1x").arg(1 / ratio, 0, 'f', 2)
                           : QObject::tr("no difference");
}

bool savesNothing(const MatchReport& match) {
    constexpr double shown = 5e-8; // below it is printed as 0.0 us
    return match.launchesSaved() <= 0 && match.bytesSaved() <= 0 &&
           std::abs(savedBy(match)) < shown;
}

const char* judgedToken(const MatchReport& match) {
    return match.slower() ? "loss" : isFaster(match) ? "gain" : "";
}

namespace {

QString verdictWithSaving(const MatchReport& match) {
    const QString judged = judgedText(match);
    if (!savesNothing(match))
        return judged;
    return judged.isEmpty() ? QObject::tr("saves nothing")
                            : judged + QObject::tr(", saves nothing");
}

} // namespace

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
         [](Row row) { return words(app::secondsText(predictedSaving(row))); },
         [](Row row) { return QVariant(predictedSaving(row)); }},
        {"error", "of the prediction: what it promised beyond the measured saving", right,
         [](Row row) {
             const auto error = savingError(row);
             return error ? signedSeconds(*error) : QString();
         },
         [](Row row) {
             const auto error = savingError(row);
             return error ? QVariant(*error) : QVariant();
         }},
        {"verdict",
         "measured, fused against its nodes unfused; \"saves nothing\": no launch, byte or time",
         Qt::AlignLeft, verdictWithSaving, [](Row row) { return QVariant(verdictWithSaving(row)); },
         [](Row row) { return words(app::ratioText(row)); },
         [](Row row) {
             const char* judged = judgedToken(row);
             return *judged == 0 && savesNothing(row) ? "text.dim" : judged;
         }},
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
