// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/job_lane.h"

#include <QElapsedTimer>
#include <mutex>

namespace fuselage::studio {

/// Passes reports to the lane's thread, not more often than a person can see.
class JobLane::LaneProgress final : public Progress {
public:
    LaneProgress(JobLane& lane, uint64_t job) : m_lane(lane), m_job(job) { m_since.start(); }

    void report(std::string_view stage, size_t done, size_t total) override {
        {
            std::lock_guard lock(m_mutex);
            if (m_sent && m_since.elapsed() < 30 && done != total)
                return;
            m_sent = true;
            m_since.restart();
        }
        auto name = QString::fromUtf8(stage.data(), static_cast<qsizetype>(stage.size()));
        QMetaObject::invokeMethod(
            &m_lane,
            [&lane = m_lane, job = m_job, name, done, total] {
                if (job == lane.m_current)
                    Q_EMIT lane.progressed(name, done, total);
            },
            Qt::QueuedConnection);
    }

private:
    JobLane& m_lane;
    uint64_t m_job;
    std::mutex m_mutex;
    QElapsedTimer m_since;
    bool m_sent = false;
};

JobLane::JobLane(QObject* parent) : QObject(parent) {
    // A superseded job may need a moment to notice; the next one starts beside it.
    m_pool.setMaxThreadCount(2);
}

JobLane::~JobLane() {
    if (m_running)
        m_running->cancel();
    m_pool.waitForDone();
}

void JobLane::start(Job job) {
    bool wasBusy = busy();
    if (m_running)
        m_running->cancel();
    uint64_t number = ++m_current;
    auto progress = std::make_shared<LaneProgress>(*this, number);
    m_running = progress;
    m_pool.start([this, number, progress, job = std::move(job)] {
        Delivery delivery = job(*progress);
        QMetaObject::invokeMethod(
            this, [this, number, delivery] { finish(number, delivery); }, Qt::QueuedConnection);
    });
    if (!wasBusy)
        Q_EMIT busyChanged(true);
}

void JobLane::cancel() {
    if (!m_running)
        return;
    m_running->cancel();
    m_running.reset();
    ++m_current;
    Q_EMIT busyChanged(false);
}

void JobLane::finish(uint64_t job, const Delivery& delivery) {
    if (job != m_current)
        return;
    m_running.reset();
    if (delivery)
        delivery();
    if (!busy()) // the delivery may have started the next job
        Q_EMIT busyChanged(false);
}

} // namespace fuselage::studio
