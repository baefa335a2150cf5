// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/busy.h"

#include "core/support/parallel.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>

namespace fuselage::app {

namespace {

// The system counts in hundredths of a second.
constexpr double shortestSeconds = 0.2;

/// Since the machine started: user, nice, system, interrupts, and what other virtual machines took.
std::optional<double> machineSeconds() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    std::array<double, 8> ticks{}; // user nice system idle iowait irq softirq steal
    file >> cpu;
    for (double& count : ticks)
        file >> count;
    const auto perSecond = static_cast<double>(sysconf(_SC_CLK_TCK));
    if (!file || cpu != "cpu" || perSecond <= 0)
        return std::nullopt;
    return (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) / perSecond;
}

/// Threads that run or are ready to, without this one; at most one a core.
std::optional<double> othersReady() {
    std::ifstream file("/proc/loadavg"); // 0.20 0.18 0.12 1/80 11206
    double minutes[3] = {}, ready = 0;
    file >> minutes[0] >> minutes[1] >> minutes[2] >> ready;
    if (!file)
        return std::nullopt;
    return std::clamp(ready - 1, 0.0, static_cast<double>(machineThreads()));
}

double ownSeconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace

BusyWatch::BusyWatch() : m_all(machineSeconds()), m_ready(othersReady()), m_own(ownSeconds()) {}

std::optional<double> BusyWatch::othersBusy() const {
    const double seconds = m_watch.seconds();
    if (seconds < shortestSeconds) {
        const std::optional<double> ready = othersReady();
        return m_ready && ready ? std::optional((*m_ready + *ready) / 2) : std::nullopt;
    }
    const std::optional<double> all = machineSeconds();
    if (!m_all || !all)
        return std::nullopt;
    return std::max(0.0, (*all - *m_all - (ownSeconds() - m_own)) / seconds);
}

} // namespace fuselage::app
