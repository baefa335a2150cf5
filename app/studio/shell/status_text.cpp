// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/status_text.h"

#include "app/report/format.h"

#include <QObject>
#include <QStringList>

namespace fuselage::studio {

namespace {

QString change(const QString& what, const std::string& before, const std::string& after) {
    return QStringLiteral("%1 %2 → %3")
        .arg(what, QString::fromStdString(before), QString::fromStdString(after));
}

/// " ±1.2 % within this run": half of the interval of the fused median.
QString intervalText(const app::Report& report) {
    const TimingSummary& after = *report.after.measured;
    if (after.median <= 0)
        return {};
    return QObject::tr(" ±%1 % within this run")
        .arg(50 * (after.high - after.low) / after.median, 0, 'f', 1);
}

/// In the colour of a gain or a loss, and in words that say the same.
QString coloured(const QString& text, const QColor& colour) {
    return QStringLiteral("<b style=\"color:%1\">%2</b>").arg(colour.name(), text);
}

/// Before against after in this run, by the interval of their ratio.
QString comparisonText(const RatioSummary& ratio, const Colours& colours) {
    if (ratio.high < 1)
        return coloured(QObject::tr("%1 x FASTER").arg(1 / ratio.ratio, 0, 'f', 2),
                        colours["gain"]);
    if (ratio.low > 1)
        return coloured(QObject::tr("%1 x SLOWER").arg(ratio.ratio, 0, 'f', 2), colours["loss"]);
    return QObject::tr("no clear difference");
}

} // namespace

QString statusText(const app::Report& report, bool stale, bool measurementStale,
                   const Colours& colours) {
    const app::SideReport& before = report.before;
    const app::SideReport& after = report.after;
    // Of this machine goes without saying.
    const QString profile = QString::fromStdString(report.machine.profile);
    const QString predicted = profile == QStringLiteral("cpu")
                                  ? QObject::tr(" predicted")
                                  : QObject::tr(" predicted for %1").arg(profile);
    QStringList parts;
    parts << change(QObject::tr("launches"), std::to_string(before.launches),
                    std::to_string(after.launches));
    parts << change(QObject::tr("DRAM"), app::bytesText(before.traffic.dram),
                    app::bytesText(after.traffic.dram)) +
                 predicted;
    if (before.measured && after.measured)
        parts << change(QObject::tr("time"), app::secondsText(before.measured->median),
                        app::secondsText(after.measured->median)) +
                     QObject::tr(" measured") + intervalText(report);
    else
        parts << change(QObject::tr("time"), app::secondsText(before.predictedSeconds),
                        app::secondsText(after.predictedSeconds)) +
                     predicted;
    if (report.hasSpeedUp())
        parts << comparisonText(*report.ratio, colours);
    if (!report.agreement.empty())
        parts << (report.verified() ? QObject::tr("numerics agree")
                                    : coloured(QObject::tr("numerics DISAGREE"), colours["loss"]));
    if (const auto slower = report.slowerMatchCount(); slower && *slower > 0)
        parts << coloured(
            QObject::tr("%1 of %2 fusions LOSE time").arg(*slower).arg(report.matches.size()),
            colours["loss"]);
    if (measurementStale)
        parts << QObject::tr("measured figures are stale: F5 measures again");
    if (stale)
        parts << QObject::tr("stale: shows the last rules that could be matched");
    return parts.join(QStringLiteral("  ·  "));
}

} // namespace fuselage::studio
