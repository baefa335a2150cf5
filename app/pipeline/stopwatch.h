// SPDX-License-Identifier: Apache-2.0
// Seconds of the stages of a run, one lap after the other.
#pragma once

#include <chrono>

namespace fuselage::app {

class Stopwatch {
public:
    /// Seconds since construction or the last lap.
    double lap() {
        auto now = Clock::now();
        double seconds = std::chrono::duration<double>(now - m_start).count();
        m_start = now;
        return seconds;
    }

private:
    using Clock = std::chrono::steady_clock;

    Clock::time_point m_start = Clock::now();
};

} // namespace fuselage::app
