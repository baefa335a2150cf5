// SPDX-License-Identifier: Apache-2.0
// A planner of a device without its prices for orders of memory, to compare plans with.
#pragma once

#include "core/plan/order_pricing.h"
#include "core/plan/planner_internal.h"

#include <memory>
#include <string>

namespace fuselage::testing_support {

/// Layouts by the rules of the backend, or as in the model. Plans alone.
class RuledLayouts final : public Backend {
public:
    RuledLayouts(const Backend& backend, bool votes) : m_backend(backend), m_votes(votes) {}

    std::string name() const override { return m_backend.name(); }

    std::string description() const override { return m_backend.description(); }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        return m_backend.supports(program);
    }

    void chooseLayouts(Plan& plan) const override {
        if (m_votes)
            m_backend.chooseLayouts(plan);
    }

    bool isForHost(const Plan& plan, const Step& step) const override {
        return m_backend.isForHost(plan, step);
    }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan>, Progress&) override {
        return failure("device.absent", "this backend only plans");
    }

private:
    const Backend& m_backend;
    bool m_votes;
};

/// What a plan takes by the prices of a backend, whoever chose its layouts.
inline double secondsBy(const Plan& plan, const DeviceProfile& profile, const Backend& backend) {
    Plan priced = plan;
    planner::predictSteps(priced, profile, &backend);
    return priced.totalPredicted().seconds;
}

} // namespace fuselage::testing_support
