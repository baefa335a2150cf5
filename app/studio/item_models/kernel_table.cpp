// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/kernel_table.h"

#include "app/report/format.h"
#include "app/studio/item_models/words.h"

namespace fuselage::studio {

namespace {

using app::KernelReport;

QStringList sourcesOf(const KernelReport& kernel) {
    return wordList(kernel.sources);
}

double secondsOf(const KernelReport& kernel) {
    return kernel.measuredSeconds.value_or(kernel.predictedSeconds);
}

QString timeText(const KernelReport& kernel) {
    QString text = words(app::secondsText(secondsOf(kernel)));
    return kernel.measuredSeconds ? text : text + QStringLiteral(" predicted");
}

} // namespace

KernelTable* makeKernelTable(QObject* parent) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    using Row = const KernelReport&;
    std::vector<Column<KernelReport>> columns = {
        {"share", "of the time of all kernels", right,
         [](Row row) { return QString::number(100 * row.share, 'f', 1) + " %"; },
         [](Row row) { return QVariant(row.share); }},
        {"time", "median of the measured rounds, or predicted", right, timeText,
         [](Row row) { return QVariant(secondsOf(row)); }},
        {"rule", "that made the fused node", Qt::AlignLeft,
         [](Row row) { return words(row.rule); }},
        {"kernel", "kind of the kernel program", Qt::AlignLeft,
         [](Row row) { return words(row.kind); }},
        {"bytes", "logical traffic: read and written", right,
         [](Row row) { return words(app::bytesText(row.traffic.logical())); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.traffic.logical()); }},
        {"FLOP", "floating-point operations", right,
         [](Row row) { return words(app::flopsText(row.flops)); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.flops); }},
        {"limited by", "resource that the prediction says limits it", Qt::AlignLeft,
         [](Row row) { return words(row.limiter); }},
        {"tactic", "what computes it", Qt::AlignLeft, [](Row row) { return words(row.tactic); }},
        {"source nodes",
         "nodes of the model that it computes",
         Qt::AlignLeft,
         [](Row row) { return sourcesOf(row).join(' '); },
         {},
         [](Row row) { return sourcesOf(row).join('\n'); }},
    };
    return new KernelTable(std::move(columns), sourcesOf, parent);
}

} // namespace fuselage::studio
