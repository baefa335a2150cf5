// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/match_keys.h"

#include <algorithm>
#include <set>

namespace fuselage::studio {

MatchKey keyOf(const app::MatchReport& match) {
    MatchKey key{match.rule, match.nodes};
    std::sort(key.nodes.begin(), key.nodes.end());
    return key;
}

QString textOf(const MatchKey& key) {
    QString text = QString::fromStdString(key.rule) + QStringLiteral(":");
    for (const std::string& node : key.nodes)
        text += QStringLiteral(" ") + QString::fromStdString(node);
    return text;
}

std::vector<MatchKey> keysOf(const Snapshot& snapshot, const QStringList& after) {
    std::vector<MatchKey> out;
    for (const app::MatchReport& match : snapshot.report().matches)
        if (after.contains(QString::fromStdString(match.fusedNode)))
            out.push_back(keyOf(match));
    return out;
}

void setDisabled(Session& session, std::vector<MatchKey> keys) {
    SessionOptions options = session.options();
    if (options.fuse.disabled == keys)
        return;
    options.fuse.disabled = std::move(keys);
    session.setOptions(options);
}

MatchChanges changesBetween(const app::Report& before, const app::Report& now) {
    MatchChanges out{before.matches.size(), now.matches.size(), {}, {}};
    if (&before == &now)
        return out;
    std::multiset<MatchKey> earlier, present;
    for (const app::MatchReport& match : before.matches)
        earlier.insert(keyOf(match));
    for (const app::MatchReport& match : now.matches) {
        present.insert(keyOf(match));
        if (!earlier.contains(keyOf(match)))
            out.gained.push_back(match);
    }
    for (const app::MatchReport& match : before.matches)
        if (!present.contains(keyOf(match)))
            out.lost.push_back(match);
    return out;
}

} // namespace fuselage::studio
