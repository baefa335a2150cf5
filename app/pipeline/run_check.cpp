// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/run_check.h"

#include "app/pipeline/amplification.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/verify.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// How far values stored in 16 bits may be off; 0 where they are not.
Result<double> storageLimit(const Graph& model, const PrecisionChoice& choice) {
    const DType storage = storageOf(choice.precision);
    if (storage == DType::Float32)
        return 0.0;
    auto stored = prepare(model.clone(), {}, choice);
    if (!stored)
        return failure(stored.error());
    return storageTolerance(storage, roundingDepth(*stored->graph, storage));
}

class RunCheck {
public:
    /// `storage`: how far values stored in 16 bits may be off; 0 where they are not.
    RunCheck(const Graph& model, const Graph* fused, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& outputs, const CompileOptions& compile, double storage,
             Progress& progress)
        : m_model(model), m_fused(fused), m_inputs(inputs), m_outputs(outputs), m_compile(compile),
          m_storage(storage), m_progress(progress) {}

    /// Of a strict plan: the bits of the unfused run in the same precision.
    Result<bool> bitsAgainstUnfused();
    /// False: some output differs from the unfused one.
    Result<bool> againstUnfused();
    /// `side`: what the outputs are of.
    Result<void> againstInterpreter(const char* side);

    std::vector<OutputAgreement> found;

private:
    Result<std::vector<Tensor>> unfusedOutputs(Precision precision) const;

    const std::string& nameOf(size_t output) const {
        return m_model.value(m_model.outputs()[output]).name;
    }

    const Graph& m_model;
    const Graph* m_fused; ///< null: the outputs are the model's own
    const std::vector<Tensor>& m_inputs;
    const std::vector<Tensor>& m_outputs;
    const CompileOptions& m_compile;
    double m_storage;
    Progress& m_progress;
    std::vector<Tensor> m_unfused; ///< in the precision of the outputs; empty: it was not run
};

Result<std::vector<Tensor>> RunCheck::unfusedOutputs(Precision precision) const {
    CompileOptions perNode = m_compile;
    perNode.oneKernelPerNode = true;
    perNode.precision = precision;
    auto compiled = CompiledGraph::compile(m_model.clone(), perNode);
    if (!compiled)
        return failure(compiled.error());
    return compiled->run(m_inputs);
}

Result<bool> RunCheck::bitsAgainstUnfused() {
    auto unfused = unfusedOutputs(m_compile.precision);
    if (!unfused)
        return failure(unfused.error());
    bool same = true;
    for (size_t i = 0; i < m_outputs.size(); ++i) {
        found.push_back(
            compareBits(nameOf(i), "fused, bits against unfused", (*unfused)[i], m_outputs[i]));
        same = same && found.back().ok;
    }
    return same;
}

Result<bool> RunCheck::againstUnfused() {
    // Both would lose the same by 16-bit storage, an infinity for a large number too.
    const bool narrow = m_storage > 0;
    auto unfused = unfusedOutputs(narrow ? Precision::Fp32 : m_compile.precision);
    if (!unfused)
        return failure(unfused.error());
    for (size_t i = 0; i < m_outputs.size(); ++i) {
        const bool stored = narrow && isFloat(m_outputs[i].dtype());
        found.push_back(compareOutput(
            nameOf(i), narrow ? "fused, against unfused in fp32" : "fused, against unfused",
            ReferenceValue::from((*unfused)[i]), m_outputs[i],
            stored ? std::optional(m_storage) : std::nullopt));
    }
    if (!narrow)
        m_unfused = std::move(*unfused);
    return std::all_of(found.begin(), found.end(),
                       [](const OutputAgreement& output) { return output.ok; });
}

Result<void> RunCheck::againstInterpreter(const char* side) {
    std::vector<ReferenceValue> values;
    for (const Tensor& input : m_inputs)
        values.push_back(ReferenceValue::from(input));
    ThreadPool threads(m_compile.threads);
    auto judged = interpret(m_model, std::move(values), threads, m_progress);
    if (!judged)
        return failure(judged.error());
    found.clear();
    for (size_t i = 0; i < m_outputs.size(); ++i) {
        const bool narrow = m_storage > 0 && isFloat(m_outputs[i].dtype());
        const DType type =
            narrow ? storageOf(m_compile.precision) : heldTo(m_model, m_outputs[i].dtype());
        const double limit = narrow ? m_storage : ownTolerance(m_model, type);
        if (m_unfused.empty()) {
            found.push_back(compareOutput(nameOf(i), side, (*judged)[i], m_outputs[i], limit));
            continue;
        }
        found.push_back(compareOutput(nameOf(i), "unfused", (*judged)[i], m_unfused[i], limit));
        const double allowed = fusedTolerance(type, found.back().maxRelative, limit);
        found.push_back(compareOutput(nameOf(i), "fused", (*judged)[i], m_outputs[i], allowed));
    }
    Report report;
    report.agreement = std::move(found);
    Result<void> allowed;
    if (!report.verified() && (m_storage > 0 || hasJumps(m_model)))
        allowed = allowAmplification({m_model, m_fused ? *m_fused : m_model, m_inputs, *judged,
                                      m_unfused.empty() ? m_outputs : m_unfused, m_outputs,
                                      m_compile, storageOf(m_compile.precision)},
                                     report, m_progress);
    found = std::move(report.agreement);
    return allowed;
}

} // namespace

Result<std::vector<OutputAgreement>> checkRun(const Graph& model, const Graph* fused,
                                              const std::vector<Tensor>& inputs,
                                              const std::vector<Tensor>& outputs,
                                              const CompileOptions& compile, Progress& progress) {
    auto storage = storageLimit(model, {compile.precision, compile.precisionOf});
    if (!storage)
        return failure(storage.error());
    RunCheck check(model, fused, inputs, outputs, compile, *storage, progress);
    std::vector<OutputAgreement> bits;
    if (fused && compile.strict) {
        auto same = check.bitsAgainstUnfused();
        if (!same)
            return failure(same.error());
        if (!*same || *storage == 0)
            return std::move(check.found);
        bits = std::move(check.found);
        check.found.clear();
    }
    const auto withBits = [&] {
        bits.insert(bits.end(), check.found.begin(), check.found.end());
        return std::move(bits);
    };
    if (fused) {
        auto agrees = check.againstUnfused();
        if (!agrees)
            return failure(agrees.error());
        if (*agrees)
            return withBits();
    }
    if (auto judged = check.againstInterpreter(fused ? "fused" : "unfused"); !judged)
        return failure(judged.error());
    return withBits();
}

} // namespace fuselage::app
