// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/agreement.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/verify.h"

#include <fmt/format.h>

namespace fuselage::app {

Result<std::vector<OutputAgreement>> compareForms(const Graph& before, const Graph& after,
                                                  const AgreementOptions& options,
                                                  Progress& progress) {
    const Graph judged = sized(before.clone(), options.dims);
    auto inputs = generateInputs(judged, options.seed);
    if (!inputs)
        return failure(inputs.error());
    ThreadPool threads(options.threads);
    std::vector<ReferenceValue> values;
    for (const Tensor& input : *inputs)
        values.push_back(ReferenceValue::from(input));
    auto wanted = interpret(judged, std::move(values), threads, progress);
    if (!wanted)
        return failure(wanted.error());

    std::vector<OutputAgreement> out;
    auto runOf = [&](const Graph& graph,
                     const CompileOptions& compile) -> Result<std::vector<Tensor>> {
        auto compiled = CompiledGraph::compile(sized(graph.clone(), options.dims), compile);
        if (!compiled)
            return failure(compiled.error());
        return compiled->run(*inputs);
    };
    auto byBits = [&](size_t output) { return options.bits && isFloat((*wanted)[output].dtype); };
    auto compare = [&](const char* form, BackendKind backend, const std::vector<Tensor>& outputs,
                       const std::vector<Tensor>* unfused) {
        const std::string side = fmt::format("{} {}", form, nameOf(backend));
        for (size_t i = 0; i < outputs.size(); ++i) {
            const std::string& name = judged.value(judged.outputs()[i]).name;
            if (!byBits(i))
                out.push_back(compareOutput(name, side, (*wanted)[i], outputs[i]));
            else if (unfused != nullptr)
                out.push_back(compareBits(name, side, (*unfused)[i], outputs[i]));
        }
    };
    for (BackendKind backend : options.backends) {
        CompileOptions compile;
        compile.backend = backend;
        compile.threads = options.threads;
        compile.strict = options.bits;
        compile.measureTactics = options.measureTactics;
        compile.tune.fallback = options.fallback;
        std::vector<Tensor> unfused;
        if (options.bits || backend != BackendKind::Reference) {
            compile.oneKernelPerNode = true;
            auto ran = runOf(before, compile);
            if (!ran)
                return failure(ran.error());
            compile.oneKernelPerNode = false;
            unfused = std::move(*ran);
        }
        auto fused = runOf(after, compile);
        if (!fused)
            return failure(fused.error());
        compare("unfused", backend, unfused, nullptr);
        compare("fused", backend, *fused, &unfused);
    }
    return out;
}

} // namespace fuselage::app
