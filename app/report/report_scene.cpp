// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_scene.h"

namespace fuselage::app {

namespace {

void add(const KernelReport& kernel, scene::Figures& figures) {
    const bool first = figures.kernel.empty();
    figures.bytes = (first ? 0 : figures.bytes) + static_cast<double>(kernel.traffic.logical());
    figures.seconds =
        (first ? 0 : figures.seconds) + kernel.measuredSeconds.value_or(kernel.predictedSeconds);
    figures.measured = kernel.measuredSeconds.has_value();
    figures.launches += kernel.hidden.launches > 0 ? 1 : 0;
    std::string text = kernel.kind + (kernel.tactic.empty() ? "" : " (" + kernel.tactic + ")");
    figures.kernel += (first ? "" : ", ") + text;
}

/// Values keep their names through every fusion: a fused node has the error of what it makes.
void addNodeErrors(const Report& report, scene::SideFigures& out) {
    std::map<std::string_view, double> byValue;
    for (const NodeErrorReport& error : report.nodeErrors) {
        out.before[error.node].error = error.relative;
        byValue[error.value] = error.relative;
    }
    if (byValue.empty())
        return;
    // What is stored has the error of what it was, before it was stored.
    const GraphReport& before = report.before.graph;
    for (const GraphNodeReport& node : before.nodes)
        if (node.op == "QuantizeLinear" && !node.inputs.empty() && !node.outputs.empty() &&
            node.inputs[0] != GraphNodeReport::omitted &&
            node.outputs[0] != GraphNodeReport::omitted)
            if (auto found = byValue.find(before.values[node.inputs[0]].name);
                found != byValue.end())
                byValue.try_emplace(before.values[node.outputs[0]].name, found->second);
    const GraphReport& after = report.after.graph;
    for (const GraphNodeReport& node : after.nodes)
        for (uint32_t value : node.outputs)
            if (value != GraphNodeReport::omitted)
                if (auto found = byValue.find(after.values[value].name); found != byValue.end())
                    out.after[node.name].error = found->second;
}

} // namespace

scene::SideFigures figuresOf(const Report& report) {
    scene::SideFigures out;
    for (const KernelReport& kernel : report.before.kernels)
        for (const std::string& source : kernel.sources)
            add(kernel, out.before[source]);
    std::map<std::string, std::string> fusedBySource;
    for (const GraphNodeReport& node : report.after.graph.nodes)
        if (node.fused && !node.sources.empty())
            fusedBySource[node.rule + "\n" + node.sources.front()] = node.name;
    for (const KernelReport& kernel : report.after.kernels) {
        // A fused node that was split has kernels of other names.
        auto fused = kernel.sources.empty()
                         ? fusedBySource.end()
                         : fusedBySource.find(kernel.rule + "\n" + kernel.sources.front());
        add(kernel, out.after[fused == fusedBySource.end() ? kernel.node : fused->second]);
    }
    for (const MatchReport& match : report.matches)
        if (match.error) {
            out.after[match.fusedNode].error = *match.error;
            for (const std::string& node : match.nodes)
                out.before[node].error = *match.error;
        }
    addNodeErrors(report, out);
    return out;
}

scene::Scene sceneOf(const Report& report, const scene::Options& options) {
    Progress progress;
    scene::SideFigures figures = figuresOf(report);
    auto built =
        scene::build({report.before.graph, report.after.graph, figures}, options, progress);
    return built ? std::move(*built) : scene::Scene{};
}

} // namespace fuselage::app
