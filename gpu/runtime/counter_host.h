// SPDX-License-Identifier: Apache-2.0
// The host's side of hardware counters: which metrics a chip has for bytes, in how many passes they
// are counted, and what values a filled image holds. Needs no device; range_counters fills images.
#pragma once

#include "core/plan/kernel_facts.h"
#include "gpu/runtime/range_profiler_api.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fuselage::gpu {

class CounterHost {
public:
    /// `chip` as CUPTI calls it, "GH100". Errors "run.counters": a chip that CUPTI does not know,
    /// or that counts no bytes.
    static Result<std::unique_ptr<CounterHost>> create(std::shared_ptr<const profiler::Api> api,
                                                       const std::string& chip);
    ~CounterHost();
    CounterHost(const CounterHost&) = delete;
    CounterHost& operator=(const CounterHost&) = delete;

    const std::string& chip() const { return m_chip; }

    /// Names as CUPTI wants them.
    std::vector<const char*>& metrics() { return m_metrics; }

    /// Schedules the metrics; made once.
    const std::vector<uint8_t>& config() const { return m_config; }

    size_t passes() const { return m_passes; }

    /// Bytes that one range of a decoded image holds; none when all its counters stand at zero,
    /// since no kernel moves nothing.
    Result<std::optional<MeasuredTraffic>> evaluate(std::span<const uint8_t> image, size_t range);

private:
    explicit CounterHost(std::shared_ptr<const profiler::Api> api) : m_api(std::move(api)) {}

    Result<void> initialize();
    void chooseMetrics();
    Result<void> makeConfig();

    std::shared_ptr<const profiler::Api> m_api;
    profiler::HostHandle m_host = nullptr;
    std::string m_chip;
    std::vector<const char*> m_metrics;
    std::vector<std::optional<int64_t> MeasuredTraffic::*> m_fields; ///< parallel to the metrics
    std::vector<uint8_t> m_config;
    size_t m_passes = 0;
};

} // namespace fuselage::gpu
