// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/near_miss_table.h"

#include "app/report/format.h"
#include "app/report/report_scene.h"
#include "app/studio/item_models/words.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

} // namespace

double nearness(const app::NearMissReport& miss) {
    return miss.steps ? double(miss.step) / miss.steps : 0;
}

std::vector<NearMissRow> nearMissRows(const app::Report& report) {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, size_t> known;
    std::vector<NearMissRow> out;
    std::vector<std::set<std::string>> concerned;
    for (const app::NearMissReport& miss : report.nearMisses) {
        auto [entry, isNew] = known.try_emplace(
            {miss.rule, miss.reason.code, withoutNames(miss.reason.message)}, out.size());
        if (isNew) {
            out.push_back({miss, {}, 0, 0});
            concerned.emplace_back();
        }
        NearMissRow& row = out[entry->second];
        ++row.count;
        for (const std::string* node : {&miss.anchor, &miss.node})
            if (!row.nodes.contains(words(*node)))
                row.nodes << words(*node);
        std::set<std::string>& nodes = concerned[entry->second];
        nodes.insert(miss.bound.begin(), miss.bound.end());
        nodes.insert({miss.anchor, miss.node});
    }
    const scene::SideFigures figures = app::figuresOf(report);
    for (size_t i = 0; i < out.size(); ++i)
        for (const std::string& node : concerned[i])
            if (auto found = figures.before.find(node);
                found != figures.before.end() && found->second.seconds > 0)
                out[i].seconds += found->second.seconds;
    std::stable_sort(out.begin(), out.end(), [](const NearMissRow& a, const NearMissRow& b) {
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
        {"time", "of the nodes concerned, unfused: what a match could be about", Qt::AlignRight,
         [](Row row) { return words(app::secondsText(row.seconds)); },
         [](Row row) { return QVariant(row.seconds); }},
        {"rule", "that nearly matched", Qt::AlignLeft,
         [](Row row) { return words(row.miss.rule); }},
        {"why", "with the values on both sides", Qt::AlignLeft,
         [](Row row) { return words(row.miss.reason.message); }},
        {"would change it", "the smallest change that makes it match", Qt::AlignLeft,
         [](Row row) { return words(row.miss.reason.flip); }},
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
