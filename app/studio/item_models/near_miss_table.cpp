// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/near_miss_table.h"

#include "app/report/format.h"
#include "app/studio/item_models/words.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::studio {

namespace {

/// The same reason at another node has other names in it: what is quoted does not count.
std::string withoutNames(const std::string& message) {
    std::string out;
    bool quoted = false;
    for (char c : message) {
        if (c == '`')
            quoted = !quoted;
        else if (!quoted)
            out += c;
    }
    return out;
}

/// Of one row, each once.
struct Places {
    std::unordered_set<std::string> ends, known;
    std::vector<std::string> concerned; ///< in the order of the report

    bool isNewEnd(const std::string& node) { return ends.insert(node).second; }

    void add(const std::string& node) {
        if (known.insert(node).second)
            concerned.push_back(node);
    }
};

/// Of each node before fusion: what its kernels take.
std::unordered_map<std::string_view, double> unfusedSeconds(const app::Report& report) {
    std::unordered_map<std::string_view, double> out;
    for (const app::KernelReport& kernel : report.before.kernels)
        for (const std::string& source : kernel.sources)
            out[source] += kernel.measuredSeconds.value_or(kernel.predictedSeconds);
    return out;
}

app::NearMissReport missOf(const app::StepReport& step) {
    app::NearMissReport out;
    out.rule = step.rule;
    out.file = step.file;
    out.line = step.line;
    out.anchor = out.node = step.nodes.back();
    out.step = out.steps = static_cast<uint32_t>(step.nodes.size());
    out.reason = step.reason;
    out.bound = step.nodes;
    return out;
}

/// Nodes that applied matches have: others can gain nothing there.
std::unordered_set<std::string_view> takenNodes(const app::Report& report) {
    std::unordered_set<std::string_view> out;
    for (const app::MatchReport& match : report.matches)
        out.insert(match.nodes.begin(), match.nodes.end());
    return out;
}

double gainAtMost(const std::vector<std::string>& place,
                  const std::unordered_map<std::string_view, double>& seconds) {
    double sum = 0, dearest = 0;
    for (const std::string& node : place)
        if (auto found = seconds.find(node); found != seconds.end()) {
            sum += found->second;
            dearest = std::max(dearest, found->second);
        }
    return sum - dearest;
}

} // namespace

double nearness(const app::NearMissReport& miss) {
    return miss.steps ? double(miss.step) / miss.steps : 0;
}

std::vector<app::NearMissReport> refusedMatches(const app::Report& report) {
    std::vector<app::NearMissReport> out;
    for (const app::StepReport& step : report.steps)
        if (step.kind == app::StepReport::Kind::Refused && !step.nodes.empty())
            out.push_back(missOf(step));
    return out;
}

std::vector<NearMissRow> nearMissRows(const app::Report& report) {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, size_t> known;
    const auto seconds = unfusedSeconds(report);
    const auto taken = takenNodes(report);
    std::vector<NearMissRow> out;
    std::vector<Places> places;
    const auto add = [&](const app::NearMissReport& miss, std::optional<size_t> at) {
        auto [entry, isNew] = known.try_emplace(
            {miss.rule, miss.reason.code, withoutNames(miss.reason.message)}, out.size());
        if (isNew) {
            out.push_back({miss, {}, 0, 0, 0, at});
            places.emplace_back();
        }
        NearMissRow& row = out[entry->second];
        ++row.count;
        Places& seen = places[entry->second];
        std::vector<std::string> ends{miss.anchor, miss.node};
        if (!at)
            ends = miss.bound;
        for (const std::string& node : ends)
            if (seen.isNewEnd(node))
                row.nodes << words(node);
        std::vector<std::string> place = miss.bound;
        place.insert(place.end(), {miss.anchor, miss.node});
        std::sort(place.begin(), place.end());
        place.erase(std::unique(place.begin(), place.end()), place.end());
        const auto isKnown = [&](const std::string& node) { return seen.known.contains(node); };
        const auto isTaken = [&](const std::string& node) { return taken.contains(node); };
        if (std::none_of(place.begin(), place.end(), isKnown) &&
            (at || std::none_of(place.begin(), place.end(), isTaken)))
            row.gain += gainAtMost(place, seconds);
        for (const std::string& node : place)
            seen.add(node);
    };
    for (size_t at = 0; at < report.nearMisses.size(); ++at)
        add(report.nearMisses[at], at);
    for (const app::NearMissReport& refused : refusedMatches(report))
        add(refused, {});
    for (size_t i = 0; i < out.size(); ++i)
        for (const std::string& node : places[i].concerned)
            if (auto found = seconds.find(node); found != seconds.end())
                out[i].seconds += found->second;
    std::stable_sort(out.begin(), out.end(), [](const NearMissRow& a, const NearMissRow& b) {
        if (a.gain != b.gain)
            return a.gain > b.gain;
        const double left = a.seconds * nearness(a.miss), right = b.seconds * nearness(b.miss);
        return left != right ? left > right : nearness(a.miss) > nearness(b.miss);
    });
    return out;
}

NearMissTable* makeNearMissTable(QObject* parent) {
    using Row = const NearMissRow&;
    std::vector<Column<NearMissRow>> columns = {
        {"matched", "nodes of the pattern that matched", Qt::AlignRight,
         [](Row row) {
             return row.first ? QObject::tr("%1 of %2").arg(row.miss.step).arg(row.miss.steps)
                              : QObject::tr("complete");
         },
         [](Row row) { return QVariant(nearness(row.miss)); }},
        {"times", "how often the same rule ended for the same reason", Qt::AlignRight,
         [](Row row) { return QString::number(row.count); },
         [](Row row) { return QVariant::fromValue<qulonglong>(row.count); }},
        {"gain",
         "predicted, where the change was tried; else at most: of each place all but its dearest "
         "node, which one kernel would take, too",
         Qt::AlignRight,
         [](Row row) {
             if (row.tried)
                 return QObject::tr("%1 tried").arg(words(app::secondsText(*row.tried)));
             return row.gain > 0 ? QObject::tr("< %1").arg(words(app::secondsText(row.gain)))
                                 : QString();
         },
         [](Row row) { return QVariant(row.tried.value_or(row.gain)); }},
        {"time", "of the nodes concerned, unfused: what a match could be about", Qt::AlignRight,
         [](Row row) { return words(app::secondsText(row.seconds)); },
         [](Row row) { return QVariant(row.seconds); }},
        {"rule", "that nearly matched, or matched and was not applied", Qt::AlignLeft,
         [](Row row) { return words(row.miss.rule); }},
        {"why", "with the values on both sides", Qt::AlignLeft,
         [](Row row) { return words(row.miss.reason.message); }},
        {"might change it", "the smallest change with which this step matches; not tried",
         Qt::AlignLeft, [](Row row) { return words(row.miss.reason.flip); }},
        {"stopped at",
         "node or value where the match ended",
         Qt::AlignLeft,
         [](Row row) { return words(row.miss.node); },
         {},
         [](Row row) { return row.nodes.join('\n'); }},
        {"code", "listed in the language's manual", Qt::AlignLeft,
         [](Row row) { return words(row.miss.reason.code); }},
    };
    return new NearMissTable(
        std::move(columns), [](Row row) { return row.nodes; }, parent);
}

} // namespace fuselage::studio
