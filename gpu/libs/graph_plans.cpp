// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/graph_plans.h"

#include <algorithm>

namespace fuselage::gpu::cudnn {

namespace {

constexpr size_t mostConfigurations = 16;

Target targetOf(const Handles& handles, Handle handle) {
    Target out;
    out.library = handles.library();
    out.handle = handle;
    return out;
}

} // namespace

/// Fills what the descriptors need; under the graph's lock.
void GraphPlans::ask(PlannedGraph& planned, const Target& target) {
    if (std::exchange(planned.asked, true))
        return;
    auto graph = operationGraph(target.library, planned.description, target.handle);
    if (auto* reason = std::get_if<Reason>(&graph)) {
        planned.refusal = std::move(*reason);
        return;
    }
    planned.graph = std::move(std::get<OperationGraph>(graph));
    auto found = configurations(target, planned.graph, mostConfigurations);
    if (auto* reason = std::get_if<Reason>(&found))
        planned.refusal = withLayout(std::move(*reason), planned.description);
    else
        planned.found = std::move(std::get<std::vector<FoundConfiguration>>(found));
}

StoredAnswer GraphPlans::answerFor(PlannedGraph& graph) {
    if (auto known = m_store.answer(graph.key))
        return std::move(*known);
    Borrowed handle(*m_handles);
    if (!handle.handle())
        return Reason{"library-missing", handle.handle().error().message, {}, {}};
    ask(graph, targetOf(*m_handles, *handle.handle()));
    StoredAnswer out;
    if (graph.refusal) {
        out = *graph.refusal;
    } else {
        out = std::vector<Configuration>(graph.found.begin(), graph.found.end());
    }
    m_store.keepAnswer(graph.key, out);
    return out;
}

std::shared_ptr<PlannedGraph> GraphPlans::of(const GraphDescription& description) {
    std::shared_ptr<PlannedGraph> out;
    std::string key = planKey(description);
    {
        const std::lock_guard lock(m_mutex);
        auto [found, fresh] = m_graphs.try_emplace(key);
        if (!fresh) {
            out = found->second;
        } else {
            out = found->second = std::make_shared<PlannedGraph>();
            out->description = description;
            out->key = std::move(key);
        }
    }
    const std::lock_guard lock(out->mutex);
    if (!out->configurations.empty() || out->refused)
        return out;
    StoredAnswer answer = answerFor(*out);
    if (auto* reason = std::get_if<Reason>(&answer)) {
        out->refused = std::move(*reason);
        return out;
    }
    for (Configuration& facts : std::get<std::vector<Configuration>>(answer)) {
        auto configuration = std::make_shared<PlannedConfiguration>();
        configuration->facts = std::move(facts);
        out->configurations.push_back(std::move(configuration));
    }
    return out;
}

std::variant<Plan, Reason> GraphPlans::made(PlannedGraph& graph, const Configuration& facts,
                                            const Target& target) {
    const std::string name = facts.name();
    if (auto json = m_store.planJson(graph.key, name)) {
        auto plan = restorePlan(target, *json, name);
        if (std::get_if<Plan>(&plan) != nullptr) {
            ++m_restored;
            return plan;
        }
    }
    const FoundConfiguration* found = nullptr;
    {
        const std::lock_guard lock(graph.mutex);
        ask(graph, target);
        for (const FoundConfiguration& configuration : graph.found)
            if (configuration.name() == name)
                found = &configuration;
    }
    if (found == nullptr)
        return Reason{"support", "cuDNN no longer offers `" + name + "` for the graph", {}, {}};
    auto plan = finishPlan(target, *found); // its list does not change once it was asked for
    if (const Plan* finished = std::get_if<Plan>(&plan)) {
        ++m_finished;
        m_store.keepPlan(graph.key, name,
                         finished->descriptor.readText(
                             Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
    }
    return plan;
}

Result<void> GraphPlans::finish(PlannedGraph& graph, PlannedConfiguration& configuration) {
    const std::lock_guard lock(configuration.mutex);
    if (configuration.plan)
        return {};
    Borrowed handle(*m_handles);
    if (!handle.handle())
        return failure(handle.handle().error());
    configuration.plan = made(graph, configuration.facts, targetOf(*m_handles, *handle.handle()));
    return {};
}

} // namespace fuselage::gpu::cudnn
