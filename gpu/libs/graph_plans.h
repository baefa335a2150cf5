// SPDX-License-Identifier: Apache-2.0
// Graphs with their configurations and plans: equal graphs share them, whatever their constants,
// and what an earlier process was told is read instead of asked (plan_store.h). cuDNN is asked for
// a graph when the store does not know it, or a plan of it cannot be restored.
#pragma once

#include "gpu/libs/cudnn_handles.h"
#include "gpu/libs/plan_store.h"

#include <atomic>
#include <map>

namespace fuselage::gpu::cudnn {

/// A configuration with its plan, restored or finished by the first tactic that is built.
struct PlannedConfiguration {
    Configuration facts;
    std::mutex mutex;
    std::optional<std::variant<Plan, Reason>> plan;
};

struct PlannedGraph {
    GraphDescription description;
    std::string key;
    std::vector<std::shared_ptr<PlannedConfiguration>> configurations;
    std::optional<Reason> refused;

    std::mutex mutex; ///< of what follows
    bool asked = false;
    std::optional<Reason> refusal; ///< the library's, once it was asked
    OperationGraph graph;          ///< the descriptors below refer to it
    std::vector<FoundConfiguration> found;
};

class GraphPlans {
public:
    GraphPlans(std::shared_ptr<Handles> handles, PlanStore store)
        : m_handles(std::move(handles)), m_store(std::move(store)) {}

    /// Safe to call from several threads.
    std::shared_ptr<PlannedGraph> of(const GraphDescription& description);

    /// The configuration's plan, made once. An Error is of the handle: nothing was tried.
    Result<void> finish(PlannedGraph& graph, PlannedConfiguration& configuration);

    /// Plans that were finished, and that were restored from the store.
    uint32_t finished() const { return m_finished; }

    uint32_t restored() const { return m_restored; }

private:
    static void ask(PlannedGraph& graph, const Target& target);
    StoredAnswer answerFor(PlannedGraph& graph);
    std::variant<Plan, Reason> made(PlannedGraph& graph, const Configuration& facts,
                                    const Target& target);

    std::shared_ptr<Handles> m_handles;
    PlanStore m_store;
    std::mutex m_mutex;
    std::map<std::string, std::shared_ptr<PlannedGraph>> m_graphs;
    std::atomic<uint32_t> m_finished{0}, m_restored{0};
};

} // namespace fuselage::gpu::cudnn
