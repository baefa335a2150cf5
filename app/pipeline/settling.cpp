// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/settling.h"

#include "core/passes/specialise.h"
#include "core/plan/forwarding.h"
#include "core/plan/specialised.h"

namespace fuselage::app {

namespace {

/// Data that differ this often are not worth a plan.
constexpr int mostMisses = 3;

class SettlingExecutable final : public ForwardingExecutable {
public:
    SettlingExecutable(std::unique_ptr<Executable> general, std::shared_ptr<const Graph> graph,
                       PrepareGraphRun prepare)
        : ForwardingExecutable(std::move(general)), m_graph(std::move(graph)),
          m_prepare(std::move(prepare)) {}

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override {
        if (options.stepSeconds || options.stepBytes || options.shapes)
            return inner().run(inputs, options, progress);
        if (m_settled) {
            auto ran = m_settled->run(inputs, options, progress);
            if (ran || progress.cancelled())
                return ran;
            m_settled.reset();
            m_last = {};
            ++m_misses;
        }
        if (m_misses >= mostMisses)
            return inner().run(inputs, options, progress);
        RunOptions watching = options;
        watching.shapes = true;
        auto ran = inner().run(inputs, watching, progress);
        RunShapes shapes = ran ? std::exchange(ran->shapes, {}) : RunShapes{};
        if (!shapes.extents.empty() && shapes.extents == m_last.extents)
            settle(shapes, progress);
        m_last = std::move(shapes);
        return ran;
    }

private:
    /// A plan that cannot be made is missed by nobody: the general one goes on.
    void settle(const RunShapes& shapes, Progress& progress) {
        Graph graph = m_graph->clone();
        auto assumed = specialise(graph, shapes, progress);
        Progress quiet; // the run itself is done
        auto executable = assumed ? m_prepare(std::move(graph), quiet)
                                  : Result<std::unique_ptr<Executable>>(failure(assumed.error()));
        if (executable)
            m_settled = makeSpecialised(std::move(*executable), std::move(*assumed));
        else
            m_misses = mostMisses;
    }

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
