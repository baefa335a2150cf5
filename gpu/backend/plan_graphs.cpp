// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/plan_graphs.h"

namespace fuselage::gpu {

namespace {

/// `marked`: the graph's kernels by step, for times of steps.
Result<CapturedGraph> captured(Stream& stream, const Segment& segment,
                               const PlanGraphs::Steps& steps, bool marked) {
    auto capture = StreamCapture::begin(stream);
    if (!capture)
        return failure(capture.error());
    for (size_t step = segment.begin; step < segment.end; ++step) {
        if (steps.places[step] == PlanGraphs::Place::Graph) {
            if (auto added = steps.add(step); !added)
                return failure(added.error());
            if (!steps.hasOwnKernels(step))
                stream.addedByOthers();
        }
        if (!marked)
            continue;
        if (auto done = capture->mark(); !done)
            return failure(done.error());
    }
    return capture->finish();
}

} // namespace

Result<void> PlanGraphs::capture(Stream& stream, const Steps& steps) {
    m_segments.clear();
    for (size_t i = 0; i < steps.places.size();) {
        if (steps.places[i] == Place::Before) { // in front of a segment
            ++i;
            continue;
        }
        Segment& segment = m_segments.emplace_back(Segment{i, i + 1, {}, {}});
        if (steps.places[i++] == Place::Between)
            continue;
        while (i < steps.places.size() && steps.places[i] != Place::Between)
            ++i;
        segment.end = i;
        auto graph = captured(stream, segment, steps, true);
        if (!graph)
            return failure(graph.error());
        segment.graph = std::move(*graph);
    }
    return {};
}

Result<bool> PlanGraphs::captureEarly(Stream& stream, const Steps& steps) {
    const uint64_t before = stream.earlyLaunches();
    for (Segment& segment : m_segments) {
        if (!segment.graph)
            continue;
        stream.launchEarly(true);
        auto graph = captured(stream, segment, steps, false);
        stream.launchEarly(false);
        if (!graph) {
            dropEarly();
            return failure(graph.error());
        }
        segment.early = std::move(*graph);
    }
    const bool any = stream.earlyLaunches() != before;
    if (!any)
        dropEarly();
    return any;
}

} // namespace fuselage::gpu
