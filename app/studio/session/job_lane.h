// SPDX-License-Identifier: Apache-2.0
// Background work of one kind: one job at a time, a newer job supersedes the one that runs. What a
// job found is delivered on the thread of the lane, and only if no newer job was started meanwhile.
#pragma once

#include "core/support/progress.h"

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <cstdint>
#include <functional>
#include <memory>

namespace fuselage::studio {

class JobLane : public QObject {
    Q_OBJECT

public:
    /// Called later on the lane's own thread with what a job found.
    using Delivery = std::function<void()>;
    /// Runs on a worker thread; looks at progress.cancelled() at least every 50 ms of work.
    using Job = std::function<Delivery(Progress& progress)>;

    explicit JobLane(QObject* parent = nullptr);
    ~JobLane() override; ///< cancels and waits

    /// Cancels the running job, whose delivery is dropped, and starts this one.
    void start(Job job);

    /// The running job is asked to stop and delivers nothing.
    void cancel();

    bool busy() const { return m_running != nullptr; }

Q_SIGNALS:
    /// `total` 0: unknown. At most one in 30 ms.
    void progressed(const QString& stage, qulonglong done, qulonglong total);
    void busyChanged(bool busy);

private:
    class LaneProgress;

    void finish(uint64_t job, const Delivery& delivery);

    QThreadPool m_pool;
    std::shared_ptr<LaneProgress> m_running;
    uint64_t m_current = 0;
};

} // namespace fuselage::studio
