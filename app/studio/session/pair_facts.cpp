// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/pair_facts.h"

#include "app/pipeline/pair_effects.h"

namespace fuselage::studio {

PairFacts::PairFacts(Session& session, QObject* parent) : QObject(parent), m_session(session) {}

const std::vector<app::PairReport>& PairFacts::pairs() {
    const SnapshotPtr now = m_session.snapshot();
    if (!now || m_session.stale() || m_of.lock() == now)
        return m_pairs;
    m_of = now;
    m_pairs.clear();
    m_lane.start(
        [this, now, options = m_session.options().fuse](Progress& progress) -> JobLane::Delivery {
            auto found = app::pairEffects(*now->model, *now->rules, options, *now->analysis.fused,
                                          *now->analysis.after.plan, progress);
            if (!found)
                return [this, error = found.error()] {
                    if (error.code != "cancelled")
                        m_session.addProblem(problemOf(error, {}));
                };
            return [this, pairs = std::move(*found)] {
                m_pairs = pairs;
                Q_EMIT known();
            };
        });
    return m_pairs;
}

} // namespace fuselage::studio
