// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/clocks.h"

#include "gpu/runtime/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fuselage::gpu {

namespace {

using Device = struct DeviceOfNvml*;
using Code = int; // 0: success

constexpr int clockOfMultiprocessors = 1, clockOfMemory = 2;
constexpr int temperatureOfChip = 0;

/// Bits of NVML that slow a device down against its will, with words.
constexpr std::pair<uint64_t, const char*> slowdowns[] = {
    {0x04, "power"},           {0x08, "hardware"},    {0x20, "heat"},
    {0x40, "heat (hardware)"}, {0x80, "power brake"},
};

struct Functions {
    Code (*init)();
    Code (*shutdown)();
    Code (*deviceByBus)(const char*, Device*);
    Code (*clock)(Device, int, unsigned*);
    Code (*temperature)(Device, int, unsigned*);
    Code (*power)(Device, unsigned*);
    Code (*reasons)(Device, unsigned long long*);

    bool load(const SharedLibrary& from) {
        init = from.symbol<Code (*)()>("nvmlInit_v2");
        shutdown = from.symbol<Code (*)()>("nvmlShutdown");
        deviceByBus =
            from.symbol<Code (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
        clock = from.symbol<Code (*)(Device, int, unsigned*)>("nvmlDeviceGetClockInfo");
        temperature = from.symbol<Code (*)(Device, int, unsigned*)>("nvmlDeviceGetTemperature");
        power = from.symbol<Code (*)(Device, unsigned*)>("nvmlDeviceGetPowerUsage");
        reasons = from.symbol<Code (*)(Device, unsigned long long*)>(
            "nvmlDeviceGetCurrentClocksEventReasons");
        if (reasons == nullptr)
            reasons = from.symbol<Code (*)(Device, unsigned long long*)>(
                "nvmlDeviceGetCurrentClocksThrottleReasons");
        return init && shutdown && deviceByBus && clock && temperature && power && reasons;
    }
};

} // namespace

struct Clocks::State {
    std::shared_ptr<SharedLibrary> library;
    Functions call{};
    Device device = nullptr;
};

bool ClockReading::throttled() const {
    for (const auto& [bit, words] : slowdowns)
        if ((reasons & bit) != 0)
            return true;
    return false;
}

bool ClockReading::sameRate(const ClockReading& other) const {
    constexpr double step = 0.02; // as much as counts as a tie of two tactics
    const auto [low, high] = std::minmax(megahertz, other.megahertz);
    return high - low <= step * high;
}

std::string ClockReading::text() const {
    std::string out = fmt::format("{} MHz, memory {} MHz, {} C, {} W", megahertz, memoryMegahertz,
                                  celsius, milliwatts / 1000);
    for (const auto& [bit, words] : slowdowns)
        if ((reasons & bit) != 0)
            out += fmt::format(", slowed by {}", words);
    return out;
}

Clocks::Clocks(const std::string& pciBusId) {
    auto library = SharedLibrary::open(fileNamesOf("libnvidia-ml"));
    if (!library)
        return;
    auto state = std::make_unique<State>();
    state->library = std::move(*library);
    if (!state->call.load(*state->library) || state->call.init() != 0)
        return;
    if (state->call.deviceByBus(pciBusId.c_str(), &state->device) == 0)
        m_state = std::move(state);
    else
        (void)state->call.shutdown();
}

Clocks::~Clocks() {
    if (m_state)
        (void)m_state->call.shutdown();
}

ClockReading Clocks::readRate() const {
    ClockReading out;
    unsigned megahertz = 0;
    unsigned long long bits = 0;
    if (m_state && m_state->call.clock(m_state->device, clockOfMultiprocessors, &megahertz) == 0)
        out.megahertz = megahertz;
    if (m_state && m_state->call.reasons(m_state->device, &bits) == 0)
        out.reasons = bits;
    return out;
}

ClockReading Clocks::read() const {
    ClockReading out = readRate();
    if (!m_state)
        return out;
    const Functions& call = m_state->call;
    unsigned value = 0;
    auto take = [&](Code code, uint32_t& to) {
        if (code == 0)
            to = value;
    };
    take(call.clock(m_state->device, clockOfMemory, &value), out.memoryMegahertz);
    take(call.temperature(m_state->device, temperatureOfChip, &value), out.celsius);
    take(call.power(m_state->device, &value), out.milliwatts);
    return out;
}

} // namespace fuselage::gpu
