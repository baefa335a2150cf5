// SPDX-License-Identifier: Apache-2.0
// What an order of memory costs a GPU: the price of the best kernel of ours that accepts the step
// with its operands so, over that in the better of two orders, the model's and channels innermost,
// which is what predicted times are fitted to. The kernels that are asked are those that may run,
// so that a price and what a tactic accepts cannot disagree; what the timing cache condemned is
// asked too. cuBLASLt's description is asked whether a product's rows are one product for it;
// cuDNN is not asked.
#pragma once

#include "core/plan/order_pricing.h"
#include "gpu/backend/busy_share.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// Remembers what it has asked. Safe to be asked by several threads.
class OrderPrices {
public:
    /// `without`: families that a person leaves out (whyLeftOut).
    OrderPrices(DeviceProfile profile, std::vector<std::string> without)
        : m_profile(std::move(profile)), m_without(std::move(without)) {}

    /// How many times longer the step takes, launches apart, than `estimate`, which knows no order;
    /// 1 or more.
    double loss(const LaidProgram& laid, const TimeEstimate& estimate);

private:
    using Kernels = std::vector<KernelTerms>;

    double seconds(const KernelRequest& request, TimeEstimate estimate);
    const Kernels& kernelsFor(const KernelRequest& request);

    DeviceProfile m_profile;
    std::vector<std::string> m_without;
    std::mutex m_lock;
    std::map<std::string, Kernels> m_known; ///< by the hash of a request
};

} // namespace fuselage::gpu
