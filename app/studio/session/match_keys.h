// SPDX-License-Identifier: Apache-2.0
// Matches compared across analyses: what was gained and lost, and single matches switched off.
#pragma once

#include "app/studio/session/session.h"

#include <QStringList>

namespace fuselage::studio {

MatchKey keyOf(const app::MatchReport& match);

/// "ConvBNReLU: conv1 bn1 relu1", for lists and menus.
QString textOf(const MatchKey& key);

/// Keys of the fused nodes of these names in the graph after.
std::vector<MatchKey> keysOf(const Snapshot& snapshot, const QStringList& after);

/// Switches matches off or on; the session analyses again.
void setDisabled(Session& session, std::vector<MatchKey> keys);

struct MatchChanges {
    size_t before = 0, now = 0; ///< matches in all
    std::vector<app::MatchReport> gained, lost;

    bool any() const { return !gained.empty() || !lost.empty(); }
};

MatchChanges changesBetween(const app::Report& before, const app::Report& now);

} // namespace fuselage::studio
