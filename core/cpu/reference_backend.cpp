// SPDX-License-Identifier: Apache-2.0
// The reference backend: the plan's graph through the reference functions, node by node, in double
// precision. It uses the Plan only for its graph.
#include "core/plan/backend.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage {

namespace {

class ReferenceExecutable final : public Executable {
public:
    ReferenceExecutable(std::shared_ptr<const Plan> plan, int threads)
        : m_plan(std::move(plan)), m_threads(threads) {}

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override {
        RunResult ran;
        // Steps are not run one by one here, so none has a time or a count of its own.
        if (options.stepSeconds)
            ran.stepSeconds.assign(m_plan->steps.size(), 0);
        if (options.stepBytes)
            ran.stepBytes.assign(m_plan->steps.size(), std::nullopt);
        std::vector<ReferenceValue> values;
        for (const Tensor& input : inputs)
            values.push_back(ReferenceValue::from(input));
        auto results = interpret(*m_plan->graph, std::move(values), m_threads, progress);
        if (!results)
            return failure(results.error());
        for (ReferenceValue& value : *results) {
            if (value.kind != TypeKind::Tensor)
                return failure("run.outputs", "an output is not a tensor", "",
                               "use the interpreter for sequences and optionals");
            ran.outputs.push_back(value.toTensor());
        }
        return ran;
    }

    std::string tactic(size_t step) const override {
        if (step >= m_plan->steps.size())
            return {};
        return std::string("reference ") + nameOf(kindOf(m_plan->steps[step].program));
    }

    std::vector<Reason> fallbacks(size_t) const override { return {}; }

private:
    std::shared_ptr<const Plan> m_plan;
    ThreadPool m_threads;
};

class ReferenceBackend final : public Backend {
public:
    explicit ReferenceBackend(int threads) : m_threads(threads) {}

    std::string name() const override { return "reference"; }

    std::string description() const override { return "double precision, one operator at a time"; }

    bool preparesConstants() const override { return false; }

    std::optional<Reason> supports(const KernelProgram&) const override { return std::nullopt; }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress&) override {
        return std::unique_ptr<Executable>(
            std::make_unique<ReferenceExecutable>(std::move(plan), m_threads));
    }

private:
    int m_threads;
};

} // namespace

std::unique_ptr<Backend> makeReferenceBackend(int threads) {
    return std::make_unique<ReferenceBackend>(threads);
}

} // namespace fuselage
