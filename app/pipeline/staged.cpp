// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/staged.h"

#include "core/passes/shape_stage.h"
#include "core/plan/forwarding.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace fuselage::app {

namespace {

/// Shapes that depend on shapes that depend on data, and so on; longer chains run by the general
/// plan.
constexpr size_t mostStages = 64;

using NamedTensors = std::map<std::string, Tensor>;

/// What a part of the graph is prepared for: extents of its inputs, and elements that are shapes.
struct Given {
    std::map<std::string, Extents> extents;
    std::map<std::string, Tensor> contents;

    bool isOf(const NamedTensors& values) const;
};

bool Given::isOf(const NamedTensors& values) const {
    for (const auto& [name, wanted] : extents)
        if (values.at(name).extents() != wanted)
            return false;
    for (const auto& [name, wanted] : contents)
        if (!identical(values.at(name), wanted))
            return false;
    return true;
}

/// What is left of the graph before a part of it runs.
struct Stage {
    Given given;                            ///< that `graph` is for
    Graph graph;                            ///< with all nodes that have not run
    std::optional<ShapeStage> parts;        ///< none: all of it runs at once
    std::unique_ptr<Executable> executable; ///< of what runs; null: no node does

    const Graph& running() const { return parts ? parts->first : graph; }
};

class StagedExecutable final : public ForwardingExecutable {
public:
    StagedExecutable(std::unique_ptr<Executable> general, std::shared_ptr<const Graph> graph,
                     PrepareGraphRun prepare)
        : ForwardingExecutable(std::move(general)), m_graph(std::move(graph)),
          m_prepare(std::move(prepare)) {}

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override;

private:
    bool hasInputs(std::span<const Tensor> inputs) const;
    bool advance(size_t at, const NamedTensors& values, Progress& progress);
    bool prepareStage(Stage& stage, Progress& progress) const;
    Result<void> runStage(Stage& stage, NamedTensors& values, RunShapes* shapes,
                          Progress& progress);
    std::optional<std::vector<Tensor>> outputsIn(const NamedTensors& values) const;

    std::shared_ptr<const Graph> m_graph;
    PrepareGraphRun m_prepare;
    std::vector<Stage> m_stages; ///< of the last run
    bool m_isRefused = false;    ///< the graph has no stages, or a part cannot be prepared
};

/// The general plan says what is wrong with others.
bool StagedExecutable::hasInputs(std::span<const Tensor> inputs) const {
    if (inputs.size() != m_graph->inputs().size())
        return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Type& type = m_graph->value(m_graph->inputs()[i]).type;
        if (type.dtype != inputs[i].dtype() || type.extents() != inputs[i].extents())
            return false;
    }
    return true;
}

bool StagedExecutable::prepareStage(Stage& stage, Progress& progress) const {
    stage.parts = firstStage(stage.graph);
    if (stage.running().nodeCount() == 0)
        return true;
    auto prepared = m_prepare(stage.running().clone(), progress);
    if (!prepared)
        return false;
    stage.executable = std::move(*prepared);
    return true;
}

/// Makes m_stages[at] the one for these values. False where it cannot be had.
bool StagedExecutable::advance(size_t at, const NamedTensors& values, Progress& progress) {
    if (at < m_stages.size() && m_stages[at].given.isOf(values))
        return true;
    m_stages.resize(std::min(at, m_stages.size()));
    if (at == mostStages)
        return false;
    Stage stage;
    if (at == 0) {
        stage.graph = m_graph->clone();
    } else {
        const ShapeStage& before = *m_stages[at - 1].parts;
        stage.graph = before.rest.clone();
        for (ValueId input : before.rest.inputs()) {
            const std::string& name = before.rest.value(input).name;
            stage.given.extents[name] = values.at(name).extents();
        }
        for (const std::string& giver : before.givers)
            stage.given.contents[giver] = values.at(giver).clone();
        if (!settleRest(stage.graph, before.givers, values, progress))
            return false;
    }
    if (!prepareStage(stage, progress))
        return false;
    m_stages.push_back(std::move(stage));
    return true;
}

/// What the shapes of the graph were in this run.
void show(const Graph& graph, RunShapes& shapes) {
    for (ValueId id : graph.values())
        if (const auto extents = graph.value(id).type.extents())
            shapes.extents[graph.value(id).name] = *extents;
}

Result<void> StagedExecutable::runStage(Stage& stage, NamedTensors& values, RunShapes* shapes,
                                        Progress& progress) {
    for (ValueId output : stage.graph.outputs())
        if (stage.graph.isConstant(output))
            values[stage.graph.value(output).name] = *stage.graph.value(output).constant;
    if (!stage.executable)
        return {};
    const Graph& graph = stage.running();
    std::vector<Tensor> inputs;
    for (ValueId input : graph.inputs())
        inputs.push_back(values.at(graph.value(input).name));
    auto ran = stage.executable->run(inputs, {.shapes = shapes != nullptr}, progress);
    if (!ran)
        return failure(ran.error());
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
        const std::string& name = graph.value(graph.outputs()[i]).name;
        if (shapes)
            shapes->extents[name] = ran->outputs[i].extents();
        values[name] = std::move(ran->outputs[i]);
    }
    if (shapes) {
        shapes->extents.merge(ran->shapes.extents);
        shapes->contents.merge(ran->shapes.contents);
        show(graph, *shapes);
    }
    return {};
}

/// None where a part has lost the name of one.
std::optional<std::vector<Tensor>> StagedExecutable::outputsIn(const NamedTensors& values) const {
    std::vector<Tensor> out;
    for (ValueId output : m_graph->outputs()) {
        const auto found = values.find(m_graph->value(output).name);
        if (m_graph->isConstant(output))
            out.push_back(m_graph->value(output).constant->clone());
        else if (found != values.end())
            out.push_back(found->second);
        else
            return std::nullopt;
    }
    return out;
}

Result<RunResult> StagedExecutable::run(std::span<const Tensor> inputs, const RunOptions& options,
                                        Progress& progress) {
    if (m_isRefused || options.stepSeconds || options.stepBytes || options.deviceSeconds ||
        !hasInputs(inputs))
        return inner().run(inputs, options, progress);
    NamedTensors values;
    for (size_t i = 0; i < inputs.size(); ++i)
        values[m_graph->value(m_graph->inputs()[i]).name] = inputs[i];
    RunResult out;
    for (size_t at = 0;; ++at) {
        if (!advance(at, values, progress))
            break;
        Stage& stage = m_stages[at];
        auto ran = runStage(stage, values, options.shapes ? &out.shapes : nullptr, progress);
        if (!ran)
            return failure(ran.error());
        if (stage.parts && stage.parts->rest.nodeCount() > 0)
            continue;
        if (auto outputs = outputsIn(values)) {
            out.outputs = std::move(*outputs);
            return out;
        }
        break;
    }
    if (progress.cancelled())
        return cancelledFailure("run");
    m_isRefused = true;
    m_stages.clear();
    return inner().run(inputs, options, progress);
}

} // namespace

std::unique_ptr<Executable> makeStaged(std::unique_ptr<Executable> general,
                                       std::shared_ptr<const Graph> graph,
                                       PrepareGraphRun prepare) {
    return std::make_unique<StagedExecutable>(std::move(general), std::move(graph),
                                              std::move(prepare));
}

} // namespace fuselage::app
