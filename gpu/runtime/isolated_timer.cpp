// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/isolated_timer.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Runs of a warm graph: long enough for the clock of events.
constexpr uint32_t warmRuns = 20;

Result<CapturedGraph> capture(Stream& stream, uint32_t runs,
                              const std::function<Result<void>()>& enqueue) {
    auto capture = StreamCapture::begin(stream);
    if (!capture)
        return failure(capture.error());
    for (uint32_t i = 0; i < runs; ++i)
        if (auto added = enqueue(); !added)
            return failure(added.error());
    return capture->finish();
}

/// Seconds of one launch of the graph; `before` runs outside of the time.
Result<double> timeOnce(Stream& stream, const Event& begin, const Event& end,
                        const CapturedGraph& graph, const std::function<Result<void>()>& before) {
    if (auto prepared = before(); !prepared)
        return failure(prepared.error());
    if (auto begun = stream.record(begin); !begun)
        return failure(begun.error());
    if (auto launched = graph.launch(stream); !launched)
        return failure(launched.error());
    if (auto ended = stream.record(end); !ended)
        return failure(ended.error());
    if (auto done = stream.synchronize(); !done)
        return failure(done.error());
    return Event::secondsBetween(begin, end);
}

} // namespace

Result<IsolatedTimes> timeIsolated(Device& device, Stream& stream, uint32_t rounds,
                                   const std::function<Result<void>()>& enqueue) {
    // Twice the cache, so that nothing of the step's operands stays.
    const int64_t flushBytes = std::max<int64_t>(2 * device.facts().l2Bytes, 1 << 20);
    auto flush = device.allocate(flushBytes);
    auto begin = Event::create(device.context());
    auto end = Event::create(device.context());
    if (!flush || !begin || !end)
        return failure(!flush ? flush.error() : !begin ? begin.error() : end.error());
    auto one = capture(stream, 1, enqueue);
    if (!one)
        return failure(one.error());
    auto many = capture(stream, warmRuns, enqueue);
    if (!many)
        return failure(many.error());
    IsolatedTimes out;
    for (uint32_t round = 0; round < rounds; ++round) {
        auto cold = timeOnce(stream, *begin, *end, *one, [&] {
            return stream.fill(flush->address(), static_cast<unsigned char>(round),
                               static_cast<size_t>(flushBytes));
        });
        if (!cold)
            return failure(cold.error());
        out.cold.push_back(*cold);
        auto warm = timeOnce(stream, *begin, *end, *many, [&] { return one->launch(stream); });
        if (!warm)
            return failure(warm.error());
        out.warm.push_back(*warm / warmRuns);
    }
    return out;
}

} // namespace fuselage::gpu
