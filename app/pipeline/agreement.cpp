// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/agreement.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/verify.h"

namespace fuselage::app {

Result<std::vector<OutputAgreement>> compareForms(const Graph& before, const Graph& after,
                                                  const AgreementOptions& options,
                                                  Progress& progress) {
    const Graph judged = sized(before.clone(), options.dims);
    auto inputs = generateInputs(judged, options.seed);
    if (!inputs)
        return failure(inputs.error());
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(options.threads);
    auto wanted = interpret(judged, std::move(values), threads, progress);
    if (!wanted)
        return failure(wanted.error());

    std::vector<OutputAgreement> out;
    auto compareRun = [&](const std::string& side, const Graph& graph,
                          const CompileOptions& compile) -> Result<void> {
        auto compiled = CompiledGraph::compile(sized(graph.clone(), options.dims), compile);
        if (!compiled)
            return failure(compiled.error());
        auto outputs = compiled->run(*inputs);
        if (!outputs)
            return failure(outputs.error());
        for (size_t i = 0; i < outputs->size(); ++i)
            out.push_back(compareOutput(judged.value(judged.outputs()[i]).name,
                                        side + " " + nameOf(compile.backend), (*wanted)[i],
                                        (*outputs)[i]));
        return {};
    };
    for (BackendKind backend : options.backends) {
        CompileOptions compile;
        compile.backend = backend;
        compile.threads = options.threads;
        compile.measureTactics = options.measureTactics;
        compile.tune.fallback = options.fallback;
        if (backend != BackendKind::Reference) {
            compile.oneKernelPerNode = true;
            if (auto ran = compareRun("unfused", before, compile); !ran)
                return failure(ran.error());
            compile.oneKernelPerNode = false;
        }
        if (auto ran = compareRun("fused", after, compile); !ran)
            return failure(ran.error());
    }
    return out;
}

} // namespace fuselage::app
