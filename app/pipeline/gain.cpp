// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"

#include "core/graph/subgraph.h"
#include "core/kernel/lower_cache.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace fuselage::app {

namespace {

struct Cost {
    double seconds = 0, bytes = 0, launches = 0, flops = 0, peak = 0;
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

bool asksForPeak(const Expression& expression) {
    return (expression.kind == Expression::Kind::Member && expression.text == "peak_bytes") ||
           std::any_of(expression.args.begin(), expression.args.end(), asksForPeak);
}

/// Whether the gate wants to know what a match saves of memory, which takes two plans to tell.
bool asksForPeak(const Match& match) {
    const Gate& gate = match.rule->gate;
    return gate.condition && asksForPeak(*gate.condition);
}

/// What the gain of a match can depend on, without names: equal texts, equal gains. None when it
/// holds subgraphs or fused nodes.
std::optional<std::string> keyOf(const Graph& graph, const Match& match) {
    BodyKey key;
    // A rewrite makes what its rule says, of the values that its names stand for.
    if (match.rule->isRewrite && match.rule->gate.condition)
        return std::nullopt;
    key.add(uint64_t{asksForPeak(match) ? 1U : 0U});
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

Cost planned(std::shared_ptr<const Graph> graph, const DeviceProfile& profile) {
    PlanOptions options;
    options.profile = &profile;
    Progress quiet;
    auto plan = makePlan(std::move(graph), options, quiet);
    Cost out;
    if (!plan)
        return out;
    out.seconds = (*plan)->totalPredicted().seconds;
    out.bytes = static_cast<double>((*plan)->totalTraffic().logical());
    out.launches = static_cast<double>((*plan)->steps.size());
    out.peak = static_cast<double>((*plan)->peakBytes);
    for (const Step& step : (*plan)->steps)
        out.flops += static_cast<double>(workOf(step.program).flops);
    return out;
}

/// Bytes that the nodes of the body, planned by themselves, hold at most, minus those that one
/// fused node holds.
double savedPeak(const std::shared_ptr<const Graph>& body, const DeviceProfile& profile) {
    Graph fused = body->clone();
    const std::vector<NodeId> nodes = topologicalOrder(fused);
    replaceByFused(fused, nodes, cutOut(fused, nodes, fused.outputs()), "match", {});
    return planned(body, profile).peak -
           planned(std::make_shared<const Graph>(std::move(fused)), profile).peak;
}

Gain difference(const Cost& before, const Cost& after) {
    Gain gain;
    gain.us = (before.seconds - after.seconds) * 1e6;
    gain.bytes = before.bytes - after.bytes;
    gain.launches = before.launches - after.launches;
    gain.flops = before.flops - after.flops;
    gain.peakBytes = before.peak - after.peak;
    return gain;
}

/// Of a rewrite: the plan of the match's nodes against that of what replaces them.
Gain gainOfRewrite(const Graph& graph, const Match& match, const std::shared_ptr<const Graph>& body,
                   const DeviceProfile& profile, const std::map<std::string, int64_t>& dims) {
    auto replacement = replacementOf(graph, match, inferShapes);
    if (auto* refused = std::get_if<NotApplied>(&replacement)) {
        Gain gain;
        gain.refusal = std::move(refused->reason);
        return gain;
    }
    auto after = std::make_shared<Graph>(std::get<Graph>(std::move(replacement)));
    bindAllDimensions(*after, dims);
    return difference(planned(body, profile), planned(after, profile));
}

Gain gainOf(const Graph& graph, const Match& match, const DeviceProfile& profile,
            const std::map<std::string, int64_t>& dims) {
    Cut cut;
    auto body = staticBody(graph, match, dims, cut);
    if (match.rule->isRewrite && match.rule->gate.condition)
        return gainOfRewrite(graph, match, body, profile, dims);
    Cost before, after;
    for (NodeId id : topologicalOrder(*body))
        addCost(bodyOf(*body, id), profile, before);
    LowerRequest whole;
    whole.body = body;
    for (ValueId input : cut.inputs)
        whole.constants.push_back(graph.value(input).constant);
    whole.operands = cut.inputs;
    whole.results = cut.outputs;
    std::optional<Reason> refusal = addCost(whole, profile, after);
    if (!refusal && asksForPeak(match))
        before.peak = savedPeak(body, profile);
    Gain gain = difference(before, refusal ? before : after);
    gain.refusal = std::move(refusal);
    return gain;
}

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

DeviceFigures figuresOf(const DeviceProfile& profile) {
    DeviceFigures out;
    out.kind = nameOf(profile.kind);
    out.arch = profile.arch;
    out.units = profile.units;
    out.lanesPerUnit = profile.lanesPerUnit;
    out.clock = profile.clock;
    out.dramBandwidth = profile.dramBandwidth;
    out.l2Bandwidth = profile.l2Bandwidth;
    out.l2Bytes = profile.l2Bytes;
    out.fp32Flops = profile.fp32Flops;
    out.fp16MatrixFlops = profile.fp16MatrixFlops;
    out.tf32MatrixFlops = profile.tf32MatrixFlops;
    out.launchSeconds = profile.launchSeconds;
    out.sharedBytesPerUnit = profile.sharedBytesPerUnit;
    out.registersPerUnit = profile.registersPerUnit;
    out.threadsPerUnit = profile.threadsPerUnit;
    return out;
}

} // namespace

EngineOptions engineOptions(const DeviceProfile& profile, std::map<std::string, int64_t> dims) {
    EngineOptions out;
    out.gain = makeGain(profile, std::move(dims));
    out.device = figuresOf(profile);
    return out;
}

} // namespace fuselage::app
