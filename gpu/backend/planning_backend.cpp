// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/planning_backend.h"

#include "core/plan/channels_last.h"
#include "gpu/backend/order_price.h"
#include "gpu/backend/planned_step.h"

namespace fuselage::gpu {

namespace {

class PlanningBackend final : public Backend, public OrderPricing {
public:
    PlanningBackend(const DeviceProfile& profile, std::vector<std::string> without)
        : m_profile(profile), m_without(std::move(without)), m_prices(profile, m_without) {}

    std::string name() const override { return "cuda"; }

    std::string description() const override { return "plans for " + m_profile.title; }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        (void)program;
        return std::nullopt;
    }

    double orderLoss(const LaidProgram& laid, const TimeEstimate& estimate) const override {
        return m_prices.loss(laid, estimate);
    }

    void chooseLayouts(Plan& plan) const override { chooseChannelsLast(plan, {{}, true}); }

    bool isForHost(const Plan& plan, const Step& step) const override {
        return gpu::isForHost(plan, step, m_profile, m_without);
    }

    std::optional<DeviceProfile> profile() const override { return m_profile; }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        (void)plan, (void)progress;
        return failure("device.absent", "this backend only plans for " + m_profile.title);
    }

private:
    DeviceProfile m_profile;
    std::vector<std::string> m_without;
    mutable OrderPrices m_prices;
};

} // namespace

std::unique_ptr<Backend> makePlanningBackend(const DeviceProfile& profile,
                                             std::vector<std::string> without) {
    return std::make_unique<PlanningBackend>(profile, std::move(without));
}

} // namespace fuselage::gpu
