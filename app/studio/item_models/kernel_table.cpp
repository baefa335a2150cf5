// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/kernel_table.h"

#include "app/report/counted.h"
#include "app/report/format.h"
#include "app/studio/item_models/match_table.h"
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

/// How far the prediction was off, as a share of what was measured.
std::optional<double> predictionError(const KernelReport& kernel) {
    if (!kernel.measuredSeconds || *kernel.measuredSeconds <= 0)
        return std::nullopt;
    return kernel.predictedSeconds / *kernel.measuredSeconds - 1;
}

QString countedDram(const KernelReport& kernel) {
    const auto dram = app::dramCounted(kernel);
    return dram ? words(app::bytesText(*dram)) : QString();
}

/// Counted beside predicted, line by line.
QString countedHelp(const KernelReport& kernel) {
    if (!kernel.measuredTraffic)
        return {};
    const auto line = [](const char* name, std::optional<int64_t> counted, int64_t predicted) {
        return QString("%1: %2, %3 predicted")
            .arg(name, words(app::countedText(counted)), words(app::bytesText(predicted)));
    };
    return line("DRAM", kernel.measuredTraffic->dram(), kernel.traffic.dram) + '\n' +
           line("L2", kernel.measuredTraffic->l2, kernel.traffic.l2);
}

/// Time of the baseline on the same nodes, and what became of it.
void addComparison(std::vector<Column<KernelReport>>& columns,
                   const std::shared_ptr<const KernelBaseline>& baseline) {
    using Row = const KernelReport&;
    auto change = [baseline](Row row) -> std::optional<double> {
        auto before = baseline->seconds(row);
        return before && *before > 0 ? std::optional(secondsOf(row) / *before - 1) : std::nullopt;
    };
    columns.push_back({"baseline", "time of the baseline run on the same nodes", Qt::AlignRight,
                       [baseline](Row row) {
                           auto seconds = baseline->seconds(row);
                           return seconds ? words(app::secondsText(*seconds)) : QString();
                       },
                       [baseline](Row row) {
                           auto seconds = baseline->seconds(row);
                           return seconds ? QVariant(*seconds) : QVariant();
                       }});
    columns.push_back({"change", "against the baseline run", Qt::AlignRight,
                       [change](Row row) {
                           auto value = change(row);
                           return value ? words(app::percentText(*value)) : QString();
                       },
                       [change](Row row) {
                           auto value = change(row);
                           return value ? QVariant(*value) : QVariant();
                       }});
}

} // namespace

void KernelBaseline::set(const app::Report* report) {
    m_kernels.clear();
    m_byNode.clear();
    if (!report)
        return;
    for (const KernelReport& kernel : report->after.kernels) {
        if (!kernel.measuredSeconds)
            continue;
        for (const std::string& node : kernel.sources)
            m_byNode[node].push_back(m_kernels.size());
        m_kernels.push_back({kernel.sources.size(), *kernel.measuredSeconds});
    }
}

std::optional<double> KernelBaseline::seconds(const KernelReport& kernel) const {
    std::unordered_map<size_t, size_t> shared; // nodes in common with each kernel of the baseline
    for (const std::string& node : kernel.sources) {
        auto found = m_byNode.find(node);
        if (found == m_byNode.end())
            return std::nullopt;
        for (size_t index : found->second)
            ++shared[index];
    }
    double sum = 0;
    for (auto [index, nodes] : shared) {
        if (nodes != m_kernels[index].nodes)
            return std::nullopt;
        sum += m_kernels[index].seconds;
    }
    return shared.empty() ? std::nullopt : std::optional(sum);
}

void KernelVerdicts::set(const app::Report& report) {
    m_verdicts.clear();
    for (const app::MatchReport& match : report.matches)
        if (QString text = judgedText(match); !text.isEmpty())
            m_verdicts.insert_or_assign(match.fusedNode,
                                        Verdict{std::move(text), judgedToken(match)});
}

QString KernelVerdicts::text(const KernelReport& kernel) const {
    auto found = m_verdicts.find(kernel.node);
    return found == m_verdicts.end() ? QString() : found->second.text;
}

const char* KernelVerdicts::token(const KernelReport& kernel) const {
    auto found = m_verdicts.find(kernel.node);
    return found == m_verdicts.end() ? "" : found->second.token;
}

KernelTable* makeKernelTable(QObject* parent, std::shared_ptr<const KernelBaseline> baseline,
                             std::shared_ptr<const KernelVerdicts> verdicts) {
    constexpr Qt::Alignment right = Qt::AlignRight;
    using Row = const KernelReport&;
    std::vector<Column<KernelReport>> columns = {
        {"share", "of the time of all kernels", right,
         [](Row row) { return QString::number(100 * row.share, 'f', 1) + " %"; },
         [](Row row) { return QVariant(row.share); }},
        {"time", "median of the measured rounds, or predicted", right, timeText,
         [](Row row) { return QVariant(secondsOf(row)); }},
        {"predicted", "time that the prediction says it takes", right,
         [](Row row) { return words(app::secondsText(row.predictedSeconds)); },
         [](Row row) { return QVariant(row.predictedSeconds); }},
        {"error", "of the prediction: above zero it expected more time than was measured", right,
         [](Row row) {
             const auto error = predictionError(row);
             return error ? words(app::percentText(*error)) : QString();
         },
         [](Row row) {
             const auto error = predictionError(row);
             return error ? QVariant(*error) : QVariant();
         }},
        {"verdict",
         "measured, the fused node against its nodes unfused",
         Qt::AlignLeft,
         [verdicts](Row row) { return verdicts ? verdicts->text(row) : QString(); },
         [verdicts](Row row) { return QVariant(verdicts ? verdicts->text(row) : QString()); },
         {},
         [verdicts](Row row) { return verdicts ? verdicts->token(row) : ""; }},
        {"rule", "that made the fused node", Qt::AlignLeft,
         [](Row row) { return words(row.rule); }},
        {"kernel", "kind of the kernel program", Qt::AlignLeft,
         [](Row row) { return words(row.kind); }},
        {"bytes", "logical traffic: read and written", right,
         [](Row row) { return words(app::bytesText(row.traffic.logical())); },
         [](Row row) { return QVariant::fromValue<qlonglong>(row.traffic.logical()); }},
        {"DRAM", "bytes that the device counted, and as they were predicted", right,
         [](Row row) { return countedDram(row); },
         [](Row row) {
             const auto dram = app::dramCounted(row);
             return dram ? QVariant::fromValue<qlonglong>(*dram) : QVariant();
         },
         [](Row row) { return countedHelp(row); }},
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
    if (baseline)
        addComparison(columns, baseline);
    return new KernelTable(std::move(columns), sourcesOf, parent);
}

} // namespace fuselage::studio
