// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/run_model.h"

#include "app/pipeline/amplification.h"
#include "app/pipeline/check_elsewhere.h"
#include "app/pipeline/inner_values.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/precision_rules.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/run_check.h"

namespace fuselage::app {

namespace {

/// The graph to run, still with open dimensions; `compile` learns what rules allow.
Result<std::shared_ptr<const Graph>> graphToRun(const LoadedModel& model,
                                                const RunModelOptions& options,
                                                CompileOptions& compile, Progress& progress) {
    if (!options.fused) {
        auto prepared = prepare(model.graph.clone(), model.dims,
                                {options.fuse.precision, options.fuse.precisionOf});
        if (!prepared)
            return failure(prepared.error());
        if (auto said = requireAllSaid(*prepared); !said)
            return failure(said.error());
        return std::move(prepared->graph);
    }
    auto library = requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    FuseOptions fusing = timedAs(options.fuse, options.run);
    fusing.dims = model.dims;
    auto rewritten = fuseGraph(model.graph, *library, fusing, progress);
    if (!rewritten)
        return failure(rewritten.error());
    compile.allowed = numericClasses(*library);
    return std::make_shared<const Graph>(std::move(rewritten->graph));
}

/// One attempt.
Result<RunModelResult> runOnce(const LoadedModel& model, const RunModelOptions& options,
                               Progress& progress) {
    CompileOptions compile = options.run;
    compile.oneKernelPerNode = !options.fused;
    compile.precision = options.fuse.precision;
    compile.precisionOf = options.fuse.precisionOf;
    compile.strict = options.fuse.strict;
    auto chosen = graphToRun(model, options, compile, progress);
    if (!chosen)
        return failure(chosen.error());
    Graph open = (*chosen)->clone();
    auto inner = giveOut(open, options.values);
    if (!inner)
        return failure(inner.error());
    auto graph = withSizes(std::move(open), model.dims, progress);
    if (!graph)
        return failure(graph.error());
    auto inputs = inputsOf(model, *graph, options.seed);
    if (!inputs)
        return failure(inputs.error());
    RunModelResult out;
    out.inner = inner->size();
    for (ValueId id : graph->outputs())
        out.names.push_back(graph->value(id).name);
    auto compiled = CompiledGraph::compile(std::move(*graph), compile, progress);
    if (!compiled)
        return failure(compiled.error());
    out.notes = compiled->backend().notes();
    auto outputs = compiled->executable().outputs(*inputs, progress);
    if (!outputs)
        return failure(outputs.error());
    out.outputs = std::move(*outputs);
    if (!options.verify)
        return out;
    Graph original = model.graph.clone();
    const std::vector<bool> shared = giveOutKnown(original, *inner);
    auto judged = withSizes(std::move(original), model.dims, progress);
    if (!judged)
        return failure(judged.error());
    std::vector<Tensor> comparable;
    for (size_t i = 0, first = out.outputs.size() - out.inner; i < out.outputs.size(); ++i)
        if (i < first || shared[i - first])
            comparable.push_back(out.outputs[i]);
    auto checked = checkRun(*judged, options.fused, *inputs, comparable, compile, progress);
    if (!checked)
        return failure(checked.error());
    out.checked = std::move(*checked);
    auto elsewhere =
        checkElsewhere({model, **chosen, options.fused, *inputs, options.seed, compile}, progress);
    if (!elsewhere)
        return failure(elsewhere.error());
    out.checked.insert(out.checked.end(), elsewhere->found.begin(), elsewhere->found.end());
    out.checkNotes = std::move(elsewhere->notes);
    out.jumps = hasJumps(model.graph);
    return out;
}

} // namespace

Result<RunModelResult> runModel(LoadedModel& model, const RunModelOptions& asked,
                                Progress& progress) {
    RunModelOptions options = asked;
    if (!missingOperators(model.graph).empty()) {
        auto library = requireRuleLibrary(options.rules);
        if (!library)
            return failure(library.error());
        enterDeclared(model, *library);
    }
    if (auto all = requireOperators(model.graph); !all)
        return failure(all.error());
    if (auto known = requireSizes(model); !known)
        return failure(known.error());
    if (namesRules(options.fuse.precisionOf)) {
        auto library = requireRuleLibrary(options.rules);
        if (!library)
            return failure(library.error());
        if (auto found = lookUpRules(model, *library, options.fuse, progress); !found)
            return failure(found.error());
    }
    for (size_t lies = 0;; ++lies) {
        auto out = runOnce(model, options, progress);
        if (out)
            return out;
        if (lies == mostWrongDeclarations || !forgetDeclaration(model, out.error()))
            return failure(inFile(out.error(), model));
    }
}

} // namespace fuselage::app
