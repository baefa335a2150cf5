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
    std::unordered_set<std::string_view> ends, known;
    std::vector<std::string_view> concerned; ///< in the order of the report

    void add(std::string_view node) {
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

double gainAtMost(const std::vector<std::string_view>& place,
                  const std::unordered_map<std::string_view, double>& seconds) {
    double sum = 0, dearest = 0;
    for (std::string_view node : place)
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

std::vector<NearMissRow> nearMissRows(const app::Report& report) {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, size_t> known;
    const auto seconds = unfusedSeconds(report);
    std::vector<NearMissRow> out;
    std::vector<Places> places;
    for (size_t at = 0; at < report.nearMisses.size(); ++at) {
        const app::NearMissReport& miss = report.nearMisses[at];
        auto [entry, isNew] = known.try_emplace(
            {miss.rule, miss.reason.code, withoutNames(miss.reason.message)}, out.size());
        if (isNew) {
            out.push_back({miss, {}, 0, 0, 0, at});
            places.emplace_back();
        }
        NearMissRow& row = out[entry->second];
        ++row.count;
        Places& seen = places[entry->second];
        for (const std::string* node : {&miss.anchor, &miss.node})
            if (seen.ends.insert(*node).second)
                row.nodes << words(*node);
        std::vector<std::string_view> place(miss.bound.begin(), miss.bound.end());
        place.push_back(miss.anchor);
        place.push_back(miss.node);
        std::sort(place.begin(), place.end());
        place.erase(std::unique(place.begin(), place.end()), place.end());
        const bool isNewPlace = std::none_of(place.begin(), place.end(),
                                             [&](auto node) { return seen.known.contains(node); });
        if (isNewPlace)
            row.gain += gainAtMost(place, seconds);
        for (std::string_view node : place)
            seen.add(node);
    }
    for (size_t i = 0; i < out.size(); ++i)
        for (std::string_view node : places[i].concerned)
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
         [](Row row) { return QObject::tr("%1 of %2").arg(row.miss.step).arg(row.miss.steps); },
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
        {"rule", "that nearly matched", Qt::AlignLeft,
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
