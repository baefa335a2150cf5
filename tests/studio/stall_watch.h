// SPDX-License-Identifier: Apache-2.0
// How long the window's thread was busy without looking for events: the longest turn of its loop.
// Processor time, so that other work on the machine is not blamed.
#pragma once

#include <QAbstractEventDispatcher>
#include <QObject>
#include <ctime>

namespace fuselage::studio::testing {

class StallWatch : public QObject {
public:
    StallWatch() {
        auto* loop = QAbstractEventDispatcher::instance();
        connect(loop, &QAbstractEventDispatcher::awake, this, [this] { turn(); });
        connect(loop, &QAbstractEventDispatcher::aboutToBlock, this, [this] { turn(); });
    }

    void restart() {
        m_last = now();
        m_worst = 0;
    }

    double worstMilliseconds() const { return m_worst * 1e3; }

private:
    static double now() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }

    void turn() {
        double time = now();
        m_worst = std::max(m_worst, time - m_last);
        m_last = time;
    }

    double m_last = now(), m_worst = 0;
};

} // namespace fuselage::studio::testing
