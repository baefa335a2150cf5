// SPDX-License-Identifier: Apache-2.0
// Bytes by hardware counters: work is run again between marks, one range each, as often as CUPTI
// needs passes. Ranges need plain launches, so work is not launched as a graph; caches are left as
// the work before left them. Nothing may be timed meanwhile (cuptiForOneUse).
#pragma once

#include "gpu/runtime/counter_host.h"
#include "gpu/runtime/device.h"

#include <functional>
#include <mutex>

namespace fuselage::gpu {

/// Where the replayed work says which range it is in. Ranges of another turn are passed over.
class RangeMarks {
public:
    RangeMarks(const profiler::Api& api, profiler::RangeHandle profiler, size_t first, size_t count)
        : m_api(api), m_profiler(profiler), m_first(first), m_count(count) {}

    /// The device must be idle at both. Error "run.counters".
    Result<void> begin(size_t range) const;
    Result<void> end(size_t range) const;

private:
    bool holds(size_t range) const { return range - m_first < m_count; }

    const profiler::Api& m_api;
    profiler::RangeHandle m_profiler;
    size_t m_first, m_count;
};

class RangeCounters {
public:
    /// Opens and closes the profiler once, so that what forbids it is known. Error "run.counters":
    /// CUPTI is missing or too old, the device or driver does not count, the driver does not permit
    /// it, another profiler is there; with what would change that.
    static Result<std::unique_ptr<RangeCounters>> open(const Device& device);

    /// "CUPTI 130001 on GH100, 1 pass"
    std::string description() const;

    /// Calls `replay` until all passes of all ranges are counted; parallel to the ranges. Errors
    /// "run.counters" and those of `replay`.
    Result<std::vector<std::optional<MeasuredTraffic>>>
    count(size_t ranges, const std::function<Result<void>(const RangeMarks&)>& replay);

private:
    RangeCounters(std::shared_ptr<const profiler::Api> api, ContextPtr context)
        : m_api(std::move(api)), m_context(std::move(context)) {}

    struct Turn; ///< one enabling of the profiler, with its image of counters

    Result<void> countTurn(size_t first, size_t ranges,
                           const std::function<Result<void>(const RangeMarks&)>& replay,
                           std::vector<std::optional<MeasuredTraffic>>& out);
    Result<void> read(const Turn& turn, std::vector<std::optional<MeasuredTraffic>>& out);

    std::unique_lock<std::mutex> m_alone;
    std::shared_ptr<const profiler::Api> m_api;
    ContextPtr m_context;
    std::unique_ptr<CounterHost> m_host;
};

} // namespace fuselage::gpu
