// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/settling.h"

#include "core/passes/specialise.h"
#include "core/plan/specialised.h"

namespace fuselage::app {

namespace {

/// Data that differ this often are not worth a plan.
constexpr int mostMisses = 3;

class SettlingExecutable final : public Executable {
public:
    SettlingExecutable(std::unique_ptr<Executable> general, std::shared_ptr<const Graph> graph,
                       PrepareGraphRun prepare)
        : m_general(std::move(general)), m_graph(std::move(graph)), m_prepare(std::move(prepare)) {}

    Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const RunOptions& options,
                                    Progress& progress) override {
        if (options.stepSeconds || options.stepBytes || options.shapes)
            return m_general->run(inputs, options, progress);
        if (m_settled) {
            auto outputs = m_settled->run(inputs, options, progress);
            if (outputs || progress.cancelled())
                return outputs;
            m_settled.reset();
            m_last = {};
            ++m_misses;
        }
        if (m_misses >= mostMisses)
            return m_general->run(inputs, options, progress);
        RunShapes shapes;
        RunOptions watching = options;
        watching.shapes = &shapes;
        auto outputs = m_general->run(inputs, watching, progress);
        if (outputs && !shapes.extents.empty() && shapes.extents == m_last.extents)
            settle(shapes, progress);
        m_last = std::move(shapes);
        return outputs;
    }

    std::string tactic(size_t step) const override { return m_general->tactic(step); }

    std::vector<Reason> fallbacks(size_t step) const override { return m_general->fallbacks(step); }

    bool isFallback(size_t step) const override { return m_general->isFallback(step); }

    HiddenWork hiddenWork(size_t step) const override { return m_general->hiddenWork(step); }

    std::optional<KernelFacts> kernelFacts(size_t step) const override {
        return m_general->kernelFacts(step);
    }

    Result<IsolatedTimes> timeIsolated(size_t step, uint32_t rounds) override {
        return m_general->timeIsolated(step, rounds);
    }

    Result<TrafficCounts> countTraffic(std::span<const Tensor> inputs,
                                       Progress& progress) override {
        return m_general->countTraffic(inputs, progress);
    }

private:
    /// A plan that cannot be made is missed by nobody: the general one goes on.
    void settle(const RunShapes& shapes, Progress& progress) {
        Graph graph = m_graph->clone();
        auto assumed = specialise(graph, shapes, progress);
        auto executable = assumed ? m_prepare(std::move(graph))
                                  : Result<std::unique_ptr<Executable>>(failure(assumed.error()));
        if (executable)
            m_settled = makeSpecialised(std::move(*executable), std::move(*assumed));
        else
            m_misses = mostMisses;
    }

    std::unique_ptr<Executable> m_general;
    std::shared_ptr<const Graph> m_graph;
    PrepareGraphRun m_prepare;
    std::unique_ptr<Executable> m_settled; ///< null: the shapes of runs still differ
    RunShapes m_last;
    int m_misses = 0;
};

} // namespace

std::unique_ptr<Executable> makeSettling(std::unique_ptr<Executable> general,
                                         std::shared_ptr<const Graph> graph,
                                         PrepareGraphRun prepare) {
    return std::make_unique<SettlingExecutable>(std::move(general), std::move(graph),
                                                std::move(prepare));
}

} // namespace fuselage::app
