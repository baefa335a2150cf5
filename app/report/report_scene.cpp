// SPDX-License-Identifier: Apache-2.0
#include "app/report/report_scene.h"

namespace fuselage::app {

namespace {

void add(const KernelReport& kernel, scene::Figures& figures) {
    bool first = figures.launches == 0;
    figures.bytes = (first ? 0 : figures.bytes) + static_cast<double>(kernel.traffic.logical());
    figures.seconds =
        (first ? 0 : figures.seconds) + kernel.measuredSeconds.value_or(kernel.predictedSeconds);
    figures.measured = kernel.measuredSeconds.has_value();
    ++figures.launches;
    std::string text = kernel.kind + (kernel.tactic.empty() ? "" : " (" + kernel.tactic + ")");
    figures.kernel += (first ? "" : ", ") + text;
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
