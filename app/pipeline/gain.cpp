// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"

#include "core/graph/subgraph.h"
#include "core/kernel/lower_cache.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage::app {

namespace {

struct Cost {
    double seconds = 0, bytes = 0, launches = 0, flops = 0;
};

/// Adds what one launch of the body costs; the reason when it does not lower.
std::optional<Reason> addCost(const LowerRequest& request, const DeviceProfile& profile,
                              Cost& cost) {
    LowerResult lowered = lower(request);
    if (auto* refusal = std::get_if<Reason>(&lowered))
        return std::move(*refusal);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    Traffic traffic =
        predictTraffic(*program, profile, std::vector<int64_t>(program->inputs.size(), -1));
    cost.seconds += predictTime(*program, traffic, profile).seconds;
    cost.bytes += static_cast<double>(traffic.logical());
    cost.launches += 1;
    cost.flops += static_cast<double>(workOf(*program).flops);
    return std::nullopt;
}

/// The match's nodes as a graph of their own with static shapes; none when some stay unknown.
std::shared_ptr<const Graph> staticBody(const Graph& graph, const Match& match,
                                        const std::map<std::string, int64_t>& dims, Cut& cut) {
    cut = cutOut(graph, match.nodes, match.outputs);
    bindAllDimensions(cut.body, dims);
    return std::make_shared<const Graph>(cut.body);
}

/// What the gain of a match can depend on, without names: equal texts, equal gains. None when it
/// holds subgraphs or fused nodes.
std::optional<std::string> keyOf(const Graph& graph, const Match& match) {
    BodyKey key;
    // Bodies are cut in the order of structure and names.
    std::vector<uint32_t> byName(match.nodes.size());
    for (uint32_t i = 0; i < byName.size(); ++i)
        byName[i] = i;
    std::sort(byName.begin(), byName.end(), [&](uint32_t a, uint32_t b) {
        return graph.node(match.nodes[a]).name < graph.node(match.nodes[b]).name;
    });
    for (uint32_t i : byName)
        key.add(uint64_t{i});
    std::unordered_map<ValueId, uint64_t> numbers;
    auto addValue = [&](ValueId id) {
        auto [known, isNew] = numbers.try_emplace(id, numbers.size());
        key.add(known->second);
        if (!isNew || !id.valid())
            return;
        const Value& value = graph.value(id);
        key.add(value.type);
        key.add(uint64_t{value.constant != nullptr});
        if (value.constant)
            key.add(*value.constant);
        key.add(value.symbolicContents ? text(*value.symbolicContents) : std::string());
    };
    for (NodeId id : match.nodes) {
        const Node& node = graph.node(id);
        key.addOperator(node);
        key.add(node.inputs.size());
        for (ValueId input : node.inputs)
            addValue(input);
        key.add(node.outputs.size());
        for (ValueId output : node.outputs)
            addValue(output);
    }
    for (ValueId output : match.outputs)
        addValue(output);
    return key.isOpaque() ? std::nullopt : std::optional(key.take());
}

Gain gainOf(const Graph& graph, const Match& match, const DeviceProfile& profile,
            const std::map<std::string, int64_t>& dims) {
    Cut cut;
    auto body = staticBody(graph, match, dims, cut);
    Cost before, after;
    for (NodeId id : topologicalOrder(*body))
        addCost(bodyOf(*body, id), profile, before);
    LowerRequest whole;
    whole.body = body;
    for (ValueId input : cut.inputs)
        whole.constants.push_back(graph.value(input).constant);
    whole.operands = cut.inputs;
    whole.results = cut.outputs;
    Gain gain;
    gain.refusal = addCost(whole, profile, after);
    if (gain.refusal)
        after = before;
    gain.us = (before.seconds - after.seconds) * 1e6;
    gain.bytes = before.bytes - after.bytes;
    gain.launches = before.launches - after.launches;
    gain.flops = before.flops - after.flops;
    return gain;
}

} // namespace

GainFunction makeGain(const DeviceProfile& profile, std::map<std::string, int64_t> dims) {
    auto known = std::make_shared<std::unordered_map<std::string, Gain>>();
    return [&profile, dims = std::move(dims), known](const Graph& graph, const Match& match) {
        std::optional<std::string> key = keyOf(graph, match);
        if (key)
            if (auto found = known->find(*key); found != known->end())
                return found->second;
        Gain gain = gainOf(graph, match, profile, dims);
        if (key && !gain.refusal) // a refusal names nodes
            known->emplace(std::move(*key), gain);
        return gain;
    };
}

} // namespace fuselage::app
