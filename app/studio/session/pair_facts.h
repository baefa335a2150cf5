// SPDX-License-Identifier: Apache-2.0
// What the quantised pairs of the open model open, convert and block. Found in the background when
// somebody asks, since the model is fused once more for it.
#pragma once

#include "app/studio/session/session.h"

namespace fuselage::studio {

class PairFacts : public QObject {
    Q_OBJECT

public:
    explicit PairFacts(Session& session, QObject* parent = nullptr);

    /// Of the present snapshot; empty while they are looked for, which the first call begins.
    const std::vector<app::PairReport>& pairs();

Q_SIGNALS:
    void known();

private:
    Session& m_session;
    JobLane m_lane;
    std::weak_ptr<const Snapshot> m_of; ///< of which they are known, or looked for
    std::vector<app::PairReport> m_pairs;
};

} // namespace fuselage::studio
