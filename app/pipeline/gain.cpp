// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"

#include "core/graph/subgraph.h"
#include "core/kernel/lower.h"
#include "core/passes/passes.h"

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

} // namespace

GainFunction makeGain(const DeviceProfile& profile, std::map<std::string, int64_t> dims) {
    return [&profile, dims = std::move(dims)](const Graph& graph, const Match& match) {
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
    };
}

} // namespace fuselage::app
