// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lazy.h"

#include <optional>

namespace fuselage {

namespace {

class LazyExecutable final : public Executable {
public:
    explicit LazyExecutable(std::function<Result<std::unique_ptr<Executable>>(Progress&)> prepare)
        : m_prepare(std::move(prepare)) {}

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override {
        prepare(progress);
        return *m_inner ? inner()->run(inputs, options, progress) : failure(m_inner->error());
    }

    std::string tactic(size_t step) const override {
        return inner() ? inner()->tactic(step) : std::string();
    }

    std::vector<Reason> fallbacks(size_t step) const override {
        return inner() ? inner()->fallbacks(step) : std::vector<Reason>();
    }

    bool isFallback(size_t step) const override { return inner() && inner()->isFallback(step); }

    NumericClass numeric(size_t step) const override {
        return inner() ? inner()->numeric(step) : NumericClass::Exact;
    }

    HiddenWork hiddenWork(size_t step) const override {
        return inner() ? inner()->hiddenWork(step) : HiddenWork{};
    }

    std::optional<KernelFacts> kernelFacts(size_t step) const override {
        return inner() ? inner()->kernelFacts(step) : std::nullopt;
    }

    Result<IsolatedTimes> timeIsolated(size_t step, uint32_t rounds) override {
        return inner() ? inner()->timeIsolated(step, rounds) : failure(m_inner->error());
    }

    Result<TrafficCounts> countTraffic(std::span<const Tensor> inputs,
                                       Progress& progress) override {
        prepare(progress);
        return *m_inner ? inner()->countTraffic(inputs, progress) : failure(m_inner->error());
    }

private:
    /// A preparation that was cancelled begins again when it is asked for.
    void prepare(Progress& progress) const {
        if (!m_inner || (!*m_inner && m_inner->error().code == "cancelled"))
            m_inner = m_prepare(progress);
    }

    /// Null where it cannot be prepared.
    Executable* inner() const {
        if (!m_inner) {
            Progress quiet;
            prepare(quiet);
        }
        return *m_inner ? (*m_inner)->get() : nullptr;
    }

    std::function<Result<std::unique_ptr<Executable>>(Progress&)> m_prepare;
    mutable std::optional<Result<std::unique_ptr<Executable>>> m_inner;
};

} // namespace

std::unique_ptr<Executable>
makeLazy(std::function<Result<std::unique_ptr<Executable>>(Progress&)> prepare) {
    return std::make_unique<LazyExecutable>(std::move(prepare));
}

} // namespace fuselage
