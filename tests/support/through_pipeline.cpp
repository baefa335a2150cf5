// SPDX-License-Identifier: Apache-2.0
#include "tests/support/through_pipeline.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/model.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

namespace fuselage::testing_support {

namespace {

const app::RuleLibrary& library() {
    static const app::RuleLibrary loaded = *app::loadRuleLibrary({});
    return loaded;
}

/// Keeps the error of a phase that refuses.
template <typename T> bool answered(Passage& passage, const Result<T>& result) {
    if (!result)
        passage.errors.push_back(result.error());
    return static_cast<bool>(result);
}

std::vector<Tensor> withIntegers(const std::vector<Tensor>& inputs, int64_t integer) {
    std::vector<Tensor> out;
    for (const Tensor& input : inputs) {
        out.push_back(input.clone());
        if (isInteger(input.dtype()))
            for (int64_t i = 0; i < input.elementCount(); ++i)
                out.back().setInt(i, wrapTo(input.dtype(), integer));
    }
    return out;
}

void compileAndRun(Graph graph, bool perNode, const PassageOptions& options, Passage& passage) {
    bindAllDimensions(graph, {}, 2);
    auto inputs = app::generateInputs(graph, 1);
    CompileOptions compile;
    compile.oneKernelPerNode = perNode;
    compile.threads = 1;
    auto compiled = CompiledGraph::compile(std::move(graph), compile);
    if (!answered(passage, compiled) || !answered(passage, inputs))
        return;
    passage.runs += answered(passage, compiled->run(*inputs)) ? 1 : 0;
    for (int64_t integer : options.integers)
        passage.runs += answered(passage, compiled->run(withIntegers(*inputs, integer))) ? 1 : 0;
}

} // namespace

void loadStandardRules() {
    library();
}

Passage throughPipeline(const std::string& bytes, const PassageOptions& options) {
    Passage passage;
    auto graph = model_io::loadBytes(bytes, ".", {});
    passage.loaded = answered(passage, graph);
    if (!passage.loaded)
        return passage;
    Progress progress;
    passage.prepared = answered(passage, prepareGraph(*graph, progress));
    if (!passage.prepared)
        return passage;
    answered(passage, model_io::toBytes(*graph));
    if (!answered(passage, app::requireOperators(*graph)))
        return passage;
    auto fused = app::fuseGraph(*graph, library(), {}, progress);
    if (answered(passage, fused)) {
        if (auto saved = model_io::toBytes(fused->graph); answered(passage, saved))
            answered(passage, model_io::loadBytes(*saved, ".", {}));
        compileAndRun(std::move(fused->graph), false, options, passage);
    }
    compileAndRun(std::move(*graph), true, options, passage);
    return passage;
}

std::string uncodedError(const Passage& passage) {
    for (const Error& error : passage.errors)
        if (error.code.find('.') == std::string::npos && error.code != "cancelled")
            return "no code: " + error.text();
        else if (error.message.empty())
            return "no words: " + error.code;
    return {};
}

} // namespace fuselage::testing_support
