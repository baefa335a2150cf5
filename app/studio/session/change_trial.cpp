// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/change_trial.h"

#include "app/pipeline/flip.h"
#include "app/report/format.h"
#include "core/graph/bodies.h"

#include <cstdlib>

namespace fuselage::studio {

namespace {

app::ChangeOutcome outcomeOf(const app::FlipGain& gain, size_t nodesNow) {
    return {gain.before,
            gain.fires,
            gain.us,
            static_cast<int64_t>(gain.nodes) - static_cast<int64_t>(nodesNow),
            static_cast<int64_t>(gain.bytes),
            gain.isUnsound};
}

} // namespace

ChangeTrial::ChangeTrial(Session& session, QObject* parent) : QObject(parent), m_session(session) {
    connect(&m_lane, &JobLane::progressed, this, &ChangeTrial::progressed);
    connect(&m_lane, &JobLane::busyChanged, this, &ChangeTrial::changed);
    connect(&session, &Session::snapshotChanged, this, [this] {
        m_lane.cancel();
        m_tried.clear();
        Q_EMIT changed();
    });
}

bool ChangeTrial::possible(size_t miss) const {
    const SnapshotPtr& now = m_session.snapshot();
    return now && miss < now->analysis.trace.nearMisses.size() &&
           now->analysis.trace.nearMisses[miss].edit;
}

void ChangeTrial::start(size_t miss) {
    if (!possible(miss) || m_session.stale())
        return;
    const SnapshotPtr now = m_session.snapshot();
    app::FuseOptions fusing = m_session.options().fuse;
    if (auto profile = deviceProfile(now->device.toStdString()))
        fusing.device = *profile;
    m_lane.start([this, now, miss, fusing,
                  rules = m_session.options().rules](Progress& progress) -> JobLane::Delivery {
        const app::Analysis& analysis = now->analysis;
        const NearMiss& at = analysis.trace.nearMisses[miss];
        app::FuseOptions as = fusing;
        as.dims = analysis.dims;
        auto planned = app::planToJudge(*analysis.fused, *now->rules, as, progress);
        auto gain = planned ? app::tryFlip(now->model->graph, *now->rules, rules, as, at.rule,
                                           {analysis.trace, **planned}, *at.edit, progress)
                            : Result<app::FlipGain>(failure(planned.error()));
        TriedChange tried;
        if (gain)
            tried.outcome = outcomeOf(*gain, countNodes(*analysis.fused));
        else if (gain.error().code == "cancelled")
            return {};
        else
            tried.refused = QString::fromStdString(gain.error().message);
        return [this, miss, tried] {
            m_tried[miss] = tried;
            Q_EMIT found();
        };
    });
}

void ChangeTrial::cancel() {
    m_lane.cancel();
}

const TriedChange* ChangeTrial::tried(size_t miss) const {
    auto found = m_tried.find(miss);
    return found == m_tried.end() ? nullptr : &found->second;
}

QString textOf(const TriedChange& tried) {
    if (!tried.outcome)
        return QObject::tr("the changed rule cannot be used: %1").arg(tried.refused);
    const app::ChangeOutcome& outcome = *tried.outcome;
    if (outcome.isUnsound)
        return QObject::tr("tried: the rule would be wrong then; it changes results");
    const QString times =
        QObject::tr("the rule is applied %1 times, %2 now").arg(outcome.fires).arg(outcome.before);
    if (!outcome.helps())
        return QObject::tr("tried: no gain; %1").arg(times);
    QString text = QObject::tr("tried: %1; predicted gain %2")
                       .arg(times, QString::fromStdString(app::secondsText(outcome.us * 1e-6)));
    if (outcome.bytes != 0)
        text += QObject::tr(", %1 %2 moved")
                    .arg(QString::fromStdString(app::bytesText(std::abs(outcome.bytes))),
                         outcome.bytes < 0 ? QObject::tr("less") : QObject::tr("more"));
    return text;
}

} // namespace fuselage::studio
