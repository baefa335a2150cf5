// SPDX-License-Identifier: Apache-2.0
// The steps of a plan as captured graphs: consecutive ones that the device computes are one graph,
// with a step of the host between two. Where it was captured, a second graph beside each has its
// kernels launched early. What a step adds to the stream is the executable's business.
#pragma once

#include "gpu/runtime/stream.h"

#include <functional>
#include <optional>
#include <vector>

namespace fuselage::gpu {

/// Consecutive steps in one graph, or one step of the host.
struct Segment {
    size_t begin = 0, end = 0;
    /// Each kernel begins when the one before it has ended; none: the host's step.
    std::optional<CapturedGraph> graph;
    std::optional<CapturedGraph> early; ///< the same work, kernels launched early
};

class PlanGraphs {
public:
    /// What a step is to the graphs.
    enum class Place : uint8_t {
        Before,  ///< computed while preparing: nothing of it is in a run
        Graph,   ///< captured
        Between, ///< the host's
    };

    /// How a step's work gets to the stream, and whether it is kernels that launch() adds.
    struct Steps {
        std::vector<Place> places;
        std::function<Result<void>(size_t step)> add;
        std::function<bool(size_t step)> hasOwnKernels;
    };

    /// Errors of `add` and of the capture.
    Result<void> capture(Stream& stream, const Steps& steps);

    /// The graphs once more with kernels launched early. False: no kernel stands behind another, or
    /// the driver cannot.
    Result<bool> captureEarly(Stream& stream, const Steps& steps);

    const std::vector<Segment>& segments() const { return m_segments; }

    /// Launches the segment's graph, the early one where `early` and there is one.
    static Result<void> launch(const Segment& segment, Stream& stream, bool early) {
        return (early && segment.early ? segment.early : segment.graph)->launch(stream);
    }

    void dropEarly() {
        for (Segment& segment : m_segments)
            segment.early.reset();
    }

private:
    std::vector<Segment> m_segments;
};

} // namespace fuselage::gpu
