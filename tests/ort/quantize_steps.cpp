// SPDX-License-Identifier: Apache-2.0
#include "tests/ort/quantize_steps.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "core/onnx/model_file.h"
#include "core/passes/dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace fuselage::ort {

namespace {

/// What the model stores on its way.
std::vector<ValueId> storedValues(const Graph& graph) {
    std::vector<ValueId> out;
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        if (node.op == Op::QuantizeLinear && !graph.isConstant(node.inputs[0]) &&
            !graph.isGraphOutput(node.outputs[0]) &&
            isInteger(graph.value(node.outputs[0]).type.dtype))
            out.push_back(node.outputs[0]);
    }
    return out;
}

/// The same with each of these as an output.
Graph shown(const Graph& graph) {
    Graph out = graph.clone();
    for (ValueId value : storedValues(out))
        out.addOutput(value);
    return out;
}

/// Layers apart: each of these is an output behind those of the model, and whoever read it reads an
/// input instead.
Graph apart(const Graph& graph) {
    Graph out = graph.clone();
    for (ValueId value : storedValues(out)) {
        const Value made = out.value(value);
        const ValueId given = out.addInput(made.name + "_theirs", made.type);
        out.replaceUses(value, given);
        out.addOutput(value);
    }
    out.removeDead();
    return out;
}

Result<std::vector<Tensor>> ours(const Graph& graph, const app::RuleLibrary& library,
                                 const std::vector<Tensor>& inputs) {
    Progress progress;
    std::vector<std::string> notes;
    Graph bound = apart(graph);
    if (auto done = bindToInputs(bound, inputs, {}, notes); !done)
        return failure(done.error());
    app::FuseOptions fusing;
    fusing.decide = Decide::Rules;
    auto fused = app::fuseGraph(bound, library, fusing, progress);
    if (!fused)
        return failure(fused.error());
    auto compiled = CompiledGraph::compile(std::move(fused->graph), {});
    return compiled ? compiled->run(inputs) : failure(compiled.error());
}

} // namespace

Result<StepCounts> compareSteps(const Graph& quantised, const app::RuleLibrary& library, Job job,
                                const OnnxRuntime& runtime, const std::string& folder) {
    StepCounts out;
    const std::vector<ValueId> stored = storedValues(quantised);
    if (stored.empty())
        return out;
    job.model = folder + "/shown.onnx";
    if (auto saved = model_io::save(shown(quantised), job.model); !saved)
        return failure(saved.error());
    job.outputs.clear();
    for (ValueId value : stored)
        job.outputs.push_back(quantised.value(value).name);
    auto theirs = runtime.run(job, folder);
    if (!theirs)
        return failure(theirs.error());
    std::vector<Tensor> inputs;
    for (const NamedTensor& input : job.inputs)
        inputs.push_back(input.tensor.clone());
    for (const Tensor& tensor : *theirs)
        inputs.push_back(tensor.clone());
    auto found = ours(quantised, library, inputs);
    if (!found)
        return failure(found.error());
    double largest = 0;
    for (size_t i = 0; i < stored.size(); ++i) {
        const Tensor& mine = (*found)[quantised.outputs().size() + i];
        const Tensor& other = (*theirs)[i];
        if (mine.elementCount() != other.elementCount())
            return failure("ort.steps", "another number of integers", job.outputs[i]);
        int64_t apart = 0;
        for (int64_t at = 0; at < mine.elementCount(); ++at) {
            const int64_t steps = std::abs(mine.intAt(at) - other.intAt(at));
            ++(steps == 0 ? out.same : steps == 1 ? out.one : out.more);
            apart += steps != 0 ? 1 : 0;
        }
        const double share = static_cast<double>(apart) / static_cast<double>(mine.elementCount());
        if (share > largest) {
            largest = share;
            out.worst = fmt::format("{} ({:.2g} % of it)", job.outputs[i], 100 * share);
        }
    }
    return out;
}

} // namespace fuselage::ort
