// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/model_run.h"

#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"

#include <gtest/gtest.h>

using namespace fuselage;

gpu::CudaOptions testOptions() {
    gpu::CudaOptions out;
    out.threads = 1;
    out.measure = false;
    out.cache = "none";
    return out;
}

std::string CudaRun::tactics() const {
    std::string out;
    for (size_t i = 0; i < plan->steps.size(); ++i)
        out += (i == 0 ? "" : " ") + executable->tactic(i);
    return out;
}

RunResult CudaRun::check(const RunOptions& options) {
    Progress progress;
    auto ran = executable->run(inputs, options, progress);
    if (!ran || ran->outputs.size() != expected.size()) {
        ADD_FAILURE() << (ran ? "outputs are missing" : ran.error().text());
        return {};
    }
    for (size_t i = 0; i < expected.size(); ++i) {
        auto agreement = app::compareOutput(std::to_string(i), "", expected[i], ran->outputs[i]);
        EXPECT_TRUE(agreement.ok) << "output " << i << ": error " << agreement.maxRelative << ", "
                                  << tactics();
    }
    return std::move(*ran);
}

Result<CudaRun> prepareOnCuda(const std::string& text, bool fused,
                              const gpu::CudaOptions& options) {
    auto graph = model_io::loadText(text);
    if (!graph)
        return failure(graph.error());
    inferShapes(*graph);
    Progress progress;
    if (fused) {
        auto library = app::loadRuleLibrary({});
        auto rewritten = app::fuseGraph(*graph, *library, {}, progress);
        if (!rewritten)
            return failure(rewritten.error());
        *graph = std::move(rewritten->graph);
    }
    CudaRun out;
    auto inputs = app::generateInputs(*graph, 3);
    if (!inputs)
        return failure(inputs.error());
    out.inputs = std::move(*inputs);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : out.inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(1);
    auto expected = interpret(*graph, values, threads, progress);
    if (!expected)
        return failure(expected.error());
    out.expected = std::move(*expected);
    if (auto prepared = prepareGraph(*graph, progress); !prepared)
        return failure(prepared.error());
    auto backend = gpu::makeCudaBackend(options);
    if (!backend)
        return failure(backend.error());
    out.backend = std::move(*backend);
    const DeviceProfile profile = *out.backend->profile();
    PlanOptions planning;
    planning.profile = &profile;
    planning.backend = out.backend.get();
    planning.stridedViews = fused;
    planning.groupSmall = fused;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), planning, progress);
    if (!plan)
        return failure(plan.error());
    out.plan = *plan;
    auto executable = out.backend->prepare(out.plan, progress);
    if (!executable)
        return failure(executable.error());
    out.executable = std::move(*executable);
    return out;
}

CudaRun runOnCuda(const std::string& text, bool fused, const gpu::CudaOptions& options) {
    auto run = prepareOnCuda(text, fused, options);
    if (!run) {
        ADD_FAILURE() << run.error().text();
        return {};
    }
    for (int round = 0; round < 2; ++round)
        run->check();
    return std::move(*run);
}
