// SPDX-License-Identifier: Apache-2.0
// Seconds of the stages of a run, one lap after the other.
#pragma once

#include <chrono>

namespace fuselage::app {

class Stopwatch {
public:
    /// Seconds since construction or the last lap.
    double lap() {
        const double out = seconds();
        m_start = Clock::now();
        return out;
    }

    /// The same, without a new lap.
    double seconds() const { return std::chrono::duration<double>(Clock::now() - m_start).count(); }

private:
    using Clock = std::chrono::steady_clock;

    Clock::time_point m_start = Clock::now();
};

} // namespace fuselage::app
