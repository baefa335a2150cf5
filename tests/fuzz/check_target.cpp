// SPDX-License-Identifier: Apache-2.0
// Any bytes as rules: resolved, compiled, linted, made ready to match and run on a small graph.
// Searches are cut early, since what is looked for are crashes, not matches.
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/rewrite/engine.h"
#include "dsl/lint.h"
#include "tests/fuzz/target.h"
#include "tests/support/standard_import.h"

#include <algorithm>

using namespace fuselage;
using fuzz::promise;
using testing_support::smallImport;

namespace {

constexpr const char* graphText =
    "<ir_version: 8, opset_import: [\"\" : 17]>"
    "g (float[N,3,8,8] x, float[4,16] t) => (float[N,4,6,6] y, float[4,8] z)"
    "<int64[4] ws = {4,3,3,3}, int64[1] bs = {4}, int64[2] ms = {16,8}, float half = {0.5}> {"
    "  w = ConstantOfShape(ws)"
    "  b = ConstantOfShape(bs)"
    "  m = ConstantOfShape(ms)"
    "  c = Conv(x, w, b)"
    "  r = Relu(c)"
    "  s = Sigmoid(r)"
    "  p = Mul(r, s)"
    "  y = Add(p, r)"
    "  a = MatMul(t, m)"
    "  e = Erf(a)"
    "  f = Add(e, half)"
    "  g2 = Mul(a, f)"
    "  h = Mul(g2, half)"
    "  z = Softmax<axis = -1>(h)"
    "}";

Graph smallGraph() {
    Result<Graph> graph = model_io::loadText(graphText);
    promise(graph, "the graph is read");
    Progress progress;
    promise(prepareGraph(*graph, progress), "the graph is prepared");
    return std::move(*graph);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Graph graph = smallGraph();
    SourceSet sources;
    dsl::LoadedRules loaded =
        dsl::loadRules(sources, {{"fuzz.fuse", fuzz::textOf(data, size)}}, smallImport);
    loaded.diagnostics.append(dsl::lint(loaded));
    std::string rendered = render(loaded.diagnostics, sources);

    EngineOptions options;
    options.matcher.budget = 200;
    options.matcher.explain = true;
    options.matcher.maxNearMisses = 4;
    options.maxIterations = 3;
    options.selectionSteps = 1000;
    Progress progress;
    Pipeline pipeline{"fuzz", {}};
    for (const Rule& rule : loaded.rules.rules) {
        auto known = [&](const PhaseStep& step) { return step.phase == rule.phase; };
        if (std::none_of(pipeline.steps.begin(), pipeline.steps.end(), known))
            pipeline.steps.push_back({rule.phase, true});
    }
    Result<Rewritten> out = rewrite(graph, loaded.rules, pipeline, options, progress);
    promise(out, "rules rewrite or refuse");
    Result<void> sound = verify(out->graph);
    promise(sound, "the rewritten graph is a graph");
    return 0;
}
