// SPDX-License-Identifier: Apache-2.0
// The base of executables that run another one in a way of their own: what there is to say of
// steps, the other one says.
#pragma once

#include "core/plan/backend.h"

#include <memory>
#include <utility>

namespace fuselage {

class ForwardingExecutable : public Executable {
public:
    std::string tactic(size_t step) const override { return m_inner->tactic(step); }

    std::vector<Reason> fallbacks(size_t step) const override { return m_inner->fallbacks(step); }

    bool isFallback(size_t step) const override { return m_inner->isFallback(step); }

    NumericClass numeric(size_t step) const override { return m_inner->numeric(step); }

    HiddenWork hiddenWork(size_t step) const override { return m_inner->hiddenWork(step); }

    std::optional<KernelFacts> kernelFacts(size_t step) const override {
        return m_inner->kernelFacts(step);
    }

    Result<IsolatedTimes> timeIsolated(size_t step, uint32_t rounds) override {
        return m_inner->timeIsolated(step, rounds);
    }

    Result<TrafficCounts> countTraffic(std::span<const Tensor> inputs,
                                       Progress& progress) override {
        return m_inner->countTraffic(inputs, progress);
    }

protected:
    explicit ForwardingExecutable(std::unique_ptr<Executable> inner) : m_inner(std::move(inner)) {}

    Executable& inner() { return *m_inner; }

private:
    std::unique_ptr<Executable> m_inner;
};

} // namespace fuselage
