// SPDX-License-Identifier: Apache-2.0
// Clock, temperature and throttling of a device through NVML, where that can be opened: figures
// beside every measurement, since a device that slows down measures something else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace fuselage::gpu {

/// Zeros where nothing could be read.
struct ClockReading {
    uint32_t megahertz = 0, memoryMegahertz = 0;
    uint32_t celsius = 0;
    uint32_t milliwatts = 0;
    uint64_t reasons = 0; ///< NVML's bits

    /// By heat, power or a hardware brake; being idle or set by a person is none.
    bool throttled() const;
    /// The multiprocessors' clock was as good as the same: boost clocks move by single steps all
    /// the time, and a step is under one percent.
    bool sameRate(const ClockReading& other) const;
    /// "1980 MHz, memory 3201 MHz, 45 C, 310 W, slowed by power"
    std::string text() const;
};

class Clocks {
public:
    /// `pciBusId` as the driver gives it.
    explicit Clocks(const std::string& pciBusId);
    ~Clocks();
    Clocks(const Clocks&) = delete;
    Clocks& operator=(const Clocks&) = delete;

    /// False: every reading is zeros.
    bool available() const { return m_state != nullptr; }

    ClockReading read() const;
    /// The multiprocessors' clock and what slows it down; around each batch, since the rest of a
    /// reading takes longer than a batch.
    ClockReading readRate() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace fuselage::gpu
