// SPDX-License-Identifier: Apache-2.0
// Seconds of each step of a captured graph: from CUPTI's activity records, matched to the steps by
// the ids of the graph's nodes, or where those cannot be had by the order of capture; or, outside
// of the graph, from events around each step.
#pragma once

#include "gpu/runtime/cupti.h"
#include "gpu/runtime/stream.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace fuselage::gpu {

class StepTimer {
public:
    StepTimer();

    /// How times were taken last, for the report.
    const std::string& note() const { return m_note; }

    /// Launches the graph once and waits. Error "timing.records": no records, or not those of the
    /// graph's kernels; the message says what is used instead.
    Result<void> timeGraph(const CapturedGraph& graph, Stream& stream, std::span<double> seconds);

    /// Calls `enqueue(i)` for each step between two events.
    Result<void> timeByEvents(const ContextPtr& context, Stream& stream, std::span<double> seconds,
                              const std::function<Result<void>(size_t)>& enqueue) const;

private:
    /// A copy of a graph whose nodes' ids are known.
    struct Watched {
        CapturedGraph graph;
        std::unordered_map<uint64_t, size_t> steps; ///< by the id of a node
        std::string unknown;                        ///< why there is no such copy
    };

    Result<const Watched*> watched(const CapturedGraph& graph);

    std::shared_ptr<Cupti> m_cupti; ///< null: m_note says why
    std::string m_note;
    std::map<GraphExecHandle, Watched> m_watched;
};

/// Adds up the records of one launch by step, each by its node. Error "timing.records" when a
/// record is of no node that is known, or a node has no record.
Result<void> sumByNode(const std::vector<KernelRecord>& records,
                       const std::unordered_map<uint64_t, size_t>& stepOfNode,
                       std::span<double> seconds);

/// The same without ids: kernels run in the order in which they were captured,
/// so the first `kernelsOfSteps[0]` records are of step 0, and so on. Error "timing.records" when
/// the numbers differ or a record is not of a graph's node.
Result<void> sumByStep(std::vector<KernelRecord> records, std::span<const uint32_t> kernelsOfSteps,
                       std::span<double> seconds);

} // namespace fuselage::gpu
